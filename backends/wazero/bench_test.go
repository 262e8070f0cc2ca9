package wazero

import (
	"context"
	"testing"

	wz "github.com/tetratelabs/wazero"

	"github.com/loom-sandbox/sandboxd/backends/internal/enginetest"
	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
	"github.com/loom-sandbox/sandboxd/spi"
)

// BenchmarkGuards compares the guarded image with one without guards: look at
// the ratios.
func BenchmarkGuards(b *testing.B) {
	enginetest.BenchmarkGuards(b, engine{wz.NewRuntimeConfig()}, Describe(), quickjs.BuildWithoutGuardsForMeasuring)
}

// BenchmarkStart is the time from nothing to the result of a first script.
func BenchmarkStart(b *testing.B) {
	enginetest.BenchmarkStart(b, func(dir string) (spi.Backend, error) {
		return New(context.Background(), &Options{CacheDir: dir})
	})
}
