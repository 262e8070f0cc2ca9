package taint_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/taint"
)

// wrapped is the wrapper text with the value as given.
func wrapped(origin, value string) string {
	return `{"__loomTainted":{"origin":"` + origin + `"},"value":` + value + `}`
}

func nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}

func TestWrapWritesTheOneForm(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, value string }{
		{"object", `{"total":42}`, `{"total":42}`},
		{"numbers keep their text", `[1.0,1e400,12345678901234567890,-0]`, `[1.0,1e400,12345678901234567890,-0]`},
		{"white space between tokens goes", " { \"a\" :\t[ 1 ,\r\n 2 ] } ", `{"a":[1,2]}`},
		{"white space in strings stays", `"a  b"`, `"a  b"`},
		{"markup is escaped", `{"<b>":"&</b>"}`, `{"\u003cb\u003e":"\u0026\u003c/b\u003e"}`},
		{"line separators are escaped", "\"\u2028\u2029\u2014\"", "\"\\u2028\\u2029\u2014\""},
		{"escapes stay as written", `"\u0041\/\n"`, `"\u0041\/\n"`},
		{"empty becomes null", "", `null`},
		{"null", "null", `null`},
		{"a wrapper nests", wrapped("web", "1"), wrapped("web", "1")},
		{"brackets in strings are no depth", `["` + strings.Repeat(`[{\\\"`, 10_000) + `",{}]`, `["` + strings.Repeat(`[{\\\"`, 10_000) + `",{}]`},
		{"deepest kept value", nested(taint.MaxValueDepth), nested(taint.MaxValueDepth)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := taint.Wrap(taint.OriginSandbox, json.RawMessage(tc.in))
			assert.Equal(t, tc.value, string(taint.Unwrap(w)))

			direct, err := w.MarshalJSON()
			require.NoError(t, err)
			assert.Equal(t, wrapped("sandbox", tc.value), string(direct))

			std, err := json.Marshal(w)
			require.NoError(t, err)
			assert.Equal(t, string(direct), string(std))

			// json/v2 rewrites strings in its own way unless told not to.
			v2, err := jsonv2.Marshal(w, jsontext.PreserveRawStrings(true))
			require.NoError(t, err)
			assert.Equal(t, string(direct), string(v2))
		})
	}
}

func TestWrapQuotesWhatIsNotStrictJSON(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, text string }{
		{"text that closes the wrapper", `1},"x":{"a":2`, `1},"x":{"a":2`},
		{"two values", `1 2`, `1 2`},
		{"only white space", ` `, ` `},
		{"unfinished", `{"a":`, `{"a":`},
		{"duplicate names", `{"a":1,"a":2}`, `{"a":1,"a":2}`},
		{"invalid UTF-8", "\"\xff\"", "\"\ufffd\""},
		{"lone surrogate", `"\ud800"`, `"\ud800"`},
		{"byte order mark", "\ufeff1", "\ufeff1"},
		{"a value too deep", nested(taint.MaxValueDepth + 1), nested(taint.MaxValueDepth + 1)},
		{"far too deep", strings.Repeat("[", 1<<20), strings.Repeat("[", 1<<20)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := taint.Wrap(taint.OriginSandbox, json.RawMessage(tc.in))
			var text string
			require.NoError(t, json.Unmarshal(taint.Unwrap(w), &text))
			assert.Equal(t, tc.text, text)

			out, err := json.Marshal(w)
			require.NoError(t, err)
			assert.True(t, taint.Is(out))
		})
	}
}

func TestWrapCopiesItsInput(t *testing.T) {
	t.Parallel()
	in := []byte(`"abc"`)
	w := taint.Wrap("web", in)
	copy(in, `1},{1`)
	assert.Equal(t, `"abc"`, string(taint.Unwrap(w)))
}

func TestOriginRules(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, origin string
		ok           bool
	}{
		{"plain", "sandbox", true},
		{"a URL with a query", "https://example.org/a?b=1&c=\\d'", true},
		{"spaces and other scripts", "海 søk", true},
		{"one character", "x", true},
		{"200 characters", strings.Repeat("é", 200), true},
		{"200 characters of four bytes", strings.Repeat("😀", 200), true},
		{"201 characters", strings.Repeat("e", 201), false},
		{"201 characters of four bytes", strings.Repeat("😀", 201), false},
		{"empty", "", false},
		{"less than", "a<b", false},
		{"greater than", "a>b", false},
		{"quote", `a"b`, false},
		{"new line", "a\nb", false},
		{"nul", "a\x00b", false},
		{"delete", "a\x7fb", false},
		{"C1 control", "a\u0085b", false},
		{"direction override", "a\u202eb", false},
		{"zero width space", "a\u200bb", false},
		{"line separator", "a\u2028b", false},
		{"paragraph separator", "a\u2029b", false},
		{"invalid UTF-8", "a\xffb", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			want := tc.origin
			if tc.ok {
				require.NoError(t, taint.CheckOrigin(tc.origin))
			} else {
				require.ErrorIs(t, taint.CheckOrigin(tc.origin), taint.ErrOrigin)
				want = taint.OriginInvalid
			}
			viaWrap := taint.Wrap(tc.origin, json.RawMessage(`1`))
			assert.Equal(t, want, viaWrap.Origin)
			viaValue, err := taint.WrapValue(tc.origin, 1)
			require.NoError(t, err)
			assert.Equal(t, want, viaValue.Origin)

			// A literal gets past Wrap, but not past marshalling.
			out, err := json.Marshal(taint.Tainted{Origin: tc.origin, Value: json.RawMessage(`1`)})
			require.NoError(t, err)
			got, ok := taint.Origin(out)
			assert.True(t, ok)
			assert.Equal(t, want, got)
			assert.Equal(t, []string{want}, taint.Scan(out).Origins)

			// A reader refuses it, too.
			quoted, err := json.Marshal(tc.origin)
			require.NoError(t, err)
			raw := []byte(`{"__loomTainted":{"origin":` + string(quoted) + `},"value":1}`)
			if tc.ok {
				assert.NoError(t, json.Unmarshal(raw, new(taint.Tainted)))
			} else if tc.name != "invalid UTF-8" { // which json.Marshal has replaced
				assert.ErrorIs(t, json.Unmarshal(raw, new(taint.Tainted)), taint.ErrOrigin)
				assert.Equal(t, []string{taint.OriginMalformedWrapper}, taint.Scan(raw).Origins)
			}
		})
	}
}

func TestConstantOriginsAreLegal(t *testing.T) {
	t.Parallel()
	for _, origin := range []string{
		taint.OriginSandbox, taint.OriginInvalid, taint.OriginMalformedWrapper,
		taint.OriginBoundExceeded, taint.OriginInvalidJSON,
	} {
		assert.NoError(t, taint.CheckOrigin(origin), origin)
	}
}

func TestMarshalOfALiteral(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		in   taint.Tainted
		want string
		err  error
	}{
		{"zero", taint.Tainted{}, wrapped(taint.OriginInvalid, "null"), nil},
		{"nil value", taint.Tainted{Origin: "web"}, wrapped("web", "null"), nil},
		{"value as it stands", taint.Tainted{Origin: "web", Value: []byte(" {\"a\": \"<\"}\n")}, wrapped("web", `{"a": "<"}`), nil},
		{"broken out", taint.Tainted{Origin: "web", Value: []byte(`1},"a":{"b":1`)}, "", taint.ErrTrailingData},
		{"blank", taint.Tainted{Origin: "web", Value: []byte(" ")}, "", taint.ErrSyntax},
		{"duplicates", taint.Tainted{Origin: "web", Value: []byte(`{"a":1,"a":1}`)}, "", taint.ErrDuplicateName},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			out, err := tc.in.MarshalJSON()
			require.ErrorIs(t, err, tc.err)
			assert.Equal(t, tc.want, string(out))
		})
	}
}

func TestWrapValue(t *testing.T) {
	t.Parallel()
	w, err := taint.WrapValue("tool:search", map[string]any{"b": "<i>", "a": []int{1}})
	require.NoError(t, err)
	assert.Equal(t, `{"a":[1],"b":"\u003ci\u003e"}`, string(taint.Unwrap(w)))

	w, err = taint.WrapValue("outer", w)
	require.NoError(t, err)
	assert.Equal(t, wrapped("tool:search", `{"a":[1],"b":"\u003ci\u003e"}`), string(taint.Unwrap(w)))
}

type leaky struct{}

var errLeaky = errors.New("cannot write s3cret")

func (leaky) MarshalJSON() ([]byte, error) { return nil, errLeaky }

func TestWrapValueFailsClosed(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{
		"a function":             func() {},
		"not a number":           math.NaN(),
		"an error with contents": leaky{},
		"duplicate names":        json.RawMessage(`{"s3cret":1,"s3cret":2}`),
		"not JSON":               json.RawMessage(`s3cret`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := taint.WrapValue("web", v)
			require.ErrorIs(t, err, taint.ErrValue)
			assert.NotContains(t, err.Error(), "s3cret")
			assert.Equal(t, taint.Tainted{Origin: "web", Value: json.RawMessage("null")}, w)
		})
	}
	_, err := taint.WrapValue("web", leaky{})
	require.ErrorIs(t, err, errLeaky, "the cause can still be found")
}

func TestAStructWithWrappersSurvivesEncodingJSON(t *testing.T) {
	t.Parallel()
	type result struct {
		OK    bool            `json:"ok"`
		Value taint.Tainted   `json:"value"`
		Logs  []taint.Tainted `json:"logs"`
		Stack *taint.Tainted  `json:"stack,omitempty"`
		Extra taint.Tainted   `json:"extra,omitzero"`
	}
	in := result{
		OK:    true,
		Value: taint.Wrap("sandbox", json.RawMessage(`{ "a" : "</script>&\u2028", "n": 1.50 }`)),
		Logs:  []taint.Tainted{taint.Wrap("sandbox", nil), taint.Wrap("a & b", json.RawMessage(`"`))},
	}
	first, err := json.Marshal(in)
	require.NoError(t, err)
	assert.NotContains(t, string(first), "extra")

	var viaStd, viaStrict result
	require.NoError(t, json.Unmarshal(first, &viaStd))
	require.NoError(t, taint.DecodeStrict(first, &viaStrict))
	assert.Equal(t, in, viaStd)
	assert.Equal(t, in, viaStrict)

	second, err := json.Marshal(viaStd)
	require.NoError(t, err)
	assert.Equal(t, string(first), string(second))
}

func TestTheDeepestValueCanStillBeEmbedded(t *testing.T) {
	t.Parallel()
	var doc any = taint.Wrap("sandbox", json.RawMessage(nested(taint.MaxValueDepth)))
	for range 50 {
		doc = map[string]any{"a": doc}
	}
	out, err := json.Marshal(doc)
	require.NoError(t, err)
	require.NoError(t, taint.Valid(out))
}

func TestUnwrapGivesNoWayToWriteBehindTheValue(t *testing.T) {
	t.Parallel()
	backing := []byte(`1,2,3`)
	w := taint.Tainted{Origin: "web", Value: backing[:1]}
	_ = append(taint.Unwrap(w), '9')
	assert.Equal(t, `1,2,3`, string(backing))
	assert.Equal(t, "null", string(taint.Unwrap(taint.Tainted{})))
}

func TestPrintingDoesNotShowTheValue(t *testing.T) {
	t.Parallel()
	w := taint.Wrap("web", json.RawMessage(`"s3cret"`))
	bad := taint.Tainted{Origin: "a\nb", Value: json.RawMessage(`"s3cret"`)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		assert.Equal(t, "tainted(web, 8 bytes)", fmt.Sprintf(verb, w))
		assert.Equal(t, "tainted(unknown:invalid-origin, 8 bytes)", fmt.Sprintf(verb, bad))
	}
}
