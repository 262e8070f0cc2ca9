//go:build !race

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

// The tests of this file are not parallel: they measure the process. The race
// detector's shadow memory is several times what is measured.

const (
	idleIsolates   = 1000
	maxIdleBytes   = 2 << 20 // of one idle isolate
	hungryEvals    = 60      // the benchmark does as many as one likes
	hungryMargin   = 24 << 20
	hungryCapBytes = 64 << 20
)

// hungryScript takes and writes nearly all of its 64 MiB.
const hungryScript = "const a = []; for (let i = 0; i < 55; i++) a.push(new Uint8Array(1 << 20).fill(i)); a.length"

// settledBytes is the memory of the process after Go gave back what it could.
func settledBytes(tb testing.TB) int64 {
	tb.Helper()
	debug.FreeOSMemory()
	n, err := residentBytes()
	require.NoError(tb, err)
	return n
}

// shareBytes is the process's share of what it has mapped: a page of an image's
// file counts once and not for each memory that shows it.
func shareBytes(tb testing.TB) int64 {
	tb.Helper()
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	if errors.Is(err, os.ErrNotExist) {
		return 0 // before Linux 4.14
	}
	require.NoError(tb, err)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "Pss:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			require.NoError(tb, err)
			return kb << 10
		}
	}
	return 0
}

// openMany opens isolates and evaluates a script in each.
func openMany(tb testing.TB, b spi.Backend, n int, source string) []spi.Isolate {
	tb.Helper()
	isolates := make([]spi.Isolate, n)
	for i := range isolates {
		isolates[i] = openFor(tb, b, source)
	}
	return isolates
}

func openFor(tb testing.TB, b spi.Backend, source string) spi.Isolate {
	tb.Helper()
	iso, err := b.Open(context.Background(), &spi.Config{
		Limits: spi.Limits{Timeout: time.Minute, MemoryBytes: hungryCapBytes, OutputBytes: 1 << 20, LogBytes: 64 << 10},
		Now:    noon(), Seed: 1,
	})
	require.NoError(tb, err)
	out, err := iso.Eval(context.Background(), &spi.Request{Source: source, Language: spi.JavaScript, Input: json.RawMessage("null")})
	require.NoError(tb, err)
	require.Nil(tb, out.Error)
	return iso
}

func closeAll(tb testing.TB, isolates []spi.Isolate) {
	tb.Helper()
	for _, iso := range isolates {
		require.NoError(tb, iso.Close())
	}
}

// TestAThousandIdleIsolatesAreSmall: each was used once, with some memory.
func TestAThousandIdleIsolatesAreSmall(t *testing.T) {
	forEachEngine(t, func(t *testing.T, engine string) {
		b := pooled{IdleIsolates: idleIsolates, IdleTimeout: time.Hour}.open(t, engine)
		const script = "const m = new Map(); for (let i = 0; i < 100; i++) m.set(i, { i, text: 'x' + i }); JSON.stringify([...m]).length"
		closeAll(t, openMany(t, b, 1, script))
		before, shareBefore := settledBytes(t), shareBytes(t)
		closeAll(t, openMany(t, b, idleIsolates, script))
		each, share := (settledBytes(t)-before)/idleIsolates, (shareBytes(t)-shareBefore)/idleIsolates
		t.Logf("an idle isolate: resident %d KiB, of which its own share %d KiB", each>>10, share>>10)
		assert.Less(t, each, int64(maxIdleBytes))
		assert.Positive(t, each, "they are not there, so that nothing was measured")

		// They are the ones that are lent: a second round costs nothing.
		before = settledBytes(t)
		closeAll(t, openMany(t, b, idleIsolates/2, script))
		assert.Less(t, settledBytes(t)-before, int64(32<<20))
	})
}

func TestMemoryOfHungryScriptsGoesBack(t *testing.T) {
	forEachEngine(t, func(t *testing.T, engine string) {
		b := pooled{IdleIsolates: 4}.open(t, engine)
		before, after := hungry(t, b, hungryEvals)
		assert.Less(t, after-before, int64(hungryMargin))
	})
}

// BenchmarkHungryScripts is the same for longer. For a thousand evals:
//
//	go test ./internal/integration -run '^$' -bench HungryScripts -benchtime 1000x
func BenchmarkHungryScripts(b *testing.B) {
	for _, engine := range []string{"wazero", "wasmtime"} {
		b.Run(engine, func(b *testing.B) {
			backend := pooled{IdleIsolates: 4}.open(b, engine)
			b.ResetTimer()
			before, after := hungry(b, backend, b.N)
			b.ReportMetric(mib(after-before), "MiB/left")
			assert.Less(b, after-before, int64(hungryMargin))
		})
	}
}

// hungry runs scripts one after the other and returns what the process held
// before and afterwards.
func hungry(tb testing.TB, b spi.Backend, evals int) (before, after int64) {
	tb.Helper()
	closeAll(tb, openMany(tb, b, 3, hungryScript)) // what is loaded once
	before = settledBytes(tb)
	for range evals {
		require.NoError(tb, openFor(tb, b, hungryScript).Close())
	}
	return before, settledBytes(tb)
}

func TestIdleIsolatesGiveTheirMemoryBackInTime(t *testing.T) {
	forEachEngine(t, func(t *testing.T, engine string) {
		const many, most = 300, 60 * time.Second
		b := pooled{IdleIsolates: many, WarmIsolates: 2, IdleTimeout: 300 * time.Millisecond}.open(t, engine)
		const script = "const a = []; for (let i = 0; i < 300; i++) a.push({ i, list: [i, i, i] }); a.length"
		closeAll(t, openMany(t, b, 1, script))
		before := settledBytes(t)
		isolates := openMany(t, b, many, script)
		held := settledBytes(t) - before
		require.Greater(t, held, int64(many*100<<10), "they take too little to see it go")
		closeAll(t, isolates)
		for deadline := time.Now().Add(most); ; time.Sleep(20 * time.Millisecond) {
			left := settledBytes(t) - before
			if left < held/5 {
				t.Logf("%d isolates held %d MiB, of which %d are left", many, held>>20, left>>20)
				return
			}
			require.True(t, time.Now().Before(deadline), "%d of %d MiB are still held", left>>20, held>>20)
		}
	})
}
