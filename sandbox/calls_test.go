package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
	"github.com/loom-sandbox/sandboxd/tools"
)

// evalOne runs the one script of a backend.
func evalOne(t *testing.T, b spi.Backend, opts *Options, req Request) *Result {
	t.Helper()
	req.Script = "s"
	res, err := newTest(t, b, opts).Eval(t.Context(), req)
	require.NoError(t, err)
	return res
}

// valueOf is the value of a result that is one.
func valueOf(t *testing.T, res *Result) string {
	t.Helper()
	require.Equal(t, StatusOK, res.Status, "%+v", res.Error)
	return string(taint.Unwrap(*res.Value))
}

func messageOf(t *testing.T, res *Result) (message string) {
	t.Helper()
	require.NotNil(t, res.Error)
	require.NoError(t, json.Unmarshal(taint.Unwrap(res.Error.Message), &message))
	return message
}

func TestAScriptGetsExactlyWhatItWasHanded(t *testing.T) {
	t.Parallel()
	var functions []string
	b := one(func(g *guest) (any, error) {
		if functions = g.req.Functions; len(functions) == 0 {
			return nil, errors.New("nothing to call")
		}
		return g.do("tools.crm.lookup", `[{"id":7}]`)
	})
	var got *tools.Call
	lookup := tools.Tool{Name: "crm.lookup", Idempotent: true, Handler: func(_ context.Context, c *tools.Call) (any, error) {
		got = c
		return map[string]any{"name": "Ada"}, nil
	}}
	res := evalOne(t, b, nil, Request{Tools: set(t, lookup, says("b", 1)), Emit: true})
	assert.Equal(t, `{"name":"Ada"}`, valueOf(t, res))
	assert.Equal(t, []string{"tools.b", "tools.crm.lookup", "emit"}, functions)
	require.NotNil(t, got)
	assert.Equal(t, int64(1), got.ID)
	assert.Equal(t, "crm.lookup", got.Tool)
	assert.JSONEq(t, `{"id":7}`, string(got.Args))
	assert.Equal(t, res.EvalID, got.EvalID)
	assert.Len(t, got.ScriptSHA256, 64)
	assert.True(t, got.Idempotent)
	assert.Equal(t, tools.Position{Line: 3, Column: 1}, got.Position)
	assert.Equal(t, int64(1), res.Usage.HostCalls)
	assert.Equal(t, int64(10), res.Usage.CallBytes)
	assert.Equal(t, int64(14), res.Usage.ReplyBytes)
	assert.Empty(t, res.Warnings)

	res = evalOne(t, b, nil, Request{})
	assert.Empty(t, functions)
	assert.Equal(t, StatusError, res.Status)
}

func TestWhatWasNotHandedIsDeniedByName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		function string
		tools    []tools.Tool
		tool     string
		code     string
		says     string
	}{
		"another name":            {"tools.crm.remove", []tools.Tool{says("crm.lookup", 1)}, "", tools.CodeNotGranted, "tools.crm.remove"},
		"a part of a name":        {"tools.crm", []tools.Tool{says("crm.lookup", 1)}, "", tools.CodeNotGranted, "tools.crm"},
		"the name without prefix": {"crm.lookup", []tools.Tool{says("crm.lookup", 1)}, "", tools.CodeNotGranted, "crm.lookup"},
		"fetch":                   {"fetch", []tools.Tool{says("crm.lookup", 1)}, "", tools.CodeNotGranted, "fetch"},
		"text that is no name":    {"tools.\x00\xff" + strings.Repeat("x", 200), []tools.Tool{says("a", 1)}, "", tools.CodeNotGranted, "was not handed"},
		"what the policy refuses": {"tools.a", []tools.Tool{says("a", 1)}, "a", tools.CodePolicy, "not on Sundays"},
		"more calls than allowed": {"tools.a", []tools.Tool{{Name: "a", MaxCalls: 2, Handler: says("a", 1).Handler}}, "a", tools.CodeLimit, "a may be called 2 times"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := one(func(g *guest) (any, error) {
				for range 2 {
					if _, err := g.do(c.function, `[]`); err != nil {
						return nil, err
					}
				}
				return g.do(c.function, `[]`)
			})
			opts := &Options{}
			if c.code == tools.CodePolicy {
				opts.Policy = func(context.Context, *tools.Call) tools.Decision { return tools.Deny("not on Sundays") }
			}
			var told recorder
			opts.Observer = told.observe
			res := evalOne(t, b, opts, Request{Tools: set(t, c.tools...)})
			require.NotNil(t, res.Error)
			assert.Equal(t, spi.KindDenied, res.Error.Kind)
			assert.Equal(t, c.tool, res.Error.Tool)
			assert.Equal(t, c.code, res.Error.Code)
			assert.Contains(t, messageOf(t, res), c.says)
			last := told.events()
			assert.Equal(t, EventFinished, last[len(last)-1].Type)
			assert.Equal(t, EventToolDenied, last[len(last)-2].Type)
			assert.Equal(t, c.tool, last[len(last)-2].Tool)
			assert.Equal(t, c.code, last[len(last)-2].Code)
		})
	}
}

func TestAFailureNamesItsToolAndTheScriptCanCatchIt(t *testing.T) {
	t.Parallel()
	fails := tools.Tool{Name: "a.b", Handler: func(context.Context, *tools.Call) (any, error) {
		return nil, errors.New("dial 10.0.0.7: /secret/path")
	}}
	b := one(func(g *guest) (any, error) {
		v, err := g.do("tools.a.b", `[]`)
		if string(g.req.Input) == `"catch"` {
			return err.Error(), nil
		}
		return v, err
	})
	res := evalOne(t, b, nil, Request{Tools: set(t, fails)})
	require.NotNil(t, res.Error)
	assert.Equal(t, spi.KindException, res.Error.Kind)
	assert.Equal(t, "a.b", res.Error.Tool)
	assert.Equal(t, tools.CodeFailed, res.Error.Code)
	out, err := json.Marshal(res)
	require.NoError(t, err)
	assert.NotContains(t, string(out), "secret")
	assert.Contains(t, string(out), `"tool":"a.b","code":"FAILED"`)
	res = evalOne(t, b, nil, Request{Tools: set(t, fails), Input: json.RawMessage(`"catch"`)})
	assert.Equal(t, `"ToolError: a.b failed"`, valueOf(t, res))
}

func TestRepliesComeInTheOrderOfTheCallsThatAreDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		takes := tools.Tool{Name: "wait", Handler: func(ctx context.Context, c *tools.Call) (any, error) {
			var args struct{ Seconds int }
			assert.NoError(t, json.Unmarshal(c.Args, &args))
			time.Sleep(time.Duration(args.Seconds) * time.Second)
			return args.Seconds, nil
		}}
		var batches [][]int64
		b := one(func(g *guest) (any, error) {
			for _, s := range []int{3, 1, 3, 2, 1, 1} {
				g.call("tools.wait", fmt.Sprintf(`[{"Seconds":%d}]`, s))
			}
			for n := 0; n < 6; {
				got := g.rest()
				batches = append(batches, got)
				n += len(got)
			}
			return nil, nil
		})
		start := time.Now()
		res := evalOne(t, b, nil, Request{Tools: set(t, takes)})
		assert.Equal(t, StatusOK, res.Status)
		assert.Equal(t, 3*time.Second, time.Since(start), "all at once")
		assert.Equal(t, 3*time.Second, res.Usage.Total)
		// Those that end in the same instant may be seen one after the other.
		assert.ElementsMatch(t, []int64{1, 2, 3, 4, 5, 6}, slices.Concat(batches...))
		for _, batch := range batches {
			assert.True(t, slices.IsSorted(batch))
		}
		all := slices.Concat(batches...)
		assert.ElementsMatch(t, []int64{2, 5, 6}, all[:3])
		assert.Equal(t, int64(4), all[3])
	})
}

func TestSoManyHandlersRunAtOnceAndTheOthersWaitInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order []int64
		running, most := 0, 0
		tool := tools.Tool{Name: "t", Handler: func(_ context.Context, c *tools.Call) (any, error) {
			mu.Lock()
			order = append(order, c.ID)
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			running--
			mu.Unlock()
			return c.ID, nil
		}}
		b := one(func(g *guest) (any, error) {
			var ids []int64
			for range 256 {
				ids = append(ids, g.call("tools.t", `[]`))
			}
			sum := 0
			for _, id := range ids {
				v, err := g.await(id)
				if err != nil || v != fmt.Sprint(id) {
					return nil, fmt.Errorf("call %d gave %s, %v", id, v, err)
				}
				sum++
			}
			return sum, nil
		})
		start := time.Now()
		res := evalOne(t, b, nil, Request{Tools: set(t, tool)})
		assert.Equal(t, "256", valueOf(t, res))
		assert.Equal(t, 32, most)
		assert.Equal(t, 8*time.Second, time.Since(start))
		for wave := range 8 { // who starts in the same instant may be seen in any order
			got := slices.Sorted(slices.Values(order[32*wave : 32*wave+32]))
			assert.Equal(t, int64(32*wave+1), got[0])
			assert.Equal(t, int64(32*wave+32), got[31])
		}
	})
}

func TestResultsOfAllCallsTogetherAreBounded(t *testing.T) {
	t.Parallel()
	b := one(func(g *guest) (any, error) {
		for range 3 {
			if _, err := g.do("tools.t", `[]`); err != nil {
				return nil, err
			}
		}
		return g.do("tools.t", `[]`)
	})
	res := evalOne(t, b, nil, Request{Tools: set(t, says("t", "12345678")), Limits: Limits{ReplyBytes: 39}})
	require.NotNil(t, res.Error)
	assert.Equal(t, spi.KindException, res.Error.Kind)
	assert.Equal(t, tools.CodeLimit, res.Error.Code)
	assert.Contains(t, messageOf(t, res), "larger than replyBytes of 39")
	assert.Equal(t, int64(30), res.Usage.ReplyBytes)
	res = evalOne(t, b, nil, Request{Tools: set(t, says("t", "12345678")), Limits: Limits{ReplyBytes: 40}})
	assert.Equal(t, `"12345678"`, valueOf(t, res))
}

func TestToolsAreRefusedWhereTheBackendHasNoHostCalls(t *testing.T) {
	t.Parallel()
	deny := func(context.Context, *tools.Call) tools.Decision { return tools.Deny("no") }
	s := newTest(t, fake(), &Options{Policy: deny})
	empty, err := tools.NewSet()
	require.NoError(t, err)
	_, err = s.Eval(t.Context(), Request{Script: "1", Tools: empty})
	require.NoError(t, err, "nothing is nothing")
	for want, r := range map[string]Request{
		"tools cannot be handed to a script: backend fake has no host calls":      {Tools: set(t, says("t", 1))},
		"emit cannot be handed to a script: backend fake has no host calls":       {Emit: true},
		"limits.hostCalls is not enforced by backend fake; allowed is none":       {Limits: Limits{HostCalls: 5}},
		"limits.hostCallsAtOnce is not enforced by backend fake; allowed is none": {Limits: Limits{HostCallsAtOnce: 5}},
		"limits.callBytes is not enforced by backend fake; allowed is none":       {Limits: Limits{ArgumentBytes: 5}},
		"limits.replyBytes is not enforced by backend fake; allowed is none":      {Limits: Limits{ReplyBytes: 5}},
		"limits.totalMs is 0.5; allowed is 1 to 86400000":                         {Limits: Limits{TotalTime: time.Millisecond / 2}},
		"limits.totalMs is 90000000; allowed is 1 to 86400000":                    {Limits: Limits{TotalTime: 25 * time.Hour}},
		"input is not strict JSON":                                                {Input: json.RawMessage(`{"a":1,"a":1}`)},
	} {
		r.Script = "1"
		_, err := s.Eval(t.Context(), r)
		var refused *RequestError
		require.ErrorAs(t, err, &refused, want)
		assert.ErrorContains(t, err, want)
	}
	for want, l := range map[string]Limits{
		"limits.hostCalls is 100001; allowed is 1 to 100000": {HostCalls: 100_001},
		"limits.hostCallsAtOnce is -1; allowed is 1 to 1024": {HostCallsAtOnce: -1},
		"limits.callBytes is 1073741824; allowed is 1 to":    {ArgumentBytes: 1 << 30},
		"limits.replyBytes is 1073741824; allowed is 1 to":   {ReplyBytes: 1 << 30},
	} {
		_, err := newTest(t, one(nil), nil).Eval(t.Context(), Request{Script: "s", Limits: l})
		assert.ErrorContains(t, err, want)
	}
	long := tools.Tool{Name: strings.Repeat("x", 125), Handler: says("t", 1).Handler}
	_, err = newTest(t, one(nil), nil).Eval(t.Context(), Request{Script: "s", Tools: set(t, long)})
	assert.ErrorContains(t, err, "sandbox: tools has a tool that no script can name")
}

func TestTheLimitsOfCallsReachTheBackend(t *testing.T) {
	t.Parallel()
	var got spi.Limits
	b := one(func(g *guest) (any, error) { got = g.i.cfg.Limits; return 1, nil })
	evalOne(t, b, nil, Request{})
	assert.Equal(t, DefaultHostCalls, got.HostCalls)
	assert.Equal(t, DefaultArgumentBytes, got.CallBytes)
	evalOne(t, b, &Options{Ceilings: Limits{HostCalls: 7}}, Request{Limits: Limits{HostCalls: 9, ArgumentBytes: 100}})
	assert.Equal(t, int64(7), got.HostCalls)
	assert.Equal(t, int64(100), got.CallBytes)
}

func TestToolsAreFoundUnderToolsAndFetchIsGlobal(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]string{"a": "tools.a", "a.fetch": "tools.a.fetch", "fetch": "fetch"} {
		assert.Equal(t, want, functionOf(tool))
	}
}

func TestAPreparedScriptCanBeHandedTools(t *testing.T) {
	t.Parallel()
	b := one(func(g *guest) (any, error) { return g.do("tools.t", `[]`) })
	p, err := newTest(t, b, nil).Prepare(t.Context(), PrepareRequest{Script: "s"})
	require.NoError(t, err)
	res, err := p.Eval(t.Context(), RunRequest{Tools: set(t, says("t", 5))})
	require.NoError(t, err)
	assert.Equal(t, "5", valueOf(t, res))
}
