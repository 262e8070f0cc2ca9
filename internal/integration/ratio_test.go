package integration

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/wazero"
	"github.com/loom-sandbox/sandboxd/spi"
)

// TestWhatTheFigureRestsOnStaysFast compares ways to run a small script, in turns
// and by the shortest times, so that a busy machine does not matter. The bounds
// are far from what is measured: they catch what no longer works at all.
func TestWhatTheFigureRestsOnStaysFast(t *testing.T) {
	const source = "({ a: 1 + 1, b: [1, 2, 3].map(x => x * 2) })"
	ctx := context.Background()
	pooled := openWazero(t, wazero.Options{})
	fresh := openWazero(t, wazero.Options{IdleIsolates: -1})
	cfg := &spi.Config{
		Limits: spi.Limits{Timeout: time.Minute, MemoryBytes: 64 << 20, OutputBytes: 1 << 20, LogBytes: 1 << 10}, Now: noon(), Seed: 1,
	}
	prepared, err := pooled.(spi.Preparer).Prepare(ctx, &cfg.Limits, source, spi.JavaScript)
	require.NoError(t, err)
	ways := []func(context.Context, *spi.Config) (spi.Isolate, error){pooled.Open, prepared.Open, fresh.Open}
	shortest := make([]time.Duration, len(ways))
	const rounds, inARow = 60, 30 // so that each way finds its own code and data in the caches
	for n := range rounds * inARow * len(ways) {
		i := n / inARow % len(ways)
		func() {
			open := ways[i]
			start := time.Now()
			iso, err := open(ctx, cfg)
			require.NoError(t, err)
			out, err := iso.Eval(ctx, &spi.Request{Source: source, Language: spi.JavaScript, Input: []byte("null")})
			require.NoError(t, err)
			require.NoError(t, iso.Close())
			took := time.Since(start)
			require.Nil(t, out.Error)
			if shortest[i] == 0 || took < shortest[i] {
				shortest[i] = took
			}
		}()
	}
	again, parsed, made := shortest[0], shortest[1], shortest[2]
	t.Logf("an isolate that is used again %v, with a prepared script %v, a new isolate %v", again, parsed, made)
	assert.Less(t, float64(parsed), 0.8*float64(again), "a prepared script is not parsed again; 0.5 is usual")
	assert.Less(t, float64(again), 0.5*float64(made), "an isolate is used again; 0.1 is usual")
	require.True(t, slices.Min(shortest) > 0)
}
