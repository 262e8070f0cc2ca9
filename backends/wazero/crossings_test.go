package wazero

import (
	"context"
	"sync/atomic"
	"testing"

	wz "github.com/tetratelabs/wazero"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/codecache"
	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
	"github.com/loom-sandbox/sandboxd/backends/internal/wasmhost"
	"github.com/loom-sandbox/sandboxd/spi"
)

// counting is this package's engine, whose instances count the calls into them.
type counting struct {
	engine
	calls *atomic.Int64
}

func (c counting) Compile(ctx context.Context, image *quickjs.Image, memory *pristine.Image, code *codecache.Entry) (wasmhost.Module, error) {
	m, err := c.engine.Compile(ctx, image, memory, code)
	return countingModule{m, c.calls}, err
}

type countingModule struct {
	wasmhost.Module
	calls *atomic.Int64
}

func (m countingModule) Instantiate(maxBytes int64) (wasmhost.Instance, error) {
	i, err := m.Module.Instantiate(maxBytes)
	return countingInstance{i, m.calls}, err
}

type countingInstance struct {
	wasmhost.Instance
	calls *atomic.Int64
}

func (i countingInstance) Call(stack []uint64) error {
	i.calls.Add(1)
	return i.Instance.Call(stack)
}

func TestAnEvalCrossesIntoTheGuestTwiceAndAPreparedOneOnce(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	b, err := wasmhost.Assemble(t.Context(), counting{engine{wz.NewRuntimeConfigInterpreter()}, &calls}, shared.host.Image(), nil, Describe(), wasmhost.PoolOptions{})
	require.NoError(t, err)
	defer b.Close()
	for _, c := range []struct {
		name, source string
		plain        int64
	}{
		{"value", "1 + 1", 2},
		{"object", "({ a: [1, 2] })", 2},
		{"input", "input.length", 2},
		{"await", "await Promise.resolve({ a: 1 })", 2},
		{"timers", "for (let i = 0; i < 3; i++) await new Promise(done => setTimeout(done, 10)); 'late'", 2},
		{"logs", "console.log('a'); console.log('b'); 1", 2},
		// Three texts are parsed, one complaint is read and one function freed.
		{"top-level return", "return [1]", 8},
	} {
		req := script(c.source)
		req.Input = []byte("[1,2,3]")
		count := func(open func(context.Context, *spi.Config) (spi.Isolate, error)) int64 {
			iso, err := open(t.Context(), testConfig())
			require.NoError(t, err)
			before := calls.Load()
			out, err := iso.Eval(t.Context(), req)
			require.NoError(t, err)
			require.Nil(t, out.Error, c.name)
			n := calls.Load() - before
			require.NoError(t, iso.Close())
			return n
		}
		assert.Equal(t, c.plain, count(b.Open), c.name)
		limits := testConfig().Limits
		prepared, err := b.Prepare(t.Context(), &limits, c.source, spi.JavaScript)
		require.NoError(t, err)
		assert.EqualValues(t, 1, count(prepared.Open), c.name)
	}
}
