package wazero

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

// runFetch runs a script that is handed fetch. A body that is a reply comes back as
// one; any other request comes back as the body of its response.
func runFetch(t *testing.T, source string) *spi.Outcome {
	t.Helper()
	cfg := testConfig()
	cfg.Limits.HostCalls, cfg.Limits.CallBytes = 1000, 8<<20
	iso, err := shared.Open(t.Context(), cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, iso.Close()) }()
	out, err := iso.Eval(t.Context(), &spi.Request{
		Source: source, Language: spi.JavaScript, Input: json.RawMessage("null"), Functions: []string{spi.FunctionFetch},
	})
	require.NoError(t, err)
	for out.Waits() {
		var replies []spi.Reply
		for _, call := range out.Pending {
			replies = append(replies, fetched(t, call))
		}
		out, err = iso.(spi.Caller).Continue(t.Context(), replies)
		require.NoError(t, err)
	}
	return out
}

func fetched(t *testing.T, call spi.HostCall) spi.Reply {
	t.Helper()
	var args []struct{ URL, Body string }
	require.NoError(t, json.Unmarshal(call.Args, &args))
	require.Len(t, args, 1, "%s", call.Args)
	switch {
	case call.Function != spi.FunctionFetch:
		t.Errorf("called %s", call.Function)
	case args[0].URL == "https://refused.test/":
		return spi.Reply{ID: call.ID, Error: &spi.CallError{Name: "DeniedError", Message: "refused", Denied: true}}
	case strings.HasPrefix(args[0].Body, `{"url":`):
		return spi.Reply{ID: call.ID, Value: json.RawMessage(args[0].Body)}
	}
	request := string(call.Args[1 : len(call.Args)-1])
	value, err := json.Marshal(map[string]any{
		"url": args[0].URL, "status": 200, "statusText": "OK", "redirected": false,
		"headers": [][2]string{{"Content-Type", "application/json"}}, "body": request,
	})
	require.NoError(t, err)
	return spi.Reply{ID: call.ID, Value: value}
}

// TestFetch runs scripts that return rows of [name, actual, expected].
func TestFetch(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(guestData + "/fetch/*.js")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			out := runFetch(t, string(source))
			requireRows(t, out)
		})
	}
}

func TestTheConsoleShowsWhatFetchGives(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"new Headers({ b: '2', 'X-A': 'it\\'s' })": "Headers { b: '2', 'x-a': \"it's\" }",
		"new Headers()": "Headers {}",
		"new Headers(Array.from({ length: 102 }, (_, i) => ['a' + (1000 + i), '']))": "more items",
		"new Request('https://example.test/', { headers: { a: '1' } })": "Request {\n  method: 'GET',\n  url: 'https://example.test/',\n" +
			"  headers: Headers { a: '1' },\n  redirect: 'follow',\n  bodyUsed: false\n}",
		"await fetch('https://example.test/')": "Response {\n  status: 200,\n  statusText: 'OK',\n  headers: Headers { 'content-type': 'application/json' },\n" +
			"  bodyUsed: false,\n  ok: true,\n  redirected: false,\n  type: 'basic',\n  url: 'https://example.test/'\n}",
		"Object.assign(new Response('x'), { mine: 1 })":   "url: '',\n  mine: 1\n}",
		"[[[[[new Response('x')]]]]]":                     "[Response]",
		"new (class Mine extends Headers {})({ a: '1' })": "Mine [Headers] { a: '1' }",
		"fetch": "[AsyncFunction: fetch]",
	} {
		out := runFetch(t, "console.log("+script+")")
		require.Nil(t, out.Error, "%s\n%+v", script, out.Error)
		require.Len(t, out.Logs, 1, script)
		assert.Equal(t, spi.LevelLog, out.Logs[0].Level)
		assert.Contains(t, out.Logs[0].Text, want, script)
	}
}
