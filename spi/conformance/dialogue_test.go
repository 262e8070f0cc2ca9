package conformance

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

func waiting(calls ...spi.HostCall) *spi.Outcome {
	return &spi.Outcome{Pending: calls, Usage: spi.Usage{HostCalls: int64(len(calls))}}
}

func aCall(id int64, change func(*spi.HostCall)) spi.HostCall {
	c := spi.HostCall{ID: id, Function: "tools.a", Args: []byte("[1]")}
	if change != nil {
		change(&c)
	}
	return c
}

func TestAnOutcomeThatWaitsIsHeldToItsForm(t *testing.T) {
	t.Parallel()
	for says, out := range map[string]*spi.Outcome{
		"":                         waiting(aCall(1, nil), aCall(3, nil)),
		"has the ID 0 after 0":     waiting(aCall(0, nil)),
		"has the ID 2 after 2":     waiting(aCall(2, nil), aCall(2, nil)),
		"has the ID 1 after 2":     waiting(aCall(2, nil), aCall(1, nil)),
		"not UTF-8 or of 1 bytes":  waiting(aCall(1, func(c *spi.HostCall) { c.Function = "\xff" })),
		"of 257 bytes":             waiting(aCall(1, func(c *spi.HostCall) { c.Function = strings.Repeat("f", 257) })),
		"line 0, column 3":         waiting(aCall(1, func(c *spi.HostCall) { c.Column = 3 })),
		"line -1, column 0":        waiting(aCall(1, func(c *spi.HostCall) { c.Line = -1 })),
		"arguments of call 1: ":    waiting(aCall(1, func(c *spi.HostCall) { c.Args = []byte(`[{"a":1,"a":2}]`) })),
		"are {}, wanted an array":  waiting(aCall(1, func(c *spi.HostCall) { c.Args = []byte(`{}`) })),
		"says 0 calls, and 1 have": {Pending: []spi.HostCall{aCall(1, nil)}},
		"a negative part":          {Pending: []spi.HostCall{aCall(1, nil)}, Usage: spi.Usage{HostCalls: 1, CallBytes: -1}},
		"neither a value":          {},
	} {
		err := wellFormedPart(out)
		if says == "" {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorContains(t, err, says)
	}
	assert.ErrorContains(t, wellFormed(waiting(aCall(1, nil))), "it was handed no functions")
}

func TestOnlyARefusedCallIsADenialWithALimit(t *testing.T) {
	t.Parallel()
	for limit, good := range map[spi.LimitName]bool{
		spi.LimitHostCalls: true, spi.LimitCallBytes: true, spi.LimitFuel: false, spi.LimitTimeout: false,
	} {
		err := wellFormed(errorOutcome(spi.ScriptError{Kind: spi.KindDenied, Limit: &spi.ReachedLimit{Name: limit}}))
		assert.Equal(t, good, err == nil, "%s: %v", limit, err)
	}
	err := wellFormed(errorOutcome(spi.ScriptError{Kind: spi.KindException, Limit: &spi.ReachedLimit{Name: spi.LimitHostCalls}}))
	assert.ErrorContains(t, err, "names the limit hostCalls")
}

func TestPendingCallsAreComparedByMeaning(t *testing.T) {
	t.Parallel()
	out := waiting(aCall(1, func(c *spi.HostCall) { c.Args = []byte(`[ 1, {"b":2,"a":"\u00e9"} ]`) }), aCall(3, nil))
	for _, c := range []struct {
		calls []string
		same  bool
	}{
		{[]string{`1 tools.a [1,{"a":"é","b":2}]`, "3 tools.a [1]"}, true},
		{[]string{`1 tools.a [1,{"a":"é","b":2}]`, "2 tools.a [1]"}, false},
		{[]string{`1 tools.a [1,{"a":"é","b":2}]`, "3 tools.b [1]"}, false},
		{[]string{`1 tools.a [1,{"a":"e","b":2}]`, "3 tools.a [1]"}, false},
		{[]string{"3 tools.a [1]", `1 tools.a [1,{"a":"é","b":2}]`}, false},
		{[]string{`1 tools.a [1,{"a":"é","b":2}]`}, false},
		{nil, false},
	} {
		assert.Equal(t, c.same, wantPending(out, c.calls...) == nil, "%q", c.calls)
	}
	assert.NoError(t, wantPending(&spi.Outcome{}))
}

func TestHostCallsMustBeDeclaredAndThere(t *testing.T) {
	t.Parallel()
	with := func(declared bool, eval func(context.Context, *spi.Request) (*spi.Outcome, error)) func() spi.Backend {
		return func() spi.Backend {
			return &fakeBackend{eval: eval, describe: func() spi.Descriptor {
				d := fakeDescriptor()
				d.HostCalls = declared
				return d
			}}
		}
	}
	takes := func(context.Context, *spi.Request) (*spi.Outcome, error) {
		return valueOutcome("2", spi.TypeNumber), nil
	}
	waits := func(context.Context, *spi.Request) (*spi.Outcome, error) {
		return waiting(aCall(1, func(c *spi.HostCall) { c.Args = []byte("[2]") })), nil
	}
	refuses := func(err error) func(context.Context, *spi.Request) (*spi.Outcome, error) {
		return func(ctx context.Context, req *spi.Request) (*spi.Outcome, error) {
			if len(req.Functions) > 0 {
				return nil, err
			}
			return takes(ctx, req)
		}
	}
	for name, c := range map[string]struct {
		backend  func() spi.Backend
		declared Outcome // of CALL-001
		not      Outcome // of CALL-002
		says     string
	}{
		"declared and no method":      {with(true, waits), Fail, NotApplicable, "the isolate is no spi.Caller"},
		"declared and refused":        {with(true, refuses(spi.ErrUnsupported)), Fail, NotApplicable, "not supported"},
		"declared and never waits":    {with(true, takes), Fail, NotApplicable, "wanted that it waits"},
		"not declared and refused":    {with(false, refuses(fmt.Errorf("x: %w", spi.ErrUnsupported))), NotApplicable, Pass, ""},
		"not declared and ignored":    {with(false, takes), NotApplicable, Fail, "the descriptor does not say"},
		"not declared, another error": {with(false, refuses(spi.ErrClosed)), NotApplicable, Fail, "error is spi: closed"},
	} {
		r, err := NewRunner(t.Context(), &Harness{New: func(context.Context) (spi.Backend, error) { return c.backend(), nil }})
		require.NoError(t, err, name)
		one, two := r.Run(t.Context(), checkOf(t, "CALL-001")), r.Run(t.Context(), checkOf(t, "CALL-002"))
		r.Close()
		assert.Equal(t, c.declared, one.Outcome, "%s: %s", name, one.Detail)
		assert.Equal(t, c.not, two.Outcome, "%s: %s", name, two.Detail)
		assert.Contains(t, one.Detail+two.Detail, c.says, name)
	}
}
