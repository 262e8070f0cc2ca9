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

func TestScanFindsWrappers(t *testing.T) {
	t.Parallel()
	web1 := wrapped("web", "1")
	malformed := taint.OriginMalformedWrapper
	for _, tc := range []struct {
		name, in string
		origins  []string
		paths    []string
	}{
		{"none in a scalar", `1`, nil, nil},
		{"none in an object", `{"value":{"origin":"web"},"origin":1}`, nil, nil},
		{"the key as a string value", `{"a":"__loomTainted","b":["__loomTainted"]}`, nil, nil},
		{"a wrapper as text", `{"a":"{\"__loomTainted\":{\"origin\":\"x\"},\"value\":1}"}`, nil, nil},
		{"another case is another name", `{"__loomtainted":{"origin":"x"},"value":1}`, nil, nil},
		{"a longer name", `{"__loomTainted2":1,"x__loomTainted":1,"__loomTainte":1}`, nil, nil},
		{"a doubly escaped name", `{"\\u005f_loomTainted":1}`, nil, nil},

		{"at the top", web1, []string{"web"}, []string{""}},
		{"in the other order", `{"value":1,"__loomTainted":{"origin":"web"}}`, []string{"web"}, []string{""}},
		{"in an object", `{"a":` + web1 + `}`, []string{"web"}, []string{"/a"}},
		{"in arrays", `[0,[` + web1 + `,{}]]`, []string{"web"}, []string{"/1/0"}},
		{"names escaped as RFC 6901 says", `{"a/b":{"m~n":{"\u0041é\"":` + web1 + `}}}`, []string{"web"}, []string{`/a~1b/m~0n/Aé"`}},
		{"an empty name", `{"":` + web1 + `}`, []string{"web"}, []string{"/"}},
		{"origins are distinct and in order", `[` + wrapped("b", "1") + `,` + wrapped("a", "1") + `,` + wrapped("b", "1") + `]`, []string{"b", "a"}, []string{"/0", "/1", "/2"}},
		{"the outer one comes first", wrapped("outer", `{"x":`+wrapped("inner", "1")+`}`), []string{"outer", "inner"}, []string{"", "/value/x"}},
		{"a value that comes first", `{"value":` + wrapped("inner", "1") + `,"__loomTainted":{"origin":"outer"}}`, []string{"inner", "outer"}, []string{"/value", ""}},
		{"an escaped key", `{"\u005f_loomTainted":{"origin":"web"},"value":1}`, []string{"web"}, []string{""}},
		{"every character escaped", `{"\u005F\u005f\u006C\u006f\u006f\u006d\u0054\u0061\u0069\u006e\u0074\u0065\u0064":1}`, []string{malformed}, []string{""}},
		{"an escaped origin", `{"__loomTainted":{"\u006frigin":"w\u0065b"},"v\u0061lue":1}`, []string{"web"}, []string{""}},

		{"the marker is true", `{"__loomTainted":true,"value":1}`, []string{malformed}, []string{""}},
		{"the marker is an array", `{"__loomTainted":[{"origin":"web"}],"value":1}`, []string{malformed}, []string{""}},
		{"the marker is empty", `{"__loomTainted":{},"value":1}`, []string{malformed}, []string{""}},
		{"the marker has more", `{"__loomTainted":{"origin":"web","a":1},"value":1}`, []string{malformed}, []string{""}},
		{"the marker has more, first", `{"__loomTainted":{"a":1,"origin":"web"},"value":1}`, []string{malformed}, []string{""}},
		{"the origin in another case", `{"__loomTainted":{"Origin":"web"},"value":1}`, []string{malformed}, []string{""}},
		{"the origin is not a string", `{"__loomTainted":{"origin":["web"]},"value":1}`, []string{malformed}, []string{""}},
		{"the origin is empty", wrapped("", "1"), []string{malformed}, []string{""}},
		{"the origin is not allowed", wrapped("<web>", "1"), []string{malformed}, []string{""}},
		{"the origin is too long", wrapped(strings.Repeat("a", 201), "1"), []string{malformed}, []string{""}},
		{"an extra member", `{"__loomTainted":{"origin":"web"},"value":1,"a":2}`, []string{malformed}, []string{""}},
		{"an extra member for the value", `{"__loomTainted":{"origin":"web"},"valu":1}`, []string{malformed}, []string{""}},
		{"the value in another case", `{"__loomTainted":{"origin":"web"},"Value":1}`, []string{malformed}, []string{""}},
		{"no value", `{"__loomTainted":{"origin":"web"}}`, []string{malformed}, []string{""}},
		{"a wrapper as the marker", `{"__loomTainted":` + web1 + `,"value":1}`, []string{malformed, "web"}, []string{"", "/__loomTainted"}},
		{"a wrapper beside the origin", `{"__loomTainted":{"origin":"a","b":` + web1 + `},"value":1}`, []string{malformed, "web"}, []string{"", "/__loomTainted/b"}},
		{"a malformed one inside a good one", wrapped("web", `{"__loomTainted":0}`), []string{"web", malformed}, []string{"", "/value"}},
		{"an origin that claims a failure", wrapped(taint.OriginBoundExceeded, "1"), []string{taint.OriginBoundExceeded}, []string{""}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			want := taint.Report{Tainted: tc.origins != nil, Origins: tc.origins, Paths: tc.paths}
			assert.Equal(t, want, taint.Scan([]byte(tc.in)))
		})
	}
}

func TestScanOfTextThatIsNotStrictJSON(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in string
		origins  []string
		err      error
	}{
		{"nothing", ``, nil, taint.ErrSyntax},
		{"blank", " \n", nil, taint.ErrSyntax},
		{"unfinished", `{"a":[1`, nil, taint.ErrSyntax},
		{"a bracket of the wrong kind", `[1}`, nil, taint.ErrSyntax},
		{"a bracket too early", `]`, nil, taint.ErrSyntax},
		{"a name without a value", `{"a"}`, nil, taint.ErrSyntax},
		{"a bracket after a colon", `{"a":}`, nil, taint.ErrSyntax},
		{"a comma too many", `[1,]`, nil, taint.ErrSyntax},
		{"a number as a name", `{1:2}`, nil, taint.ErrSyntax},
		{"an object as a name", `{{}:2}`, nil, taint.ErrSyntax},
		{"invalid UTF-8", "[\"\xff\"]", nil, taint.ErrInvalidUTF8},
		{"trailing data", `1 {}`, nil, taint.ErrTrailingData},
		{"a wrapper after the document", `{}` + wrapped("web", "1"), nil, taint.ErrTrailingData},
		{"duplicate names", `{"a":1,"a":2}`, nil, taint.ErrDuplicateName},
		{"duplicate markers", `{"__loomTainted":{"origin":"a"},"\u005f_loomTainted":{"origin":"b"},"value":1}`, []string{"a"}, taint.ErrDuplicateName},
		{"a wrapper that never closes", `[` + wrapped("a", "1") + `,{"__loomTainted":{"origin":"b"},"value":`, []string{"a", "b"}, taint.ErrSyntax},
		{"a marker that never closes", `{"__loomTainted":{"origin":"a"`, []string{taint.OriginMalformedWrapper}, taint.ErrSyntax},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := taint.Scan([]byte(tc.in))
			assert.True(t, r.Tainted)
			assert.False(t, r.Exceeded)
			require.ErrorIs(t, r.Err, tc.err)
			assert.Equal(t, append(tc.origins, taint.OriginInvalidJSON), r.Origins)
			assert.Error(t, taint.Valid([]byte(tc.in)), "the scan and the decoder agree")
		})
	}
}

func TestScanBounds(t *testing.T) {
	t.Parallel()
	array := func(n int) string { return "[" + strings.Repeat("1,", n-1) + "1]" }
	objects := func(n int) string { return strings.Repeat(`{"a":`, n) + `1` + strings.Repeat(`}`, n) }
	for _, tc := range []struct {
		name, in string
		exceeded bool
		origins  []string
	}{
		{"63 arrays", nested(63), false, nil},
		{"64 arrays", nested(64), false, nil},
		{"65 arrays", nested(65), true, nil},
		{"63 objects", objects(63), false, nil},
		{"64 objects", objects(64), false, nil},
		{"65 objects", objects(65), true, nil},
		{"a wrapper whose marker is at level 64", strings.Repeat("[", 62) + wrapped("web", "1") + strings.Repeat("]", 62), false, []string{"web"}},
		{"a wrapper whose marker is at level 65", strings.Repeat("[", 63) + wrapped("web", "1") + strings.Repeat("]", 63), true, []string{taint.OriginMalformedWrapper}},
		{"depth is not counted across siblings", "[" + strings.Repeat(nested(63)+",", 99) + "1]", false, nil},
		{"100000 nodes", array(taint.MaxScanNodes - 1), false, nil},
		{"100001 nodes", array(taint.MaxScanNodes), true, nil},
		{"100001 nodes, the last one an object", "[" + strings.Repeat("1,", taint.MaxScanNodes-1) + "{}]", true, nil},
		{"names are no nodes", "[" + strings.Repeat(`{"a":1},`, 49_999) + "1]", false, nil},
		{"wrappers before the bound are reported", "[" + wrapped("web", nested(70)) + "]", true, []string{"web"}},
		{"wrappers behind the bound are not looked for", "[" + nested(64) + "," + wrapped("web", "1") + "]", true, nil},
		{"a huge string is one node", `"` + strings.Repeat("a", 8<<20) + `"`, false, nil},
		{"a huge number is one node", strings.Repeat("1", 1<<20), false, nil},
		{"what follows the bound is not read", strings.Repeat("[", 1<<20), true, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := taint.Scan([]byte(tc.in))
			assert.Equal(t, tc.exceeded, r.Exceeded)
			require.NoError(t, r.Err)
			want := tc.origins
			if tc.exceeded {
				want = append(want, taint.OriginBoundExceeded)
			}
			assert.Equal(t, want, r.Origins)
			assert.Equal(t, len(want) > 0, r.Tainted)
		})
	}
}

func TestReportIsBounded(t *testing.T) {
	t.Parallel()
	wrappers := func(n int) string {
		var parts []string
		for i := range n {
			parts = append(parts, wrapped(fmt.Sprintf("origin %d", i), "1"))
		}
		return strings.Join(parts, ",")
	}
	t.Run("as many as there is room for", func(t *testing.T) {
		t.Parallel()
		r := taint.Scan([]byte("[" + wrappers(taint.MaxReportOrigins) + "]"))
		assert.Len(t, r.Origins, taint.MaxReportOrigins)
		assert.False(t, r.Truncated)
	})
	t.Run("one origin too many", func(t *testing.T) {
		t.Parallel()
		r := taint.Scan([]byte("[" + wrappers(taint.MaxReportOrigins+1) + "]"))
		assert.Len(t, r.Origins, taint.MaxReportOrigins)
		assert.True(t, r.Truncated)
	})
	t.Run("a failure always has room", func(t *testing.T) {
		t.Parallel()
		r := taint.Scan([]byte("[" + wrappers(taint.MaxReportOrigins) + "," + nested(65) + "]"))
		assert.Len(t, r.Origins, taint.MaxReportOrigins)
		assert.Equal(t, taint.OriginBoundExceeded, r.Origins[taint.MaxReportOrigins-1])
		assert.True(t, r.Truncated)
	})
	t.Run("a claimed failure counts once", func(t *testing.T) {
		t.Parallel()
		r := taint.Scan([]byte("[" + wrapped(taint.OriginInvalidJSON, "1") + ",x]"))
		assert.Equal(t, []string{taint.OriginInvalidJSON}, r.Origins)
		assert.False(t, r.Truncated)
	})
	t.Run("paths", func(t *testing.T) {
		t.Parallel()
		all := strings.Repeat(wrapped("web", "1")+",", taint.MaxReportPaths)
		r := taint.Scan([]byte("[" + all + "1]"))
		assert.Len(t, r.Paths, taint.MaxReportPaths)
		assert.False(t, r.Truncated)
		r = taint.Scan([]byte("[" + all + wrapped("web", "1") + "]"))
		assert.Len(t, r.Paths, taint.MaxReportPaths)
		assert.True(t, r.Truncated)
	})
	for _, tc := range []struct {
		name, key string
		kept      bool
	}{
		{"longest path", strings.Repeat("a", taint.MaxPathBytes-1), true},
		{"path too long", strings.Repeat("a", taint.MaxPathBytes), false},
		{"longest path, escaped", strings.Repeat(`\u0061`, taint.MaxPathBytes-1), true},
		{"path made too long by its escapes", strings.Repeat("~", taint.MaxPathBytes/2), false},
		{"huge name", strings.Repeat("a", 1<<20), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := taint.Scan([]byte(`{"` + tc.key + `":` + wrapped("web", "1") + `}`))
			assert.Equal(t, []string{"web"}, r.Origins)
			assert.Equal(t, !tc.kept, r.Truncated)
			assert.Equal(t, tc.kept, len(r.Paths) == 1)
		})
	}
}

func TestScanDoesNotWriteToItsInput(t *testing.T) {
	t.Parallel()
	in := []byte(`{"\u0061":[` + wrapped("web", `"\u0062"`) + `],"b":x`)
	before := slices.Clone(in)
	taint.Scan(in)
	_ = taint.Valid(in)
	taint.Is(in)
	assert.Equal(t, string(before), string(in))
}

// hasMarker is a second opinion by other means: it decodes with encoding/json and
// looks for the key with a recursive walk.
func hasMarker(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if name == taint.MarkerKey || hasMarker(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasMarker)
	}
	return false
}

// at follows a JSON pointer in a decoded document.
func at(t *testing.T, doc any, pointer string) any {
	t.Helper()
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for i, token := range strings.Split(pointer, "/") {
		if i == 0 {
			continue
		}
		switch v := doc.(type) {
		case map[string]any:
			doc = v[unescape.Replace(token)]
		case []any:
			var n int
			_, err := fmt.Sscan(token, &n)
			require.NoError(t, err)
			doc = v[n]
		default:
			require.Fail(t, "pointer leads nowhere", pointer)
		}
	}
	return doc
}

func FuzzScan(f *testing.F) {
	f.Add([]byte(`{"a":[` + wrapped("web", `{"b~/":`+wrapped("x", "1")+`}`) + `]}`))
	f.Add([]byte(`{"\u005f_loomTainted":1}`))
	f.Add([]byte(`{"__loomtainted":{"origin":"x"},"value":"__loomTainted"}`))
	f.Add([]byte(`{"__loomTainted":1,"__loomTainted":2}`))
	f.Add([]byte(`1},"x":{"a":2`))
	f.Add([]byte(nested(65)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := taint.Scan(raw)
		require.LessOrEqual(t, len(r.Origins), taint.MaxReportOrigins)
		require.LessOrEqual(t, len(r.Paths), taint.MaxReportPaths)
		require.Equal(t, r.Tainted, len(r.Origins) > 0)
		for _, origin := range r.Origins {
			require.NoError(t, taint.CheckOrigin(origin))
		}
		if !r.Exceeded {
			require.Equal(t, taint.Valid(raw), r.Err, "one scan, one decoder")
		}

		if json.Valid(raw) {
			var doc any
			dec := json.NewDecoder(bytes.NewReader(raw))
			dec.UseNumber() // or 1e400 would be an error
			require.NoError(t, dec.Decode(&doc))
			if hasMarker(doc) {
				require.True(t, r.Tainted)
			} else {
				require.Equal(t, r.Err != nil || r.Exceeded, r.Tainted)
			}
			if r.Err == nil {
				for _, path := range r.Paths {
					require.Contains(t, at(t, doc, path), taint.MarkerKey)
				}
			}
		} else {
			require.True(t, r.Tainted)
		}

		// No value talks its way out of a wrapper.
		out, err := json.Marshal(map[string]any{"a": []any{0, taint.Wrap("fuzz", raw)}})
		require.NoError(t, err)
		r = taint.Scan(out)
		require.NoError(t, r.Err)
		require.True(t, r.Tainted)
		require.Equal(t, "fuzz", r.Origins[0])
		require.Equal(t, "/a/1", r.Paths[0])
		var shape struct {
			A []json.RawMessage `json:"a"`
		}
		require.NoError(t, taint.DecodeStrict(out, &shape))
		require.Len(t, shape.A, 2)
		require.True(t, taint.Is(shape.A[1]))
	})
}

func BenchmarkScan(b *testing.B) {
	const mib = 1 << 20
	// The documents stay below the bound on nodes, or there would be less to do.
	row := `{"id":12345,"name":"some name of a row","tags":["a","b"],"text":"` + strings.Repeat("x", 100) + `"}`
	rows := "[" + strings.Repeat(row+",", mib/len(row)-1) + row + "]"
	wrapper := wrapped("sandbox", `"`+strings.Repeat("x", 100)+`"`)
	for name, doc := range map[string]string{
		"rows":     rows,
		"wrappers": "[" + strings.Repeat(wrapper+",", mib/len(wrapper)-1) + wrapper + "]",
		"string":   `"` + strings.Repeat("x", mib-2) + `"`,
		"escapes":  `"` + strings.Repeat(`\u0041`, mib/6) + `"`,
	} {
		b.Run(name, func(b *testing.B) {
			raw := []byte(doc)
			require.False(b, taint.Scan(raw).Exceeded)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				taint.Scan(raw)
			}
		})
	}
}
