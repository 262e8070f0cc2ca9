package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

// fakeResumer is a fakeBackend that resumes as its function says.
type fakeResumer struct {
	*fakeBackend
	suspend func() ([]byte, error) // nil: its isolates are no Suspenders
	resume  func(b *fakeBackend) (spi.Isolate, error)
}

func (b *fakeResumer) Open(ctx context.Context, cfg *spi.Config) (spi.Isolate, error) {
	iso, err := b.fakeBackend.Open(ctx, cfg)
	if err != nil || b.suspend == nil {
		return iso, err
	}
	return &fakeSuspender{iso.(*fakeIsolate), b.suspend}, nil
}

func (b *fakeResumer) Resume(context.Context, *spi.Resumption) (spi.Isolate, error) {
	return b.resume(b.fakeBackend)
}

type fakeSuspender struct {
	*fakeIsolate
	suspend func() ([]byte, error)
}

func (i *fakeSuspender) Suspend(context.Context, int64) ([]byte, error) { return i.suspend() }

func TestSuspendingMustBeDeclaredAndThere(t *testing.T) {
	t.Parallel()
	gives := func(state []byte, err error) func() ([]byte, error) {
		return func() ([]byte, error) { return state, err }
	}
	opens := func(b *fakeBackend) (spi.Isolate, error) {
		iso, err := b.Open(context.Background(), nil)
		return &fakeSuspender{iso.(*fakeIsolate), gives([]byte("state"), nil)}, err
	}
	refuses := func(err error) func(*fakeBackend) (spi.Isolate, error) {
		return func(*fakeBackend) (spi.Isolate, error) { return nil, err }
	}
	state, unsupported := gives([]byte("state"), nil), gives(nil, fmt.Errorf("x: %w", spi.ErrUnsupported))
	for name, c := range map[string]struct {
		declared, resumer bool
		suspend           func() ([]byte, error)
		resume            func(*fakeBackend) (spi.Isolate, error)
		one, two          Outcome // of SUSP-001 and SUSP-002
		says              string
	}{
		"declared and there":           {true, true, state, opens, Pass, NotApplicable, ""},
		"declared and no methods":      {true, false, nil, nil, Fail, NotApplicable, "one is no spi.Suspender"},
		"declared and no Suspend":      {true, true, nil, opens, Fail, NotApplicable, "one is no spi.Suspender"},
		"declared and empty states":    {true, true, gives(nil, nil), opens, Fail, NotApplicable, "Suspend returned nothing and no error"},
		"declared and refused":         {true, true, unsupported, opens, Fail, NotApplicable, "not supported"},
		"declared and not resumed":     {true, true, state, refuses(spi.ErrState), Fail, NotApplicable, "Resume: spi: not a state"},
		"declared and resumes nothing": {true, true, state, refuses(nil), Fail, NotApplicable, "no isolate and no error"},
		"not declared and no methods":  {false, false, nil, nil, NotApplicable, Pass, ""},
		"not declared and refused":     {false, true, unsupported, refuses(fmt.Errorf("x: %w", spi.ErrUnsupported)), NotApplicable, Pass, ""},
		"not declared and suspends":    {false, true, state, refuses(spi.ErrUnsupported), NotApplicable, Fail, "the descriptor does not say"},
		"not declared and resumes":     {false, true, unsupported, opens, NotApplicable, Fail, "was resumed"},
		"not declared, no state":       {false, true, unsupported, refuses(spi.ErrState), NotApplicable, Fail, "error is spi: not a state"},
		"not declared, another error":  {false, true, gives(nil, errors.New("odd")), opens, NotApplicable, Fail, "error is odd"},
	} {
		made := func(context.Context) (spi.Backend, error) {
			evals := 0
			b := &fakeBackend{describe: func() spi.Descriptor {
				d := fakeDescriptor()
				d.Suspends = c.declared
				return d
			}}
			b.eval = func(context.Context, *spi.Request) (*spi.Outcome, error) {
				evals++
				return valueOutcome(fmt.Sprint(evals), spi.TypeNumber), nil
			}
			if !c.resumer {
				return b, nil
			}
			return &fakeResumer{b, c.suspend, c.resume}, nil
		}
		r, err := NewRunner(t.Context(), &Harness{New: made})
		require.NoError(t, err, name)
		one, two := r.Run(t.Context(), checkOf(t, "SUSP-001")), r.Run(t.Context(), checkOf(t, "SUSP-002"))
		r.Close()
		assert.Equal(t, c.one, one.Outcome, "%s: %s", name, one.Detail)
		assert.Equal(t, c.two, two.Outcome, "%s: %s", name, two.Detail)
		assert.Contains(t, one.Detail+two.Detail, c.says, name)
	}
}

func TestWhatACheckResumedIsClosed(t *testing.T) {
	t.Parallel()
	b := &fakeBackend{}
	s := &subject{backend: &fakeResumer{b, nil, func(b *fakeBackend) (spi.Isolate, error) { return b.Open(t.Context(), nil) }}, slow: 1}
	for range 3 {
		_, err := s.resume(t.Context(), []byte("state"))
		require.NoError(t, err)
	}
	require.Error(t, s.wantNotResumed(t.Context(), "a state", s.resumption(nil), spi.ErrState))
	assert.Equal(t, 1, b.isolates[3].closed, "what must not be there is closed at once")
	s.cleanUp()
	for _, iso := range b.isolates {
		assert.Equal(t, 1, iso.closed)
	}
}

func TestAWaitIsWellFormed(t *testing.T) {
	t.Parallel()
	waits := func(change func(*spi.Outcome)) *spi.Outcome {
		out := &spi.Outcome{Pending: []spi.HostCall{{ID: 1, Function: "f", Args: []byte("[]")}}, Usage: spi.Usage{MemoryPeakBytes: 1, HostCalls: 1, CallBytes: 2}}
		change(out)
		return out
	}
	for name, c := range map[string]struct {
		out *spi.Outcome
		ok  bool
	}{
		"waits":               {waits(func(*spi.Outcome) {}), true},
		"has ended":           {valueOutcome("1", spi.TypeNumber), true},
		"nothing":             {nil, false},
		"neither":             {&spi.Outcome{}, false},
		"logs not counted":    {waits(func(o *spi.Outcome) { o.Logs = []spi.LogLine{{Level: spi.LevelLog, Text: "x"}} }), false},
		"fuel below zero":     {waits(func(o *spi.Outcome) { o.Usage.Fuel = -1 }), false},
		"value and error":     {waits(func(o *spi.Outcome) { o.Value, o.Error = []byte("1"), &spi.ScriptError{Kind: spi.KindFuel} }), false},
		"an error of no kind": {waits(func(o *spi.Outcome) { o.Error = &spi.ScriptError{Kind: "odd"} }), false},
	} {
		assert.Equal(t, c.ok, wellFormedPart(c.out) == nil, name)
	}
}

func TestPartsAreComparedOneByOne(t *testing.T) {
	t.Parallel()
	part := func(change func(*spi.Outcome)) *spi.Outcome {
		out := &spi.Outcome{Pending: []spi.HostCall{{ID: 1, Function: "f", Args: []byte("[]"), Line: 2}}, Usage: spi.Usage{MemoryPeakBytes: 1, HostCalls: 1, CallBytes: 2}}
		change(out)
		return out
	}
	same, end := part(func(*spi.Outcome) {}), valueOutcome("1", spi.TypeNumber)
	for name, c := range map[string]struct {
		away  []*spi.Outcome
		image bool
		says  string
	}{
		"the same":               {[]*spi.Outcome{same, end}, true, ""},
		"another part":           {[]*spi.Outcome{same, same, end}, true, "part 2"},
		"a part less":            {[]*spi.Outcome{same}, true, "it has 1 parts, wanted 2"},
		"another value":          {[]*spi.Outcome{same, valueOutcome("2", spi.TypeNumber)}, true, "part 2 is another outcome: value is"},
		"another place":          {[]*spi.Outcome{part(func(o *spi.Outcome) { o.Pending[0].Line = 3 }), end}, true, "part 1 is another outcome: pending are"},
		"other calls":            {[]*spi.Outcome{part(func(o *spi.Outcome) { o.Usage.HostCalls = 2 }), end}, true, "usage says 1 calls"},
		"another peak":           {[]*spi.Outcome{part(func(o *spi.Outcome) { o.Usage.MemoryPeakBytes = 2 }), end}, true, "the peak is 1 bytes, and away 2"},
		"another peak, no image": {[]*spi.Outcome{part(func(o *spi.Outcome) { o.Usage.MemoryPeakBytes = 2 }), end}, false, ""},
	} {
		s := &subject{descriptor: fakeDescriptor()}
		if c.image {
			s.descriptor.Image = "sha256:00"
		}
		err := s.sameAway([]*spi.Outcome{same, end}, c.away)
		if c.says == "" {
			assert.NoError(t, err, name)
		} else {
			assert.ErrorContains(t, err, c.says, name)
		}
	}
}
