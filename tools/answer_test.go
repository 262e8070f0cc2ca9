package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/taint"
	"github.com/loom-sandbox/sandboxd/tools"
)

// ask is a call of the tool "crm.lookup" with these arguments.
func ask(args string) *tools.Call {
	return &tools.Call{
		EvalID: "e1", ID: 3, Tool: "crm.lookup", Args: json.RawMessage(args), ScriptSHA256: "ab",
		Position: tools.Position{Line: 2, Column: 7},
	}
}

// lookup is a set of the tool "crm.lookup" with this handler.
func lookup(t testing.TB, handler tools.Handler) *tools.Set {
	t.Helper()
	return newSet(t, tools.Tool{
		Name: "crm.lookup", Handler: handler, Idempotent: true,
		Input: json.RawMessage(`{"type": "object", "properties": {"id": {"type": "integer"}}}`),
	})
}

// failure is what a script sees of an answer, which must be nothing but that.
func failure(t testing.TB, answer tools.Answer) tools.Failure {
	t.Helper()
	require.NotNil(t, answer.Failure)
	require.Nil(t, answer.Value)
	require.False(t, answer.Suspended)
	require.Equal(t, answer.Failure.Denied, answer.Failure.Name == tools.NameDenied)
	return *answer.Failure
}

func TestAnAnswerIsWhatTheHandlerReturns(t *testing.T) {
	t.Parallel()
	var seen, decided tools.Call
	set := lookup(t, func(_ context.Context, call *tools.Call) (any, error) {
		seen = *call
		return map[string]any{"name": "Ada <a@b>", "n": 1}, nil
	})
	answer := set.Answer(t.Context(), ask(`[ {"id": 7} ]`), func(_ context.Context, call *tools.Call) tools.Decision {
		decided = *call
		clear(call.Args) // its own copy
		return tools.Allow()
	})
	assert.JSONEq(t, `{"name": "Ada <a@b>", "n": 1}`, string(answer.Value))
	assert.Nil(t, answer.Failure)
	assert.False(t, answer.Suspended)
	assert.False(t, answer.Abandoned)
	assert.NoError(t, answer.Cause)
	assert.Equal(t, "tool:crm.lookup", answer.Origin)
	assert.Equal(t, `{"id": 7}`, string(answer.Args))

	want := *ask(`{"id": 7}`)
	want.Idempotent = true
	assert.Equal(t, want, seen)
	decided.Args = want.Args
	assert.Equal(t, want, decided)
}

func TestOnlyResultsThatAreTrustedHaveNoOrigin(t *testing.T) {
	t.Parallel()
	for origin, tool := range map[string]tools.Tool{
		"tool:a": {Name: "a", Handler: returns(1)},
		"crm":    {Name: "a", Handler: returns(1), Origin: "crm"},
		"":       {Name: "a", Handler: returns(1), DangerouslyTrustResults: true},
	} {
		assert.Equal(t, origin, newSet(t, tool).Answer(t.Context(), &tools.Call{Tool: "a"}, nil).Origin)
		tool.Handler = func(context.Context, *tools.Call) (any, error) { return nil, tools.Failf("words of the handler") }
		assert.Equal(t, origin, newSet(t, tool).Answer(t.Context(), &tools.Call{Tool: "a"}, nil).Origin)
		assert.Equal(t, origin, newSet(t, tool).AnswerWith(&tools.Call{Tool: "a"}, json.RawMessage("1")).Origin)
		assert.Empty(t, newSet(t, tool).Answer(t.Context(), &tools.Call{Tool: "a", Args: json.RawMessage("[1]")}, nil).Origin, "the handler had no part in it")
	}
}

func TestThePolicyDecides(t *testing.T) {
	t.Parallel()
	denied := func(message string) *tools.Failure {
		return &tools.Failure{Name: tools.NameDenied, Message: message, Denied: true, Code: tools.CodePolicy}
	}
	deny := func(reason string) tools.Policy {
		return func(context.Context, *tools.Call) tools.Decision { return tools.Deny(reason) }
	}
	for _, tc := range []struct {
		name   string
		policy tools.Policy
		want   *tools.Failure // nil: the handler runs
	}{
		{"nobody", nil, nil},
		{"allow", func(context.Context, *tools.Call) tools.Decision { return tools.Allow() }, nil},
		{"deny", deny("not on Sundays"), denied("crm.lookup was denied: not on Sundays")},
		{"deny without a reason", deny(""), denied("crm.lookup was denied")},
		{"a reason of several lines", deny("no\r\n\x1b[31m way\u202e\x00\xff"), denied("crm.lookup was denied: no [31m way \ufffd")},
		{"nothing", func(context.Context, *tools.Call) tools.Decision { return tools.Decision{} }, denied("crm.lookup was denied")},
		{"a panic", func(context.Context, *tools.Call) tools.Decision { panic("secret") }, denied("crm.lookup was denied")},
		{"a nil pointer", func(context.Context, *tools.Call) tools.Decision { var c *tools.Call; return tools.Deny(c.Tool) }, denied("crm.lookup was denied")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var ran atomic.Bool
			set := lookup(t, func(context.Context, *tools.Call) (any, error) { ran.Store(true); return 1, nil })
			answer := set.Answer(t.Context(), ask(`[{}]`), tc.policy)
			assert.Equal(t, tc.want, answer.Failure)
			assert.Equal(t, tc.want == nil, ran.Load())
			assert.Empty(t, set.AnswerAllowed(t.Context(), ask(`[{}]`)).Failure, "nobody is asked")
			assert.True(t, ran.Load())
		})
	}
	long := failure(t, lookup(t, returns(1)).Answer(t.Context(), ask(`[]`), deny(strings.Repeat("ä", 4000))))
	assert.LessOrEqual(t, len(long.Message), tools.MaxMessageBytes)
	assert.True(t, strings.HasSuffix(long.Message, "ä…"))
}

func TestThePolicyIsAskedOnlyAboutWhatIsGrantedAndValid(t *testing.T) {
	t.Parallel()
	set := lookup(t, returns(1))
	policy := func(context.Context, *tools.Call) tools.Decision { panic("not to be called") }
	other := ask(`[]`)
	other.Tool = "crm.delete"
	assert.Equal(t, tools.CodeNotGranted, failure(t, set.Answer(t.Context(), other, policy)).Code)
	assert.Equal(t, tools.CodeBadArguments, failure(t, set.Answer(t.Context(), ask(`[{"id": ""}]`), policy)).Code)
	other.Tool = "a\nb\u202e" + strings.Repeat("c", 300)
	got := failure(t, set.Answer(t.Context(), other, policy))
	assert.Regexp(t, `^a b c+… is not granted$`, got.Message)
	assert.Less(t, len(got.Message), tools.MaxMessageBytes)
}

func TestACallIsSuspended(t *testing.T) {
	t.Parallel()
	suspend := func(context.Context, *tools.Call) tools.Decision { return tools.Suspend() }
	byHandler := lookup(t, func(context.Context, *tools.Call) (any, error) {
		return "dropped", fmt.Errorf("later: %w", tools.ErrSuspend)
	})
	remote := newSet(t, tools.Remote("crm.lookup", "", nil))
	for name, answer := range map[string]tools.Answer{
		"by the policy":            lookup(t, returns(1)).Answer(t.Context(), ask(`[{"id": 7}]`), suspend),
		"by the handler":           byHandler.Answer(t.Context(), ask(`[{"id": 7}]`), nil),
		"as remote":                remote.Answer(t.Context(), ask(`[{"id": 7}]`), nil),
		"as remote and by policy":  remote.Answer(t.Context(), ask(`[{"id": 7}]`), suspend),
		"as remote, after a yes":   remote.AnswerAllowed(t.Context(), ask(`[{"id": 7}]`)),
		"by the handler, allowed ": byHandler.AnswerAllowed(t.Context(), ask(`[{"id": 7}]`)),
	} {
		answer.Duration = 0
		assert.Equal(t, tools.Answer{Suspended: true, Args: json.RawMessage(`{"id": 7}`)}, answer, name)
	}
	deny := func(context.Context, *tools.Call) tools.Decision { return tools.Deny("no") }
	assert.True(t, failure(t, remote.Answer(t.Context(), ask(`[]`), deny)).Denied)
	assert.Equal(t, tools.CodeBadArguments, failure(t, remote.Answer(t.Context(), ask(`[1]`), nil)).Code)
}

func TestAnAnswerFromElsewhereIsCheckedLikeAResult(t *testing.T) {
	t.Parallel()
	tool := named("crm.lookup")
	tool.Output = json.RawMessage(`{"type": "integer"}`)
	tool.MaxResultBytes = 5
	set := newSet(t, tool)
	answer := set.AnswerWith(ask(`[]`), json.RawMessage(`7`))
	assert.Equal(t, tools.Answer{Value: json.RawMessage(`7`), Origin: "tool:crm.lookup"}, answer)
	for value, want := range map[string]tools.Failure{
		`"a"`:    {Name: tools.NameTool, Code: tools.CodeFailed, Message: "crm.lookup returned what its output schema does not allow"},
		`123456`: {Name: tools.NameTool, Code: tools.CodeLimit, Message: "crm.lookup returned more than 5 bytes"},
		`{`:      {Name: tools.NameTool, Code: tools.CodeFailed, Message: "crm.lookup failed"},
		``:       {Name: tools.NameTool, Code: tools.CodeFailed, Message: "crm.lookup failed"},
	} {
		assert.Equal(t, want, failure(t, set.AnswerWith(ask(`[]`), json.RawMessage(value))), value)
	}
}

func TestAnOutputSchemaDescribesWhatIsInsideOfLabels(t *testing.T) {
	t.Parallel()
	tool := named("crm.lookup")
	tool.Output = json.RawMessage(`{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"], "additionalProperties": false}`)
	for value, ok := range map[string]bool{
		`{"name": "a"}`: true,
		`{"name": {"__loomTainted": {"origin": "web"}, "value": "a"}}`:                                                true,
		`{"__loomTainted": {"origin": "web"}, "value": {"name": {"__loomTainted": {"origin": "db"}, "value": "a"}}}`:  true,
		`{"name": {"__loomTainted": {"origin": "web"}, "value": {"__loomTainted": {"origin": "web"}, "value": "a"}}}`: true,
		`{"name": {"__loomTainted": {"origin": "web"}, "value": 1}}`:                                                  false,
		`{"name": {"__loomTainted": {"origin": ""}, "value": "a"}}`:                                                   false,
		`{"name": {"__loomTainted": {"origin": "web", "x": 1}, "value": "a"}}`:                                        false,
		`{"name": {"__loomTainted": {"origin": "web"}}}`:                                                              false,
		`{"name": {"__loomTainted": {"origin": "web"}, "value": "a", "x": 1}}`:                                        false,
	} {
		tool.Handler = returns(json.RawMessage(value))
		answer := newSet(t, tool).Answer(t.Context(), ask(`[]`), nil)
		assert.Equal(t, ok, answer.Failure == nil, value)
		if ok {
			assert.JSONEq(t, value, string(answer.Value), "labels stay")
		}
	}
	tool.Handler = returns(map[string]any{"name": taint.Wrap("web", json.RawMessage(`"a"`))})
	assert.Nil(t, newSet(t, tool).Answer(t.Context(), ask(`[]`), nil).Failure)
}

func TestAHandlerThatIgnoresItsContextDoesNotHoldTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release, ended := make(chan struct{}), make(chan struct{})
		set := newSet(t, tools.Tool{Name: "crm.lookup", Timeout: 250 * time.Millisecond, Handler: func(context.Context, *tools.Call) (any, error) {
			defer close(ended)
			<-release
			return "late", nil
		}})
		started := time.Now()
		answer := set.Answer(t.Context(), ask(`[]`), nil)
		assert.Less(t, time.Since(started), time.Second)
		assert.Equal(t, tools.Failure{Name: tools.NameTool, Message: "crm.lookup took longer than 250 ms", Code: tools.CodeTimeout}, failure(t, answer))
		assert.True(t, answer.Abandoned)
		assert.GreaterOrEqual(t, answer.Duration, 250*time.Millisecond)
		close(release)
		<-ended // its result goes nowhere, and its goroutine ends
	})
}

func TestAHandlerThatHeedsItsContextIsNotAbandoned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler := func(ctx context.Context, _ *tools.Call) (any, error) {
			<-ctx.Done()
			return nil, fmt.Errorf("db at 10.0.0.7: %w", ctx.Err())
		}
		set := newSet(t, tools.Tool{Name: "crm.lookup", Handler: handler})
		started := time.Now()
		answer := set.Answer(t.Context(), ask(`[]`), nil)
		assert.Equal(t, tools.DefaultTimeout, time.Since(started))
		assert.Equal(t, tools.Failure{Name: tools.NameTool, Message: "crm.lookup took longer than 30000 ms", Code: tools.CodeTimeout}, failure(t, answer))
		assert.False(t, answer.Abandoned)
		assert.ErrorIs(t, answer.Cause, context.DeadlineExceeded)

		told := newSet(t, tools.Tool{Name: "crm.lookup", Handler: func(ctx context.Context, _ *tools.Call) (any, error) {
			<-ctx.Done()
			return "all that was there in time", nil
		}})
		assert.Equal(t, `"all that was there in time"`, string(told.Answer(t.Context(), ask(`[]`), nil).Value))
	})
}

func TestTheEndOfTheCallersContextEndsTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("the eval ended at /srv/secret")
		ctx, cancel := context.WithCancelCause(t.Context())
		handler := func(ctx context.Context, _ *tools.Call) (any, error) {
			cancel(stop)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		answer := newSet(t, tools.Tool{Name: "crm.lookup", Handler: handler}).Answer(ctx, ask(`[]`), nil)
		assert.Equal(t, tools.Failure{Name: tools.NameTool, Message: "crm.lookup failed", Code: tools.CodeFailed}, failure(t, answer))
		assert.ErrorIs(t, answer.Cause, context.Canceled)

		var ran bool
		set := newSet(t, tools.Tool{Name: "crm.lookup", Handler: func(context.Context, *tools.Call) (any, error) { ran = true; return 1, nil }})
		answer = set.Answer(ctx, ask(`[]`), nil)
		assert.Equal(t, tools.CodeFailed, failure(t, answer).Code)
		assert.ErrorIs(t, answer.Cause, stop)
		assert.False(t, ran, "what has ended starts nothing")
	})
}

func TestAPolicyThatTakesTooLongDenies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		policy := func(context.Context, *tools.Call) tools.Decision { <-release; return tools.Allow() }
		started := time.Now()
		answer := lookup(t, returns(1)).Answer(t.Context(), ask(`[]`), policy)
		assert.Equal(t, tools.Failure{Name: tools.NameDenied, Message: "crm.lookup was denied", Denied: true, Code: tools.CodePolicy}, failure(t, answer))
		assert.GreaterOrEqual(t, time.Since(started), tools.MaxPolicyTime)
		assert.ErrorContains(t, answer.Cause, "the policy gave no decision about crm.lookup")
		close(release)
		synctest.Wait()
	})
}

func TestASetAnswersManyAtOnce(t *testing.T) {
	t.Parallel()
	set := lookup(t, func(_ context.Context, call *tools.Call) (any, error) { return json.RawMessage(call.Args), nil })
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			answer := set.Answer(t.Context(), ask(fmt.Sprintf(`[{"id":%d}]`, i)), func(context.Context, *tools.Call) tools.Decision { return tools.Allow() })
			assert.Equal(t, fmt.Sprintf(`{"id":%d}`, i), string(answer.Value))
			assert.NotEmpty(t, set.Declarations())
		})
	}
	group.Wait()
}

func TestADecisionSaysWhatItIs(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "allow", tools.Allow().String())
	assert.Equal(t, "suspend", tools.Suspend().String())
	assert.Equal(t, "deny: no", tools.Deny("no").String())
	assert.Equal(t, "deny", tools.Decision{}.String())
}

func TestArgumentsThatTakeLongToCheckDoNotHoldTheAnswer(t *testing.T) {
	t.Parallel()
	// Each level is checked twice as often as the one around it.
	const schema = `{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[
		{"properties":{"x":{"$ref":"#/$defs/a"}},"required":["y"]},
		{"properties":{"x":{"$ref":"#/$defs/a"}},"required":["z"]}]}}}`
	args := json.RawMessage("[" + strings.Repeat(`{"x":`, 17) + "{}" + strings.Repeat("}", 17) + "]")
	tool := named("crm.lookup")
	tool.Input = json.RawMessage(schema)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	answer := newSet(t, tool).Answer(ctx, ask(string(args)), nil)
	assert.Equal(t, tools.Failure{Name: tools.NameTool, Message: "crm.lookup failed", Code: tools.CodeFailed}, failure(t, answer))
	assert.True(t, answer.Abandoned)
	assert.ErrorIs(t, answer.Cause, context.DeadlineExceeded)
}
