// Package builtins lists the backends that are compiled into sandboxd. A binary
// of your own may take this list and add to it.
package builtins

import (
	"context"

	"github.com/loom-sandbox/sandboxd/backends/wazero"
	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/command"
	"github.com/loom-sandbox/sandboxd/spi"
)

// Backends returns a fresh list, the default backend first. To add a backend,
// add a function like wazeroBackend in a file of its own, with the build
// constraint that it needs, and name it here.
func Backends() []command.Backend {
	return []command.Backend{wazeroBackend()}
}

func wazeroBackend() command.Backend {
	return command.Backend{
		Name: wazero.Describe().Name, Describe: wazero.Describe, Default: true,
		New: func(ctx context.Context, s command.Settings) (spi.Backend, error) {
			dir := s.CacheDir
			if dir == "" && !s.NoCache {
				var err error
				if dir, err = wazero.DefaultCacheDir(); err != nil {
					s.Logger.Warn("no place for compiled code; starting takes longer (see --cache-dir and --no-cache)", "error", err)
					dir = ""
				}
			}
			// The backend goes back as it is: a nil *Backend in an interface
			// would not be nil.
			b, err := wazero.New(ctx, &wazero.Options{
				CacheDir: dir, EngineImage: s.EngineImage, EngineImageSHA256: s.EngineImageSHA256, Logger: s.Logger,
			})
			if err != nil {
				return nil, err
			}
			return b, nil
		},
	}
}
