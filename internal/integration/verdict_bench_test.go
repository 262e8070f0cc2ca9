package integration

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/wazero"
	"github.com/loom-sandbox/sandboxd/spi"
)

// busyScripts compute, and nothing else.
func busyScripts() []struct{ name, script string } {
	return []struct{ name, script string }{
		{"calls", "function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) } fib(27)"},
		{"array", "const a = []; for (let i = 0; i < 1e6; i++) a.push(i * 2); a.reduce((x, y) => x + y)"},
		{"loop", "let s = 0; for (let i = 0; i < 3e6; i++) s = (s + i * 7) % 1000003; s"},
		{"json", "const o = []; for (let i = 0; i < 30000; i++) o.push({ id: i, n: 'name' + i, v: [i, i + 1] }); JSON.parse(JSON.stringify(o)).length"},
		{"sort", "const a = Array.from({ length: 100000 }, (_, i) => (i * 7919) % 100003); a.sort((x, y) => x - y)[5]"},
	}
}

// BenchmarkEngines reports for each script how often faster wasmtime is than
// wazero, by medians. They run in turns, since machines are noisy: ask for
// -benchtime 10x or more and look at the ratios.
func BenchmarkEngines(b *testing.B) {
	wasmtime := openWasmtime(b)
	wazero := openWazero(b, wazero.Options{})
	scripts := busyScripts()
	slow, fast := make([][]time.Duration, len(scripts)), make([][]time.Duration, len(scripts))
	for b.Loop() {
		for i, s := range scripts {
			slow[i] = append(slow[i], timeOf(b, wazero, s.script))
			fast[i] = append(fast[i], timeOf(b, wasmtime, s.script))
		}
	}
	product := 1.0
	for i, s := range scripts {
		ratio := float64(median(slow[i])) / float64(median(fast[i]))
		product *= ratio
		b.ReportMetric(ratio, s.name+"-ratio")
	}
	b.ReportMetric(math.Pow(product, 1/float64(len(scripts))), "geomean-ratio")
}

// timeOf is how long a script takes in a pristine isolate, without opening it.
func timeOf(b *testing.B, backend spi.Backend, script string) time.Duration {
	b.Helper()
	ctx := context.Background()
	iso, err := backend.Open(ctx, &spi.Config{
		Limits: spi.Limits{Timeout: time.Minute, MemoryBytes: 256 << 20, OutputBytes: 1 << 20}, Now: noon(), Seed: 1,
	})
	require.NoError(b, err)
	defer iso.Close()
	start := time.Now()
	out, err := iso.Eval(ctx, &spi.Request{Source: script, Language: spi.JavaScript, Input: json.RawMessage("null")})
	took := time.Since(start)
	require.NoError(b, err)
	require.Nil(b, out.Error)
	return took
}

// median sorts the durations.
func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
