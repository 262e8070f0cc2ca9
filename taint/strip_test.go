package taint_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/taint"
)

func TestStripReplacesWrappersByTheirValues(t *testing.T) {
	t.Parallel()
	web1 := wrapped("web", "1")
	const malformed = taint.OriginMalformedWrapper
	for _, tc := range []struct {
		name, in, want string
		origins        []string
	}{
		{"at the top", web1, `1`, []string{"web"}},
		{"the value may be anything", "[" + wrapped("a", `null`) + "," + wrapped("b", `{"x":[]}`) + "," + wrapped("c", `"\u0041"`) + "]", `[null,{"x":[]},"\u0041"]`, []string{"a", "b", "c"}},
		{"in objects and arrays", `{"a":` + web1 + `,"b":[0,` + web1 + `,{}]}`, `{"a":1,"b":[0,1,{}]}`, []string{"web"}},
		{"white space stays where it was", " [ " + wrapped("a", " { } ") + " , 2 ]\n", " [ { } , 2 ]\n", []string{"a"}},
		{"the value first", `[{"value":[1, 2],"__loomTainted":{"origin":"a"}}]`, `[[1, 2]]`, []string{"a"}},
		{"a wrapper inside", wrapped("outer", `{"x":`+wrapped("inner", "1")+`}`), `{"x":1}`, []string{"outer", "inner"}},
		{"a wrapper right inside", wrapped("a", wrapped("b", wrapped("c", "[7]"))), `[7]`, []string{"a", "b", "c"}},
		{"inside of one whose value comes first", `{"value":` + wrapped("b", `[`+web1+`]`) + `,"__loomTainted":{"origin":"a"}}`, `[1]`, []string{"b", "web", "a"}},
		{"one after the other", `[` + wrapped("b", "1") + `,` + wrapped("a", "2") + `,` + wrapped("b", "3") + `]`, `[1,2,3]`, []string{"b", "a"}},
		{"escaped names", `{"\u005f_loomT\u0061inted":{"\u006frigin":"w\u0065b"},"v\u0061lue":1}`, `1`, []string{"web"}},
		{"every character escaped", `{"\u005F\u005f\u006C\u006f\u006f\u006d\u0054\u0061\u0069\u006e\u0074\u0065\u0064":{"origin":"web"},"value":1}`, `1`, []string{"web"}},
		{"a joined origin stays one", wrapped("a, b, +2 more", "1"), `1`, []string{"a, b, +2 more"}},
		{"numbers keep their digits", wrapped("a", `[1.0,12345678901234567890,1e400]`), `[1.0,12345678901234567890,1e400]`, []string{"a"}},
		{"names that look like it", `{"value":` + web1 + `,"origin":2}`, `{"value":1,"origin":2}`, []string{"web"}},

		{"an extra member", `{"__loomTainted":{"origin":"web"},"value":1,"a":2}`, `{"__loomTainted":{"origin":"web"},"value":1,"a":2}`, []string{malformed}},
		{"no value", `{"__loomTainted":{"origin":"web"}}`, `{"__loomTainted":{"origin":"web"}}`, []string{malformed}},
		{"another member instead of the value", `{"__loomTainted":{"origin":"web"},"valu":1}`, `{"__loomTainted":{"origin":"web"},"valu":1}`, []string{malformed}},
		{"the marker is true", `{"__loomTainted":true,"value":1}`, `{"__loomTainted":true,"value":1}`, []string{malformed}},
		{"the marker has more", `{"__loomTainted":{"origin":"web","a":1},"value":1}`, `{"__loomTainted":{"origin":"web","a":1},"value":1}`, []string{malformed}},
		{"the origin is not allowed", wrapped("<web>", "1"), wrapped("<web>", "1"), []string{malformed}},
		{"the origin is no string", `{"__loomTainted":{"origin":["web"]},"value":1}`, `{"__loomTainted":{"origin":["web"]},"value":1}`, []string{malformed}},
		{"inside of a malformed one", `{"__loomTainted":true,"value":` + web1 + `,"b":[` + web1 + `]}`, `{"__loomTainted":true,"value":1,"b":[1]}`, []string{malformed, "web"}},
		{"around a malformed one", wrapped("web", `[{"__loomTainted":0}]`), `[{"__loomTainted":0}]`, []string{"web", malformed}},

		// With what is inside the marker replaced, these would be wrappers of "evil".
		{"a wrapper as the marker", `{"__loomTainted":` + wrapped("web", `{"origin":"evil"}`) + `,"value":1}`, `{"__loomTainted":` + wrapped("web", `{"origin":"evil"}`) + `,"value":1}`, []string{malformed, "web"}},
		{"a wrapper as the origin", `{"__loomTainted":{"origin":` + wrapped("web", `"evil"`) + `},"value":1}`, `{"__loomTainted":{"origin":` + wrapped("web", `"evil"`) + `},"value":1}`, []string{malformed, "web"}},
		{"deep inside the marker", `{"__loomTainted":[{"a":[` + web1 + `]}],"value":` + web1 + `}`, `{"__loomTainted":[{"a":[` + web1 + `]}],"value":1}`, []string{malformed, "web"}},
		{"behind a marker", `[{"__loomTainted":[[]],"value":` + web1 + `},` + web1 + `]`, `[{"__loomTainted":[[]],"value":1},1]`, []string{malformed, "web"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			in := []byte(tc.in)
			got, origins, err := taint.Strip(in)
			require.NoError(t, err)
			assert.Equal(t, tc.in, string(in), "the document is only read")
			assert.Equal(t, tc.want, string(got))
			assert.Equal(t, tc.origins, origins)
			assert.Equal(t, taint.Scan(in).Origins, origins)

			again, left, err := taint.Strip(got)
			require.NoError(t, err)
			assert.Equal(t, tc.want, string(again), "done once is done")
			assert.Equal(t, slices.Contains(origins, malformed), left != nil)
		})
	}
}

func TestStripReturnsWhatHasNoLabelAsItIs(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"a scalar":                 ` 1.0 `,
		"an object":                `{ "value" : 1, "origin": {"a":[]} }`,
		"the key as a value":       `["__loomTainted","\u005f_loomTainted"]`,
		"a wrapper as text":        `"{\"__loomTainted\":{\"origin\":\"x\"},\"value\":1}"`,
		"the key in another case":  `{"__loomtainted":{"origin":"x"},"value":1}`,
		"a longer name":            `{"__loomTainted2":1,"x__loomTainted":[{}]}`,
		"a doubly escaped name":    `{"\\u005f_loomTainted":1}`,
		"escapes of other letters": `{"\u0061":"\u0000"}`,
		"the deepest document":     nested(taint.MaxDepth),
		"with escapes":             strings.Repeat(`{"\u0061":`, taint.MaxDepth) + "1" + strings.Repeat("}", taint.MaxDepth),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := []byte(in)
			backing := slices.Grow(raw, 1)
			got, origins, err := taint.Strip(backing)
			require.NoError(t, err)
			assert.Nil(t, origins)
			assert.Equal(t, in, string(got))
			assert.Same(t, &backing[0], &got[0], "nothing is copied")
			assert.Equal(t, len(got), cap(got), "nor can anybody write behind it")
		})
	}
}

func TestStripRefusesWhatIsNotStrictJSON(t *testing.T) {
	t.Parallel()
	web1 := wrapped("web", "1")
	for _, tc := range []struct {
		name, in string
		err      error
	}{
		{"nothing", ``, taint.ErrSyntax},
		{"blank", ` `, taint.ErrSyntax},
		{"broken without a label", `{"a":}`, taint.ErrSyntax},
		{"broken behind a label", `[` + web1 + `,]`, taint.ErrSyntax},
		{"unfinished", `[` + web1, taint.ErrSyntax},
		{"the wrong bracket", `[` + web1 + `}`, taint.ErrSyntax},
		{"an unfinished wrapper", web1[:len(web1)-1], taint.ErrSyntax},
		{"an unfinished marker", `{"__loomTainted":{"origin":"a"`, taint.ErrSyntax},
		{"a bracket first", `]"__loomTainted"`, taint.ErrSyntax},
		{"duplicate markers", `{"__loomTainted":{"origin":"a"},"\u005f_loomTainted":{"origin":"b"},"value":1}`, taint.ErrDuplicateName},
		{"duplicate values", `{"__loomTainted":{"origin":"a"},"value":1,"\u0076alue":2}`, taint.ErrDuplicateName},
		{"duplicates without a label", `{"a":1,"a":2}`, taint.ErrDuplicateName},
		{"invalid UTF-8", wrapped("web", "\"\xff\""), taint.ErrInvalidUTF8},
		{"a lone surrogate", wrapped("web", `"\ud800"`), taint.ErrSyntax},
		{"two documents", web1 + web1, taint.ErrTrailingData},
		{"too deep", wrapped("web", nested(taint.MaxDepth)), taint.ErrTooDeep},
		{"too deep without a label", nested(taint.MaxDepth + 1), taint.ErrTooDeep},
		{"far too deep", `["__loomTainted",` + strings.Repeat("[", 1<<20), taint.ErrTooDeep},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			value, origins, err := taint.Strip([]byte(tc.in))
			require.ErrorIs(t, err, tc.err)
			var decodeErr *taint.DecodeError
			require.ErrorAs(t, err, &decodeErr)
			assert.Equal(t, taint.Valid([]byte(tc.in)), err, "one fault has one description")
			assert.Nil(t, value)
			assert.Nil(t, origins)
		})
	}
}

func TestStripGoesAsDeepAsJSONMay(t *testing.T) {
	t.Parallel()
	// The innermost marker is the deepest level.
	const n = taint.MaxDepth - 1
	deep := func(value string) string {
		return strings.Repeat(`{"__loomTainted":{"origin":"web"},"value":`, n) + value + strings.Repeat("}", n)
	}
	got, origins, err := taint.Strip([]byte(deep("[1]")))
	require.NoError(t, err)
	assert.Equal(t, "[1]", string(got))
	assert.Equal(t, []string{"web"}, origins)

	// The other way round the value is left before anybody knows that it is one.
	last := strings.Repeat(`{"value":`, n) + `[1]` + strings.Repeat(`,"__loomTainted":{"origin":"web"}}`, n)
	got, origins, err = taint.Strip([]byte(last))
	require.NoError(t, err)
	assert.Equal(t, "[1]", string(got))
	assert.Equal(t, []string{"web"}, origins)

	_, _, err = taint.Strip([]byte(deep("[[]]")))
	require.ErrorIs(t, err, taint.ErrTooDeep)
}

func TestOriginsOfStripAreBounded(t *testing.T) {
	t.Parallel()
	wrappers := func(n int) []byte {
		var parts, values []string
		for i := range n {
			parts = append(parts, wrapped(fmt.Sprintf("origin %d", i), fmt.Sprint(i)))
			values = append(values, fmt.Sprint(i))
		}
		in := "[" + strings.Join(parts, ",") + "]"
		got, _, err := taint.Strip([]byte(in))
		require.NoError(t, err)
		assert.Equal(t, "["+strings.Join(values, ",")+"]", string(got), "the value has no such bound")
		return []byte(in)
	}
	_, origins, err := taint.Strip(wrappers(taint.MaxStripOrigins))
	require.NoError(t, err)
	assert.Len(t, origins, taint.MaxStripOrigins)
	assert.NotContains(t, origins, taint.OriginBoundExceeded)

	_, origins, err = taint.Strip(wrappers(taint.MaxStripOrigins + 100))
	require.NoError(t, err)
	require.Len(t, origins, taint.MaxStripOrigins+1)
	assert.Equal(t, "origin 4095", origins[taint.MaxStripOrigins-1])
	assert.Equal(t, taint.OriginBoundExceeded, origins[taint.MaxStripOrigins])
}

// naive is a second opinion by other means: it decodes with encoding/json and
// walks the result.
type naive struct{ origins map[string]bool }

func decodeNaively(t *testing.T, raw []byte) any {
	t.Helper()
	var doc any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	require.NoError(t, dec.Decode(&doc))
	return doc
}

func (n *naive) strip(v any, inMarker bool) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = n.strip(v[i], inMarker)
		}
		return out
	case map[string]any:
		origin, isWrapper := naiveOrigin(v)
		if _, has := v[taint.MarkerKey]; has {
			n.origins[origin] = true
		}
		if isWrapper && !inMarker {
			return n.strip(v["value"], false)
		}
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[name] = n.strip(member, inMarker || name == taint.MarkerKey)
		}
		return out
	default:
		return v
	}
}

func naiveOrigin(v map[string]any) (string, bool) {
	_, hasValue := v["value"]
	marker, _ := v[taint.MarkerKey].(map[string]any)
	origin, isText := marker["origin"].(string)
	if !hasValue || len(v) != 2 || len(marker) != 1 || !isText || taint.CheckOrigin(origin) != nil {
		return taint.OriginMalformedWrapper, false
	}
	return origin, true
}

func FuzzStrip(f *testing.F) {
	f.Add([]byte(`{"a":[` + wrapped("web", `{"b~/":`+wrapped("x", "1")+`}`) + `]}`))
	f.Add([]byte(`{"value":[` + wrapped("b", "1.0") + `],"__loomTainted":{"origin":"a, b, +2 more"}}`))
	f.Add([]byte(`{"__loomTainted":` + wrapped("web", `{"origin":"evil"}`) + `,"value":` + wrapped("x", "{}") + `}`))
	f.Add([]byte(`{"__loomTainted":{"origin":` + wrapped("web", `"evil"`) + `},"value":1}`))
	f.Add([]byte(` [ {"\u005f_loomTainted" : {"origin":"w"}, "value" : [ ] } , {"__loomTainted":0,"value":{}} ] `))
	f.Add([]byte(`{"__loomTainted":1,"__loomTainted":2}`))
	f.Add([]byte(nested(70)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		got, origins, err := taint.Strip(raw)
		require.Equal(t, before, raw)
		require.Equal(t, taint.Valid(raw), err)
		if err != nil {
			require.Nil(t, got)
			require.Nil(t, origins)
			return
		}
		require.NoError(t, taint.Valid(got))
		require.LessOrEqual(t, len(got), len(raw))

		second := naive{origins: map[string]bool{}}
		doc := decodeNaively(t, raw)
		require.Equal(t, second.strip(doc, false), decodeNaively(t, got))
		require.Len(t, origins, len(second.origins))
		for _, origin := range origins {
			require.True(t, second.origins[origin], origin)
		}
		if r := taint.Scan(raw); !r.Exceeded && !r.Truncated {
			require.Equal(t, r.Origins, origins)
		}
		if !hasMarker(doc) {
			require.Equal(t, raw, []byte(got))
		}
		if !second.origins[taint.OriginMalformedWrapper] {
			require.False(t, hasMarker(decodeNaively(t, got)))
			r := taint.Scan(got)
			require.Equal(t, r.Exceeded, r.Tainted)
		}
		again, _, err := taint.Strip(got)
		require.NoError(t, err)
		require.Equal(t, got, again)

		// What Wrap puts on comes off.
		w := taint.Wrap("fuzz", got)
		out, err := w.MarshalJSON()
		require.NoError(t, err)
		inner, origins, err := taint.Strip(out)
		require.NoError(t, err)
		require.Equal(t, taint.Unwrap(w), inner)
		require.Equal(t, "fuzz", origins[0])
	})
}

func BenchmarkStrip(b *testing.B) {
	const mib = 1 << 20
	row := `{"id":12345,"name":"some name of a row","tags":["a","b"],"text":"` + strings.Repeat("x", 100) + `"}`
	wrapper := wrapped("sandbox", row)
	nestedWrappers := func(n int) string {
		return strings.Repeat(`{"__loomTainted":{"origin":"web"},"value":`, n) + "1" + strings.Repeat("}", n)
	}
	for name, doc := range map[string]string{
		"no label":     "[" + strings.Repeat(row+",", mib/len(row)-1) + row + "]",
		"labels":       "[" + strings.Repeat(wrapper+",", mib/len(wrapper)-1) + wrapper + "]",
		"one, escaped": "[" + strings.Repeat(row+",", mib/len(row)-1) + `"\u0041",` + wrapper + "]",
		"objects":      `["\u0041"` + strings.Repeat(",{}", mib/3) + "]",
		"900 deep":     nestedWrappers(900),
		"9000 deep":    nestedWrappers(9000),
	} {
		b.Run(name, func(b *testing.B) {
			raw := []byte(doc)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				_, _, err := taint.Strip(raw)
				require.NoError(b, err)
			}
		})
	}
}
