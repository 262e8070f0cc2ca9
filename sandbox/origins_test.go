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
	assert.Equal(t, []string{"a", "b"}, o.list())
	before := o.label()
	o.add("a", "b")
	assert.Equal(t, before, o.label())
	for i := range 10 * maxOrigins {
		o.add(fmt.Sprint("origin ", i))
	}
	assert.Len(t, o.list(), maxOrigins+1)
	assert.Contains(t, o.list(), taint.OriginBoundExceeded)
	assert.NotEqual(t, before, o.label())
	require.NoError(t, taint.CheckOrigin(o.label()))
	assert.Contains(t, o.label(), "more")
}
