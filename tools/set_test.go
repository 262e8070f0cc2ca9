package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/egress"
	"github.com/loom-sandbox/sandboxd/tools"
)

// returns is a handler that returns v.
func returns(v any) tools.Handler {
	return func(context.Context, *tools.Call) (any, error) { return v, nil }
}

// named is a tool that does nothing.
func named(name string) tools.Tool { return tools.Tool{Name: name, Handler: returns(nil)} }

// newSet is NewSet of tools that can be granted.
func newSet(t testing.TB, all ...tools.Tool) *tools.Set {
	t.Helper()
	set, err := tools.NewSet(all...)
	require.NoError(t, err)
	return set
}

func TestANameIsIdentifiersJoinedByDots(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"a": true, "crm.lookup": true, "$_": true, "a1.b2.c3": true, "a.fetch": true, "a.emit": true, "fetchAll": true, "delete": true,
		strings.Repeat("a", tools.MaxNameBytes): true, strings.Repeat("a", tools.MaxNameBytes+1): false,
		"": false, ".": false, "a.": false, ".a": false, "a..b": false, "1a": false, "a.1": false, "a-b": false, "a b": false, "ä": false, "a\n": false,
		"then": false, "a.then": false, "toJSON.a": false, "constructor": false, "a.prototype": false, "__proto__": false,
		"fetch": false, "emit": false, "fetch.a": false, "emit.a": false,
	} {
		err := tools.CheckName(name)
		assert.Equal(t, ok, err == nil, "%q: %v", name, err)
		_, err = tools.NewSet(named(name))
		assert.Equal(t, ok, err == nil, "%q: %v", name, err)
	}
}

func TestWhatCannotBeGrantedIsRefusedWithItsName(t *testing.T) {
	t.Parallel()
	with := func(change func(*tools.Tool)) []tools.Tool {
		tool := named("crm.lookup")
		change(&tool)
		return []tools.Tool{tool}
	}
	input := func(schema string) []tools.Tool {
		return with(func(t *tools.Tool) { t.Input = json.RawMessage(schema) })
	}
	var many []tools.Tool
	for i := range tools.MaxTools + 1 {
		many = append(many, named(fmt.Sprintf("t%d", i)))
	}
	for _, tc := range []struct {
		name  string
		tools []tools.Tool
		want  string
	}{
		{"no handler", []tools.Tool{{Name: "crm.lookup"}}, `"crm.lookup" has no handler`},
		{"a bad name", []tools.Tool{named("crm lookup")}, `"crm lookup" is not the name of a tool; allowed are identifiers`},
		{"fetch by hand", []tools.Tool{named("fetch")}, `"fetch" is not the name of a tool`},
		{"twice", []tools.Tool{named("a"), named("a")}, `"a" is there twice`},
		{"the beginning of another", []tools.Tool{named("crm.lookup"), named("crm$"), named("crm")}, `"crm" is a tool and also the beginning`},
		{"too many", many, `at most 128`},
		{"an origin", with(func(t *tools.Tool) { t.Origin = "<script>" }), `"crm.lookup" has an origin that is not allowed`},
		{"the origin of what the script says", with(func(t *tools.Tool) { t.Origin = "sandbox" }), `it is neither "sandbox" nor`},
		{"the same, joined", with(func(t *tools.Tool) { t.Origin = "crm, sandbox" }), `it is neither "sandbox" nor`},
		{"an origin that leaves some out", with(func(t *tools.Tool) { t.Origin = "crm, +3 more" }), `"+N more" in it`},
		{"a fetch of another name", func() []tools.Tool {
			client, err := egress.New(egress.Options{})
			if err != nil {
				panic(err)
			}
			tool := tools.Fetch(client)
			tool.Name = "http.get"
			return []tools.Tool{tool}
		}(), `"http.get" is made by Fetch`},
		{"a long description", with(func(t *tools.Tool) { t.Description = strings.Repeat("a", tools.MaxDescriptionBytes+1) }), `at most 8192 bytes`},
		{"a description that is not UTF-8", with(func(t *tools.Tool) { t.Description = "\xff" }), `UTF-8`},
		{"time below zero", with(func(t *tools.Tool) { t.Timeout = -1 }), `at most 1h0m0s, and zero means 30s`},
		{"much time", with(func(t *tools.Tool) { t.Timeout = tools.MaxTimeout + 1 }), `at most 1h0m0s`},
		{"calls below zero", with(func(t *tools.Tool) { t.MaxCalls = -1 }), `zero means no bound`},
		{"a large result", with(func(t *tools.Tool) { t.MaxResultBytes = tools.MaxResultBytes + 1 }), `at most 67108864 bytes`},
		{"a result below zero", with(func(t *tools.Tool) { t.MaxResultBytes = -1 }), `zero means 1048576`},
		{"a remote with a handler", func() []tools.Tool {
			tool := tools.Remote("ask", "", nil)
			tool.Handler = returns(1)
			return []tools.Tool{tool}
		}(), `"ask" is remote and has a handler`},
		{"no JSON", input(`{`), `input schema that cannot be used: it is not strict JSON`},
		{"duplicate members", input(`{"type": "object", "type": "object"}`), `not strict JSON`},
		{"no schema", input(`{"type": "thing"}`), `input schema that cannot be used`},
		{"no schema at all", input(`7`), `input schema that cannot be used`},
		{"input is no object", input(`{"type": "string"}`), `a tool is called with one object`},
		{"input is a boolean", input(`true`), `a tool is called with one object`},
		{"a pattern of another language", input(`{"properties": {"a": {"pattern": "(?<=a)b"}}}`), `input schema that cannot be used`},
		{"a network reference", input(`{"properties": {"a": {"$ref": "https://example.com/schema.json"}}}`), `refers to another document`},
		{"a file reference", input(`{"properties": {"a": {"$ref": "file:///etc/passwd"}}}`), `refers to another document`},
		{"a relative reference", input(`{"properties": {"a": {"$ref": "other.json"}}}`), `refers to another document`},
		{"a language of its own", input(`{"$schema": "https://example.com/meta"}`), `refers to another document`},
		{"a reference to nothing", input(`{"$ref": "#/$defs/a"}`), `input schema that cannot be used`},
		{"a huge number", input(`{"properties": {"a": {"minimum": 1e999999999}}}`), `a number is longer than 400 bytes`},
		{"a deep schema", input(strings.Repeat(`{"not":`, 1001) + `{}` + strings.Repeat(`}`, 1001)), `deeper than 1000 levels`},
		{"a long schema", input(`{"title": "` + strings.Repeat("a", tools.MaxSchemaBytes) + `"}`), `allowed are 262144`},
		{"output", with(func(t *tools.Tool) { t.Output = json.RawMessage(`{"type": 1}`) }), `output schema that cannot be used`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			set, err := tools.NewSet(tc.tools...)
			var grantError *tools.GrantError
			require.ErrorAs(t, err, &grantError)
			assert.Nil(t, set)
			assert.Contains(t, err.Error(), tc.want)
			assert.NotContains(t, err.Error(), "\n")
			assert.Less(t, len(err.Error()), 1200)
		})
	}
}

func TestDefaultsAreFilledIn(t *testing.T) {
	t.Parallel()
	full := tools.Tool{
		Name: "b.c", Description: "d", Input: json.RawMessage(`{}`), Output: json.RawMessage(`true`), Handler: returns(1), Origin: "crm",
		Timeout: time.Second, MaxCalls: 3, MaxResultBytes: 10, Idempotent: true,
	}
	trusted := named("c")
	trusted.DangerouslyTrustResults = true
	set := newSet(t, named("a"), full, trusted, tools.Remote("d", "asks", nil))
	for name, want := range map[string]tools.Info{
		"a": {Name: "a", Origin: "tool:a", Timeout: tools.DefaultTimeout, MaxResultBytes: tools.DefaultResultBytes},
		"b.c": {
			Name: "b.c", Description: "d", Input: full.Input, Output: full.Output, Origin: "crm",
			Timeout: time.Second, MaxCalls: 3, MaxResultBytes: 10, Idempotent: true,
		},
		"c": {Name: "c", Timeout: tools.DefaultTimeout, MaxResultBytes: tools.DefaultResultBytes},
		"d": {Name: "d", Description: "asks", Origin: "tool:d", Timeout: tools.DefaultTimeout, MaxResultBytes: tools.DefaultResultBytes, Remote: true},
	} {
		got, ok := set.Tool(name)
		assert.True(t, ok, name)
		assert.Equal(t, want, got, name)
	}
	_, ok := set.Tool("b")
	assert.False(t, ok)
}

func TestASchemaIsCopied(t *testing.T) {
	t.Parallel()
	tool := named("a")
	tool.Input = json.RawMessage(`{"required":["id"]}`)
	set := newSet(t, tool)
	before := set.Manifest()
	clear(tool.Input)
	info, _ := set.Tool("a")
	assert.Equal(t, `{"required":["id"]}`, string(info.Input))
	assert.Equal(t, before, set.Manifest())
}

func TestASetIsNarrowedAndJoined(t *testing.T) {
	t.Parallel()
	set := newSet(t, named("b"), named("a.x"), named("a.y"))
	assert.Equal(t, []string{"a.x", "a.y", "b"}, set.Names())

	less, err := set.Only("b", "a.y")
	require.NoError(t, err)
	assert.Equal(t, []string{"a.y", "b"}, less.Names())
	none, err := set.Only()
	require.NoError(t, err)
	assert.True(t, none.Empty())
	for _, names := range [][]string{{"c"}, {"a"}, {"b", "b"}} {
		_, err = set.Only(names...)
		var grantError *tools.GrantError
		assert.ErrorAs(t, err, &grantError, "%v", names)
	}
	_, err = set.Only("c")
	assert.EqualError(t, err, `tools: "c" is not in the set; it has a.x, a.y, b`)

	more, err := less.With(newSet(t, named("c")))
	require.NoError(t, err)
	assert.Equal(t, []string{"a.y", "b", "c"}, more.Names())
	assert.Equal(t, []string{"a.y", "b"}, less.Names(), "a set does not change")
	_, err = set.With(newSet(t, named("b")))
	assert.ErrorContains(t, err, `"b" is there twice`)
	_, err = set.With(newSet(t, named("a")))
	assert.ErrorContains(t, err, `"a" is a tool and also the beginning`)

	names := set.Names()
	names[0] = "changed"
	assert.Equal(t, "a.x", set.Names()[0])
}

func TestNoSetGrantsNothing(t *testing.T) {
	t.Parallel()
	empty, err := tools.NewSet()
	require.NoError(t, err)
	for _, set := range []*tools.Set{nil, empty} {
		assert.True(t, set.Empty())
		assert.Empty(t, set.Names())
		assert.Empty(t, set.Declarations())
		assert.Empty(t, set.Manifest())
		assert.NoError(t, set.Matches(nil))
		answer := set.Answer(t.Context(), &tools.Call{Tool: "a"}, nil)
		assert.Equal(t, &tools.Failure{Name: tools.NameDenied, Message: "a is not granted", Denied: true, Code: tools.CodeNotGranted}, answer.Failure)
		assert.Equal(t, answer, set.AnswerAllowed(t.Context(), &tools.Call{Tool: "a"}))
		assert.Equal(t, answer, set.AnswerWith(&tools.Call{Tool: "a"}, json.RawMessage("1")))
		both, err := set.With(newSet(t, named("a")))
		require.NoError(t, err)
		assert.Equal(t, []string{"a"}, both.Names())
		_, err = set.Only("a")
		assert.EqualError(t, err, `tools: "a" is not in the set; it has nothing`)
	}
}
