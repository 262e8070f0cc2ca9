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

// fakePreparer is a fakeBackend that prepares what its function says.
type fakePreparer struct {
	*fakeBackend
	prepare func(source string) (spi.Prepared, error)
}

func (b *fakePreparer) Prepare(_ context.Context, _ *spi.Limits, source string, _ spi.Language) (spi.Prepared, error) {
	return b.prepare(source)
}

// fakePrepared counts how often it is closed.
type fakePrepared struct {
	backend *fakeBackend
	closed  int
}

func (p *fakePrepared) Open(ctx context.Context, cfg *spi.Config) (spi.Isolate, error) {
	if p.closed > 0 {
		return nil, fmt.Errorf("fake: %w", spi.ErrClosed)
	}
	return p.backend.Open(ctx, cfg)
}
func (p *fakePrepared) Bytes() int64 { return 5 }
func (p *fakePrepared) Close() error { p.closed++; return nil }

func checkOf(t *testing.T, id string) *Check {
	t.Helper()
	for _, c := range Checks() {
		if c.ID == id {
			return &c
		}
	}
	require.Fail(t, "there is no check "+id)
	return nil
}

func TestPreparingMustBeDeclaredAndThere(t *testing.T) {
	t.Parallel()
	with := func(declared bool, prepare func(b *fakeBackend) (spi.Prepared, error)) func() spi.Backend {
		return func() spi.Backend {
			b := &fakeBackend{describe: func() spi.Descriptor {
				d := fakeDescriptor()
				d.Prepares = declared
				return d
			}}
			b.eval = func(context.Context, *spi.Request) (*spi.Outcome, error) {
				return valueOutcome("2", spi.TypeNumber), nil
			}
			if prepare == nil {
				return b
			}
			return &fakePreparer{b, func(string) (spi.Prepared, error) { return prepare(b) }}
		}
	}
	works := func(b *fakeBackend) (spi.Prepared, error) { return &fakePrepared{backend: b}, nil }
	refuses := func(err error) func(*fakeBackend) (spi.Prepared, error) {
		return func(*fakeBackend) (spi.Prepared, error) { return nil, err }
	}
	for name, c := range map[string]struct {
		backend  func() spi.Backend
		declared Outcome // of PREP-001
		not      Outcome // of PREP-002
		says     string
	}{
		"declared and there":          {with(true, works), Pass, NotApplicable, ""},
		"declared and no method":      {with(true, nil), Fail, NotApplicable, "it is no spi.Preparer"},
		"declared and refused":        {with(true, refuses(spi.ErrUnsupported)), Fail, NotApplicable, "not supported"},
		"declared and nothing":        {with(true, refuses(nil)), Fail, NotApplicable, "returned nothing and no error"},
		"not declared and no method":  {with(false, nil), NotApplicable, Pass, ""},
		"not declared and refused":    {with(false, refuses(fmt.Errorf("x: %w", spi.ErrUnsupported))), NotApplicable, Pass, ""},
		"not declared and there":      {with(false, works), NotApplicable, Fail, "the descriptor does not say"},
		"not declared and nothing":    {with(false, refuses(nil)), NotApplicable, Fail, "the descriptor does not say"},
		"not declared, another error": {with(false, refuses(errors.New("odd"))), NotApplicable, Fail, "error is odd"},
	} {
		r, err := NewRunner(t.Context(), &Harness{New: func(context.Context) (spi.Backend, error) { return c.backend(), nil }})
		require.NoError(t, err, name)
		one, two := r.Run(t.Context(), checkOf(t, "PREP-001")), r.Run(t.Context(), checkOf(t, "PREP-002"))
		r.Close()
		assert.Equal(t, c.declared, one.Outcome, "%s: %s", name, one.Detail)
		assert.Equal(t, c.not, two.Outcome, "%s: %s", name, two.Detail)
		assert.Contains(t, one.Detail+two.Detail, c.says, name)
	}
}

func TestWhatACheckPreparedIsClosed(t *testing.T) {
	t.Parallel()
	var made []*fakePrepared
	b := &fakeBackend{}
	s := &subject{
		backend: &fakePreparer{b, func(string) (spi.Prepared, error) {
			p := &fakePrepared{backend: b}
			made = append(made, p)
			return p, nil
		}},
		slow: 1,
	}
	for range 3 {
		p, err := s.prepare(t.Context(), "1")
		require.NoError(t, err)
		_, err = s.from(p)(t.Context())
		require.NoError(t, err)
	}
	s.cleanUp()
	require.Len(t, made, 3)
	for i, p := range made {
		assert.Equal(t, 1, p.closed)
		assert.Equal(t, 1, b.isolates[i].closed)
	}
}

func TestAStackIsComparedWhereThereIsAnImage(t *testing.T) {
	t.Parallel()
	plain := errorOutcome(spi.ScriptError{Kind: spi.KindException, Message: "m", Stack: "at 1", Line: 1, Column: 2})
	for name, c := range map[string]struct {
		change func(*spi.ScriptError)
		image  bool
		same   bool
	}{
		"all the same":         {func(*spi.ScriptError) {}, true, true},
		"stack, image":         {func(e *spi.ScriptError) { e.Stack = "at 2" }, true, false},
		"stack and no image":   {func(e *spi.ScriptError) { e.Stack = "at 2" }, false, true},
		"column and no image":  {func(e *spi.ScriptError) { e.Column = 3 }, false, false},
		"message and no image": {func(e *spi.ScriptError) { e.Message = "n" }, false, false},
	} {
		s := &subject{descriptor: fakeDescriptor()}
		if c.image {
			s.descriptor.Image = "sha256:00"
		}
		e := *plain.Error
		c.change(&e)
		out := errorOutcome(e)
		err := s.asPlain(plain, out)
		assert.Equal(t, c.same, err == nil, "%s: %v", name, err)
		assert.Equal(t, e, *out.Error, "%s: it was changed", name)
	}
}
