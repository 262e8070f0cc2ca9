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

// guestData is where the prelude's own tests are kept, as scripts.
const guestData = "../internal/quickjs/testdata"

// TestWebBasics runs scripts that return rows of [name, actual, expected].
func TestWebBasics(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(guestData + "/web/*.js")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			out := run(t, shared, testConfig(), string(source))
			requireRows(t, out)
		})
	}
}

// requireRows looks at what a script returned: rows of [name, actual, expected].
func requireRows(t *testing.T, out *spi.Outcome) {
	t.Helper()
	require.Nil(t, out.Error, "%+v", out.Error)
	var rows [][]json.RawMessage
	require.NoError(t, json.Unmarshal(out.Value, &rows))
	require.NotEmpty(t, rows)
	for _, row := range rows {
		require.Len(t, row, 3)
		assert.JSONEq(t, string(row[2]), string(row[1]), string(row[0]))
	}
}

// TestConsoleText runs scripts and compares the lines that they logged.
func TestConsoleText(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(guestData + "/console.json")
	require.NoError(t, err)
	var cases []struct {
		Script string
		Logs   []spi.LogLine
	}
	require.NoError(t, json.Unmarshal(text, &cases))
	require.NotEmpty(t, cases)
	for _, c := range cases {
		out := run(t, shared, testConfig(), c.Script)
		require.Nil(t, out.Error, "%s\n%+v", c.Script, out.Error)
		assert.Equal(t, c.Logs, append([]spi.LogLine{}, out.Logs...), c.Script)
	}
}

// TestNothingAScriptOverwritesChangesWhatTheHostIsTold: each script spoils
// built-ins and then ends in a way whose report is known.
func TestNothingAScriptOverwritesChangesWhatTheHostIsTold(t *testing.T) {
	t.Parallel()
	const spoil = `
		const boom = () => { throw new Error('forged') };
		JSON.stringify = () => '"forged"';
		Promise.prototype.then = boom; Promise.resolve = boom; Promise.prototype.constructor = boom;
		Object.defineProperty(Promise, Symbol.species, { get: boom });
		for (const p of [Object.prototype, Array.prototype]) for (const k of ['0', '1', 'value', 'writable', 'enumerable', 'configurable', 'get', 'set', 'name', 'message'])
			Object.defineProperty(p, k, { __proto__: null, configurable: true, get() { return 'forged' }, set() {} });
		Array.prototype[Symbol.iterator] = boom; Array.prototype.push = boom; Array.prototype.join = boom; Array.isArray = () => 'forged';
		String.prototype.slice = boom; String.prototype.charCodeAt = boom; String.prototype.toWellFormed = boom; String.prototype.concat = boom;
		Function.prototype.call = boom; Function.prototype.apply = boom; Function.prototype.bind = boom;
		Reflect.apply = boom; Reflect.ownKeys = boom; Reflect.defineProperty = boom; Object.keys = boom;
		Map.prototype.get = boom; Map.prototype.set = boom; WeakMap.prototype.has = boom; Error.isError = boom;
		Error.prepareStackTrace = () => 'forged'; RangeError.prototype.name = 'forged'; Number.prototype.toString = boom;
		globalThis.String = boom; globalThis.Error = boom; globalThis.Promise = boom; globalThis.JSON = null;
	`
	for ending, want := range map[string]string{
		"console.log('a', [1, 'b'], { c: 1n }); return { ok: [1, 'two', null] }": `{"ok":[1,"two",null]}`,
		"return [new Date(0), , 3]":                 `["1970-01-01T00:00:00.000Z","forged",3]`,
		"return await (async () => 'x')()":          "",
		"throw new TypeError('mine')":               "TypeError: mine",
		"throw 'text'":                              ": text",
		"throw { a: 1 }":                            ": { a: 1 }",
		"return { big: 1n }":                        "TypeError: a BigInt at $.big cannot be written as JSON",
		"const r = { a: [] }; r.a[2] = r; return r": "",
	} {
		out := run(t, shared, testConfig(), spoil+ending)
		switch {
		case want == "": // any orderly end: await and a[2]= ran into what was planted
			assert.True(t, out.Error == nil || out.Error.Kind == spi.KindException || out.Error.Kind == spi.KindUnserializable, "%s: %+v", ending, out.Error)
		case strings.HasPrefix(ending, "throw") || strings.Contains(want, "BigInt"):
			require.NotNil(t, out.Error, ending)
			assert.Equal(t, want, out.Error.Name+": "+out.Error.Message, ending)
			assert.NotContains(t, out.Error.Stack, "forged")
		default:
			requireValue(t, out, want)
		}
		if strings.HasPrefix(ending, "console") {
			assert.Equal(t, []spi.LogLine{{Level: spi.LevelLog, Text: "a [ 1, 'b' ] { c: 1n }"}}, out.Logs)
		}
	}
}
