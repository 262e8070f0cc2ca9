package taint_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/taint"
)

func TestUnmarshalAcceptsOnlyAWrapper(t *testing.T) {
	t.Parallel()
	const good = `{"__loomTainted":{"origin":"web"},"value":[1]}`
	accepted := map[string]string{
		"the form":           good,
		"white space":        " {\n \"__loomTainted\" : { \"origin\" : \"web\" } , \"value\" : [1] } ",
		"the other order":    `{"value":[1],"__loomTainted":{"origin":"web"}}`,
		"an escaped name":    `{"\u005f_loomT\u0061inted":{"origin":"web"},"value":[1]}`,
		"an escaped origin":  `{"__loomTainted":{"origin":"\u0077eb"},"value":[1]}`,
		"every byte escaped": `{"__loomTainted":{"\u006f\u0072\u0069\u0067\u0069\u006e":"web"},"\u0076alue":[1]}`,
		"written by Marshal": string(mustMarshal(taint.Wrap("web", json.RawMessage(`[1]`)))),
	}
	for name, in := range accepted {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w taint.Tainted
			require.NoError(t, w.UnmarshalJSON([]byte(in)))
			assert.Equal(t, taint.Tainted{Origin: "web", Value: json.RawMessage(`[1]`)}, w)
			assert.True(t, taint.Is([]byte(in)))
		})
	}
	for _, tc := range []struct {
		name, in string
		err      error
	}{
		{"empty", ``, taint.ErrSyntax},
		{"blank", ` `, taint.ErrSyntax},
		{"null", `null`, taint.ErrNotWrapper},
		{"a string", `"__loomTainted"`, taint.ErrNotWrapper},
		{"an array", `[` + good + `]`, taint.ErrNotWrapper},
		{"an empty object", `{}`, taint.ErrNotWrapper},
		{"no value", `{"__loomTainted":{"origin":"web"}}`, taint.ErrNotWrapper},
		{"no marker", `{"value":1}`, taint.ErrNotWrapper},
		{"an unknown member", `{"__loomTainted":{"origin":"web"},"value":1,"a":2}`, taint.ErrNotWrapper},
		{"marker in another case", `{"__loomtainted":{"origin":"web"},"value":1}`, taint.ErrNotWrapper},
		{"value in another case", `{"__loomTainted":{"origin":"web"},"Value":1}`, taint.ErrNotWrapper},
		{"origin in another case", `{"__loomTainted":{"Origin":"web"},"value":1}`, taint.ErrNotWrapper},
		{"marker is true", `{"__loomTainted":true,"value":1}`, taint.ErrNotWrapper},
		{"marker is null", `{"__loomTainted":null,"value":1}`, taint.ErrNotWrapper},
		{"marker is an array", `{"__loomTainted":["origin","web"],"value":1}`, taint.ErrNotWrapper},
		{"marker is empty", `{"__loomTainted":{},"value":1}`, taint.ErrNotWrapper},
		{"marker has more", `{"__loomTainted":{"origin":"web","a":1},"value":1}`, taint.ErrNotWrapper},
		{"origin is a number", `{"__loomTainted":{"origin":1},"value":1}`, taint.ErrOrigin},
		{"origin is null", `{"__loomTainted":{"origin":null},"value":1}`, taint.ErrOrigin},
		{"origin is an object", `{"__loomTainted":{"origin":{"origin":"web"}},"value":1}`, taint.ErrOrigin},
		{"origin is empty", `{"__loomTainted":{"origin":""},"value":1}`, taint.ErrOrigin},
		{"origin is huge", wrapped(strings.Repeat("a", 1<<20), "1"), taint.ErrOrigin},
		{"duplicate marker", `{"__loomTainted":{"origin":"web"},"__loomTainted":{"origin":"web"},"value":1}`, taint.ErrDuplicateName},
		{"duplicate marker, escaped", `{"__loomTainted":{"origin":"web"},"\u005f_loomTainted":{"origin":"web"},"value":1}`, taint.ErrDuplicateName},
		{"duplicate value", `{"__loomTainted":{"origin":"web"},"value":1,"value":2}`, taint.ErrDuplicateName},
		{"duplicate origin", `{"__loomTainted":{"origin":"a","origin":"b"},"value":1}`, taint.ErrDuplicateName},
		{"duplicates inside the value", `{"__loomTainted":{"origin":"web"},"value":{"a":1,"a":2}}`, taint.ErrDuplicateName},
		{"trailing data", good + `1`, taint.ErrTrailingData},
		{"two wrappers", good + good, taint.ErrTrailingData},
		{"a bracket too many", good + `}`, taint.ErrTrailingData},
		{"unfinished", good[:len(good)-1], taint.ErrSyntax},
		{"invalid UTF-8 in the value", "{\"__loomTainted\":{\"origin\":\"web\"},\"value\":\"\xff\"}", taint.ErrInvalidUTF8},
		{"invalid UTF-8 in the origin", "{\"__loomTainted\":{\"origin\":\"\xff\"},\"value\":1}", taint.ErrInvalidUTF8},
		{"a comma at the end", `{"__loomTainted":{"origin":"web"},"value":1,}`, taint.ErrSyntax},
		{"a comment", `{"__loomTainted":{"origin":"web"},/**/"value":1}`, taint.ErrSyntax},
		{"a byte order mark", "\ufeff" + good, taint.ErrSyntax},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			before := taint.Tainted{Origin: "before", Value: json.RawMessage(`0`)}
			w := before
			err := w.UnmarshalJSON([]byte(tc.in))
			require.ErrorIs(t, err, tc.err)
			var decodeErr *taint.DecodeError
			require.ErrorAs(t, err, &decodeErr)
			assert.Equal(t, before, w, "an error leaves the destination alone")
			assert.False(t, taint.Is([]byte(tc.in)))
			_, ok := taint.Origin([]byte(tc.in))
			assert.False(t, ok)
			assert.Error(t, json.Unmarshal([]byte(tc.in), &w))
			assert.Error(t, taint.DecodeStrict([]byte(tc.in), &w))
		})
	}
	assert.Error(t, (*taint.Tainted)(nil).UnmarshalJSON([]byte(good)))
}

func TestUnmarshalCopiesTheValue(t *testing.T) {
	t.Parallel()
	in := []byte(wrapped("web", `"abc"`))
	var w taint.Tainted
	require.NoError(t, w.UnmarshalJSON(in))
	clear(in)
	assert.Equal(t, `"abc"`, string(taint.Unwrap(w)))
}

func mustMarshal(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}

func FuzzTaintedRoundTrip(f *testing.F) {
	f.Add("sandbox", []byte(`{"a":[1,2.50,"<b>"]}`))
	f.Add("", []byte(`1},"x":{`))
	f.Add("web", []byte(`{"__loomTainted":{"origin":"x"},"value":1}`))
	f.Add("a\u202eb", []byte("\"\xff\u2028\""))
	f.Fuzz(func(t *testing.T, origin string, value []byte) {
		w := taint.Wrap(origin, value)
		require.NoError(t, taint.CheckOrigin(w.Origin))
		require.NoError(t, taint.Valid(w.Value))

		type doc struct {
			Result taint.Tainted `json:"result"`
		}
		first, err := json.Marshal(doc{w})
		require.NoError(t, err)
		require.NoError(t, taint.Valid(first))
		require.True(t, bytes.Contains(first, w.Value), "the value is embedded byte for byte")
		for _, decode := range []func([]byte, any) error{taint.DecodeStrict, json.Unmarshal} {
			var back doc
			require.NoError(t, decode(first, &back))
			require.Equal(t, w, back.Result)
		}

		// Strict JSON keeps its meaning; anything else keeps its text.
		var want, got any
		if len(value) == 0 {
			value = []byte("null")
		}
		if taint.Valid(value) == nil && json.Unmarshal(value, &want) == nil && json.Unmarshal(w.Value, &got) == nil {
			require.Equal(t, want, got)
		}
		// Reading arbitrary text as a wrapper agrees with Is and Scan.
		var read taint.Tainted
		if err := read.UnmarshalJSON(value); err == nil {
			require.True(t, taint.Is(value))
			require.True(t, taint.Scan(value).Tainted)
			out, err := read.MarshalJSON()
			require.NoError(t, err)
			var again taint.Tainted
			require.NoError(t, again.UnmarshalJSON(out))
			require.Equal(t, read, again)
		} else {
			require.False(t, taint.Is(value))
		}
	})
}
