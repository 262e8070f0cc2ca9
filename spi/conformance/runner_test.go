package conformance

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

func holds(context.Context, *subject) error { return nil }

func breaks(context.Context, *subject) error { return errors.New("seen something else") }

func check(b body) *Check {
	return &Check{ID: "FAKE-001", Level: SHOULD, Rule: "A rule that a test made up.", body: b}
}

func TestAResultCarriesItsCheck(t *testing.T) {
	t.Parallel()
	r := newRunner(t, &factory{}, nil)
	result := r.Run(t.Context(), check(func(context.Context, *subject) error { time.Sleep(time.Millisecond); return nil }))
	assert.GreaterOrEqual(t, result.Ms, 1.0)
	result.Ms = 0
	assert.Equal(t, Result{ID: "FAKE-001", Level: SHOULD, Rule: "A rule that a test made up.", Outcome: Pass}, result)
}

func TestABackendIsKeptWhileChecksPass(t *testing.T) {
	t.Parallel()
	f := &factory{}
	r := newRunner(t, f, nil)
	for range 3 {
		require.Equal(t, Pass, r.Run(t.Context(), check(holds)).Outcome)
	}
	require.Len(t, f.made, 1)
	require.Equal(t, Fail, r.Run(t.Context(), check(breaks)).Outcome)
	require.EqualValues(t, 1, f.made[0].closed.Load(), "a check failed on it")
	require.Equal(t, Pass, r.Run(t.Context(), check(holds)).Outcome)
	require.Len(t, f.made, 2)
	r.Close()
	require.EqualValues(t, 1, f.made[1].closed.Load())
	r.Close()
	require.EqualValues(t, 1, f.made[1].closed.Load(), "closing twice closes once")
}

func TestACheckOfItsOwnHasAFreshBackendAndLeavesNone(t *testing.T) {
	t.Parallel()
	f := &factory{}
	r := newRunner(t, f, nil)
	own := check(holds)
	own.own = true
	var seen []spi.Backend
	own.body = func(_ context.Context, s *subject) error { seen = append(seen, s.backend); return nil }
	require.Equal(t, Pass, r.Run(t.Context(), own).Outcome)
	require.Equal(t, Pass, r.Run(t.Context(), check(holds)).Outcome)
	require.Len(t, f.made, 3)
	require.Same(t, f.made[1], seen[0])
	require.EqualValues(t, 1, f.made[0].closed.Load())
	require.EqualValues(t, 1, f.made[1].closed.Load())
}

func TestAHungBackendFailsAndIsAbandoned(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	closing := make(chan struct{}, 1)
	f := &factory{}
	f.make = func() *fakeBackend {
		b := &fakeBackend{}
		if len(f.made) == 0 {
			b.eval = func(context.Context, *spi.Request) (*spi.Outcome, error) { <-release; return nil, nil }
			b.close = func() error { closing <- struct{}{}; <-release; return nil }
		}
		return b
	}
	r := newRunner(t, f, nil)
	hung := check(script{source: "1", value: "null"}.body())
	hung.Watchdog = 20 * time.Millisecond
	result := r.Run(t.Context(), hung)
	require.Equal(t, Fail, result.Outcome)
	require.Equal(t, "hung: no answer within 20ms", result.Detail)
	<-closing // one attempt, which hangs as well and which nobody waits for
	require.Equal(t, Pass, r.Run(t.Context(), hung).Outcome, "on a fresh backend")
	require.Len(t, f.made, 2)
}

func TestAHungCheckLearnsThatNobodyWaits(t *testing.T) {
	t.Parallel()
	r := newRunner(t, &factory{}, nil)
	told := make(chan struct{})
	hung := check(func(ctx context.Context, _ *subject) error { <-ctx.Done(); close(told); return nil })
	hung.Watchdog = 10 * time.Millisecond
	require.Equal(t, Fail, r.Run(t.Context(), hung).Outcome)
	<-told
}

func TestAPanicFails(t *testing.T) {
	t.Parallel()
	f := &factory{}
	f.make = func() *fakeBackend {
		return &fakeBackend{eval: func(context.Context, *spi.Request) (*spi.Outcome, error) { panic("broken \x1b[31m") }}
	}
	r := newRunner(t, f, nil)
	result := r.Run(t.Context(), check(script{source: "1", value: "1"}.body()))
	require.Equal(t, Fail, result.Outcome)
	require.Contains(t, result.Detail, `panicked: broken \u001b[31m`)
	require.Contains(t, result.Detail, "fake_test.go", "the stack says where")
	require.EqualValues(t, 1, f.made[0].closed.Load())
	require.Equal(t, 1, f.made[0].isolates[0].closed, "the check's isolates are closed all the same")
}

func TestIsolatesAreClosedAtACheckEnd(t *testing.T) {
	t.Parallel()
	f := &factory{}
	r := newRunner(t, f, nil)
	require.Equal(t, Pass, r.Run(t.Context(), check(func(ctx context.Context, s *subject) error {
		_, err := s.isolate(ctx)
		return err
	})).Outcome)
	require.Equal(t, 1, f.made[0].isolates[0].closed)
}

func TestABackendThatCannotBeMadeIsAnError(t *testing.T) {
	t.Parallel()
	made := 0
	r, err := NewRunner(t.Context(), &Harness{New: func(context.Context) (spi.Backend, error) {
		if made++; made > 1 {
			return nil, errors.New("no more of them")
		}
		return &fakeBackend{}, nil
	}})
	require.NoError(t, err)
	require.Equal(t, Fail, r.Run(t.Context(), check(breaks)).Outcome)
	result := r.Run(t.Context(), check(holds))
	require.Equal(t, Error, result.Outcome)
	require.Equal(t, "conformance: no backend could be made: no more of them", result.Detail)
}

func TestARunnerNeedsABackend(t *testing.T) {
	t.Parallel()
	broken := errors.New("not here")
	for name, c := range map[string]struct {
		backend *fakeBackend
		err     error
		wanted  string
	}{
		"New fails":         {nil, broken, "no backend could be made: not here"},
		"New gives nothing": {nil, nil, "no backend and no error"},
		"Describe panics":   {&fakeBackend{describe: func() spi.Descriptor { panic("who am I") }}, nil, "does not describe itself: panicked: who am I"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := NewRunner(t.Context(), &Harness{New: func(context.Context) (spi.Backend, error) {
				if c.backend == nil {
					return nil, c.err
				}
				return c.backend, nil
			}})
			require.ErrorContains(t, err, c.wanted)
			require.NotErrorIs(t, err, ErrHarness)
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
			}
		})
	}
	_, err := NewRunner(t.Context(), &Harness{New: func(context.Context) (spi.Backend, error) { panic("in New") }})
	require.ErrorContains(t, err, "in New")
}

func TestABackendThatComesTooLateIsClosed(t *testing.T) {
	t.Parallel()
	b := &fakeBackend{}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := NewRunner(ctx, &Harness{New: func(context.Context) (spi.Backend, error) { cancel(); return b, nil }})
	require.ErrorIs(t, err, context.Canceled)
	require.Eventually(t, func() bool { return b.closed.Load() == 1 }, 10*time.Second, time.Millisecond)
}

func TestAnEndedRunKnowsNothing(t *testing.T) {
	t.Parallel()
	f := &factory{}
	r := newRunner(t, f, map[string]string{"FAKE-001": "a reason"})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("somebody pressed a key")
	during := check(func(ctx context.Context, _ *subject) error { cancel(why); <-ctx.Done(); return ctx.Err() })
	for _, c := range []*Check{during, check(holds), check(breaks), {ID: "FAKE-002", Needs: []Need{NeedImage}, body: holds}} {
		result := r.Run(ctx, c)
		require.Equal(t, Error, result.Outcome)
		require.Equal(t, "the run was ended: somebody pressed a key", result.Detail)
	}
	require.Len(t, f.made, 1, "nothing is started for what will not run")
}

func TestWhatIsKnownHasToStayTrue(t *testing.T) {
	t.Parallel()
	r := newRunner(t, &factory{}, map[string]string{"FAKE-001": "the engine\x00 has none"})
	result := r.Run(t.Context(), check(breaks))
	require.Equal(t, Known, result.Outcome)
	require.Equal(t, `the engine\u0000 has none`, result.Detail)
	result = r.Run(t.Context(), check(holds))
	require.Equal(t, Fail, result.Outcome)
	require.Equal(t, "it is declared known and passes; take it off the list", result.Detail)
	absent := check(breaks)
	absent.Needs = []Need{NeedImage}
	result = r.Run(t.Context(), absent)
	require.Equal(t, Fail, result.Outcome)
	require.Contains(t, result.Detail, "does not apply")
}

func TestACheckAppliesWhereAllItNeedsIsDeclared(t *testing.T) {
	t.Parallel()
	fuel := spi.Enforcement{Limit: spi.LimitFuel}
	exact := spi.Enforcement{Limit: spi.LimitFuel, Exact: true}
	for name, c := range map[string]struct {
		needs    []Need
		enforces []spi.Enforcement
		image    string
		missing  string
	}{
		"nothing":              {},
		"fuel":                 {needs: []Need{NeedFuel}, enforces: []spi.Enforcement{fuel}},
		"fuel is not there":    {needs: []Need{NeedFuel}, missing: "fuel"},
		"no fuel":              {needs: []Need{NeedNoFuel}},
		"no fuel, but it is":   {needs: []Need{NeedNoFuel}, enforces: []spi.Enforcement{fuel}, missing: "no fuel"},
		"exact fuel":           {needs: []Need{NeedExactFuel}, enforces: []spi.Enforcement{exact}},
		"exact fuel is rough":  {needs: []Need{NeedExactFuel}, enforces: []spi.Enforcement{fuel}, missing: "exact fuel"},
		"stack by depth":       {needs: []Need{NeedStack}, enforces: []spi.Enforcement{{Limit: spi.LimitCallDepth}}},
		"stack by bytes":       {needs: []Need{NeedStack}, enforces: []spi.Enforcement{{Limit: spi.LimitStack}}},
		"no stack":             {needs: []Need{NeedStack}, missing: "stackBytes or callDepth"},
		"exact stack":          {needs: []Need{NeedExactStack}, enforces: []spi.Enforcement{{Limit: spi.LimitStack, Exact: true}}},
		"exact stack is rough": {needs: []Need{NeedExactStack}, enforces: []spi.Enforcement{{Limit: spi.LimitStack}}, missing: "exact stackBytes or callDepth"},
		"image":                {needs: []Need{NeedImage}, image: "sha256:00"},
		"one of two":           {needs: []Need{NeedFuel, NeedImage}, image: "sha256:00", missing: "fuel"},
		"none of two":          {needs: []Need{NeedFuel, NeedImage}, missing: "fuel, image"},
		"a need nobody knows":  {needs: []Need{"luck"}, image: "sha256:00", missing: "luck"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &factory{make: func() *fakeBackend {
				return &fakeBackend{describe: func() spi.Descriptor {
					d := fakeDescriptor()
					d.Enforces, d.Image = c.enforces, c.image
					return d
				}}
			}}
			r := newRunner(t, f, nil)
			one := check(holds)
			one.Needs = c.needs
			result := r.Run(t.Context(), one)
			if c.missing == "" {
				require.Equal(t, Pass, result.Outcome, result.Detail)
				return
			}
			require.Equal(t, NotApplicable, result.Outcome)
			require.Equal(t, "it is for backends that declare "+c.missing, result.Detail)
		})
	}
}

func TestTheDescriptorIsNotTheBackendsOwn(t *testing.T) {
	t.Parallel()
	shared := fakeDescriptor()
	f := &factory{make: func() *fakeBackend {
		return &fakeBackend{describe: func() spi.Descriptor { return shared }}
	}}
	r := newRunner(t, f, nil)
	clear(shared.Languages)
	clear(shared.Enforces)
	require.Equal(t, fakeDescriptor(), r.Descriptor())
}

func TestADetailIsSafeForATerminal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain é 😀\nsecond line": "plain é 😀\nsecond line",
		"\x1b[2J\r\b\x00\x7f":    `\u001b[2J\u000d\u0008\u0000\u007f`,
		"\u202e\u200b\ufeff":     `\u202e\u200b\ufeff`,
		"\U000e0001":             `\U000e0001`,
		"half \xff":              "half \ufffd",
	} {
		assert.Equal(t, want, clean(in))
	}
	long := make([]byte, 10_000)
	for i := range long {
		long[i] = 'x'
	}
	cut := clean(string(long))
	assert.Less(t, len(cut), 2100)
	assert.Contains(t, cut, "…")
	assert.Equal(t, cut, clean(cut), "cleaning twice changes nothing")
}

func TestABackendThatComesWithAnErrorIsClosed(t *testing.T) {
	t.Parallel()
	broken := errors.New("half made")
	b := &fakeBackend{}
	_, err := NewRunner(t.Context(), &Harness{New: func(context.Context) (spi.Backend, error) { return b, broken }})
	require.ErrorIs(t, err, broken)
	require.EqualValues(t, 1, b.closed.Load())
	_, err = NewRunner(t.Context(), &Harness{New: func(context.Context) (spi.Backend, error) { return (*fakeBackend)(nil), broken }})
	require.ErrorIs(t, err, broken)
	require.NotContains(t, err.Error(), "panicked", "closing a nil pointer")
}

func TestAClosedRunnerMakesNoBackend(t *testing.T) {
	t.Parallel()
	f := &factory{}
	r := newRunner(t, f, map[string]string{"FAKE-001": "a reason"})
	r.Close()
	result := r.Run(t.Context(), check(holds))
	require.Equal(t, Error, result.Outcome)
	require.Equal(t, "the runner was closed", result.Detail)
	require.Len(t, f.made, 1)
}

func TestACheckWithoutABodyIsAnError(t *testing.T) {
	t.Parallel()
	r := newRunner(t, &factory{}, nil)
	result := r.Run(t.Context(), &Check{ID: "FAKE-001", Level: MUST, Needs: []Need{NeedImage}})
	require.Equal(t, Error, result.Outcome)
	require.Contains(t, result.Detail, "no body")
}

func TestARunnerKeepsWhatIsKnown(t *testing.T) {
	t.Parallel()
	id := anID(t, SHOULD)
	known := map[string]string{id: "a reason"}
	r, err := NewRunner(t.Context(), &Harness{New: (&factory{}).new, Known: known})
	require.NoError(t, err)
	defer r.Close()
	clear(known)
	require.Equal(t, map[string]string{id: "a reason"}, r.harness.Known)
}

func TestNoHarnessIsRefused(t *testing.T) {
	t.Parallel()
	_, err := NewRunner(t.Context(), nil)
	require.ErrorIs(t, err, ErrHarness)
	report, err := Run(t.Context(), nil)
	require.ErrorIs(t, err, ErrHarness)
	require.Nil(t, report)
}
