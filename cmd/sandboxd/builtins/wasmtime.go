package builtins

import (
	"context"

	"github.com/loom-sandbox/sandboxd/backends/wasmtime"
	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/command"
	"github.com/loom-sandbox/sandboxd/spi"
)

func wasmtimeBackend() command.Backend {
	return command.Backend{
		Name: wasmtime.Name, Describe: wasmtime.Describe, Unavailable: wasmtime.Unavailable(),
		New: func(ctx context.Context, s command.Settings) (spi.Backend, error) {
			// The backend goes back as it is: a nil *Backend in an interface
			// would not be nil.
			b, err := wasmtime.New(ctx, &wasmtime.Options{
				CacheDir: cacheDir(&s, wasmtime.DefaultCacheDir), Logger: s.Logger,
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
