package wasmhost

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatIdlesForTooLongIsClosedDownToWarm(t *testing.T) {
	t.Parallel()
	for _, warm := range []int{0, 1, 3} {
		m := newFakeModule(t)
		p := newFakePool(t, m, PoolOptions{Idle: 6, Warm: warm, IdleTimeout: 20 * time.Millisecond})
		for range 2 { // the second time, a timer that was done starts again
			guests := takes(t, p, 6, usual)
			gives(t, p, guests...)
			eventually(t, "instances that nobody uses stay", func() bool { return m.open() == warm })
			kept := idleNumbers(p)
			assert.Len(t, kept, warm)
			if warm > 0 {
				assert.Equal(t, numbers(guests)[6-warm:], kept, "those that were used last are left")
			}
			eventually(t, "the timer runs on though nothing is left for it", func() bool {
				p.mu.Lock()
				defer p.mu.Unlock()
				return p.timer == nil
			})
		}
	}
}

func TestWhatIsWarmStaysHoweverLongItIdles(t *testing.T) {
	t.Parallel()
	m := newFakeModule(t)
	p := newFakePool(t, m, PoolOptions{Idle: 4, Warm: 2, IdleTimeout: time.Millisecond})
	before := idleNumbers(p)
	gives(t, p, takes(t, p, 4, usual)...)
	eventually(t, "instances that nobody uses stay", func() bool { return m.open() == 2 })
	time.Sleep(10 * time.Millisecond) // longer than any timeout here
	assert.Equal(t, 2, m.open())
	assert.Len(t, before, 2)
}

// TestAnInstanceThatIsUsedNowAndThenDoesNotAge: each instance has a time of its own.
func TestAnInstanceThatIsUsedNowAndThenDoesNotAge(t *testing.T) {
	t.Parallel()
	m := newFakeModule(t)
	const timeout = 400 * time.Millisecond
	p := newFakePool(t, m, PoolOptions{Idle: 4, IdleTimeout: timeout})
	gives(t, p, takes(t, p, 3, usual)...) // the third is on top from now on
	used := 0
	start := time.Now()
	eventually(t, "those that are not used stay", func() bool {
		if m.open() == 1 {
			return true
		}
		g := takes(t, p, 1, usual)
		if fakeOf(g[0]).number == 2 {
			used++
		}
		gives(t, p, g...)
		return false
	})
	assert.Positive(t, used)
	assert.GreaterOrEqual(t, time.Since(start), timeout/2, "closed long before its time")
}

func TestClosingAPoolClosesWhatComesBackLater(t *testing.T) {
	t.Parallel()
	m := newFakeModule(t)
	p, err := newPool(m, m.memory, PoolOptions{Idle: 4, Warm: 2})
	require.NoError(t, err)
	lent := takes(t, p, 3, usual)
	idle := takes(t, p, 1, usual)
	gives(t, p, idle...)
	require.NoError(t, p.close())
	assert.Equal(t, 3, m.open(), "those that are lent")
	gives(t, p, lent...)
	assert.Zero(t, m.open())
	assert.Empty(t, idleNumbers(p))
	require.NoError(t, p.close(), "again")
}

func TestClosingAPoolTellsWhatCouldNotBeClosed(t *testing.T) {
	t.Parallel()
	m := newFakeModule(t)
	m.adjust = func(i *fakeInstance) {
		if i.number == 1 {
			i.closes = func() error { return errFakeClose }
		}
	}
	p, err := newPool(m, m.memory, PoolOptions{Idle: 4, Warm: 3})
	require.NoError(t, err)
	require.ErrorIs(t, p.close(), errFakeClose)
	assert.Zero(t, m.open(), "the others are closed all the same")
}

// TestClosingAPoolWaitsForWhatItsTimerCloses: afterwards the module goes away,
// and an instance that is being closed then would use what is gone.
func TestClosingAPoolWaitsForWhatItsTimerCloses(t *testing.T) {
	t.Parallel()
	m := newFakeModule(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	var once sync.Once
	m.adjust = func(i *fakeInstance) {
		i.closes = func() error {
			once.Do(func() { close(entered) })
			<-leave
			return nil
		}
	}
	p, err := newPool(m, m.memory, PoolOptions{Idle: 4, IdleTimeout: time.Millisecond})
	require.NoError(t, err)
	<-entered // by the timer
	closed := make(chan error)
	go func() { closed <- p.close() }()
	select {
	case <-closed:
		t.Error("closed while an instance is")
		close(leave)
		return
	case <-time.After(50 * time.Millisecond):
	}
	close(leave)
	require.NoError(t, <-closed)
	assert.Zero(t, m.open())
}

func TestGivingBackWhileThePoolIsClosedLeavesNothingOpen(t *testing.T) {
	t.Parallel()
	for range 50 {
		m := newFakeModule(t)
		p, err := newPool(m, m.memory, PoolOptions{Idle: 8, IdleTimeout: time.Microsecond})
		require.NoError(t, err)
		guests := takes(t, p, 8, usual)
		var all sync.WaitGroup
		for _, g := range guests {
			all.Go(func() { assert.NoError(t, giveBack(p, g)) })
		}
		all.Go(func() { assert.NoError(t, p.close()) })
		all.Wait()
		assert.Zero(t, m.open())
	}
}
