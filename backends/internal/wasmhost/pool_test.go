package wasmhost

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
)

const usual = 16 << 20 // a cap below what every instance is made for

func TestPoolOptionsMeanWhatTheySay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options           PoolOptions
		keep, warm, begin int // begin: kept from the start
		timeout           time.Duration
	}{
		"zero":                {PoolOptions{}, DefaultIdle(), 0, 1, DefaultIdleTimeout},
		"few":                 {PoolOptions{Idle: 2}, 2, 0, 1, DefaultIdleTimeout},
		"none":                {PoolOptions{Idle: -1}, 0, 0, 0, DefaultIdleTimeout},
		"none, though warm":   {PoolOptions{Idle: -5, Warm: 3}, 0, 0, 0, DefaultIdleTimeout},
		"warm":                {PoolOptions{Idle: 5, Warm: 3}, 5, 3, 3, DefaultIdleTimeout},
		"warm, of default":    {PoolOptions{Warm: 2}, DefaultIdle(), 2, 2, DefaultIdleTimeout},
		"more warm than kept": {PoolOptions{Idle: 2, Warm: 9}, 2, 2, 2, DefaultIdleTimeout},
		"less than warm":      {PoolOptions{Idle: 2, Warm: -1}, 2, 0, 1, DefaultIdleTimeout},
		"a timeout":           {PoolOptions{IdleTimeout: time.Hour}, DefaultIdle(), 0, 1, time.Hour},
		"a timeout below 0":   {PoolOptions{IdleTimeout: -1}, DefaultIdle(), 0, 1, DefaultIdleTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newFakeModule(t)
			p := newFakePool(t, m, c.options)
			assert.Equal(t, c.keep, p.keep)
			assert.Equal(t, c.warm, p.warm)
			assert.Equal(t, c.timeout, p.timeout)
			assert.Len(t, idleNumbers(p), c.begin)
			assert.Len(t, m.instances(), max(c.warm, 1), "made at the start")
		})
	}
	assert.GreaterOrEqual(t, DefaultIdle(), 16)
}

func TestInstancesAreMadeWhenTheyAreNeededAndKeptUpToIdle(t *testing.T) {
	t.Parallel()
	m := newFakeModule(t)
	p := newFakePool(t, m, PoolOptions{Idle: 3})
	first := takes(t, p, 1, usual)
	assert.Equal(t, []int{0}, numbers(first), "the one that the pool learnt from")
	gives(t, p, first...)
	again := takes(t, p, 1, usual)
	assert.Equal(t, []int{0}, numbers(again), "no second one while one is enough")
	more := takes(t, p, 4, usual)
	assert.Equal(t, []int{1, 2, 3, 4}, numbers(more))
	gives(t, p, again...)
	gives(t, p, more...)
	assert.Equal(t, []int{0, 1, 2}, idleNumbers(p), "and the others are closed")
	assert.Equal(t, 3, m.open())
	assert.Equal(t, []int{2, 1, 0, 5}, numbers(func() []*guest {
		g := takes(t, p, 4, usual)
		t.Cleanup(func() { gives(t, p, g...) })
		return g
	}()), "the one used last is the first, a new one the last")
}

func TestABurstFarBeyondIdleIsServed(t *testing.T) {
	t.Parallel()
	m := newFakeModule(t)
	p := newFakePool(t, m, PoolOptions{Idle: 4})
	guests := takes(t, p, 200, usual)
	assert.Equal(t, 200, m.open())
	gives(t, p, guests...)
	assert.Equal(t, 4, m.open())
}

func TestAnInstanceIsLentOnlyForWhatItWasMadeFor(t *testing.T) {
	t.Parallel()
	m := newFakeModule(t)
	p := newFakePool(t, m, PoolOptions{Idle: 4})
	const large = 2 * minReserveBytes
	big := takes(t, p, 1, large)
	small := takes(t, p, 1, usual)
	gives(t, p, big...)
	gives(t, p, small...)
	require.Equal(t, []int{1, 0}, idleNumbers(p))
	assert.EqualValues(t, minReserveBytes, fakeOf(small[0]).reserved, "most scripts ask for less than that")
	assert.EqualValues(t, large, fakeOf(big[0]).reserved)
	again := takes(t, p, 1, large)
	assert.Equal(t, []int{1}, numbers(again), "from below the one that is too small")
	larger := takes(t, p, 1, large+1)
	assert.Equal(t, []int{2}, numbers(larger), "nobody who is idle will do")
	gives(t, p, again[0], larger[0])
}

func TestANewInstanceThatWillNotBeLentIsClosed(t *testing.T) {
	t.Parallel()
	m := newFakeModule(t)
	m.adjust = func(i *fakeInstance) { i.elastic = i.number > 0 }
	p := newFakePool(t, m, PoolOptions{Idle: 4})
	first := takes(t, p, 1, usual)
	_, err := p.take(nil, usual)
	require.ErrorContains(t, err, "16777216 bytes")
	assert.Equal(t, 1, m.open())
	gives(t, p, first...)
}

func TestAnInstanceThatHasGrownIsClosedAndNoError(t *testing.T) {
	t.Parallel()
	m := newFakeModule(t)
	p := newFakePool(t, m, PoolOptions{Idle: 4, Check: true})
	g := takes(t, p, 1, usual)[0]
	require.NoError(t, g.Grow(fakeImageBytes+64<<10))
	gives(t, p, g)
	assert.Empty(t, idleNumbers(p))
	assert.Zero(t, m.open())
}

func TestAWornInstanceIsRefreshedAfterItIsRestored(t *testing.T) {
	t.Parallel()
	p := newFakePool(t, newFakeModule(t), PoolOptions{Idle: 4})
	g := takes(t, p, 1, usual)[0]
	for n, wear := range []quickjs.Wear{quickjs.WearNone, quickjs.WearMuch, quickjs.WearNone, quickjs.WearMuch} {
		require.NoError(t, p.give(g, wear))
		assert.Equal(t, (n+1)/2, fakeOf(g).refreshes)
		var err error
		g, err = p.take(nil, usual)
		require.NoError(t, err)
	}
	require.NoError(t, p.give(g, quickjs.WearNone))
}

func TestASomewhatWornInstanceIsRefreshedOnceItIdles(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]PoolOptions{
		"of many":  {Idle: 4, IdleTimeout: time.Minute},
		"the warm": {Idle: 4, Warm: 1, IdleTimeout: 20 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newFakePool(t, newFakeModule(t), o)
			g := takes(t, p, 1, usual)[0]
			require.NoError(t, p.give(g, quickjs.WearSome))
			require.Eventually(t, func() bool {
				p.mu.Lock()
				defer p.mu.Unlock()
				return fakeOf(g).refreshes == 1 && len(p.idle) == 1
			}, 10*time.Second, time.Millisecond)
		})
	}
}

// TestCheckFindsWhatWasNotRestored has instances that do not do what an engine
// must, and which nothing else would tell.
func TestCheckFindsWhatWasNotRestored(t *testing.T) {
	t.Parallel()
	defects := map[string]struct {
		adjust func(i *fakeInstance)
		spoil  func(i *fakeInstance)
		want   string
	}{
		"memory that moved": {
			spoil: func(i *fakeInstance) { i.memory = append([]byte(nil), i.memory...); i.memory[99_000]++ },
			want:  pristine.ErrDiffers.Error(),
		},
	}
	for g, name := range quickjs.Globals() {
		defects["global "+name] = struct {
			adjust func(i *fakeInstance)
			spoil  func(i *fakeInstance)
			want   string
		}{
			adjust: func(i *fakeInstance) { i.deaf = quickjs.Global(g) },
			spoil:  func(i *fakeInstance) { i.globals[g]++ },
			want:   "global " + name + " was not restored",
		}
	}
	for name, d := range defects {
		for _, check := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m := newFakeModule(t)
				m.adjust = d.adjust
				p := newFakePool(t, m, PoolOptions{Idle: 4, Check: check})
				g, err := p.take(nil, usual)
				require.NoError(t, err)
				require.NoError(t, p.give(g, quickjs.WearNone), "nothing was spoilt yet")
				g, err = p.take(nil, usual)
				require.NoError(t, err)
				d.spoil(fakeOf(g))
				err = p.give(g, quickjs.WearNone)
				if !check {
					assert.NoError(t, err, "nobody looked")
					return
				}
				require.ErrorContains(t, err, d.want)
				assert.Empty(t, idleNumbers(p), "it is never used again")
				assert.Zero(t, m.open())
			})
		}
	}
}

func TestAnInstanceThatCannotBeRestoredIsClosedAndReported(t *testing.T) {
	t.Parallel()
	m := newFakeModule(t)
	m.adjust = func(i *fakeInstance) {
		if i.number == 1 { // shorter than its image when it is made, which no engine's is
			i.memory = i.memory[:64<<10]
			i.closes = func() error { return errFakeClose }
		}
	}
	p := newFakePool(t, m, PoolOptions{Idle: 4})
	first := takes(t, p, 1, usual)
	bad, err := p.take(nil, usual)
	require.NoError(t, err)
	fakeOf(bad).memory = fakeOf(bad).memory[:fakeImageBytes]
	err = p.give(bad, quickjs.WearNone)
	require.ErrorIs(t, err, pristine.ErrLength)
	require.ErrorIs(t, err, errFakeClose, "both are told")
	gives(t, p, first...)
	assert.Equal(t, []int{0}, idleNumbers(p))
}

func TestWhereNoInstanceCanBeMadeAPoolSaysSo(t *testing.T) {
	t.Parallel()
	t.Run("at the start", func(t *testing.T) {
		t.Parallel()
		m := newFakeModule(t)
		m.failAfter = 2
		_, err := newPool(m, m.memory, PoolOptions{Idle: 4, Warm: 3})
		require.ErrorIs(t, err, errFakeMake)
		assert.Len(t, m.instances(), 2)
		assert.Zero(t, m.open(), "those that were made are closed")
		_, err = m.memory.Reserve(fakeImageBytes)
		assert.ErrorIs(t, err, pristine.ErrClosed, "and so is the memory, which the pool took over")
	})
	t.Run("later", func(t *testing.T) {
		t.Parallel()
		m := newFakeModule(t)
		m.failAfter = 1
		p := newFakePool(t, m, PoolOptions{Idle: 4})
		g := takes(t, p, 1, usual)
		_, err := p.take(nil, usual)
		require.ErrorIs(t, err, errFakeMake)
		gives(t, p, g...)
		gives(t, p, takes(t, p, 1, usual)...)
	})
}

func TestManyGoroutinesNeverShareAnInstance(t *testing.T) {
	t.Parallel()
	m := newFakeModule(t)
	p := newFakePool(t, m, PoolOptions{Idle: 3, Warm: 1, IdleTimeout: time.Millisecond, Check: true})
	var all sync.WaitGroup
	for seed := range uint64(8) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, 1))
			for range 60 {
				g, err := p.take(nil, int64(1+random.IntN(2*minReserveBytes)))
				if !assert.NoError(t, err) {
					return
				}
				i := fakeOf(g)
				assert.EqualValues(t, 1, i.lent.Add(1), "lent twice")
				assert.NoError(t, p.memory.Check(i.memory))
				i.use()
				if random.IntN(10) == 0 {
					assert.NoError(t, g.Grow(fakeImageBytes+64<<10))
				}
				assert.NoError(t, giveBack(p, g))
				if random.IntN(20) == 0 {
					time.Sleep(2 * time.Millisecond) // so that some idle for too long
				}
			}
		})
	}
	all.Wait()
	assert.LessOrEqual(t, m.open(), 3)
}
