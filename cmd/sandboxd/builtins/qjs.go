package builtins

import (
	"context"
	"errors"

	"github.com/loom-sandbox/sandboxd/backends/qjs"
	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/command"
	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/spi/conformance"
)

func qjsBackend() command.Backend {
	return command.Backend{
		Name: qjs.Name, Describe: qjs.Describe, Known: conformance.Should(qjs.KnownFailures()),
		Warning: "not for scripts that nobody trusts: it fails checks that a backend must pass, see 'sandboxd conformance --backend qjs'",
		New: func(ctx context.Context, s command.Settings) (spi.Backend, error) {
			if s.EngineImage != nil {
				return nil, errors.New("it has an engine of its own; --engine-image is for the others")
			}
			b, err := qjs.New(ctx, nil)
			if err != nil {
				return nil, err
			}
			return b, nil
		},
	}
}
