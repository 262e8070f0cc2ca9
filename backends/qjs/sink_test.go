package qjs

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

func limits() spi.Limits { return spi.Limits{OutputBytes: 100, LogBytes: 100, Timeout: 1} }

func TestWhatNoHonestGuestTellsIsDropped(t *testing.T) {
	t.Parallel()
	for _, m := range [][2]string{
		{"", ""}, {"result", "1"}, {"result:", "1"}, {"result:bigint", "1"}, {"timeout", "{}"}, {"killed", "{}"}, {"backend", "{}"},
		{"memory", "{}"}, {"exception", "no JSON"}, {"exception", `{"name":"` + strings.Repeat("x", 256<<10) + `"}`},
		{"log", "no JSON"}, {"trace", `"x"`},
	} {
		s := &sink{limits: limits()}
		s.take(m[0], []byte(m[1]))
		e := &ending{limits: s.limits, sink: s}
		out := e.outcome("1")
		require.NotNil(t, out.Error, m[0])
		assert.Equal(t, spi.KindDeadlock, out.Error.Kind, m[0])
		assert.Empty(t, out.Logs, m[0])
	}
}

func TestOnlyTheFirstEndingCounts(t *testing.T) {
	t.Parallel()
	s := &sink{limits: limits()}
	s.take("result:number", []byte("1"))
	s.take("result:number", []byte("2"))
	s.take("exception", []byte("{}"))
	out := (&ending{limits: s.limits, sink: s}).outcome("1")
	require.Nil(t, out.Error)
	assert.Equal(t, "1", string(out.Value))
	s.take("log", []byte(`"late"`))
	assert.Empty(t, s.logs, "nobody listens after the outcome")
}

func TestAResultThatIsNotJSONIsTheGuestsFailure(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", "1 2", "{", "undefined", "\"\x00\"", "\"\xff\""} {
		s := &sink{limits: limits()}
		s.take("result:object", []byte(value))
		out := (&ending{limits: s.limits, sink: s}).outcome("1")
		require.NotNil(t, out.Error, value)
		assert.Equal(t, spi.KindBackend, out.Error.Kind, value)
		assert.Empty(t, out.Value)
	}
}

func TestALogLineLargerThanAnyHonestOneIsDropped(t *testing.T) {
	t.Parallel()
	s := &sink{limits: limits()}
	assert.True(t, s.take("log", []byte(`"`+strings.Repeat("x", 601)+`"`)), "the guest need not log any more")
	assert.Empty(t, s.logs)
	assert.True(t, s.truncated)
}

func TestHalfPairsBecomeReplacementCharacters(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`"\ud83d\ude00"`:       `"\ud83d\ude00"`,
		`"\uD83D\uDE00"`:       `"\uD83D\uDE00"`,
		`"\ud83d"`:             `"\ufffd"`,
		`"\ude00\ud83d"`:       `"\ufffd\ufffd"`,
		`"\ud83d\ud83d\ude00"`: `"\ufffd\ud83d\ude00"`,
		`"\ud83dx\ude00"`:      `"\ufffdx\ufffd"`,
		`"\\ud83d"`:            `"\\ud83d"`,
		`"\\\ud83d\\"`:         `"\\\ufffd\\"`,
		`"\ud7ff\ue000\u00d8"`: `"\ud7ff\ue000\u00d8"`,
		`"\ud8`:                `"\ud8`,
		`\`:                    `\`,
	} {
		assert.Equal(t, want, string(wholePairs([]byte(in))), in)
	}
}

func FuzzWholePairsKeepsJSON(f *testing.F) {
	f.Add(`"\ud83d\ude00"`)
	f.Add(`{"\ud83d":"\\\ude00"}`)
	f.Fuzz(func(t *testing.T, in string) {
		var before, after any
		if json.Unmarshal([]byte(in), &before) != nil {
			t.Skip("not JSON")
		}
		out := wholePairs([]byte(in))
		require.Len(t, out, len(in))
		require.NoError(t, json.Unmarshal(out, &after))
		require.Equal(t, before, after, "encoding/json reads a half as U+FFFD")
		require.Equal(t, string(out), string(wholePairs(out)))
	})
}

func TestTextsAreCutAtACharacter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, want string
		limit    int
	}{
		{"abc", "abc", 3}, {"abcd", "…", 3}, {"abcde", "a…", 4}, {"éééé", "é…", 6}, {"\xffa", "\ufffda", 4}, {"\xffab\xff", "\ufffda…", 7},
	} {
		got := bounded(c.in, c.limit)
		assert.Equal(t, c.want, got)
		assert.LessOrEqual(t, len(got), c.limit)
		assert.True(t, utf8.ValidString(got))
	}
	assert.Empty(t, cut("é", 1))
	assert.Empty(t, cut("abc", -1))
}

func TestAPlaceIsOneOfTheSourceOrUnknown(t *testing.T) {
	t.Parallel()
	const source = "éx\nab"
	for stack, want := range map[string][2]int{
		"at f (<evalScript>:1:1)":                        {1, 1},
		"at f (<evalScript>:1:3)\nat <evalScript>:2:1":   {1, 2},
		"at f (<evalScript>:2:3)":                        {2, 3},
		"at f (<evalScript>:2:4)":                        {2, 0},
		"at f (<evalScript>:3:1)":                        {0, 0},
		"at f (<evalScript>:0:1)":                        {0, 0},
		"at f (<evalScript>:99999999999999999999:1)":     {0, 0},
		"at f (<evalScript>:2:99999999999999999999)":     {2, 0},
		"at f (<evalScript>:-1:1)":                       {0, 0},
		"at <evalScript>:2":                              {2, 0},
		"<evalScript>:":                                  {0, 0},
		"":                                               {0, 0},
		"    at evalScript (native)\n<evalScript>:1:1":   {0, 0},
		"at finish (prelude:1:1)\nat (<evalScript>:1:1)": {0, 0},
	} {
		out := (&failure{kind: spi.KindException, Stack: stack}).scriptError(source)
		assert.Equal(t, want, [2]int{out.Line, out.Column}, stack)
	}
}
