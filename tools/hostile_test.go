package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// times is n items.
func times(item string, n int) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }

// each is n items with a number in them.
func each(item string, n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(item, i))
	}
	return strings.Join(all, ",")
}

// sameHash are n different arrays that the validator's hash cannot tell apart.
func sameHash(n int) string {
	var all []string
	for i := range n {
		item := `["a`
		for bit := range 12 {
			item += []string{`","a`, `\u0004a`}[i>>bit&1]
		}
		all = append(all, item+`"]`)
	}
	return strings.Join(all, ",")
}

// hostile is a schema that may be granted, with values of any size that take
// long to check against it.
type hostile struct {
	name, schema string
	value        func(n int) string
}

func hostiles() []hostile {
	x := func(schema string) string { return `{"properties":{"x":` + schema + `}}` }
	list := func(item string) func(int) string {
		return func(n int) string { return `{"x":[` + times(item, n) + `]}` }
	}
	dense := strings.Repeat("3", 390) + "e-999"
	return []hostile{
		{"many errors", x(`{"items":{"allOf":[` + times(`{"type":"string"}`, 40) + `]}}`), list("1")},
		{"errors in the deep", `{"$ref":"#/$defs/a","$defs":{"a":{"type":["object","array"],"items":{"$ref":"#/$defs/a"},"additionalProperties":{"$ref":"#/$defs/a"}}}}`,
			func(n int) string {
				return `{"x":` + strings.Repeat("[", 900) + times("1", n) + strings.Repeat("]", 900) + `}`
			}},
		{"all of many", x(`{"items":{"allOf":[` + times("{}", 3000) + `]}}`), list("1")},
		{"any of many", x(`{"items":{"anyOf":[` + times(`{"type":"string"}`, 2000) + `]}}`), list("1")},
		{"many numbers to be", x(`{"items":{"enum":[` + each("%d", 1000) + `]}}`), list("7777")},
		{"long numbers", x(`{"items":{"multipleOf":0.` + dense + `}}`), list("0." + dense)},
		{"short long numbers", x(`{"items":{"type":"integer"}}`), list("1e999")},
		{"a pattern", x(`{"pattern":"(?i)(k?){500}b"}`), func(n int) string { return `{"x":"` + strings.Repeat("k", n) + `"}` }},
		{"patterns of names", `{"patternProperties":{` + each(`"k%d":true`, 500) + `}}`, func(n int) string { return `{` + each(`"key%d":1`, n) + `}` }},
		{"items with one hash", x(`{"uniqueItems":true}`), func(n int) string { return `{"x":[` + sameHash(min(n, 4096)) + "," + times("1", n) + `]}` }},
		{"unevaluated members", x(`{"items":{"allOf":[` + times(`{"anyOf":[{},{"properties":{"p1":true}}]}`, 100) + `],"unevaluatedProperties":false}}`),
			list(`{` + each(`"p%d":0`, 100) + `}`)},
		{"contains", x(`{"allOf":[` + times(`{"contains":{"type":"string"},"minContains":0}`, 300) + `],"unevaluatedItems":false}`), list("1")},
		{"many required", x(`{"items":{"required":[` + each(`"r%d"`, 4000) + `]}}`), list("{}")},
		{"deep not", x(`{"items":` + strings.Repeat(`{"not":`, 28) + `{}` + strings.Repeat("}", 28) + `}`), list("1")},
	}
}

// TestAStrangersCallIsCheckedSoon shows that of values as large as are still
// checked the check ends, and that larger ones are refused without one. The work
// counts: see TestNoCheckLooksMoreOftenThanWasFoundBefore.
func TestAStrangersCallIsCheckedSoon(t *testing.T) {
	t.Parallel()
	for _, h := range hostiles() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			tool := Remote("ask", "", json.RawMessage(h.schema))
			tool.Output, tool.MaxResultBytes = tool.Input, MaxResultBytes
			set, err := NewSet(tool)
			require.NoError(t, err)
			g := set.find("ask")
			call := func(value string) *Call {
				return &Call{Tool: "ask", Args: json.RawMessage("[" + value + "]")}
			}
			n, value := 1, h.value(1)
			for {
				next := h.value(n * 2)
				_, l, err := decode(json.RawMessage("[" + next + "]"))
				require.NoError(t, err)
				if g.input.work(l) > strangersWork {
					break
				}
				n, value = n*2, next
				require.Less(t, len(value), MaxArgumentBytes, "something becomes too much")
			}
			decoded, l, err := decode(json.RawMessage(value))
			require.NoError(t, err)
			g.input.check(decoded, l) // ends, whoever waits for it

			large := h.value(n * 3)
			answer := set.Answer(t.Context(), call(large), nil)
			assert.Equal(t, &Failure{Name: NameType, Code: CodeLimit, Message: "tools.ask: the arguments are too much to check against its schema"}, answer.Failure)
			answer = g.acceptWithin(time.Hour, json.RawMessage(large))
			assert.Equal(t, &Failure{Name: NameTool, Code: CodeLimit, Message: "ask returned too much to check against its output schema"}, answer.Failure)
		})
	}
}

func TestRemoteSchemasAreBoundedTogether(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"title":"` + strings.Repeat("a", 60<<10) + `"}`)
	remote := []Tool{Remote("a", "", schema), Remote("b", "", schema), Remote("c", "", schema), Remote("d", "", schema)}
	_, err := NewSet(remote...)
	require.NoError(t, err)
	_, err = NewSet(append(remote, Remote("e", "", schema))...)
	assert.EqualError(t, err, `tools: "e" and the remote tools before it have schemas of more than 262144 bytes`)
}

func TestWhatIsLargeIsRefusedWithoutDetails(t *testing.T) {
	t.Parallel()
	input := json.RawMessage(`{"properties":{"ids":{"items":{"allOf":[` + times(`{"type":"integer"}`, 40) + `]}}}}`)
	set, err := NewSet(Tool{Name: "a", Input: input, Handler: handled})
	require.NoError(t, err)
	for n, want := range map[int]string{100: "/ids/100 must be integer", 3000: "the argument is not what the schema allows"} {
		args := json.RawMessage(`[{"ids":[` + times("1", n) + `,"x"]}]`)
		answer := set.Answer(t.Context(), &Call{Tool: "a", Args: args}, nil)
		assert.Equal(t, &Failure{Name: NameType, Code: CodeBadArguments, Message: "tools.a: " + want}, answer.Failure)
	}
}

func TestAResultFromElsewhereThatTakesLongToCheckIsGivenUp(t *testing.T) {
	t.Parallel()
	const schema = `{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[
		{"properties":{"x":{"$ref":"#/$defs/a"}},"required":["y"]},
		{"properties":{"x":{"$ref":"#/$defs/a"}},"required":["z"]}]}}}`
	set, err := NewSet(Tool{Name: "a", Output: json.RawMessage(schema), Handler: handled})
	require.NoError(t, err)
	value := json.RawMessage(strings.Repeat(`{"x":`, 18) + "{}" + strings.Repeat("}", 18))
	answer := set.find("a").acceptWithin(time.Millisecond, value)
	assert.Equal(t, &Failure{Name: NameTool, Code: CodeLimit, Message: "a returned what takes longer than 1 ms to check"}, answer.Failure)
	assert.True(t, answer.Abandoned)
	assert.ErrorIs(t, answer.Cause, errTimeOver)
}

func handled(context.Context, *Call) (any, error) { return 1, nil }
