package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/taint"
)

// canaryScripts put a word wherever a script can put one.
func canaryScripts() map[string]string {
	return map[string]string{
		"value":              "'canary7f3a'",
		"name in a value":    "({ canary7f3a: 1 })",
		"log":                "console.log('canary7f3a')",
		"error message":      "throw new Error('canary7f3a')",
		"error name":         "throw Object.assign(new Error('x'), { name: 'canary7f3a' })",
		"error stack":        "throw Object.assign(new Error('x'), { stack: 'canary7f3a' })",
		"function name":      "(function canary7f3a() { null.x })()",
		"reference":          "canary7f3a",
		"unserializable":     "({ canary7f3a: 1n })",
		"syntax":             "import canary7f3a from 'x'",
		"thrown text":        "throw 'canary7f3a'",
		"label of the guest": "({ __loomTainted: { origin: 'canary7f3a' }, value: 'canary7f3a' })",
		"label in a log":     `console.log('{"__loomTainted":{"origin":"canary7f3a"},"value":1}')`,
		"import":             "await import('canary7f3a')",
	}
}

func TestNoByteOfTheGuestLeavesItsLabel(t *testing.T) {
	t.Parallel()
	const canary = "canary7f3a"
	sb := newSandbox(t, nil)
	for name, script := range canaryScripts() {
		result, err := sb.Eval(context.Background(), sandbox.Request{Script: script})
		require.NoError(t, err, name)
		wire, err := json.Marshal(result)
		require.NoError(t, err, name)
		require.Contains(t, string(wire), canary, "%s: the canary must come back to be of use", name)
		assert.NotContains(t, string(withoutLabelled(t, wire)), canary, name)
		_, err = readWire(wire)
		assert.NoError(t, err, name)
	}
}

// withoutLabelled is a document in which every value that a label of the host
// encloses is left out.
func withoutLabelled(t *testing.T, raw json.RawMessage) json.RawMessage {
	if taint.Is(raw) {
		return json.RawMessage("null")
	}
	if !bytes.HasPrefix(raw, []byte("{")) {
		return raw
	}
	members := map[string]json.RawMessage{}
	require.NoError(t, json.Unmarshal(raw, &members))
	for name, value := range members {
		members[name] = withoutLabelled(t, value)
	}
	out, err := json.Marshal(members)
	require.NoError(t, err)
	return out
}

func TestAResultWithoutItsLabelsIsNoticed(t *testing.T) {
	t.Parallel()
	const rest = `"usage":{"logBytes":0},"run":{}}`
	logs := `"logs":{"__loomTainted":{"origin":"sandbox"},"value":[]},`
	value := `"valueType":"number","value":{"__loomTainted":{"origin":"sandbox"},"value":1},`
	for name, c := range map[string]struct {
		wire string
		says string
	}{
		"whole":               {`{"status":"ok",` + value + logs + rest, ""},
		"bare value":          {`{"status":"ok","valueType":"number","value":1,` + logs + rest, "value has no label"},
		"bare logs":           {`{"status":"ok",` + value + `"logs":[],` + rest, "logs has no label"},
		"bare message":        {`{"status":"error","error":{"kind":"timeout","message":"m"},` + logs + rest, "message has no label"},
		"bare stack":          {`{"status":"error","error":{"kind":"timeout","stack":"m"},` + logs + rest, "stack has no label"},
		"other origin":        {`{"status":"ok","valueType":"number","value":{"__loomTainted":{"origin":"host"},"value":1},` + logs + rest, "origin"},
		"no label":            {`{"status":"ok"}`, "no label"},
		"label on the host's": {`{"status":"ok",` + value + logs + `"usage":{"logBytes":0},"run":{"seed":{"__loomTainted":{"origin":"sandbox"},"value":1}}}`, "the host's"},
		"unknown kind":        {`{"status":"error","error":{"kind":"oops"},` + logs + rest, "frozen"},
		"backend":             {`{"status":"error","error":{"kind":"backend"},` + logs + rest, "engine failed"},
		"ok without a value":  {`{"status":"ok",` + logs + rest, "without"},
		"two answers":         {`{"status":"ok",` + value + `"error":{"kind":"timeout"},` + logs + rest, "without"},
		"wrong sum":           {`{"status":"ok",` + value + logs + `"usage":{"logBytes":1},"run":{}}`, "log bytes"},
	} {
		_, err := readWire([]byte(c.wire))
		if c.says == "" {
			assert.NoError(t, err, name)
			continue
		}
		assert.ErrorContains(t, err, c.says, name)
	}
}
