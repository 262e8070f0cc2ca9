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

// fetchHost stands in for the host: it is the callHost of a prelude that runs
// as a part of a script. A body that is a reply comes back as one; any other
// request comes back as the body of its response.
const fetchHost = `
// The engine's own JSON.stringify stores what is nested in an array, where setters of a script are met.
function writeJSON(value) {
  if (!isObject(value)) return jsonStringify(value);
  const list = isArray(value);
  const keys = ownKeys(value);
  let text = '';
  for (let i = 0; i < keys.length; i++) {
    if (list && keys[i] === 'length') continue;
    text += (i === 0 ? '' : ',') + (list ? '' : jsonStringify(keys[i]) + ':') + writeJSON(value[keys[i]]);
  }
  return list ? '[' + text + ']' : '{' + text + '}';
}
function callHost(name, argument) {
  const told = writeJSON(argument);
  return new NativePromise((resolve, reject) => {
    if (name !== 'fetch') throw new NativeError('no such function');
    if (argument.url === 'https://refused.test/') {
      const error = new NativeError('refused');
      defineHidden(error, 'name', 'DeniedError');
      throw error;
    }
    const given = argument.body !== undefined && stringStartsWith(argument.body, '{"url":') ? argument.body
      : '{"url":' + jsonStringify(argument.url) + ',"status":200,"statusText":"OK","redirected":false,'
        + '"headers":[["Content-Type","application/json"]],"body":' + jsonStringify(told) + '}';
    resolve(setPrototypeOf(parseJSONText(given), null));
  });
}
const NativePromise = Promise;
installFetch();
`

// withFetch puts the prelude's files that fetch needs, and its host, before a
// script. What the console of that prelude says goes to the console outside.
func withFetch(t *testing.T, source string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("(function (host) { 'use strict';\n")
	for _, name := range []string{
		"primordials", "globals", "inspect", "inspectparts", "console", "encoding",
		"urlhost", "urlparse", "urlparams", "url", "headers", "body", "fetch", "clone",
	} {
		text, err := os.ReadFile("../internal/quickjs/prelude/" + name + ".js")
		require.NoError(t, err)
		b.Write(text)
	}
	b.WriteString(fetchHost)
	b.WriteString("})({ emit: ((log) => (op, text) => { log(text); return true; })(console.log) });\n")
	b.WriteString(source)
	return b.String()
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
			out := run(t, shared, testConfig(), withFetch(t, string(source)))
			require.Nil(t, out.Error, "%+v", out.Error)
			var rows [][]json.RawMessage
			require.NoError(t, json.Unmarshal(out.Value, &rows))
			require.NotEmpty(t, rows)
			for _, row := range rows {
				require.Len(t, row, 3)
				assert.JSONEq(t, string(row[2]), string(row[1]), string(row[0]))
			}
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
		out := run(t, shared, testConfig(), withFetch(t, "console.log("+script+")"))
		require.Nil(t, out.Error, "%s\n%+v", script, out.Error)
		require.Len(t, out.Logs, 1, script)
		assert.Equal(t, spi.LevelLog, out.Logs[0].Level)
		assert.Contains(t, out.Logs[0].Text, want, script)
	}
}
