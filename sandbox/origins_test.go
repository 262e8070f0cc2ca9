package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
	"github.com/loom-sandbox/sandboxd/tools"
)

func TestTheLabelJoinsWhateverTheScriptWasGiven(t *testing.T) {
	t.Parallel()
	page := map[string]any{"a": []any{taint.Wrap("web:x", json.RawMessage(`{"b":1}`))}}
	all := []tools.Tool{
		says("plain", 1), says("page", page),
		{Name: "named", Origin: "crm", Handler: says("", 1).Handler},
		{Name: "trusted", DangerouslyTrustResults: true, Handler: says("", 1).Handler},
		{Name: "trustedPage", DangerouslyTrustResults: true, Handler: says("", page).Handler},
		{Name: "fails", Handler: func(context.Context, *tools.Call) (any, error) { return nil, tools.Failf("the page says no") }},
	}
	for name, c := range map[string]struct {
		input  string
		calls  []string
		value  string // of the last call
		origin string
	}{
		"nothing":                      {``, nil, `null`, "sandbox"},
		"a tool":                       {``, []string{"plain"}, `1`, "sandbox, tool:plain"},
		"a tool with an origin":        {``, []string{"named"}, `1`, "crm, sandbox"},
		"a trusted tool":               {``, []string{"trusted"}, `1`, "sandbox"},
		"labels in a result":           {``, []string{"page"}, `{"a":[{"b":1}]}`, "sandbox, tool:page, web:x"},
		"labels in a trusted result":   {``, []string{"trustedPage"}, `{"a":[{"b":1}]}`, "sandbox, web:x"},
		"labels in the input":          {`[{"__loomTainted":{"origin":"mail"},"value":[1]}]`, nil, `[[1]]`, "mail, sandbox"},
		"a label around a label":       {`{"__loomTainted":{"origin":"sandbox, a"},"value":{"__loomTainted":{"origin":"b"},"value":2}}`, nil, `2`, "a, b, sandbox"},
		"several, and one twice":       {`{"__loomTainted":{"origin":"mail"},"value":1}`, []string{"plain", "named", "plain"}, `1`, "crm, mail, sandbox, tool:plain"},
		"a failure that a tool worded": {``, []string{"fails"}, `"ToolError: fails: the page says no"`, "sandbox, tool:fails"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := one(func(g *guest) (any, error) {
				g.log("said")
				last := any(json.RawMessage(g.req.Input))
				for _, tool := range c.calls {
					v, err := g.do("tools."+tool, `[]`)
					if last = v; err != nil {
						last = err.Error()
					}
				}
				if string(g.req.Input) == `"throw"` {
					return nil, fmt.Errorf("%v", last)
				}
				return last, nil
			})
			res := evalOne(t, b, nil, Request{Tools: set(t, all...), Input: json.RawMessage(c.input)})
			assert.Equal(t, c.value, valueOf(t, res))
			want := taint.Join(taint.OriginSandbox, c.origin)
			assert.Equal(t, want, res.Value.Origin)
			assert.Equal(t, want, res.Logs.Origin)
			require.NoError(t, taint.CheckOrigin(res.Value.Origin))
			if c.input != "" {
				return
			}
			res = evalOne(t, b, nil, Request{Tools: set(t, all...), Input: json.RawMessage(`"throw"`)})
			require.NotNil(t, res.Error)
			assert.Equal(t, want, res.Error.Message.Origin)
			assert.Equal(t, want, res.Error.Name.Origin)
		})
	}
}

func TestTheInputIsMeasuredWithItsLabels(t *testing.T) {
	t.Parallel()
	const input = `{"__loomTainted":{"origin":"mail"},"value":1}`
	b := one(func(*guest) (any, error) { return 1, nil })
	res := evalOne(t, b, nil, Request{Input: json.RawMessage(input), Limits: Limits{InputBytes: int64(len(input)) - 1}})
	require.NotNil(t, res.Error)
	assert.Equal(t, spi.KindInputTooLarge, res.Error.Kind)
	res = evalOne(t, b, nil, Request{Input: json.RawMessage(input), Limits: Limits{InputBytes: int64(len(input))}})
	assert.Equal(t, StatusOK, res.Status)
}

func TestOriginsAreKeptWithinBounds(t *testing.T) {
	t.Parallel()
	o := newOrigins("b", "", taint.OriginSandbox, "a")
	assert.Equal(t, []string{"a", "b"}, o.lists().Claimed)
	before := o.label()
	o.add("a", "b")
	assert.Equal(t, before, o.label())
	for i := range 10 * maxOrigins {
		o.add(fmt.Sprint("origin ", i))
	}
	assert.Len(t, o.lists().Claimed, maxOrigins+1)
	assert.Contains(t, o.lists().Claimed, taint.OriginBoundExceeded)
	assert.NotEqual(t, before, o.label())
	require.NoError(t, taint.CheckOrigin(o.label()))
	assert.Contains(t, o.label(), "more")
}

func TestNoLabelInDataPushesOutWhatTheHostKnows(t *testing.T) {
	t.Parallel()
	flood := make([]any, 300)
	for i := range flood {
		flood[i] = taint.Wrap(fmt.Sprintf("!%03d", i), json.RawMessage(`1`))
	}
	all := set(t, says("page", flood), says("web", 1), says("ask", 1))
	s := newTest(t, one(func(g *guest) (any, error) {
		for _, tool := range []string{"page", "web", "ask"} {
			if _, err := g.do("tools."+tool, `[]`); err != nil {
				return nil, err
			}
		}
		return 1, nil
	}), &Options{Policy: asks})
	first := suspendOne(t, s, Request{Tools: all})
	assert.Equal(t, "sandbox, !000, !001, !002, !003, !004, tool:page, tool:web, +252 more", first.Logs.Origin)
	res, err := s.Resume(t.Context(), ResumeRequest{Continuation: first.Continuation, Tools: all, Replies: []Reply{value(3, `1`)}})
	require.NoError(t, err)
	assert.Equal(t, "sandbox, !000, !001, !002, !003, tool:ask, tool:page, tool:web, +253 more", res.Value.Origin)

	x, err := s.NewSession(t.Context(), SessionOptions{})
	require.NoError(t, err)
	first, err = x.Eval(t.Context(), Request{Script: "s", Tools: all})
	require.NoError(t, err)
	_, err = x.Resume(t.Context(), ResumeRequest{Continuation: first.Continuation, Tools: all, Replies: []Reply{value(3, `1`)}})
	require.NoError(t, err)
	saved, err := x.Save()
	require.NoError(t, err)
	again, err := s.RestoreSession(t.Context(), saved)
	require.NoError(t, err)
	res, err = again.Eval(t.Context(), Request{Script: "s"})
	require.NoError(t, err)
	require.NotNil(t, res.Error, "it was handed nothing")
	assert.Equal(t, "sandbox, !000, !001, !002, !003, tool:ask, tool:page, tool:web, +253 more", res.Logs.Origin)
}

func TestWithinALabelAllOriginsAreAlike(t *testing.T) {
	t.Parallel()
	o := newOrigins("mail", "a, b, +3 more", "tool:x")
	o.know("tool:x", "crm, web")
	assert.Equal(t, taint.Join("sandbox", "mail", "a, b, +3 more", "tool:x", "crm, web"), o.label())
	again := newOrigins()
	again.recall(o.lists())
	assert.Equal(t, o.label(), again.label())
	for i := range 9 {
		o.know(fmt.Sprint("z", i))
	}
	assert.Equal(t, "sandbox, crm, tool:x, web, z0, z1, z2, z3, +11 more", o.label())
}

func newOrigins(claimed ...string) *origins {
	o := &origins{}
	o.add(claimed...)
	return o
}
