package conformance

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

// fakeBackend is a backend that does what its functions say; the zero value
// opens isolates that give null.
type fakeBackend struct {
	describe func() spi.Descriptor
	open     func() error
	eval     func(context.Context, *spi.Request) (*spi.Outcome, error)
	close    func() error
	closed   atomic.Int32

	mu       sync.Mutex
	isolates []*fakeIsolate // guarded by mu
}

type fakeIsolate struct {
	backend *fakeBackend
	closed  int
}

func fakeDescriptor() spi.Descriptor {
	return spi.Descriptor{
		Name: "fake", Summary: "does what a test says", Isolation: spi.IsolationNone, Languages: []spi.Language{spi.JavaScript},
		Enforces: []spi.Enforcement{{Limit: spi.LimitTimeout}, {Limit: spi.LimitMemory}, {Limit: spi.LimitOutput}, {Limit: spi.LimitLogs}},
		Engine:   "fake 1.0", MaxMemoryBytes: 1 << 30, MinMemoryBytes: 1 << 20,
	}
}

func (b *fakeBackend) Describe() spi.Descriptor {
	if b.describe != nil {
		return b.describe()
	}
	return fakeDescriptor()
}

func (b *fakeBackend) Open(context.Context, *spi.Config) (spi.Isolate, error) {
	if b.open != nil {
		if err := b.open(); err != nil {
			return nil, err
		}
	}
	iso := &fakeIsolate{backend: b}
	b.mu.Lock()
	b.isolates = append(b.isolates, iso)
	b.mu.Unlock()
	return iso, nil
}

func (b *fakeBackend) Close() error {
	b.closed.Add(1)
	if b.close != nil {
		return b.close()
	}
	return nil
}

func (i *fakeIsolate) Eval(ctx context.Context, req *spi.Request) (*spi.Outcome, error) {
	if i.backend.eval != nil {
		return i.backend.eval(ctx, req)
	}
	return valueOutcome("null", spi.TypeNull), nil
}

func (i *fakeIsolate) Close() error {
	i.closed++
	return nil
}

func valueOutcome(value string, typ spi.ValueType) *spi.Outcome {
	return &spi.Outcome{
		Value: json.RawMessage(value), ValueType: typ,
		Usage: spi.Usage{Wall: time.Millisecond, MemoryPeakBytes: 1 << 20, OutputBytes: int64(len(value))},
	}
}

func errorOutcome(e spi.ScriptError) *spi.Outcome {
	return &spi.Outcome{Error: &e, Usage: spi.Usage{Wall: time.Millisecond, MemoryPeakBytes: 1 << 20}}
}

func logging(out *spi.Outcome, lines ...spi.LogLine) *spi.Outcome {
	for _, l := range lines {
		out.Logs = append(out.Logs, l)
		out.Usage.LogBytes += int64(len(l.Text)) + 1
	}
	return out
}

// factory makes backends and remembers them.
type factory struct {
	make func() *fakeBackend
	made []*fakeBackend
}

func (f *factory) new(context.Context) (spi.Backend, error) {
	b := &fakeBackend{}
	if f.make != nil {
		b = f.make()
	}
	f.made = append(f.made, b)
	return b, nil
}

// newRunner is a runner on fake backends.
func newRunner(t *testing.T, f *factory, known map[string]string) *Runner {
	t.Helper()
	r, err := NewRunner(t.Context(), &Harness{New: f.new})
	require.NoError(t, err)
	r.harness.Known = known // of checks that a test makes up
	t.Cleanup(r.Close)
	return r
}
