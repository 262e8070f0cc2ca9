package wasmhost

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
)

// TestMain finds timers and goroutines that outlive their pool.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Errors that only the fakes have.
var (
	errFakeMake  = errors.New("no instance can be made")
	errFakeClose = errors.New("the instance cannot be closed")
)

// fakeModule makes instances that run nothing.
type fakeModule struct {
	memory *pristine.Image
	adjust func(i *fakeInstance) // nil for honest instances

	mu        sync.Mutex
	made      []*fakeInstance // guarded by mu
	failAfter int             // guarded by mu; no more than this many are made; 0 means no limit
	closed    atomic.Bool
}

// fakeInstance has memory of Go's heap, and globals.
type fakeInstance struct {
	module   *fakeModule
	number   int // counted from 0
	reserved int64
	memory   []byte
	globals  [quickjs.GlobalCount]uint64

	deaf    quickjs.Global // ignores SetGlobal of this; -1 for none
	elastic bool           // Lend refuses whatever it was made for
	closes  func() error   // what Close does besides, or nil

	host      *quickjs.Host
	lent      atomic.Int32 // 1 while somebody has it
	refreshes int
	closed    atomic.Int32
}

func (m *fakeModule) Instantiate(maxBytes int64) (Instance, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failAfter > 0 && len(m.made) >= m.failAfter {
		return nil, errFakeMake
	}
	i := &fakeInstance{module: m, number: len(m.made), reserved: maxBytes, memory: slices.Clone(m.memory.Content()), deaf: -1}
	for g := range i.globals {
		i.globals[g] = uint64(100 + g)
	}
	if m.adjust != nil {
		m.adjust(i)
	}
	m.made = append(m.made, i)
	return i, nil
}

func (m *fakeModule) Close() error {
	m.closed.Store(true)
	return nil
}

func (m *fakeModule) instances() []*fakeInstance {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.made)
}

// open counts the instances that nobody has closed.
func (m *fakeModule) open() int {
	n := 0
	for _, i := range m.instances() {
		if i.closed.Load() == 0 {
			n++
		}
	}
	return n
}

func (i *fakeInstance) Call([]uint64) error            { return nil }
func (i *fakeInstance) Memory() []byte                 { return i.memory }
func (i *fakeInstance) Global(g quickjs.Global) uint64 { return i.globals[g] }
func (i *fakeInstance) Refresh()                       { i.refreshes++ }
func (i *fakeInstance) SetGlobal(g quickjs.Global, v uint64) {
	if g != i.deaf {
		i.globals[g] = v
	}
}

func (i *fakeInstance) Lend(h *quickjs.Host, maxBytes int64) bool {
	if i.elastic || maxBytes > i.reserved {
		return false
	}
	i.host = h
	return true
}

func (i *fakeInstance) Grow(size int64) error {
	i.memory = append(i.memory, make([]byte, size-int64(len(i.memory)))...)
	return nil
}

func (i *fakeInstance) Close() error {
	i.closed.Add(1)
	if i.closes != nil {
		return i.closes()
	}
	return nil
}

// use leaves a guest as an eval may.
func (i *fakeInstance) use() {
	for at := 0; at < len(i.memory); at += 5000 {
		i.memory[at]++
	}
	for g := range i.globals {
		i.globals[g] += 7
	}
}

// fakeImageBytes is the memory of the fakes.
const fakeImageBytes = 128 << 10

func newFakeModule(t testing.TB) *fakeModule {
	t.Helper()
	content := make([]byte, fakeImageBytes)
	for i := range content {
		content[i] = byte(i >> 8)
	}
	memory, err := pristine.New(content, nil)
	require.NoError(t, err)
	return &fakeModule{memory: memory}
}

// newFakePool is closed when the test ends, and then nothing may be open.
func newFakePool(t testing.TB, m *fakeModule, o PoolOptions) *pool {
	t.Helper()
	p, err := newPool(m, m.memory, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, p.close())
		assert.Zero(t, m.open(), "instances that nobody closed")
		for _, i := range m.instances() {
			assert.EqualValues(t, 1, i.closed.Load(), "how often instance %d was closed", i.number)
		}
	})
	return p
}

// takes takes n guests.
func takes(t testing.TB, p *pool, n int, maxBytes int64) []*guest {
	t.Helper()
	guests := make([]*guest, n)
	for i := range guests {
		g, err := p.take(nil, maxBytes)
		require.NoError(t, err)
		fake := fakeOf(g)
		require.EqualValues(t, 1, fake.lent.Add(1), "lent twice")
		require.NoError(t, p.memory.Check(fake.memory), "not pristine when it is lent")
		require.Equal(t, p.globals, fake.globals)
		guests[i] = g
	}
	return guests
}

// gives gives guests back, used.
func gives(t testing.TB, p *pool, guests ...*guest) {
	t.Helper()
	for _, g := range guests {
		fakeOf(g).use()
		require.NoError(t, giveBack(p, g))
	}
}

func giveBack(p *pool, g *guest) error {
	fakeOf(g).lent.Add(-1)
	return p.give(g, quickjs.WearNone)
}

func fakeOf(g *guest) *fakeInstance { return g.Instance.(*fakeInstance) }

func numbers(guests []*guest) []int {
	n := make([]int, 0, len(guests))
	for _, g := range guests {
		n = append(n, fakeOf(g).number)
	}
	return n
}

// idleNumbers are the instances that are kept, the one used last at the end.
func idleNumbers(p *pool) []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return numbers(p.idle)
}

// eventually polls, for as long as the most loaded machine may take.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "%s", what)
	}
}
