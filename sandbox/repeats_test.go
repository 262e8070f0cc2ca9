package sandbox

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

func TestARepeatedScriptIsPreparedAtTheSecondTime(t *testing.T) {
	t.Parallel()
	for _, repeated := range []bool{false, true} {
		b := preparing()
		s := newTest(t, b, &Options{PrepareRepeated: repeated})
		eval := func(script string) {
			_, err := s.Eval(t.Context(), Request{Script: script})
			require.NoError(t, err)
		}
		for i := range 3 {
			eval("a")
			eval("a ")
			eval(fmt.Sprint("once ", i))
		}
		prepared, opened, _ := b.seen()
		if !repeated {
			assert.Empty(t, prepared)
			continue
		}
		assert.Equal(t, []string{"a", "a "}, prepared)
		assert.Equal(t, []string{"a", "a ", "a", "a "}, opened)

		_, err := s.Prepare(t.Context(), PrepareRequest{Script: "b"})
		require.NoError(t, err)
		eval("b")
		_, opened, _ = b.seen()
		assert.Equal(t, "b", opened[len(opened)-1], "what is there is used at the first time")
	}
}

func TestARequestThatFindsNothingTakesThatMuchLongerOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := preparing()
		b.prepare = slowly(time.Second)
		b.eval = sleep(time.Minute)
		s := newTest(t, b, &Options{PrepareRepeated: true})
		var took []time.Duration
		for range 3 {
			start := time.Now()
			_, err := s.Eval(t.Context(), Request{Script: "a"})
			require.NoError(t, err)
			took = append(took, time.Since(start))
		}
		assert.Equal(t, []time.Duration{time.Minute, time.Minute + time.Second, time.Minute}, took)
	})
}

func TestARefusalHoldsForNarrowerLimits(t *testing.T) {
	t.Parallel()
	b := preparing()
	var asked []spi.Limits
	b.prepare = func(_ context.Context, l *spi.Limits, _ string) error {
		asked = append(asked, *l)
		return spi.ErrNotPrepared
	}
	s := newTest(t, b, &Options{PrepareRepeated: true})
	for _, c := range []struct {
		limits Limits
		tried  bool
	}{
		{Limits{Fuel: 5}, false}, // the first time
		{Limits{Fuel: 5}, true},
		{Limits{Fuel: 5}, false},
		{Limits{Fuel: 4}, false},
		{Limits{Fuel: 10}, false}, // not much more
		{Limits{Fuel: 11}, true},
		{Limits{Fuel: 1, Timeout: time.Minute}, true},
		{Limits{Fuel: 6, Timeout: time.Minute}, false},
		{Limits{Fuel: math.MaxInt64}, true},
		{Limits{Fuel: math.MaxInt64}, false}, // there is no twice as much
		{Limits{}, true},                     // no limit is more than any
		{Limits{Fuel: 1 << 50}, false},
		{Limits{MemoryBytes: 1 << 29}, true},
		{Limits{MemoryBytes: 1 << 28}, false},
	} {
		before := len(asked)
		_, err := s.Eval(t.Context(), Request{Script: "a", Limits: c.limits})
		require.NoError(t, err)
		assert.Equal(t, c.tried, len(asked) > before, "%+v", c.limits)
	}
}

func TestOnlySoManyScriptsAreRemembered(t *testing.T) {
	t.Parallel()
	r := newRepeats(2)
	b := bounds{timeout: time.Second, memory: 1}
	a, c, d := keyOf("a", "js"), keyOf("c", "js"), keyOf("d", "js")
	turn := int64(0)
	worth := func(key scriptKey) bool {
		turn++
		_, ok := r.worth(key, turn, b)
		return ok
	}
	assert.False(t, worth(a))
	assert.False(t, worth(c))
	assert.True(t, worth(a)) // c is now the oldest
	assert.False(t, worth(d))
	assert.True(t, worth(a))
	assert.False(t, worth(c), "it was forgotten")
	assert.False(t, worth(d), "and now that one")
	r.refused(keyOf("e", "js"), b, spi.ErrNotPrepared)
	assert.Equal(t, 2, r.seen.len())
	assert.NotEqual(t, keyOf("a", "js"), keyOf("a", "ts"))
}

func TestScriptsThatComeInTurnsDoNotPushEachOtherOut(t *testing.T) {
	t.Parallel()
	const fit, scripts, rounds = 10, 15, 6
	one := preparing()
	size := sizeOfPrepared(t, one)
	b := preparing()
	s := newTest(t, b, &Options{PrepareRepeated: true, PreparedBytes: fit*size + size/2})
	eval := func(script string) {
		_, err := s.Eval(t.Context(), Request{Script: script})
		require.NoError(t, err)
	}
	for range rounds {
		for i := range scripts {
			eval(fmt.Sprintf("s%02d", i))
		}
	}
	prepared, opened, _ := b.seen()
	assert.Len(t, prepared, fit, "the first that fit stay")
	assert.Len(t, opened, (rounds-1)*fit)

	// They go once they come no more and others do.
	for range 3 {
		for i := range fit {
			eval(fmt.Sprintf("n%02d", i))
		}
	}
	prepared, _, _ = b.seen()
	assert.Len(t, prepared, 2*fit)
}

// sizeOfPrepared is what a script of three bytes counts in the cache.
func sizeOfPrepared(t *testing.T, b *fakePreparer) int64 {
	t.Helper()
	s := newTest(t, b, nil)
	_, err := s.Prepare(t.Context(), PrepareRequest{Script: "s00"})
	require.NoError(t, err)
	return s.snapshots.bytes
}

func TestARepeatedScriptIsPreparedInAPartOfItsTime(t *testing.T) {
	t.Parallel()
	b := preparing()
	var asked []time.Duration
	b.prepare = func(_ context.Context, l *spi.Limits, _ string) error {
		asked = append(asked, l.Timeout)
		return nil
	}
	s := newTest(t, b, &Options{PrepareRepeated: true})
	for range 2 {
		_, err := s.Eval(t.Context(), Request{Script: "a", Limits: Limits{Timeout: time.Second}})
		require.NoError(t, err)
	}
	assert.Equal(t, []time.Duration{time.Second / preparingShare}, asked)
}

func TestRepeatsAtOnceParseOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := preparing()
		b.prepare = slowly(time.Second)
		s := newTest(t, b, &Options{PrepareRepeated: true, MaxConcurrent: 8})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				_, err := s.Eval(t.Context(), Request{Script: "a"})
				assert.NoError(t, err)
			})
		}
		wg.Wait()
		prepared, opened, _ := b.seen()
		assert.Len(t, prepared, 1)
		assert.Len(t, opened, 7, "all but the first, which nothing was known of")
	})
}
