package sandbox

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
	"github.com/loom-sandbox/sandboxd/tools"
)

// asks suspends each call of a tool whose name is "ask" or begins so.
func asks(_ context.Context, c *tools.Call) tools.Decision {
	if len(c.Tool) >= 3 && c.Tool[:3] == "ask" {
		return tools.Suspend()
	}
	return tools.Allow()
}

// suspendOne runs the one script of a backend up to its suspension.
func suspendOne(t *testing.T, s *Sandbox, req Request) *Result {
	t.Helper()
	req.Script = "s"
	res, err := s.Eval(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, StatusSuspended, res.Status, "%+v", res.Error)
	require.NotEmpty(t, res.Continuation)
	return res
}

func value(id int64, v string) Reply { return Reply{ID: id, Value: json.RawMessage(v)} }

// twoAsks asks twice at once, after a call that is answered, and returns all.
func twoAsks(g *guest) (any, error) {
	g.log("first")
	first, err := g.do("tools.plain", `[]`)
	if err != nil {
		return nil, err
	}
	a, b := g.call("tools.ask", `[{"n":1}]`), g.call("tools.ask", `[]`)
	va, err := g.await(a)
	if err != nil {
		return nil, err
	}
	g.log("then")
	vb, err := g.await(b)
	return []any{first, json.RawMessage(va), json.RawMessage(vb), g.random()}, err
}

func TestASuspendedEvalGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		keys := keysOf(t, "0123456789abcdef0123456789abcdef")
		slow := tools.Tool{Name: "plain", Handler: func(context.Context, *tools.Call) (any, error) {
			time.Sleep(3 * time.Second)
			return 1, nil
		}}
		var told recorder
		opts := &Options{Policy: asks, Observer: told.observe, Continuations: &Continuations{Keys: keys, Audience: "tenant"}}
		b := one(twoAsks)
		granted := set(t, slow, says("ask", 0))
		first := suspendOne(t, newTest(t, b, opts), Request{
			Tools: granted, Input: json.RawMessage(`{"__loomTainted":{"origin":"mail"},"value":1}`), Seed: "s",
		})
		assert.Equal(t, "{\"n\":1}", string(taint.Unwrap(first.Pending[0].Args)))
		assert.Equal(t, "{}", string(taint.Unwrap(first.Pending[1].Args)))
		assert.Nil(t, first.Value)
		assert.Nil(t, first.Error)
		assert.Equal(t, int64(1), b.closes.Load())
		text, err := json.Marshal(first)
		require.NoError(t, err)
		var wire struct {
			Status       string
			Continuation string
			Pending      json.RawMessage
		}
		require.NoError(t, json.Unmarshal(text, &wire))
		assert.Equal(t, "suspended", wire.Status)
		assert.Equal(t, base64.StdEncoding.EncodeToString(first.Continuation), wire.Continuation)
		assert.JSONEq(t, `[{"id":2,"tool":"ask","args":{"__loomTainted":{"origin":"sandbox, mail, tool:plain"},"value":{"n":1}}},
			{"id":3,"tool":"ask","args":{"__loomTainted":{"origin":"sandbox, mail, tool:plain"},"value":{}}}]`, string(wire.Pending))

		time.Sleep(time.Hour) // which counts for nothing
		other := one(twoAsks)
		last, err := newTest(t, other, opts).Resume(t.Context(), ResumeRequest{
			Continuation: first.Continuation, Tools: granted,
			Replies: []Reply{value(3, `{"__loomTainted":{"origin":"person"},"value":"b"}`), value(2, `"a"`)},
		})
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf(`[1,"a","b",%d]`, seedOf(fmt.Sprint(seedOf("s")))), valueOf(t, last))
		assert.Equal(t, "sandbox, mail, person, tool:ask, tool:plain", last.Value.Origin)
		assert.JSONEq(t, `[{"level":"log","text":"first"},{"level":"log","text":"then"}]`, string(taint.Unwrap(last.Logs)))
		assert.Equal(t, first.EvalID, last.EvalID)
		assert.Equal(t, first.Run, last.Run)
		assert.Equal(t, 3*time.Second, last.Usage.Total)
		assert.Equal(t, int64(3), last.Usage.HostCalls)
		assert.Equal(t, int64(1+3+3), last.Usage.ReplyBytes)
		assert.Equal(t, int64(30), last.Usage.Fuel)
		assert.Equal(t, int64(0), other.evals.Load())
		assert.Equal(t, []string{
			"EVAL_STARTED", "LOG", "TOOL_CALLED 1", "TOOL_ANSWERED 1", "TOOL_CALLED 2", "TOOL_CALLED 3", "SUSPENDED",
			"RESUMED", "TOOL_ANSWERED 3", "TOOL_ANSWERED 2", "LOG", "EVAL_FINISHED",
		}, told.told())
		for i, e := range told.events() {
			assert.Equal(t, int64(i+1), e.Sequence)
			assert.Equal(t, first.EvalID, e.EvalID)
		}
	})
}

func TestRepliesMayComeOneByOne(t *testing.T) {
	t.Parallel()
	s := newTest(t, one(twoAsks), &Options{Policy: asks})
	granted := set(t, says("plain", 1), says("ask", 0))
	res := suspendOne(t, s, Request{Tools: granted})
	for _, step := range []struct {
		replies []Reply
		pending []int64
	}{
		{nil, []int64{2, 3}},
		{[]Reply{value(3, `5`)}, []int64{2}},
		{nil, []int64{2}},
	} {
		next, err := s.Resume(t.Context(), ResumeRequest{Continuation: res.Continuation, Tools: granted, Replies: step.replies})
		require.NoError(t, err)
		require.Equal(t, StatusSuspended, next.Status)
		var ids []int64
		for _, p := range next.Pending {
			ids = append(ids, p.ID)
		}
		assert.Equal(t, step.pending, ids)
		res = next
	}
	last, err := s.Resume(t.Context(), ResumeRequest{Continuation: res.Continuation, Tools: granted, Replies: []Reply{value(2, `4`)}})
	require.NoError(t, err)
	assert.Contains(t, valueOf(t, last), `[1,4,5,`)
}

func TestTheSameContinuationGivesTheSameTwice(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	s := newTest(t, one(twoAsks), &Options{Policy: asks})
	granted := set(t, counted("plain", &ran), says("ask", 0))
	first := suspendOne(t, s, Request{Tools: granted})
	var values []string
	for range 2 {
		res, err := s.Resume(t.Context(), ResumeRequest{
			Continuation: first.Continuation, Tools: granted, Replies: []Reply{value(2, `1`), value(3, `2`)},
		})
		require.NoError(t, err)
		values = append(values, valueOf(t, res))
	}
	assert.Equal(t, values[0], values[1])
	assert.Equal(t, int64(1), ran.Load(), "what was answered is not asked again")
	res, err := s.Resume(t.Context(), ResumeRequest{
		Continuation: first.Continuation, Tools: granted, Seed: "other", Replies: []Reply{value(2, `1`), value(3, `2`)},
	})
	require.NoError(t, err)
	assert.Contains(t, valueOf(t, res), fmt.Sprint(seedOf(fmt.Sprint(seedOf("other")))))
}

func TestWhatAPersonAllowedRunsAndThePolicyIsNotAsked(t *testing.T) {
	t.Parallel()
	var asked, ran atomic.Int64
	var got []*tools.Call
	s := newTest(t, one(twoAsks), &Options{MaxConcurrent: 1, Policy: func(ctx context.Context, c *tools.Call) tools.Decision {
		asked.Add(1)
		return asks(ctx, c)
	}})
	ask := tools.Tool{Name: "ask", Handler: func(_ context.Context, c *tools.Call) (any, error) {
		if ran.Add(1) == 1 {
			got = append(got, c)
		}
		return ran.Load(), nil
	}}
	granted := set(t, says("plain", 1), ask)
	first := suspendOne(t, s, Request{Tools: granted})
	before := asked.Load()
	res, err := s.Resume(t.Context(), ResumeRequest{
		Continuation: first.Continuation, Tools: granted, Limits: Limits{HostCallsAtOnce: 1},
		Replies: []Reply{{ID: 2, Allow: true}, {ID: 3, Error: &ReplyError{Name: "DeniedError", Message: "not this one"}}},
	})
	require.NoError(t, err)
	require.NotNil(t, res.Error)
	assert.Equal(t, spi.KindDenied, res.Error.Kind)
	assert.Equal(t, "ask", res.Error.Tool)
	assert.Equal(t, tools.CodePolicy, res.Error.Code)
	assert.Contains(t, messageOf(t, res), "not this one")
	assert.Equal(t, before, asked.Load())
	assert.Equal(t, int64(1), ran.Load())
	require.Len(t, got, 1)
	assert.JSONEq(t, `{"n":1}`, string(got[0].Args))
	assert.Equal(t, first.EvalID, got[0].EvalID)
	assert.Equal(t, int64(2), got[0].ID)
	assert.Equal(t, tools.Position{Line: 3, Column: 2}, got[0].Position)
}

func TestHandlersThatRunAreWaitedForBeforeSuspending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := tools.Tool{Name: "slow", Handler: func(context.Context, *tools.Call) (any, error) {
			time.Sleep(7 * time.Second)
			return 1, nil
		}}
		later := tools.Tool{Name: "later", Handler: func(context.Context, *tools.Call) (any, error) { return nil, tools.ErrSuspend }}
		b := one(func(g *guest) (any, error) {
			ask, slow := g.call("tools.later", `[]`), g.call("tools.slow", `[]`)
			if _, err := g.await(slow); err != nil {
				return nil, err
			}
			g.log("slow is done")
			return g.do("tools.ask", fmt.Sprintf(`[{"before":%d}]`, ask))
		})
		start := time.Now()
		res := suspendOne(t, newTest(t, b, &Options{Policy: asks}), Request{Tools: set(t, slow, later, says("ask", 1))})
		assert.Equal(t, 7*time.Second, time.Since(start))
		assert.Equal(t, 7*time.Second, res.Usage.Total)
		require.Len(t, res.Pending, 2)
		assert.Equal(t, "later", res.Pending[0].Tool)
		assert.Equal(t, "ask", res.Pending[1].Tool)
		assert.Contains(t, string(taint.Unwrap(res.Logs)), "slow is done")
	})
}

func TestWhereNothingCanBePutAwayWaitingIsDenied(t *testing.T) {
	t.Parallel()
	b := one(func(g *guest) (any, error) { return g.do("tools.ask", `[]`) })
	b.descriptor.Suspends = false
	s := newTest(t, b, &Options{Policy: asks})
	res, err := s.Eval(t.Context(), Request{Script: "s", Tools: set(t, says("ask", 1))})
	require.NoError(t, err)
	require.NotNil(t, res.Error)
	assert.Equal(t, spi.KindDenied, res.Error.Kind)
	assert.Contains(t, messageOf(t, res), "ask waits for somebody to decide, and backend fake cannot put a script away")
	_, err = s.Resume(t.Context(), ResumeRequest{Continuation: []byte("x")})
	require.ErrorIs(t, err, ErrContinuationUnreadable)
}

func TestTheToolsMustBeThoseThatWereHanded(t *testing.T) {
	t.Parallel()
	remote := tools.Remote("ask", "asks", json.RawMessage(`{"type":"object"}`))
	b := one(func(g *guest) (any, error) {
		v, err := g.do("tools.ask", `[]`)
		if err == nil && string(v) == `"more"` {
			return g.do("tools.more", `[]`)
		}
		return v, err
	})
	s := newTest(t, b, &Options{Policy: asks})
	ofRemote := suspendOne(t, s, Request{Tools: set(t, remote)}).Continuation
	ofLocal := suspendOne(t, s, Request{Tools: set(t, says("ask", 1), says("other", 1))}).Continuation
	for name, c := range map[string]struct {
		sealed []byte
		tools  *tools.Set
		value  string
		want   string // of the error; empty: none
	}{
		"remote ones need not be given": {ofRemote, nil, `1`, ""},
		"but may be":                    {ofRemote, set(t, remote), `1`, ""},
		"others must be given":          {ofLocal, nil, `1`, "tools are not those that the script was handed"},
		"all of them":                   {ofLocal, set(t, says("ask", 1)), `1`, `tools are not those that the script was handed: "other"`},
		"with the same schema":          {ofRemote, set(t, tools.Remote("ask", "asks", json.RawMessage(`{"type":"object","maxProperties":1}`))), `1`, `handed: "ask"`},
		"and there may be more":         {ofLocal, set(t, says("ask", 1), says("other", 1), says("more", 1)), `1`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, err := s.Resume(t.Context(), ResumeRequest{Continuation: c.sealed, Tools: c.tools, Replies: []Reply{value(1, c.value)}})
			if c.want == "" {
				require.NoError(t, err)
				assert.Equal(t, c.value, valueOf(t, res))
				return
			}
			var refused *RequestError
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, "tools", refused.Field)
			assert.ErrorContains(t, err, c.want)
		})
	}
	res, err := s.Resume(t.Context(), ResumeRequest{
		Continuation: ofLocal, Tools: set(t, says("ask", 1), says("other", 1), says("more", 1)), Replies: []Reply{value(1, `"more"`)},
	})
	require.NoError(t, err)
	require.NotNil(t, res.Error)
	assert.Equal(t, tools.CodeNotGranted, res.Error.Code, "but the script is not handed them")
}

func TestRepliesAreCheckedBeforeAnythingHappens(t *testing.T) {
	t.Parallel()
	b := one(func(g *guest) (any, error) {
		a, _ := g.call("tools.ask", `[]`), g.call("tools.remote", `[]`)
		v, err := g.await(a)
		return json.RawMessage(v), err
	})
	s := newTest(t, b, &Options{Policy: asks})
	ask := tools.Tool{Name: "ask", Output: json.RawMessage(`{"type":["number","string"]}`), Handler: says("", 1).Handler}
	granted := set(t, ask, tools.Remote("remote", "", nil))
	first := suspendOne(t, s, Request{Tools: granted, Limits: Limits{ReplyBytes: 20}})
	for want, replies := range map[string][]Reply{
		"replies[0].id is not that of a pending call":                     {value(9, `1`)},
		"replies[1].id was replied to before":                             {value(1, `1`), value(1, `1`)},
		"replies[0] must have exactly one of value, error and allow":      {{ID: 1}},
		"replies[1] must have exactly one of value, error and allow":      {value(2, `1`), {ID: 1, Value: json.RawMessage("1"), Allow: true}},
		"replies[0].value is not strict JSON":                             {value(1, `{"a":1,"a":2}`)},
		"replies[0].value is not what the tool returns":                   {value(1, `[1]`)},
		"replies[1].value makes the results of all calls larger than rep": {value(2, `"12345678"`), value(1, `"123456789"`)},
		"replies[0].error.name is not allowed":                            {{ID: 1, Error: &ReplyError{Name: "a b"}}},
		"replies[0].error.message must be at most 8192 bytes":             {{ID: 1, Error: &ReplyError{Message: "\xff"}}},
		"replies[0].allow is not possible: the tool is run by the client": {{ID: 2, Allow: true}},
	} {
		_, err := s.Resume(t.Context(), ResumeRequest{Continuation: first.Continuation, Tools: granted, Replies: replies})
		var refused *RequestError
		require.ErrorAs(t, err, &refused, want)
		assert.ErrorContains(t, err, want)
	}
	for want, r := range map[string]ResumeRequest{
		"now is out of range":     {Now: time.Unix(-1, 0)},
		"seed must be at most":    {Seed: "\xff"},
		"limits.fuel is -1":       {Limits: Limits{Fuel: -1}},
		"limits.replyBytes is -1": {Limits: Limits{ReplyBytes: -1}},
	} {
		r.Continuation, r.Tools = first.Continuation, granted
		_, err := s.Resume(t.Context(), r)
		assert.ErrorContains(t, err, want)
	}
	assert.Zero(t, b.resumes.Load())
	res, err := s.Resume(t.Context(), ResumeRequest{Continuation: first.Continuation, Tools: granted, Replies: []Reply{
		value(2, `"12345678"`), value(1, `{"__loomTainted":{"origin":"person"},"value":"12345678"}`),
	}})
	require.NoError(t, err)
	assert.Equal(t, `"12345678"`, valueOf(t, res), "without its label it fits, and is what the schema wants")
	assert.Equal(t, "sandbox, person, tool:ask, tool:remote", res.Value.Origin)
}

func TestWhatCountsGoesOnCounting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := tools.Tool{Name: "slow", MaxCalls: 3, Handler: func(context.Context, *tools.Call) (any, error) {
			time.Sleep(2 * time.Second)
			return 1, nil
		}}
		b := one(func(g *guest) (any, error) {
			failed, thrown := g.await(g.call("tools.fails", `[]`))
			for n := 0; ; n++ {
				if _, err := g.do("tools.slow", `[]`); err != nil {
					return nil, err
				}
				if v, err := g.do("tools.ask", `[]`); err != nil || string(v) == `"stop"` {
					return failed, thrown
				}
			}
		})
		fails := tools.Tool{Name: "fails", Handler: func(context.Context, *tools.Call) (any, error) { return nil, errFake }}
		granted := set(t, slow, fails, says("ask", 0))
		s := newTest(t, b, &Options{Policy: asks})
		res := suspendOne(t, s, Request{Tools: granted, Limits: Limits{TotalTime: 7 * time.Second}})
		step := func(limits Limits, v string) *Result {
			time.Sleep(time.Hour)
			next, err := s.Resume(t.Context(), ResumeRequest{
				Continuation: res.Continuation, Tools: granted, Limits: limits, Replies: []Reply{value(res.Pending[0].ID, v)},
			})
			require.NoError(t, err)
			return next
		}
		stopped := step(Limits{}, `"stop"`)
		require.NotNil(t, stopped.Error)
		assert.Equal(t, "fails", stopped.Error.Tool, "the error was one of the part before")
		assert.Equal(t, tools.CodeFailed, stopped.Error.Code)
		short := step(Limits{TotalTime: 3 * time.Second}, `1`)
		assert.Equal(t, &spi.ReachedLimit{Name: LimitTotalTime, Value: 3000}, short.Error.Limit)
		assert.Equal(t, 3*time.Second, short.Usage.Total)
		res = step(Limits{}, `1`)
		assert.Equal(t, 4*time.Second, res.Usage.Total)
		res = step(Limits{}, `1`)
		assert.Equal(t, 6*time.Second, res.Usage.Total)
		over := step(Limits{}, `1`)
		assert.Equal(t, spi.KindDenied, over.Error.Kind, "a fourth call")
		assert.Equal(t, tools.CodeLimit, over.Error.Code)
	})
}
