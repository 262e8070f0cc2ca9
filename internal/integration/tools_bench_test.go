package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/tools"
)

// callingSandbox is a sandbox on an engine, and a set with one tool that does
// nothing.
func callingSandbox(tb testing.TB, engine string, opts *sandbox.Options) (*sandbox.Sandbox, *tools.Set) {
	tb.Helper()
	sb, err := sandbox.New(pooled{}.open(tb, engine), opts)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, sb.Close()) })
	set, err := tools.NewSet(tools.Tool{
		Name: "crm.lookup", Input: json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`),
		Handler: func(_ context.Context, call *tools.Call) (any, error) {
			return json.RawMessage(`{"name":"Ada","open":3}`), nil
		},
	})
	require.NoError(tb, err)
	return sb, set
}

// BenchmarkToolCall reports what one call costs beside its handler, which does
// nothing: one after the other, and 256 of which 32 may run at once.
func BenchmarkToolCall(b *testing.B) {
	const calls = 200
	for _, engine := range engines() {
		for name, script := range map[string]string{
			"one after another": fmt.Sprintf("for (let i = 0; i < %d; i++) await tools.crm.lookup({ id: i })", calls),
			"none":              fmt.Sprintf("for (let i = 0; i < %d; i++) await null", calls),
			"256 at once":       "await Promise.all(Array.from({ length: 256 }, (_, id) => tools.crm.lookup({ id })))",
		} {
			b.Run(engine.name+"/"+name, func(b *testing.B) {
				sb, set := callingSandbox(b, engine.name, nil)
				var samples []float64
				for b.Loop() {
					started := time.Now()
					res, err := sb.Eval(b.Context(), sandbox.Request{Script: script, Tools: set})
					took := time.Since(started)
					require.NoError(b, err)
					require.Equal(b, sandbox.StatusOK, res.Status, "%+v", res.Error)
					n := float64(calls)
					if strings.HasPrefix(name, "256") {
						n = 256
					}
					samples = append(samples, float64(took.Nanoseconds())/1000/n)
				}
				report(b, samples, "µs/call")
			})
		}
	}
}

// BenchmarkSuspendAndResume reports what putting a small script away and taking
// it up again costs, sealing included, and the size of its continuation.
func BenchmarkSuspendAndResume(b *testing.B) {
	remote, err := tools.NewSet(tools.Remote("approve", "asks somebody", json.RawMessage(`{"type":"object"}`)))
	require.NoError(b, err)
	const script = "const order = { id: 7, lines: [1, 2, 3].map((n) => ({ n, price: n * 10 })) }; const ok = await tools.approve({ order }); ({ ok, total: order.lines.reduce((s, l) => s + l.price, 0) })"
	for _, engine := range engines() {
		b.Run(engine.name, func(b *testing.B) {
			sb, _ := callingSandbox(b, engine.name, nil)
			var suspending, resuming []float64
			size := 0
			for b.Loop() {
				started := time.Now()
				res, err := sb.Eval(b.Context(), sandbox.Request{Script: script, Tools: remote})
				suspending = append(suspending, float64(time.Since(started).Microseconds())/1000)
				require.NoError(b, err)
				require.Equal(b, sandbox.StatusSuspended, res.Status, "%+v", res.Error)
				size = len(res.Continuation)
				started = time.Now()
				res, err = sb.Resume(b.Context(), sandbox.ResumeRequest{
					Continuation: res.Continuation, Replies: []sandbox.Reply{{ID: res.Pending[0].ID, Value: json.RawMessage("true")}},
				})
				resuming = append(resuming, float64(time.Since(started).Microseconds())/1000)
				require.NoError(b, err)
				require.Equal(b, sandbox.StatusOK, res.Status, "%+v", res.Error)
			}
			b.ReportMetric(float64(size), "bytes")
			report(b, suspending, "ms/eval-and-suspend")
			report(b, resuming, "ms/resume-and-end")
		})
	}
}

// BenchmarkIdleSessions reports what a thousand sessions hold that nobody uses, and
// what an eval of one costs.
func BenchmarkIdleSessions(b *testing.B) {
	const count = 1000
	for _, engine := range engines() {
		b.Run(engine.name, func(b *testing.B) {
			sb, _ := callingSandbox(b, engine.name, nil)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			sessions := make([]*sandbox.Session, count)
			for i := range sessions {
				var err error
				sessions[i], err = sb.NewSession(b.Context(), sandbox.SessionOptions{})
				require.NoError(b, err)
				res, err := sessions[i].Eval(b.Context(), sandbox.Request{Script: fmt.Sprintf("const rows = Array.from({ length: 20 }, (_, n) => ({ n, name: 'row ' + n })); let at = %d; rows.length", i)})
				require.NoError(b, err)
				require.Nil(b, res.Error)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			var samples []float64
			for i := 0; b.Loop(); i++ {
				started := time.Now()
				res, err := sessions[i%count].Eval(b.Context(), sandbox.Request{Script: "at += rows.length"})
				samples = append(samples, float64(time.Since(started).Microseconds())/1000)
				require.NoError(b, err)
				require.Nil(b, res.Error)
			}
			for _, s := range sessions {
				require.NoError(b, s.Close())
			}
			report(b, samples, "ms/eval")
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/count, "bytes/session")
		})
	}
}

// BenchmarkHostCall reports what one call costs an engine, answered at once by
// who drives it.
func BenchmarkHostCall(b *testing.B) {
	const calls = 200
	source := fmt.Sprintf("for (let i = 0; i < %d; i++) await tools.echo({ id: i })", calls)
	for _, engine := range engines() {
		b.Run(engine.name, func(b *testing.B) {
			backend := engine.open(b)
			cfg := waitingConfig()
			cfg.Limits.HostCalls = calls
			var samples []float64
			for b.Loop() {
				iso, err := backend.Open(b.Context(), cfg)
				require.NoError(b, err)
				started := time.Now()
				out, err := iso.Eval(b.Context(), &spi.Request{Source: source, Language: spi.JavaScript, Input: json.RawMessage("null"), Functions: []string{"tools.echo"}})
				for err == nil && out.Waits() {
					out, err = iso.(spi.Caller).Continue(b.Context(), []spi.Reply{{ID: out.Pending[0].ID, Value: json.RawMessage(`{"name":"Ada","open":3}`)}})
				}
				samples = append(samples, float64(time.Since(started).Nanoseconds())/1000/calls)
				require.NoError(b, err)
				require.Nil(b, out.Error)
				require.NoError(b, iso.Close())
			}
			report(b, samples, "µs/call")
		})
	}
}
