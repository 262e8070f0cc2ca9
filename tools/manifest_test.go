package tools_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/taint"
	"github.com/loom-sandbox/sandboxd/tools"
)

func withSchemas(name, input, output string) tools.Tool {
	tool := named(name)
	tool.Input, tool.Output = json.RawMessage(input), json.RawMessage(output)
	return tool
}

// sum is the hash of text, in hex.
func sum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func TestAManifestSurvivesBeingWritten(t *testing.T) {
	t.Parallel()
	set := newSet(t, named("b"), withSchemas("a", `{"type":"object"}`, `{"type":"string"}`), tools.Remote("c.d", "Asks <somebody>.", json.RawMessage(`{"type": "object"}`)))
	written, err := json.Marshal(set.Manifest())
	require.NoError(t, err)
	assert.JSONEq(t, `[
		{"name": "a", "inputSHA256": "`+sum(`{"type":"object"}`)+`", "outputSHA256": "`+sum(`{"type":"string"}`)+`"},
		{"name": "b"},
		{"name": "c.d", "remote": {"description": "Asks <somebody>.", "inputSchema": {"type": "object"}}}
	]`, string(written))

	var read tools.Manifest
	require.NoError(t, taint.DecodeStrict(written, &read))
	require.NoError(t, set.Matches(read))

	remote, err := tools.FromManifest(read)
	require.NoError(t, err)
	assert.Equal(t, []string{"c.d"}, remote.Names())
	require.ErrorContains(t, remote.Matches(read), `"a" is missing`)
	call := &tools.Call{Tool: "c.d", Args: json.RawMessage(`[{"q":1}]`)}
	assert.True(t, remote.Answer(t.Context(), call, nil).Suspended)
}

func TestARemoteToolIsMadeOfItsManifestWithAllOfItsBounds(t *testing.T) {
	t.Parallel()
	tool := tools.Remote("ask", "Asks somebody.", json.RawMessage(`{"type":"object"}`))
	tool.Output, tool.Origin, tool.Idempotent = json.RawMessage(`{"type":"string"}`), "person", true
	tool.MaxCalls, tool.MaxResultBytes = 2, 9
	set := newSet(t, tool)
	require.NoError(t, set.Matches(set.Manifest()))
	again, err := tools.FromManifest(set.Manifest())
	require.NoError(t, err)
	require.NoError(t, again.Matches(set.Manifest()))
	want, _ := set.Tool("ask")
	got, _ := again.Tool("ask")
	assert.Equal(t, want, got)
	for _, bad := range []string{`1`, `"too long"`} {
		answer := again.AnswerWith(&tools.Call{Tool: "ask"}, json.RawMessage(bad))
		assert.NotNil(t, answer.Failure, bad)
	}
	tool.Output = json.RawMessage(`{"type":"number"}`)
	require.EqualError(t, newSet(t, tool).Matches(set.Manifest()), `tools: "ask" has another output schema`)

	tool.DangerouslyTrustResults = true
	again, err = tools.FromManifest(newSet(t, tool).Manifest())
	require.NoError(t, err)
	got, _ = again.Tool("ask")
	assert.Equal(t, "tool:ask", got.Origin, "nobody trusts it any more")
}

func TestASetMatchesWhatHasTheSameSchemas(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"n":{"minimum":1.0}}}`
	manifest := newSet(t, withSchemas("a", schema, `{"type":"string"}`), tools.Remote("r", "", json.RawMessage(schema))).Manifest()
	remote := tools.Remote("r", "other words", json.RawMessage(schema))
	for _, tc := range []struct {
		name string
		set  *tools.Set
		want string
	}{
		{"written in another way", newSet(t, withSchemas("a", "{ \"properties\": {\"\\u006e\": {\"minimum\": 1.0}},\n\"type\": \"object\"}", `{"type":"string"}`), remote), ""},
		{"more tools", newSet(t, named("z"), withSchemas("a", schema, `{"type":"string"}`), remote), ""},
		{"nothing", nil, `"a" is missing`},
		{"another number", newSet(t, withSchemas("a", `{"type":"object","properties":{"n":{"minimum":1}}}`, `{"type":"string"}`), remote), `"a" has another input schema`},
		{"no input", newSet(t, withSchemas("a", ``, `{"type":"string"}`), remote), `"a" has another input schema`},
		{"another output", newSet(t, withSchemas("a", schema, `{}`), remote), `"a" has another output schema`},
		{"remote now", newSet(t, tools.Remote("a", "", json.RawMessage(schema)), remote), `"a" is remote, and was not`},
		{"no longer remote", newSet(t, withSchemas("a", schema, `{"type":"string"}`), withSchemas("r", schema, "")), `"r" is not remote, and was`},
		{"another remote input", newSet(t, withSchemas("a", schema, `{"type":"string"}`), tools.Remote("r", "", nil)), `"r" has another input schema`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := tc.set.Matches(manifest)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			var mismatch *tools.MismatchError
			require.ErrorAs(t, err, &mismatch)
			assert.EqualError(t, err, "tools: "+tc.want)
		})
	}
}

func TestAManifestIsCheckedLikeTools(t *testing.T) {
	t.Parallel()
	for _, m := range []tools.Manifest{
		{{Name: "a b", Remote: &tools.RemoteTool{}}},
		{{Name: "fetch", Remote: &tools.RemoteTool{}}},
		{{Name: "a", Remote: &tools.RemoteTool{}}, {Name: "a", Remote: &tools.RemoteTool{}}},
		{{Name: "a", Remote: &tools.RemoteTool{Input: json.RawMessage(`{"$ref":"https://example.com"}`)}}},
	} {
		_, err := tools.FromManifest(m)
		var grantError *tools.GrantError
		assert.ErrorAs(t, err, &grantError)
	}
}
