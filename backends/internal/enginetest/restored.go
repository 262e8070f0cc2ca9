package enginetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/codecache"
	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
	"github.com/loom-sandbox/sandboxd/backends/internal/wasmhost"
	"github.com/loom-sandbox/sandboxd/spi"
)

// wrapped is an engine whose instances are counted, and may be spoilt.
type wrapped struct {
	wasmhost.Engine

	spoil func(wasmhost.Instance) wasmhost.Instance // nil for honest instances
	made  atomic.Int64
}

type wrappedModule struct {
	wasmhost.Module

	engine *wrapped
}

// Compile implements [wasmhost.Engine].
func (w *wrapped) Compile(ctx context.Context, image *quickjs.Image, memory *pristine.Image, code *codecache.Entry) (wasmhost.Module, error) {
	m, err := w.Engine.Compile(ctx, image, memory, code)
	if err != nil {
		return nil, err
	}
	return &wrappedModule{m, w}, nil
}

// Instantiate implements [wasmhost.Module].
func (m *wrappedModule) Instantiate(maxBytes int64) (wasmhost.Instance, error) {
	inst, err := m.Module.Instantiate(maxBytes)
	if err != nil {
		return nil, err
	}
	m.engine.made.Add(1)
	if m.engine.spoil != nil {
		inst = m.engine.spoil(inst)
	}
	return inst, nil
}

// TestRestored demands of an engine that its instances are used again and again,
// after whatever happened to them, and that nobody can tell. It also spoils the
// engine, to see that this would be noticed.
func TestRestored(t *testing.T, engine wasmhost.Engine, d spi.Descriptor) {
	dir := filepath.Join(t.TempDir(), "cache") // compiling takes seconds
	start := func(t *testing.T, w *wrapped, o wasmhost.PoolOptions) *wasmhost.Backend {
		w.Engine = engine
		b, err := wasmhost.Start(t.Context(), &wasmhost.Options{Descriptor: d, CacheDir: dir, Pool: o}, w)
		require.NoError(t, err)
		return b
	}
	// The first isolate of a backend that nobody used is what all are held to.
	fresh := start(t, &wrapped{}, wasmhost.PoolOptions{Idle: -1})
	pristineProbe, err := probe(t.Context(), fresh)
	require.NoError(t, err)
	image := int64(len(fresh.Image().Memory))
	require.NoError(t, fresh.Close())

	t.Run("one isolate after every ending", func(t *testing.T) {
		w := &wrapped{}
		b := start(t, w, wasmhost.PoolOptions{Idle: 2, Check: true})
		defer func() { require.NoError(t, b.Close()) }()
		grown := int64(0)
		for _, e := range endings(image) {
			u, err := e.run(t.Context(), b)
			require.NoError(t, err, e.name)
			require.NoError(t, u.evalErr, e.name)
			require.NoError(t, u.closeErr, "%s: closing", e.name)
			if u.last != nil && u.last.Error != nil {
				require.Equal(t, e.kind, u.last.Error.Kind, "%s: %s", e.name, u.last.Error.Message)
			}
			require.Equal(t, e.kind, kindOf(u.last), e.name)
			if u.last != nil && u.last.Usage.MemoryPeakBytes > image {
				grown++ // its memory cannot shrink
			}
			got, err := probe(t.Context(), b)
			require.NoError(t, err, e.name)
			require.Equal(t, pristineProbe, got, "after %s", e.name)
		}
		assert.Less(t, grown, int64(len(endings(image))/2), "the others are what this is about")
		assert.LessOrEqual(t, w.made.Load(), 1+grown, "an instance is made only for one that has grown")
	})

	t.Run("many at once", func(t *testing.T) {
		w := &wrapped{}
		b := start(t, w, wasmhost.PoolOptions{Idle: 2, Check: true})
		defer func() { require.NoError(t, b.Close()) }()
		const workers, each = 4, 12
		var all sync.WaitGroup
		for seed := range uint64(workers) {
			all.Go(func() {
				random := rand.New(rand.NewPCG(seed, 2))
				for range each {
					table := endings(image)
					e := &table[random.IntN(len(table))]
					u, err := e.run(t.Context(), b)
					if assert.NoError(t, err, e.name) {
						assert.NoError(t, u.evalErr, e.name)
						assert.NoError(t, u.closeErr, e.name)
					}
					got, err := probe(t.Context(), b)
					assert.NoError(t, err)
					assert.Equal(t, pristineProbe, got, "after %s", e.name)
				}
			})
		}
		all.Wait()
		assert.Less(t, w.made.Load(), int64(2*workers*each), "some were used again")
	})

	t.Run("a burst far beyond what is kept", func(t *testing.T) {
		w := &wrapped{}
		b := start(t, w, wasmhost.PoolOptions{Idle: 4, Check: true})
		defer func() { require.NoError(t, b.Close()) }()
		const burst = 200
		isolates := make([]spi.Isolate, burst)
		for i := range isolates {
			var err error
			isolates[i], err = b.Open(t.Context(), config(nil))
			require.NoError(t, err)
		}
		for i, iso := range isolates {
			out, err := iso.Eval(t.Context(), &spi.Request{Source: "input * 2", Language: spi.JavaScript, Input: fmt.Append(nil, i)})
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(2*i), string(out.Value))
		}
		for _, iso := range isolates {
			require.NoError(t, iso.Close())
		}
		require.EqualValues(t, burst, w.made.Load())
		for range 8 { // of those four
			got, err := probe(t.Context(), b)
			require.NoError(t, err)
			require.Equal(t, pristineProbe, got)
		}
		require.EqualValues(t, burst, w.made.Load(), "nothing new is made")
	})

	for name, s := range spoilers() {
		t.Run("noticed: "+name, func(t *testing.T) {
			b := start(t, &wrapped{spoil: s.spoil}, wasmhost.PoolOptions{Idle: 2, Check: true})
			defer b.Close() // what cannot be restored has been reported already
			for _, e := range endings(image) {
				u, err := e.run(t.Context(), b)
				require.NoError(t, err)
				if u.closeErr != nil {
					require.ErrorContains(t, u.closeErr, s.told, e.name)
					return
				}
			}
			t.Error("no Close of any isolate told")
		})
	}
}

// probed is what a script finds in an isolate that should be as if it were the
// first.
type probed struct {
	Outcome spi.Outcome
	Heap    string // before and after the script
}

// probeScript reaches for what an earlier script may have left.
const probeScript = `
	console.log(Object.getOwnPropertyNames(globalThis).join(), typeof leak, Date.now(), performance.now(), Math.random());
	const seen = [];
	for (const c of [Object, Array, Promise, Function, String, Map, Error]) seen.push(Reflect.ownKeys(c.prototype).length);
	await new Promise((r) => setTimeout(r, 10));
	[seen, input, Math.random(), new Error('x').stack, new Array(1000).fill(0).map((x, i) => i).join('').length]`

func probe(ctx context.Context, b spi.Backend) (*probed, error) {
	iso, err := b.Open(ctx, config(nil))
	if err != nil {
		return nil, err
	}
	before, err := iso.(*quickjs.Isolate).HeapSHA256()
	if err != nil {
		return nil, err
	}
	out, err := iso.Eval(ctx, &spi.Request{Source: probeScript, Language: spi.JavaScript, Input: []byte(`{"a":[1]}`)})
	if err != nil {
		return nil, err
	}
	if out.Error != nil {
		return nil, fmt.Errorf("the probe itself failed: %s", out.Error.Message)
	}
	after, err := iso.(*quickjs.Isolate).HeapSHA256()
	if err != nil {
		return nil, err
	}
	out.Usage.Wall = 0
	return &probed{*out, fmt.Sprintf("%x %x", before, after)}, iso.Close()
}
