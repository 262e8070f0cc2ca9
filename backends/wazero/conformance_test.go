package wazero_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/loom-sandbox/sandboxd/backends/wazero"
	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/spi/conformance"
	"github.com/loom-sandbox/sandboxd/spi/spitest"
)

func TestConformance(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache") // which New makes private
	spitest.Run(t, &conformance.Harness{
		New: func(ctx context.Context) (spi.Backend, error) {
			return wazero.New(ctx, &wazero.Options{CacheDir: dir})
		},
	})
}
