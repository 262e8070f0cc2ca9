//go:build cgo && linux && amd64

package wasmtime

import (
	"context"
	"testing"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/spi/conformance"
	"github.com/loom-sandbox/sandboxd/spi/spitest"
)

func TestConformance(t *testing.T) {
	spitest.Run(t, &conformance.Harness{
		New: func(ctx context.Context) (spi.Backend, error) { return New(ctx, &Options{CacheDir: sharedCache}) },
	})
}
