package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

func newSubject(b *fakeBackend) *subject {
	return &subject{backend: b, descriptor: b.Describe(), slow: 1}
}

func TestAMalformedOutcomeIsNoticed(t *testing.T) {
	t.Parallel()
	value := func(change func(*spi.Outcome)) *spi.Outcome {
		out := logging(valueOutcome(`"v"`, spi.TypeString), spi.LogLine{Level: spi.LevelLog, Text: "line"})
		change(out)
		return out
	}
	failed := func(change func(*spi.ScriptError)) *spi.Outcome {
		e := spi.ScriptError{Kind: spi.KindException, Name: "Error", Message: "m", Stack: "s", Line: 1, Column: 2}
		change(&e)
		return errorOutcome(e)
	}
	for name, c := range map[string]struct {
		out   *spi.Outcome
		wrong string
	}{
		"a good value":              {value(func(*spi.Outcome) {}), ""},
		"a good error":              {failed(func(*spi.ScriptError) {}), ""},
		"a line without a column":   {failed(func(e *spi.ScriptError) { e.Column = 0 }), ""},
		"a limit that was reached":  {failed(func(e *spi.ScriptError) { e.Kind, e.Limit = spi.KindFuel, &spi.ReachedLimit{} }), ""},
		"nothing":                   {nil, "no outcome and no error"},
		"neither value nor error":   {value(func(o *spi.Outcome) { o.Value = nil }), "neither a value nor an error"},
		"an empty value":            {value(func(o *spi.Outcome) { o.Value = json.RawMessage{} }), "neither a value nor an error"},
		"value and error":           {value(func(o *spi.Outcome) { o.Error = &spi.ScriptError{Kind: spi.KindFuel} }), "a value and an error (fuel)"},
		"no JSON":                   {value(func(o *spi.Outcome) { o.Value = json.RawMessage(`{a:1}`) }), "not JSON"},
		"two values":                {value(func(o *spi.Outcome) { o.Value = json.RawMessage(`1 2`) }), "not JSON"},
		"no UTF-8":                  {value(func(o *spi.Outcome) { o.Value = json.RawMessage("\"\xff\"") }), "not valid UTF-8"},
		"no type":                   {value(func(o *spi.Outcome) { o.ValueType = "" }), `type ""`},
		"an unknown type":           {value(func(o *spi.Outcome) { o.ValueType = "bigint" }), `type "bigint"`},
		"output not counted":        {value(func(o *spi.Outcome) { o.Usage.OutputBytes = 2 }), "2 bytes of output, the value has 3"},
		"negative fuel":             {value(func(o *spi.Outcome) { o.Usage.Fuel = -1 }), "negative"},
		"negative time":             {value(func(o *spi.Outcome) { o.Usage.Wall = -time.Second }), "negative"},
		"negative memory":           {value(func(o *spi.Outcome) { o.Usage.MemoryPeakBytes = -1 }), "negative"},
		"an unknown level":          {value(func(o *spi.Outcome) { o.Logs[0].Level = "loud" }), `line 1 has the level "loud"`},
		"a line that is no UTF-8":   {value(func(o *spi.Outcome) { o.Logs[0].Text = "\xc3" }), "line 1 is not valid UTF-8"},
		"logs not counted":          {value(func(o *spi.Outcome) { o.Usage.LogBytes = 4 }), "4 bytes of logs, the lines have 5"},
		"an unknown kind":           {failed(func(e *spi.ScriptError) { e.Kind = "ok" }), `kind "ok"`},
		"no kind":                   {failed(func(e *spi.ScriptError) { e.Kind = "" }), `kind ""`},
		"a name that is too long":   {failed(func(e *spi.ScriptError) { e.Name = strings.Repeat("x", 257) }), "name has 257 bytes; allowed is 256"},
		"a long message":            {failed(func(e *spi.ScriptError) { e.Message = strings.Repeat("x", 8193) }), "message has 8193 bytes"},
		"a long stack":              {failed(func(e *spi.ScriptError) { e.Stack = strings.Repeat("x", 8193) }), "stack has 8193 bytes"},
		"a message that is no text": {failed(func(e *spi.ScriptError) { e.Message = "\xff" }), "message is not valid UTF-8"},
		"a negative line":           {failed(func(e *spi.ScriptError) { e.Line = -1 }), "line -1"},
		"a negative column":         {failed(func(e *spi.ScriptError) { e.Column = -1 }), "column -1"},
		"a column without a line":   {failed(func(e *spi.ScriptError) { e.Line = 0 }), "line 0, column 2"},
		"an exception with a limit": {failed(func(e *spi.ScriptError) { e.Limit = &spi.ReachedLimit{Name: spi.LimitFuel} }), "exception names the limit fuel"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := wellFormed(c.out)
			if c.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.wrong)
		})
	}
}

func TestJSONIsComparedByMeaning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b       string
		same, text bool
	}{
		{`{"a":1,"b":[2]}`, ` { "b" : [ 2 ], "a" : 1 } `, true, false},
		{`{"a":1}`, "\n{ \"a\": 1 }", true, true},
		{`"\u0041\ud83d\ude00"`, `"A😀"`, true, false},
		{`[1]`, `[2]`, false, false},
		{`0`, `-0`, false, false},
		{`1`, `1.0`, false, false},
		{`9007199254740993`, `9007199254740992`, false, false},
		{`null`, `"null"`, false, false},
		{`{"__proto__":1}`, `{}`, false, false},
		{``, ``, false, false},
		{`{`, `{`, false, false},
	} {
		assert.Equal(t, c.same, sameJSON([]byte(c.a), []byte(c.b)), "%s and %s", c.a, c.b)
		assert.Equal(t, c.text, sameText([]byte(c.a), []byte(c.b)), "%s and %s as text", c.a, c.b)
	}
}

func TestAnIsolateThatIsNotThereIsNoticed(t *testing.T) {
	t.Parallel()
	broken := errors.New("not today")
	_, err := newSubject(&fakeBackend{open: func() error { return broken }}).isolate(t.Context())
	require.ErrorIs(t, err, broken)
	_, err = (&subject{backend: nothingBackend{}, slow: 1}).isolate(t.Context())
	require.ErrorContains(t, err, "no isolate and no error")
}

type nothingBackend struct{}

func (nothingBackend) Describe() spi.Descriptor                               { return fakeDescriptor() }
func (nothingBackend) Open(context.Context, *spi.Config) (spi.Isolate, error) { return nil, nil }
func (nothingBackend) Close() error                                           { return nil }

func TestAnEvalThatFailsIsNoOutcome(t *testing.T) {
	t.Parallel()
	broken := errors.New("gone")
	b := &fakeBackend{eval: func(context.Context, *spi.Request) (*spi.Outcome, error) { return nil, broken }}
	_, err := newSubject(b).eval(t.Context(), "1", "")
	require.ErrorIs(t, err, broken)
	require.Equal(t, 1, b.isolates[0].closed)
	b.eval = func(context.Context, *spi.Request) (*spi.Outcome, error) { return &spi.Outcome{}, nil }
	_, err = newSubject(b).eval(t.Context(), "1", "")
	require.ErrorContains(t, err, "neither a value nor an error")
}

func TestTheUsualConfigIsValidForEveryBackend(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ least, most, want int64 }{
		"roomy":       {1 << 20, 1 << 30, 64 << 20},
		"small":       {1 << 20, 8 << 20, 8 << 20},
		"large":       {256 << 20, 1 << 30, 256 << 20},
		"fixed":       {5, 5, 5},
		"just enough": {64 << 20, 64 << 20, 64 << 20},
	} {
		s := newSubject(&fakeBackend{})
		s.descriptor.MinMemoryBytes, s.descriptor.MaxMemoryBytes = c.least, c.most
		cfg := s.config()
		require.NoError(t, cfg.Validate(), name)
		assert.Equal(t, c.want, cfg.Limits.MemoryBytes, name)
	}
	s := newSubject(&fakeBackend{})
	s.slow = 3
	cfg := s.config(func(c *spi.Config) { c.Limits.Fuel = 7 }, func(c *spi.Config) { c.Limits.Fuel++ })
	assert.EqualValues(t, 8, cfg.Limits.Fuel)
	assert.Equal(t, 30*time.Second, cfg.Limits.Timeout)
}

func TestAnEvalMayBeAsLateAsTheDescriptorSays(t *testing.T) {
	t.Parallel()
	s := newSubject(&fakeBackend{})
	s.descriptor.Enforces = []spi.Enforcement{{Limit: spi.LimitTimeout, Granularity: int64(250 * time.Millisecond)}}
	assert.Equal(t, 4*time.Second+250*time.Millisecond, s.latest(2*time.Second))
	s.slow = 2
	assert.Equal(t, 6*time.Second+250*time.Millisecond, s.latest(2*time.Second))
}

func TestRequestsAreValid(t *testing.T) {
	t.Parallel()
	r := request("1", "")
	assert.Equal(t, spi.JavaScript, r.Language)
	assert.Equal(t, "null", string(r.Input))
	assert.Equal(t, "[1]", string(request("1", "[1]").Input))
}

func TestDetailsAreShort(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "short", clip("short"))
	assert.Len(t, clip(strings.Repeat("x", 1000)), 200+len("…"))
}
