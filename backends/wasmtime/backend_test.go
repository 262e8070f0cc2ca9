//go:build cgo && linux && amd64

package wasmtime

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	wt "github.com/bytecodealliance/wasmtime-go/v39"

	"github.com/loom-sandbox/sandboxd/backends/internal/enginetest"
	"github.com/loom-sandbox/sandboxd/spi"
)

func startCached(ctx context.Context, dir string, log *slog.Logger) (spi.Backend, error) {
	return New(ctx, &Options{CacheDir: dir, Logger: log})
}

func TestASpoiltCacheIsMadeAgainWithAWarning(t *testing.T) {
	enginetest.TestCache(t, Name, startCached)
}

func TestACacheOfOthersIsNotTrusted(t *testing.T) { enginetest.TestCacheOfOthers(t, startCached) }

func TestZZ(t *testing.T) {
	start := time.Now()
	for range 2 {
		b, err := New(t.Context(), &Options{CacheDir: "/tmp/wtcache"})
		require.NoError(t, err)
		t.Log("start", time.Since(start), b.Describe())
		start = time.Now()
		iso, err := b.Open(t.Context(), &spi.Config{Limits: spi.Limits{Timeout: time.Second, MemoryBytes: 64 << 20, OutputBytes: 1 << 20}, Now: time.Unix(1_700_000_000, 0)})
		require.NoError(t, err)
		t.Log("open", time.Since(start))
		start = time.Now()
		out, err := iso.Eval(t.Context(), &spi.Request{Source: "[1,2,3].map(x=>x*x)", Language: "js", Input: json.RawMessage("null")})
		require.NoError(t, err)
		t.Log("eval", time.Since(start), string(out.Value), out.Error, out.Usage)
		b.Close()
		start = time.Now()
	}
}

func BenchmarkGuards(b *testing.B) {
	_ = wt.OptLevelNone
	enginetest.BenchmarkGuards(b, engine{}, Describe())
}

func BenchmarkStart(b *testing.B) {
	enginetest.BenchmarkStart(b, func(dir string) (spi.Backend, error) {
		return New(context.Background(), &Options{CacheDir: dir})
	})
}
