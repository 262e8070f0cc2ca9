package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
)

// How long the soak is. What it compares is the state after the warm-up, when
// pools and caches are full, with that at the end.
const (
	soakEvals       = 10_000
	soakEvalsShort  = 1_000
	soakWarmUpShare = 10 // one part in ten
	soakGoroutines  = 2
)

// soakGrowthBytes is how much the host's memory may differ between warm-up and
// end. A leak of 2 KiB for each eval of the full soak is found; what the Go heap
// and the system's own accounting move by is less.
const soakGrowthBytes = 16 << 20

// soakScript is one kind of load and what must come of it.
type soakScript struct {
	script string
	limits sandbox.Limits
	check  func(n int, o *observed) bool
}

func (s *soakScript) run(sb *sandbox.Sandbox, n int) error {
	limits := s.limits
	if limits.Timeout == 0 {
		limits.Timeout = time.Minute
	}
	o, err := observe(context.Background(), sb, &sandbox.Request{Script: s.script, Input: fmt.Appendf(nil, "%d", n), Limits: limits})
	if err != nil {
		return err
	}
	if !s.check(n, o) {
		return fmt.Errorf("eval %d of %q gave %s", n, s.script, clip(string(o.wire)))
	}
	return nil
}

// soakScripts mixes ordinary scripts with hostile ones.
func soakScripts() []soakScript {
	gives := func(script, format string) soakScript {
		return soakScript{script: script, check: func(n int, o *observed) bool {
			return o.Error == nil && sameJSON(fmt.Appendf(nil, format, n), o.Value)
		}}
	}
	ends := func(limits sandbox.Limits, script string, kinds ...spi.Kind) soakScript {
		return soakScript{script: script, limits: limits, check: func(_ int, o *observed) bool {
			return o.Error != nil && (&expectation{ErrorKind: kinds}).differs(o) == ""
		}}
	}
	short := sandbox.Limits{Timeout: 8 * time.Millisecond}
	small := sandbox.Limits{Timeout: time.Minute, MemoryBytes: 8 << 20}
	return []soakScript{
		gives("input + 0", "%d"),
		gives("return { n: input, list: [1, 2, 3].map((x) => x * 2) }", `{"n": %d, "list": [2, 4, 6]}`),
		gives("globalThis.seen = (globalThis.seen ?? 0) + 1; [seen, input]", "[1, %d]"),
		gives("Array.prototype.extra = input; Object.prototype.extra = input; [].extra", "%d"),
		gives("[typeof [].extra, typeof seen, input]", `["undefined", "undefined", %d]`),
		ends(short, "for (;;) ;", spi.KindTimeout),
		gives("await new Promise((r) => setTimeout(r, 1000)); console.log(input); await input", "%d"),
		gives("JSON.parse(JSON.stringify({ a: Array(50).fill(input) })).a[49]", "%d"),
		ends(small, "const a = []; for (;;) a.push(new Uint8Array(1e5))", spi.KindMemory),
		gives("let u = new Uint8Array(6 << 20).fill(1); u.length + input - u.length", "%d"),
		ends(sandbox.Limits{}, "const down = () => down() + 1; down()", spi.KindStackOverflow),
		gives("try { (function f() { f() })() } catch { input }", "%d"),
		ends(sandbox.Limits{Fuel: 30_000}, "while (true) await 0", spi.KindFuel),
		ends(sandbox.Limits{}, "await new Promise(() => {})", spi.KindDeadlock),
		gives("const m = new Map(); for (let i = 0; i < 200; i++) m.set(i, { i }); m.get(199).i + input - 199", "%d"),
		ends(sandbox.Limits{}, "console.log('x'.repeat(100)); null.x", spi.KindException),
		ends(sandbox.Limits{}, "let a = ;", spi.KindSyntax),
		ends(short, "({ toJSON() { for (;;) ; } })", spi.KindTimeout),
		ends(sandbox.Limits{OutputBytes: 1000}, "'x'.repeat(5000)", spi.KindOutputTooLarge),
		ends(sandbox.Limits{}, "({ a: 1n })", spi.KindUnserializable),
		gives("/^(\\w+)@(\\w+)$/.exec('a@b').length - 3 + input", "%d"),
		gives("for (const k of Reflect.ownKeys(Array.prototype)) try { delete Array.prototype[k] } catch {} input", "%d"),
		gives("setInterval(() => {}, 1); Promise.reject(1); input", "%d"),
		gives("new URL('http://a/b?c=' + input).searchParams.get('c') * 1", "%d"),
	}
}

// TestSoak is not parallel: it measures the process.
func TestSoak(t *testing.T) {
	total := soakEvals
	if testing.Short() {
		total = soakEvalsShort
	}
	sb := newSandbox(t, &sandbox.Options{MaxConcurrent: soakGoroutines})
	warmUp := total / soakWarmUpShare
	require.NoError(t, soak(sb, 0, warmUp))
	before := measureProcess(t)
	require.NoError(t, soak(sb, warmUp, total))
	after := measureProcess(t)
	t.Logf("after %d evals: %v; after %d: %v", warmUp, before, total, after)
	assert.LessOrEqual(t, after.goroutines, before.goroutines, "goroutines")
	assert.LessOrEqual(t, after.heapBytes, before.heapBytes+soakGrowthBytes, "Go heap")
	assert.LessOrEqual(t, after.residentBytes, before.residentBytes+soakGrowthBytes, "resident memory of the process")
}

// soak runs the evals from..to, in turn, on a few goroutines.
func soak(sb *sandbox.Sandbox, from, to int) error {
	scripts := soakScripts()
	var g errgroup.Group
	for worker := range soakGoroutines {
		g.Go(func() error {
			for n := from + worker; n < to; n += soakGoroutines {
				// A step that shares no factor with their number pairs every
				// script with every other one over time.
				if err := scripts[(n*7+worker*5)%len(scripts)].run(sb, n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// processState is what a leak would make grow.
type processState struct {
	goroutines    int
	heapBytes     int64
	residentBytes int64 // zero where it cannot be known
}

func (s processState) String() string {
	text, _ := json.Marshal(map[string]float64{
		"goroutines": float64(s.goroutines), "heapMiB": mib(s.heapBytes), "residentMiB": mib(s.residentBytes),
	})
	return string(text)
}

func mib(n int64) float64 { return float64(n*10>>20) / 10 }

func measureProcess(tb testing.TB) processState {
	debug.FreeOSMemory() // collects, too
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	resident, err := residentBytes()
	require.NoError(tb, err)
	return processState{goroutines: runtime.NumGoroutine(), heapBytes: int64(stats.HeapAlloc), residentBytes: resident}
}
