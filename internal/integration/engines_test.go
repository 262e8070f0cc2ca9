package integration

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/wasmtime"
	"github.com/loom-sandbox/sandboxd/backends/wazero"
	"github.com/loom-sandbox/sandboxd/spi"
)

// preparer is what the backends of both engines are.
type preparer interface {
	spi.Backend
	spi.Preparer
}

// pooled says how a backend keeps its isolates, in words of either engine.
type pooled wazero.Options

// open is a backend of an engine that is closed when the test ends. It skips the
// test where this build or machine has no wasmtime.
func (o pooled) open(tb testing.TB, engine string) preparer {
	tb.Helper()
	var b preparer
	var err error
	if engine == wazero.Name {
		opts := wazero.Options(o)
		opts.CacheDir = cacheDir
		b, err = wazero.New(context.Background(), &opts)
	} else {
		if reason := wasmtime.Unavailable(); reason != "" {
			tb.Skip("no second engine: wasmtime is " + reason)
		}
		b, err = wasmtime.New(context.Background(), &wasmtime.Options{
			CacheDir: cacheDir, IdleIsolates: o.IdleIsolates, WarmIsolates: o.WarmIsolates,
			IdleTimeout: o.IdleTimeout, CheckRestored: o.CheckRestored,
		})
	}
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, b.Close()) })
	return b
}

// forEachEngine runs a test on both.
func forEachEngine(t *testing.T, test func(t *testing.T, engine string)) {
	for _, engine := range []string{wazero.Name, wasmtime.Name} {
		t.Run(engine, func(t *testing.T) { test(t, engine) })
	}
}

// closeWatch is a backend that keeps what closing its isolates gave, for judge,
// which does not look.
type closeWatch struct {
	spi.Backend

	closed int
	err    error
}

func (w *closeWatch) Open(ctx context.Context, cfg *spi.Config) (spi.Isolate, error) {
	iso, err := w.Backend.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &watchedIsolate{iso, w}, nil
}

type watchedIsolate struct {
	spi.Isolate

	watch *closeWatch
}

func (i *watchedIsolate) HeapSHA256() ([32]byte, error) { return i.Isolate.(heapHasher).HeapSHA256() }

func (i *watchedIsolate) Close() error {
	err := i.Isolate.Close()
	i.watch.closed++
	if err != nil {
		i.watch.err = err
	}
	return err
}
