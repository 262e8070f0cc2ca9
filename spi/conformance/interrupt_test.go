package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

func TestMoreTimeIsGivenWhereThereMayHaveBeenTooLittle(t *testing.T) {
	t.Parallel()
	wrong := errors.New("wrong")
	early := fmt.Errorf("an eval: %w", hasty(errors.New("too early")))
	for name, c := range map[string]struct {
		seen []error // by one try after the other
		want error
	}{
		"right at once":          {[]error{nil}, nil},
		"right with more time":   {[]error{early, early, nil}, nil},
		"wrong at once":          {[]error{wrong}, wrong},
		"wrong with more time":   {[]error{early, wrong}, wrong},
		"never with enough time": {[]error{early, early, early}, early},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(&fakeBackend{})
			s.slow = 2
			var given []time.Duration
			err := s.patiently([]time.Duration{time.Second, 2 * time.Second, 5 * time.Second}, func(d time.Duration) error {
				given = append(given, d)
				return c.seen[len(given)-1]
			})
			assert.Equal(t, c.want, err)
			assert.Equal(t, []time.Duration{2 * time.Second, 4 * time.Second, 10 * time.Second}[:len(c.seen)], given)
		})
	}
	require.NoError(t, hasty(nil))
}

func TestATimeoutIsWrongOnlyBeforeItsTime(t *testing.T) {
	t.Parallel()
	b := &fakeBackend{eval: func(context.Context, *spi.Request) (*spi.Outcome, error) {
		return errorOutcome(spi.ScriptError{Kind: spi.KindTimeout}), nil
	}}
	s := newSubject(b)
	iso, err := s.isolate(t.Context())
	require.NoError(t, err)
	var early *hastyError

	_, err = s.evalOf(t.Context(), iso, time.Hour, "1", "", "1")
	require.ErrorContains(t, err, "ended with timeout after")
	require.NotErrorAs(t, err, &early)

	_, err = s.evalOf(t.Context(), iso, time.Nanosecond, "1", "", "1")
	require.ErrorContains(t, err, "ended with timeout after")
	require.ErrorAs(t, err, &early)
}

func TestAnEvalThatHadNotBegunIsStoppedAgain(t *testing.T) {
	t.Parallel()
	const loop = "for (;;) ;"
	stopped := 0
	b := &fakeBackend{}
	b.eval = func(ctx context.Context, req *spi.Request) (*spi.Outcome, error) {
		switch req.Source {
		case loop:
			<-ctx.Done()
			stopped++
			return errorOutcome(spi.ScriptError{Kind: spi.KindCancelled}), nil
		case "1": // the isolate is spent if the script ran
			if stopped > 1 {
				return nil, spi.ErrIsolateSpent
			}
			return valueOutcome("1", spi.TypeNumber), nil
		}
		return valueOutcome("[2,4,6]", spi.TypeArray), nil
	}
	s := newSubject(b)
	defer s.cleanUp()
	require.NoError(t, stubborn{source: loop, stop: byCancelling, want: spi.KindCancelled}.run(t.Context(), s))
	assert.Equal(t, 2, stopped)
}

func TestIsolatesThatAreToBeOpenAtOnceAre(t *testing.T) {
	t.Parallel()
	b := &fakeBackend{}
	b.eval = func(context.Context, *spi.Request) (*spi.Outcome, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if n := len(b.isolates); n < isolatesAtOnce {
			return nil, fmt.Errorf("only %d are open", n)
		}
		return valueOutcome("1", spi.TypeNumber), nil
	}
	s := newSubject(b)
	defer s.cleanUp()
	require.NoError(t, eachItsOwn("1", func(out *spi.Outcome, _, _ int) error { return wantValue(out, "1") })(t.Context(), s))
}
