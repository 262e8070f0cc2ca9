package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/wazero"
	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
)

// hostileScripts never end by themselves.
func hostileScripts() map[string]string {
	return map[string]string{
		"loop":       "for (;;) ;",
		"catch":      "for (;;) { try { null.x } catch {} }",
		"finally":    "for (;;) { try { null.x } finally { continue } }",
		"jobs":       "while (true) await 0",
		"interval":   "setInterval(() => {}, 1); await new Promise(() => {})",
		"holes":      "new Array(1e9) + ''",
		"join":       "const a = []; a.length = 2e9; a.join('--')",
		"expression": "/(a+)+$/.test('a'.repeat(40) + 'b')",
		"bulk moves": "const u = new Uint8Array(16 << 20); for (;;) u.copyWithin(1, 0)",
		"scans":      "const s = 'x'.repeat(4e6); for (;;) s.lastIndexOf('y')",
		"sort":       "const a = Array.from({ length: 1e5 }, (_, i) => i % 7); for (;;) a.sort()",
		"BigInt":     "let n = 3n; for (;;) { n = n ** 3n % (2n ** 40000n) }",
		"JSON":       "const t = JSON.stringify(Array(1e4).fill({ a: [1, 'x'] })); for (;;) JSON.parse(t)",
		"recursion":  "for (;;) { try { (function f() { f() })() } catch {} }",
		"toJSON":     "({ toJSON() { for (;;) ; } })",
	}
}

// BenchmarkDeadlineOvershoot reports by how much scripts that never end outlive
// a deadline of 200 ms: from the script's start, which is where the deadline is
// counted from, and by the host's clock around Eval, which also makes the
// isolate and takes it down.
func BenchmarkDeadlineOvershoot(b *testing.B) {
	const limit = 200 * time.Millisecond
	sb := newSandbox(b, nil)
	var over, around []float64
	var worst string
	for b.Loop() {
		for name, script := range hostileScripts() {
			o, err := observe(context.Background(), sb, &sandbox.Request{Script: script, Limits: sandbox.Limits{Timeout: limit}})
			require.NoError(b, err)
			require.NotNil(b, o.Error, name)
			require.Equal(b, spi.KindTimeout, o.Error.Kind, name)
			around = append(around, float64(o.took-limit)/float64(time.Millisecond))
			late := o.Usage.WallMs - float64(limit)/float64(time.Millisecond)
			if len(over) == 0 || late > slices.Max(over) {
				worst = name
			}
			over = append(over, late)
		}
	}
	b.Logf("latest: %s", worst)
	report(b, over, "ms")
	slices.Sort(around)
	b.ReportMetric(around[len(around)/2], "p50-around-ms")
	b.ReportMetric(around[len(around)-1], "max-around-ms")
}

// BenchmarkGCLatencyWithSpinningGuests reports how long a garbage collection
// stops the world, waiting for it to stop included, while guests spin that never
// call Go but for their fuel. A guest that cannot be stopped shows here.
//
// How long runtime.GC takes is reported beside it: it yields several times, and
// gets its turn back only because guests yield at each tick.
func BenchmarkGCLatencyWithSpinningGuests(b *testing.B) {
	const guests = 2
	sb := newSandbox(b, &sandbox.Options{MaxConcurrent: guests})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for range guests {
		running.Go(func() {
			o, err := observe(ctx, sb, &sandbox.Request{Script: "for (;;) ;", Limits: sandbox.Limits{Timeout: sandbox.MaxTimeout}})
			if err != nil || o.Error == nil || o.Error.Kind != spi.KindCancelled {
				b.Errorf("a guest did not spin until it was cancelled: %v", err)
			}
		})
	}
	time.Sleep(50 * time.Millisecond) // until both spin
	before := gcPauses()
	var took []float64
	for b.Loop() {
		start := time.Now()
		runtime.GC()
		took = append(took, float64(time.Since(start))/float64(time.Millisecond))
	}
	after := gcPauses()
	cancel()
	running.Wait()
	var pauses []float64 // the upper ends of their buckets
	for i, n := range after.Counts {
		for range n - before.Counts[i] {
			pauses = append(pauses, after.Buckets[i+1]*1e3)
		}
	}
	report(b, pauses, "ms")
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "p50-call-ms")
}

// gcPauses is the distribution of all stops of the world so far, in seconds.
func gcPauses() *metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(sample)
	h := sample[0].Value.Float64Histogram()
	return &metrics.Float64Histogram{Counts: slices.Clone(h.Counts), Buckets: slices.Clone(h.Buckets)}
}

// BenchmarkSmallEval reports the time of a small script with a JSON result, in
// pristine state and with all limits on, as a caller of the sandbox sees it: as it
// is, prepared, and on each engine.
func BenchmarkSmallEval(b *testing.B) {
	const script = "({ a: 1 + 1, b: [1, 2, 3].map(x => x * 2) })"
	for _, engine := range engines() {
		backend := engine.open(b)
		sb, err := sandbox.New(backend, nil)
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, sb.Close()) })
		prepared, err := sb.Prepare(context.Background(), sandbox.PrepareRequest{Script: script})
		require.NoError(b, err)
		for _, way := range []struct {
			name string
			eval func() (*sandbox.Result, error)
		}{
			{"plain", func() (*sandbox.Result, error) {
				return sb.Eval(context.Background(), sandbox.Request{Script: script})
			}},
			{"prepared", func() (*sandbox.Result, error) {
				return prepared.Eval(context.Background(), sandbox.RunRequest{})
			}},
		} {
			b.Run(engine.name+"/"+way.name, func(b *testing.B) {
				var took []float64
				b.ReportAllocs()
				for b.Loop() {
					start := time.Now()
					result, err := way.eval()
					took = append(took, float64(time.Since(start))/float64(time.Microsecond))
					if err != nil || result.Error != nil {
						b.Fatal(err, result)
					}
				}
				report(b, took, "us")
			})
		}
	}
}

// BenchmarkJSONInAndOut reports how much dearer 1 MiB of JSON is as input and
// result than parsed and written by the script itself: the ratio of medians.
func BenchmarkJSONInAndOut(b *testing.B) {
	row := `{"id":12345,"name":"some name here","tags":["a","b"],"nested":{"x":1.5,"y":null}}`
	const rows = 12_600
	input := json.RawMessage("[" + strings.Repeat(row+",", rows-1) + row + "]")
	inside := func(times int) string {
		return fmt.Sprintf("let t = '[' + (%q + ',').repeat(%d - 1) + %q + ']'; for (let i = 0; i < %d; i++) t = JSON.stringify(JSON.parse(t)); t.length", row, rows, row, times)
	}
	limits := sandbox.Limits{OutputBytes: 2 << 20, MemoryBytes: 256 << 20, Timeout: time.Minute}
	for _, engine := range engines() {
		b.Run(engine.name, func(b *testing.B) {
			sb, err := sandbox.New(engine.open(b), nil)
			require.NoError(b, err)
			defer sb.Close()
			timed := func(script string, input json.RawMessage) float64 {
				start := time.Now()
				result, err := sb.Eval(context.Background(), sandbox.Request{Script: script, Input: input, Limits: limits})
				require.NoError(b, err)
				require.Nil(b, result.Error)
				return float64(time.Since(start)) / float64(time.Millisecond)
			}
			var through, once, thrice []float64
			for b.Loop() {
				through = append(through, timed("input", input))
				once, thrice = append(once, timed(inside(1), nil)), append(thrice, timed(inside(3), nil))
			}
			middle := func(s []float64) float64 { slices.Sort(s); return s[len(s)/2] }
			own := (middle(thrice) - middle(once)) / 2
			b.ReportMetric(own, "inside-ms")
			b.ReportMetric(middle(through), "through-ms")
			b.ReportMetric(middle(through)/own, "ratio")
		})
	}
}

// BenchmarkThroughput reports how many small evals a second one caller gets and as
// many callers as there are processors, in turns: the medians and their ratio.
func BenchmarkThroughput(b *testing.B) {
	const span = 500 * time.Millisecond
	processors := runtime.GOMAXPROCS(0)
	for _, engine := range engines() {
		b.Run(engine.name, func(b *testing.B) {
			sb, err := sandbox.New(engine.open(b), nil)
			require.NoError(b, err)
			defer sb.Close()
			rate := func(callers int) float64 {
				var n atomic.Int64
				var all sync.WaitGroup
				start := time.Now()
				for range callers {
					all.Go(func() {
						for time.Since(start) < span {
							result, err := sb.Eval(context.Background(), sandbox.Request{Script: "({ a: 1 + 1, b: [1, 2, 3].map(x => x * 2) })"})
							if err != nil || result.Error != nil {
								b.Error(err, result)
								return
							}
							n.Add(1)
						}
					})
				}
				all.Wait()
				return float64(n.Load()) / time.Since(start).Seconds()
			}
			var one, many, ratios []float64
			for b.Loop() {
				one, many = append(one, rate(1)), append(many, rate(processors))
				ratios = append(ratios, many[len(many)-1]/one[len(one)-1])
			}
			middle := func(s []float64) float64 { slices.Sort(s); return s[len(s)/2] }
			b.ReportMetric(middle(one), "one/s")
			b.ReportMetric(middle(many), "all/s")
			b.ReportMetric(middle(ratios), "ratio")
			b.ReportMetric(slices.Max(ratios), "best-ratio")
		})
	}
}

// engines are those that this machine has.
func engines() []struct {
	name string
	open func(testing.TB) spi.Backend
} {
	return []struct {
		name string
		open func(testing.TB) spi.Backend
	}{
		{"wazero", func(tb testing.TB) spi.Backend { return openWazero(tb, wazero.Options{}) }},
		{"wasmtime", func(tb testing.TB) spi.Backend { return openWasmtime(tb) }},
	}
}

// report gives the distribution of samples, which must not be empty.
func report(b *testing.B, samples []float64, unit string) {
	slices.Sort(samples)
	b.ReportMetric(samples[len(samples)/2], "p50-"+unit)
	b.ReportMetric(samples[len(samples)*99/100], "p99-"+unit)
	b.ReportMetric(samples[len(samples)-1], "max-"+unit)
}
