//go:build cgo && linux && amd64

package wasmtime

import (
	"context"
	"log/slog"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/loom-sandbox/sandboxd/backends/internal/enginetest"
	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
	"github.com/loom-sandbox/sandboxd/spi"
)

// sharedCache keeps the compiled image for all tests of this process. TestMain
// sets and removes it.
var sharedCache string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "sandboxd-wasmtime-")
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
	sharedCache = dir
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		if err := os.RemoveAll(dir); err != nil {
			println(err.Error())
			status = max(status, 1)
		}
		os.Exit(status)
	}))
}

func open(t *testing.T) *Backend {
	t.Helper()
	b, err := New(t.Context(), &Options{CacheDir: sharedCache})
	require.NoError(t, err)
	return b
}

func startCached(ctx context.Context, dir string, log *slog.Logger) (spi.Backend, error) {
	return New(ctx, &Options{CacheDir: dir, Logger: log})
}

func TestASpoiltCacheIsMadeAgainWithAWarning(t *testing.T) {
	enginetest.TestCache(t, Name, startCached)
}

func TestACacheOfOthersIsNotTrusted(t *testing.T) { enginetest.TestCacheOfOthers(t, startCached) }

// BenchmarkGuards compares the guarded image with one without guards: look at
// the ratios.
func BenchmarkGuards(b *testing.B) {
	enginetest.BenchmarkGuards(b, engine{}, Describe(), quickjs.BuildWithoutGuardsForMeasuring)
}

// BenchmarkStart is the time from nothing to the result of a first script.
func BenchmarkStart(b *testing.B) {
	enginetest.BenchmarkStart(b, func(dir string) (spi.Backend, error) {
		return New(context.Background(), &Options{CacheDir: dir})
	})
}
