package subprocess_test

import (
	"context"
	"path/filepath"
	"testing"

	subprocess "github.com/loom-sandbox/sandboxd/examples/backend"
	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/spi/conformance"
	"github.com/loom-sandbox/sandboxd/spi/spitest"
)

func TestConformance(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache") // made by the first child, private
	spitest.Run(t, &conformance.Harness{
		New: func(ctx context.Context) (spi.Backend, error) {
			return subprocess.New(ctx, &subprocess.Options{CacheDir: dir})
		},
	})
}
