// Command sandboxd-subprocess is sandboxd with the backend subprocess.
package main

import (
	"context"
	"errors"
	"os"

	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/command"
	subprocess "github.com/loom-sandbox/sandboxd/examples/backend"
	"github.com/loom-sandbox/sandboxd/spi"
)

func main() {
	subprocess.RunChild()
	os.Exit(command.Main(context.Background(), command.App{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Environ(),
		Backends: []command.Backend{mine()},
	}))
}

func mine() command.Backend {
	return command.Backend{
		Name: subprocess.Name, Describe: subprocess.Describe,
		New: func(ctx context.Context, s command.Settings) (spi.Backend, error) {
			if s.EngineImage != nil {
				return nil, errors.New("it has an engine image of its own; --engine-image is not for it")
			}
			dir := s.CacheDir
			if dir == "" && !s.NoCache {
				dir, _ = subprocess.DefaultCacheDir() // without one a start takes longer
			}
			b, err := subprocess.New(ctx, &subprocess.Options{CacheDir: dir, Logger: s.Logger})
			if err != nil {
				return nil, err // and not b: a nil *Backend in an interface is not nil
			}
			return b, nil
		},
	}
}
