package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

// slowly prepares for as long as it may.
func slowly(d time.Duration) func(context.Context, *spi.Limits, string) error {
	return func(ctx context.Context, _ *spi.Limits, _ string) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestTheSnapshotUsedLeastRecentlyIsGivenUpFirst(t *testing.T) {
	t.Parallel()
	b := preparing()
	// Three of 100 bytes and a source of 1 fit, to the byte.
	s := newTest(t, b, &Options{PreparedBytes: 303})
	all := map[string]*Prepared{}
	prepare := func(script string) {
		p, err := s.Prepare(t.Context(), PrepareRequest{Script: script})
		require.NoError(t, err)
		all[script] = p
	}
	run := func(script string) {
		_, err := all[script].Eval(t.Context(), RunRequest{})
		require.NoError(t, err)
	}
	for _, script := range []string{"a", "b", "c"} {
		prepare(script)
	}
	_, _, closed := b.seen()
	assert.Empty(t, closed, "they fit")
	run("a") // b is now the oldest
	prepare("d")
	prepare("c") // which is there, and used thereby
	prepare("e")
	prepared, _, closed := b.seen()
	assert.Equal(t, []string{"a", "b", "c", "d", "e"}, prepared)
	assert.Equal(t, []string{"b", "a"}, closed)
	run("b") // once more, in the place of d
	prepared, opened, closed := b.seen()
	assert.Equal(t, []string{"a", "b", "c", "d", "e", "b"}, prepared)
	assert.Equal(t, []string{"a", "b"}, opened)
	assert.Equal(t, []string{"b", "a", "d"}, closed)
	b.bytes = 302
	prepare("f") // fits alone
	alive, over := b.alive()
	assert.Equal(t, 1, alive)
	assert.False(t, over)
	b.bytes = 303
	prepare("g") // and this one does not, so that all stays as it is
	run("g")
	run("f")
	_, opened, closed = b.seen()
	assert.Equal(t, []string{"a", "b", "f"}, opened)
	assert.Equal(t, "g", closed[len(closed)-1])
}

func TestASnapshotInUseIsClosedWhenItsLastUserIsDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := preparing()
		b.open = func(context.Context) error { time.Sleep(time.Minute); return nil }
		s := newTest(t, b, &Options{PreparedBytes: 150, MaxConcurrent: 5})
		p, err := s.Prepare(t.Context(), PrepareRequest{Script: "a"})
		require.NoError(t, err)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				res, err := p.Eval(t.Context(), RunRequest{})
				assert.NoError(t, err)
				assert.Equal(t, StatusOK, res.Status)
			})
			synctest.Wait()
			time.Sleep(time.Second)
		}
		_, err = s.Prepare(t.Context(), PrepareRequest{Script: "b"})
		require.NoError(t, err)
		_, _, closed := b.seen()
		assert.Empty(t, closed, "two are opening from it")
		time.Sleep(time.Minute - 1500*time.Millisecond)
		synctest.Wait()
		_, _, closed = b.seen()
		assert.Empty(t, closed, "one is opening from it")
		wg.Wait()
		_, opened, closed := b.seen()
		assert.Equal(t, []string{"a"}, closed)
		assert.Equal(t, []string{"a", "a"}, opened)
		require.NoError(t, s.Close())
		alive, over := b.alive()
		assert.Zero(t, alive)
		assert.False(t, over)
	})
}

func TestManyWhoWantAScriptParseItOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := preparing()
		b.prepare = slowly(time.Minute)
		s := newTest(t, b, &Options{MaxConcurrent: 3})
		var wg sync.WaitGroup
		start := time.Now()
		for range 10 {
			wg.Go(func() {
				p, err := s.Prepare(t.Context(), PrepareRequest{Script: "a"})
				assert.NoError(t, err)
				_, err = p.Eval(t.Context(), RunRequest{})
				assert.NoError(t, err)
			})
		}
		wg.Wait()
		assert.Equal(t, time.Minute, time.Since(start))
		prepared, opened, _ := b.seen()
		assert.Len(t, prepared, 1)
		assert.Len(t, opened, 10)
	})
}

func TestOneThatGoesAwayDoesNotSpoilItForTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := preparing()
		b.prepare = slowly(time.Minute)
		s := newTest(t, b, &Options{MaxConcurrent: 9})
		first, cancelFirst := context.WithCancel(t.Context())
		third, cancelThird := context.WithCancel(t.Context())
		errs := make([]error, 4)
		var wg sync.WaitGroup
		for i, ctx := range []context.Context{first, t.Context(), third, t.Context()} {
			wg.Go(func() {
				var p *Prepared
				if p, errs[i] = s.Prepare(ctx, PrepareRequest{Script: "a"}); errs[i] == nil {
					_, errs[i] = p.Eval(ctx, RunRequest{})
				}
			})
			synctest.Wait()
		}
		time.Sleep(time.Second)
		cancelFirst() // the one who prepares
		cancelThird() // and one who waits
		synctest.Wait()
		wg.Wait()
		assert.ErrorIs(t, errs[0], context.Canceled)
		assert.NoError(t, errs[1])
		assert.ErrorIs(t, errs[2], context.Canceled)
		assert.NoError(t, errs[3])
		prepared, opened, _ := b.seen()
		assert.Len(t, prepared, 2, "the next one took over")
		assert.Len(t, opened, 2)
		require.NoError(t, s.Close())
		alive, _ := b.alive()
		assert.Zero(t, alive)
	})
}

func TestABackendThatPanicsWhilePreparingBlocksNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := preparing()
		b.prepare = func(context.Context, *spi.Limits, string) error {
			time.Sleep(time.Second)
			if prepared, _, _ := b.seen(); len(prepared) == 1 {
				panic("fake")
			}
			return nil
		}
		s := newTest(t, b, &Options{MaxConcurrent: 2})
		var wg sync.WaitGroup
		wg.Go(func() {
			assert.PanicsWithValue(t, "fake", func() { _, _ = s.Prepare(t.Context(), PrepareRequest{Script: "a"}) })
		})
		synctest.Wait()
		_, err := s.Prepare(t.Context(), PrepareRequest{Script: "a"})
		require.NoError(t, err)
		wg.Wait()
		require.NoError(t, s.Close())
	})
}

func TestPreparingWithinOtherLimitsIsAnotherMatter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := preparing()
		b.prepare = func(_ context.Context, l *spi.Limits, _ string) error {
			time.Sleep(time.Second)
			if l.Fuel == 5 {
				return spi.ErrNotPrepared
			}
			return nil
		}
		s := newTest(t, b, &Options{MaxConcurrent: 9})
		var wg sync.WaitGroup
		var little *Prepared
		for _, fuel := range []int64{5, 10, 20, 0} {
			wg.Go(func() {
				p, err := s.Prepare(t.Context(), PrepareRequest{Script: "a", Limits: Limits{Fuel: fuel}})
				assert.NoError(t, err)
				if fuel == 5 {
					little = p
				}
			})
		}
		wg.Wait()
		alive, _ := b.alive()
		assert.Equal(t, 1, alive, "of those that were made, one is enough")
		_, err := little.Eval(t.Context(), RunRequest{})
		require.NoError(t, err)
		prepared, opened, _ := b.seen()
		assert.Len(t, prepared, 4)
		assert.Len(t, opened, 1, "another one's is good for all")
		require.NoError(t, s.Close())
		alive, over := b.alive()
		assert.Zero(t, alive)
		assert.False(t, over)
	})
}

func TestPreparingTakesATurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := preparing()
		b.prepare = slowly(time.Minute)
		b.eval = sleep(time.Minute)
		s := newTest(t, b, &Options{MaxConcurrent: 1})
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				_, err := s.Prepare(t.Context(), PrepareRequest{Script: fmt.Sprint(i)})
				assert.NoError(t, err)
				_, err = s.Eval(t.Context(), Request{Script: "1"})
				assert.NoError(t, err)
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Prepare(ctx, PrepareRequest{Script: "x"})
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		wg.Wait()
		assert.Equal(t, 6*time.Minute, time.Since(start))
	})
}

func TestCloseWaitsForThePreparingAndReleasesIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := preparing()
		b.prepare = slowly(time.Minute)
		s := newTest(t, b, &Options{MaxConcurrent: 2})
		var wg sync.WaitGroup
		for range 2 { // one prepares, one waits for it
			wg.Go(func() {
				p, err := s.Prepare(t.Context(), PrepareRequest{Script: "a"})
				assert.NoError(t, err)
				_, err = p.Eval(t.Context(), RunRequest{})
				assert.ErrorIs(t, err, ErrClosed)
			})
		}
		synctest.Wait()
		wg.Go(func() { // has no turn yet
			_, err := s.Prepare(t.Context(), PrepareRequest{Script: "b"})
			assert.ErrorIs(t, err, ErrClosed)
		})
		synctest.Wait()
		start := time.Now()
		require.NoError(t, s.Close())
		assert.Equal(t, time.Minute, time.Since(start))
		alive, over := b.alive()
		assert.Zero(t, alive)
		assert.False(t, over)
		wg.Wait()
	})
}

func TestARunWhoseCallerGoesAwayWhilePreparingDoesNotStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := preparing()
		s := newTest(t, b, &Options{PreparedBytes: 150})
		p, err := s.Prepare(t.Context(), PrepareRequest{Script: "a"})
		require.NoError(t, err)
		_, err = s.Prepare(t.Context(), PrepareRequest{Script: "b"})
		require.NoError(t, err)
		b.prepare = slowly(time.Minute)
		b.openErr = context.DeadlineExceeded // as a backend that looks at its context says
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = p.Eval(ctx, RunRequest{})
		require.Equal(t, context.DeadlineExceeded, err)
		b.openErr = nil
		_, err = p.Eval(t.Context(), RunRequest{})
		require.NoError(t, err)
		_, opened, _ := b.seen()
		assert.Len(t, opened, 1, "that it was given up says nothing about the script")
	})
}

// TestSnapshotsUnderLoad has the race detector look at everything at once.
func TestSnapshotsUnderLoad(t *testing.T) {
	t.Parallel()
	b := preparing()
	b.eval = echo
	s := newTest(t, b, &Options{PreparedBytes: 350, MaxConcurrent: 8, PrepareRepeated: true})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for n := range 200 {
				script := fmt.Sprint((i*n + n) % 7)
				ctx, cancel := context.WithCancel(t.Context())
				if n%5 == 0 {
					cancel()
				}
				if p, err := s.Prepare(ctx, PrepareRequest{Script: script}); err == nil {
					res, err := p.Eval(t.Context(), RunRequest{Input: json.RawMessage(fmt.Sprint(n))})
					assert.NoError(t, err)
					assert.Equal(t, StatusOK, res.Status)
				}
				cancel()
				_, err := s.Eval(t.Context(), Request{Script: script})
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	alive, over := b.alive()
	assert.Equal(t, 3, alive)
	assert.False(t, over)
	require.NoError(t, s.Close())
	alive, over = b.alive()
	assert.Zero(t, alive)
	assert.False(t, over)
}
