package conformance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

func TestAValueIsStrictJSON(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`[{"a":`, 2000)
	for text, wrong := range map[string]string{
		`null`: "", ` "a" `: "", `1e400`: "", `[]`: "", `{}`: "", `""`: "",
		`{"a":1,"b":{"a":1},"c":[{"a":1},{"a":"a"}]}`:           "",
		`{"a":"b","b":"a","A":1,"":2}`:                          "",
		`["\ud83d\ude00","\\ud800","\\\\udc00","\uD83D\uDE00"]`: "",
		`"\ufffd\u0000\u0041\"\/"`:                              "",

		``: "not JSON", `{a:1}`: "not JSON", `1 2`: "not JSON", `"\u12"`: "not JSON",
		"\"\xff\"":                               "not valid UTF-8",
		"\"\xed\xa0\x80\"":                       "not valid UTF-8",
		`"a\ud800b"`:                             `half a surrogate pair, \ud800`,
		`"\ud800"`:                               `half a surrogate pair, \ud800`,
		`"\uDC00\ud800"`:                         `half a surrogate pair, \uDC00`,
		`"\ud800\ud83d\ude00"`:                   `half a surrogate pair, \ud800`,
		`"\ud83d\ude00\ude00"`:                   `half a surrogate pair, \ude00`,
		`"\ud83d\\ude00"`:                        `half a surrogate pair, \ud83d`,
		`"\\\ud800"`:                             `half a surrogate pair, \ud800`,
		`{"k\udbff":1}`:                          `half a surrogate pair, \udbff`,
		`{"a":1,"a":1}`:                          `the name "a" twice`,
		`{"a":1,"\u0061":2}`:                     `the name "a" twice`,
		`{"":1,"b":[],"":2}`:                     `the name "" twice`,
		`[0,{"x":{"y":[{"b":{},"c":1,"b":3}]}}]`: `the name "b" twice`,
		`{"a":{"b":1},"a":{"b":1}}`:              `the name "a" twice`,
		deep + `{"z":1,"z":2}` + strings.Repeat(`}]`, 2000): `the name "z" twice`,
	} {
		err := strictJSON([]byte(text))
		valueErr := wellFormed(valueOutcome(text, spi.TypeObject))
		if wrong == "" {
			assert.NoError(t, err, text)
			assert.NoError(t, valueErr, text)
			continue
		}
		assert.ErrorContains(t, err, wrong, clip(text))
		assert.Error(t, valueErr, clip(text))
		assert.False(t, sameJSON([]byte(text), []byte(text)), "%s is the same as nothing", clip(text))
	}
}

func TestAHalfThatComesBackAsAnEscapeIsNotTakenForItsReplacement(t *testing.T) {
	t.Parallel()
	s := script{source: "'a'", value: `"a\ufffdb"`}
	require.NoError(t, s.judge(valueOutcome(`"a\ufffdb"`, spi.TypeString)))
	require.NoError(t, s.judge(valueOutcome("\"a\ufffdb\"", spi.TypeString)))
	require.Error(t, s.judge(valueOutcome(`"a\ud800b"`, spi.TypeString)))
}
