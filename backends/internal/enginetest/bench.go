package enginetest

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
	"github.com/loom-sandbox/sandboxd/backends/internal/wasmhost"
	"github.com/loom-sandbox/sandboxd/spi"
)

// CPUBound are the five scripts that the cost of the guards is measured on.
func CPUBound() []struct{ Name, Script string } {
	return []struct{ Name, Script string }{
		{"fib", "function fib(n){return n<2?n:fib(n-1)+fib(n-2)}; fib(27)"},
		{"array", "var a=[]; for(let i=0;i<1e6;i++)a.push(i*2); a.reduce((x,y)=>x+y)"},
		{"loop", "var s=0; for(let i=0;i<3e6;i++) s=(s+i*7)%1000003; s"},
		{"json", "var o=[]; for(let i=0;i<30000;i++)o.push({id:i,n:'name'+i,v:[i,i+1]}); JSON.parse(JSON.stringify(o)).length"},
		{"sort", "var o=Array.from({length:100000},(_,i)=>(i*7919)%100003); o.sort((a,b)=>a-b)[5]"},
	}
}

// Builder makes an image of a stock module; see [quickjs.Build].
type Builder func(ctx context.Context, source []byte, wantSHA256 string, boot quickjs.Instantiate) (*quickjs.Image, error)

// BenchmarkGuards compares the guarded image with one that plain makes without
// guards, script by script and in turns, since machines are noisy: look at the
// ratios.
func BenchmarkGuards(b *testing.B, engine wasmhost.Engine, d spi.Descriptor, plain Builder) {
	ctx := context.Background()
	open := func(build Builder) *wasmhost.Backend {
		source, sum := quickjs.DefaultSource()
		image, err := build(ctx, source, sum, engine.Boot)
		require.NoError(b, err)
		backend, err := wasmhost.Assemble(ctx, engine, image, nil, d, wasmhost.PoolOptions{})
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, backend.Close()) })
		return backend
	}
	guarded, unguarded := open(quickjs.Build), open(plain)
	scripts := CPUBound()
	with, without := make([][]time.Duration, len(scripts)), make([][]time.Duration, len(scripts))
	for b.Loop() {
		for i, s := range scripts {
			with[i] = append(with[i], EvalOnce(b, guarded, s.Script))
			without[i] = append(without[i], EvalOnce(b, unguarded, s.Script))
		}
	}
	product, worst := 1.0, 0.0
	for i, s := range scripts {
		ratio := float64(Median(with[i])) / float64(Median(without[i]))
		product *= ratio
		worst = max(worst, ratio)
		b.ReportMetric(ratio, s.Name+"-ratio")
	}
	b.ReportMetric(math.Pow(product, 1/float64(len(scripts))), "geomean-ratio")
	b.ReportMetric(worst, "worst-ratio")
}

// BenchmarkStart is the time from nothing to the result of a first script, with
// and without a cache directory.
func BenchmarkStart(b *testing.B, start func(dir string) (spi.Backend, error)) {
	run := func(b *testing.B, dir string) {
		for b.Loop() {
			backend, err := start(dir)
			require.NoError(b, err)
			EvalOnce(b, backend, "1 + 1")
			require.NoError(b, backend.Close())
		}
	}
	b.Run("without cache", func(b *testing.B) { run(b, "") })
	warm := b.TempDir() + "/cache"
	b.Run("with cache", func(b *testing.B) { run(b, warm) }) // the first of them fills it
}

// EvalOnce times one eval in pristine state, without opening it.
func EvalOnce(b *testing.B, backend spi.Backend, script string) time.Duration {
	b.Helper()
	iso, err := backend.Open(context.Background(), &spi.Config{
		Limits: spi.Limits{Timeout: time.Minute, MemoryBytes: 256 << 20, OutputBytes: 1 << 20, LogBytes: 1 << 10},
		Now:    time.Unix(1_700_000_000, 0), Seed: 1,
	})
	require.NoError(b, err)
	defer iso.Close()
	start := time.Now()
	out, err := iso.Eval(context.Background(), &spi.Request{Source: script, Language: spi.JavaScript, Input: []byte("null")})
	took := time.Since(start)
	require.NoError(b, err)
	require.Nil(b, out.Error)
	return took
}

// Median sorts the durations.
func Median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
