package builtins

import (
	"context"

	"github.com/loom-sandbox/sandboxd/backends/wazero"
	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/command"
	"github.com/loom-sandbox/sandboxd/spi"
)

func wazeroBackend() command.Backend {
	return command.Backend{
		Name: wazero.Name, Describe: wazero.Describe, Default: true,
		New: func(ctx context.Context, s command.Settings) (spi.Backend, error) {
			// The backend goes back as it is: a nil *Backend in an interface
			// would not be nil.
			b, err := wazero.New(ctx, &wazero.Options{
				CacheDir: cacheDir(&s, wazero.DefaultCacheDir), Logger: s.Logger,
				EngineImage: s.EngineImage, EngineImageSHA256: s.EngineImageSHA256,
				IdleIsolates: s.Isolates, WarmIsolates: warm(&s),
			})
			if err != nil {
				return nil, err
			}
			return b, nil
		},
	}
}
