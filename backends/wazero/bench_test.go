package wazero

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	wz "github.com/tetratelabs/wazero"

	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
	"github.com/loom-sandbox/sandboxd/spi"
)

// cpuBound are the five scripts that the cost of the guards is measured on.
func cpuBound() []struct{ name, script string } {
	return []struct{ name, script string }{
		{"fib", "function fib(n){return n<2?n:fib(n-1)+fib(n-2)}; fib(27)"},
		{"array", "var a=[]; for(let i=0;i<1e6;i++)a.push(i*2); a.reduce((x,y)=>x+y)"},
		{"loop", "var s=0; for(let i=0;i<3e6;i++) s=(s+i*7)%1000003; s"},
		{"json", "var o=[]; for(let i=0;i<30000;i++)o.push({id:i,n:'name'+i,v:[i,i+1]}); JSON.parse(JSON.stringify(o)).length"},
		{"sort", "var o=Array.from({length:100000},(_,i)=>(i*7919)%100003); o.sort((a,b)=>a-b)[5]"},
	}
}

// BenchmarkGuards compares the guarded image with one without guards, script by
// script and in turns, since machines are noisy: look at the ratios.
func BenchmarkGuards(b *testing.B) {
	ctx := context.Background()
	open := func(build func(context.Context, []byte, string, quickjs.Instantiate) (*quickjs.Image, error)) *Backend {
		source, sum := quickjs.DefaultSource()
		image, err := build(ctx, source, sum, bootInstance)
		require.NoError(b, err)
		e, err := newEngine(ctx, image, wz.NewRuntimeConfig(), nil)
		require.NoError(b, err)
		d := Describe()
		d.MinMemoryBytes = image.MemoryBytes
		return &Backend{image: image, engine: e, descriptor: d, isolates: map[*quickjs.Isolate]bool{}}
	}
	guarded, plain := open(quickjs.Build), open(quickjs.BuildWithoutGuardsForMeasuring)
	defer guarded.Close()
	defer plain.Close()
	scripts := cpuBound()
	with, without := make([][]time.Duration, len(scripts)), make([][]time.Duration, len(scripts))
	for b.Loop() {
		for i, s := range scripts {
			with[i] = append(with[i], evalOnce(b, guarded, s.script))
			without[i] = append(without[i], evalOnce(b, plain, s.script))
		}
	}
	product, worst := 1.0, 0.0
	for i, s := range scripts {
		ratio := float64(median(with[i])) / float64(median(without[i]))
		product *= ratio
		worst = max(worst, ratio)
		b.ReportMetric(ratio, s.name+"-ratio")
	}
	b.ReportMetric(math.Pow(product, 1/float64(len(scripts))), "geomean-ratio")
	b.ReportMetric(worst, "worst-ratio")
}

// BenchmarkStart is the time from nothing to a backend that can open isolates.
func BenchmarkStart(b *testing.B) {
	run := func(b *testing.B, dir func() string) {
		for b.Loop() {
			backend, err := New(context.Background(), &Options{CacheDir: dir()})
			require.NoError(b, err)
			evalOnce(b, backend, "1 + 1")
			require.NoError(b, backend.Close())
		}
	}
	b.Run("without cache", func(b *testing.B) { run(b, func() string { return "" }) })
	warm := b.TempDir() + "/cache"
	b.Run("with cache", func(b *testing.B) {
		run(b, func() string { return warm }) // the first of them fills it
	})
}

// evalOnce times one eval in pristine state, without opening it.
func evalOnce(b *testing.B, backend *Backend, script string) time.Duration {
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

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
