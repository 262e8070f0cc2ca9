package sandbox

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestModelWrittenTextIsNormalisedAndKeepsItsLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"plain":                       {"1 + 1", "1 + 1"},
		"fence":                       {"```js\nreturn 6 * 7;\n```", "\nreturn 6 * 7;\n"},
		"fence without language":      {"```\n1\n```\n", "\n1\n"},
		"fence of tildes":             {"~~~ javascript\n1\n~~~", "\n1\n"},
		"longer fence":                {"````js\n`${1}`\n````", "\n`${1}`\n"},
		"closing fence may be longer": {"```\n1\n`````  ", "\n1\n"},
		"fence with CRLF":             {"```js\r\n1\r\n```\r\n", "\n1\r\n"},
		"blank lines before":          {"\n\n```js\n1\n```", "\n\n\n1\n"},
		"inner fence stays":           {"```js\nf(`\n```\n`)\n```", "\nf(`\n```\n`)\n"},
		"text before a fence":         {"Here:\n```js\n1\n```", "Here:\n```js\n1\n```"},
		"text after a fence":          {"```js\n1\n```\nDone.", "```js\n1\n```\nDone."},
		"unclosed fence":              {"```js\n1\n", "```js\n1\n"},
		"shorter closing":             {"````js\n1\n```", "````js\n1\n```"},
		"two backticks":               {"``\n1\n``", "``\n1\n``"},
		"a template on one line":      {"```js 1```", "```js 1```"},
		"backticks in the info":       {"``` `x` \n1\n```", "``` `x` \n1\n```"},
		"byte-order mark":             {"\ufeff1", "1"},
		"hashbang":                    {"#!/usr/bin/env node\nreturn 1", "///usr/bin/env node\nreturn 1"},
		"mark and hashbang":           {"\ufeff#!x\n1", "//x\n1"},
		"fenced hashbang":             {"```js\n#!x\n1\n```", "\n//x\n1\n"},
		"mark inside a fence":         {"```js\n\ufeff#!x\n1\n```", "\n//x\n1\n"},
		"hash elsewhere":              {"\n#!x", "\n#!x"},
		"line separator in a string":  {"'\u2028'", "'\u2028'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := normalise(c.in)
			require.Nil(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestWhatIsNoScriptIsRefused(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", " \n\t", "\ufeff", "```js\n```", "```\n\n  \n```"} {
		_, err := normalise(in)
		require.NotNil(t, err, "%q", in)
		assert.Equal(t, "script", err.Field)
		assert.Contains(t, err.Problem, "is empty")
	}
	_, err := normalise("'\xff'")
	require.NotNil(t, err)
	assert.Contains(t, err.Problem, "UTF-8")
}

// FuzzNormalise: normalising never makes a script longer and never moves a line
// that stays.
func FuzzNormalise(f *testing.F) {
	for _, s := range []string{"1", "```js\n1\n```", "\ufeff#!x\n1", "~~~\n~~~", "\n ```x\na\nb\n```\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		got, err := normalise(script)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(got), len(script))
		had := strings.Split(strings.TrimPrefix(script, bom), "\n")
		for i, line := range strings.Split(got, "\n") {
			if line == "" || strings.HasPrefix(line, "//") || strings.HasPrefix(line, bom) || i == 0 {
				continue
			}
			require.Equal(t, had[i], line, "line %d", i+1)
		}
	})
}
