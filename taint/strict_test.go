package taint_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/taint"
)

type request struct {
	Code  string          `json:"code"`
	Count int             `json:"count"`
	At    time.Time       `json:"at"`
	Input json.RawMessage `json:"input"`
	Label taint.Tainted   `json:"label"`
	Any   any             `json:"any"`
	Inner struct {
		On bool `json:"on"`
	} `json:"inner"`
}

func TestDecodeStrictRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in, pointer string
		err               error
	}{
		{"nothing", ``, "", taint.ErrSyntax},
		{"half", `{"code":"s3cret"`, "", taint.ErrSyntax},
		{"half a string", `{"code":"s3cret`, "/code", taint.ErrSyntax},
		{"a bare word", `{"code":s3cret}`, "/code", taint.ErrSyntax},
		{"a bare name", `{code:1}`, "", taint.ErrSyntax},
		{"a number as a name", `{1:"s3cret"}`, "", taint.ErrSyntax},
		{"a missing comma", `{"count":1 "code":"s3cret"}`, "", taint.ErrSyntax},
		{"a control character", "{\"code\":\"s3cret\x01\"}", "/code", taint.ErrSyntax},
		{"a lone surrogate", `{"code":"s3cret\ud800"}`, "/code", taint.ErrSyntax},
		{"not a number", `{"count":NaN}`, "/count", taint.ErrSyntax},
		{"a leading zero", `{"count":007}`, "", taint.ErrSyntax},
		{"duplicate names", `{"code":"a","code":"s3cret"}`, "/code", taint.ErrDuplicateName},
		{"duplicates after escapes", `{"code":"a","\u0063ode":"s3cret"}`, "/code", taint.ErrDuplicateName},
		{"duplicates in raw JSON", `{"input":[{"a":1,"a":2}]}`, "/input/0/a", taint.ErrDuplicateName},
		{"duplicates in an any", `{"any":{"a":1,"a":2}}`, "/any/a", taint.ErrDuplicateName},
		{"invalid UTF-8", "{\"code\":\"s3cret\xff\"}", "/code", taint.ErrInvalidUTF8},
		{"a cut UTF-8 sequence", "{\"code\":\"\xe2\x82\"}", "/code", taint.ErrInvalidUTF8},
		{"invalid UTF-8 in raw JSON", "{\"input\":\"\xff\"}", "/input", taint.ErrInvalidUTF8},
		{"an unknown name", `{"kode":"s3cret"}`, "/kode", taint.ErrUnknownName},
		{"another case", `{"Code":"s3cret"}`, "/Code", taint.ErrUnknownName},
		{"another case inside", `{"inner":{"ON":true}}`, "/inner/ON", taint.ErrUnknownName},
		{"trailing value", `{} "s3cret"`, "", taint.ErrTrailingData},
		{"trailing bracket", `{}}`, "", taint.ErrTrailingData},
		{"trailing nul", "{}\x00", "", taint.ErrTrailingData},
		{"a string as a number", `{"count":"s3cret"}`, "/count", taint.ErrType},
		{"a fraction as an int", `{"count":1.5}`, "/count", taint.ErrType},
		{"a number too large", `{"count":99999999999999999999}`, "/count", taint.ErrType},
		{"a number beyond float64", `{"any":1e999}`, "/any", taint.ErrType},
		{"a broken time", `{"at":"s3cret"}`, "/at", taint.ErrType},
		{"a string for an object", `"s3cret"`, "", taint.ErrType},
		{"null for a wrapper", `{"label":null}`, "/label", taint.ErrNotWrapper},
		{"no wrapper", `{"label":{"value":"s3cret"}}`, "/label", taint.ErrNotWrapper},
		{"a bad origin", `{"label":{"__loomTainted":{"origin":"<s3cret"},"value":1}}`, "/label/__loomTainted/origin", taint.ErrOrigin},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := taint.DecodeStrict([]byte(tc.in), new(request))
			require.ErrorIs(t, err, tc.err)
			var decodeErr *taint.DecodeError
			require.ErrorAs(t, err, &decodeErr)
			assert.Equal(t, tc.pointer, decodeErr.Pointer)
			assert.True(t, strings.HasPrefix(err.Error(), "taint: "), err.Error())
			assert.NotContains(t, err.Error(), "s3cret")
			assert.NotContains(t, err.Error(), "\n")
			assert.LessOrEqual(t, decodeErr.Offset, int64(len(tc.in)))
		})
	}
}

func TestDecodeStrictAccepts(t *testing.T) {
	t.Parallel()
	var got request
	require.NoError(t, taint.DecodeStrict([]byte(` {"code":"x","input":{"n": 1.00, "big":12345678901234567890},"any":1,"inner":{"on":true}} `), &got))
	assert.Equal(t, "x", got.Code)
	assert.Equal(t, `{"n": 1.00, "big":12345678901234567890}`, string(got.Input), "numbers stay text")
	assert.InDelta(t, 1.0, got.Any, 0)
	assert.True(t, got.Inner.On)

	require.NoError(t, taint.DecodeStrict([]byte(`null`), &got))
	assert.Equal(t, request{}, got)
}

func TestDecodeStrictNeedsADestination(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{
		"nothing": nil, "a struct": request{}, "a nil pointer": (*request)(nil), "a map": map[string]any{},
	} {
		assert.ErrorContains(t, taint.DecodeStrict([]byte(`{}`), v), "needs a non-nil pointer", name)
	}
}

func TestATypeErrorNamesBothTypes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{`{"count":"s3cret"}`, `taint: JSON value does not fit its destination: this JSON string cannot become Go type int (at "/count", byte 9)`},
		{`{"code":1}`, `this JSON number cannot become Go type string`},
		{`{"code":true}`, `this JSON boolean cannot become Go type string`},
		{`{"code":{}}`, `this JSON object cannot become Go type string`},
		{`{"code":[]}`, `this JSON array cannot become Go type string`},
		{`{"inner":"s3cret"}`, `this JSON string cannot become Go type struct`},
	} {
		assert.ErrorContains(t, taint.DecodeStrict([]byte(tc.in), new(request)), tc.want)
	}
	var c chan int
	assert.ErrorContains(t, taint.DecodeStrict([]byte(`null`), &c), "refused by Go type chan")
}

func TestValid(t *testing.T) {
	t.Parallel()
	objects := func(n int) string { return strings.Repeat(`{"a":`, n) + `1` + strings.Repeat(`}`, n) }
	for _, tc := range []struct {
		name, in string
		err      error
	}{
		{"a scalar", ` 1e400 `, nil},
		{"the same name in different objects", `{"a":{"a":1},"b":{"a":1}}`, nil},
		{"10000 arrays", nested(taint.MaxDepth), nil},
		{"10001 arrays", nested(taint.MaxDepth + 1), taint.ErrTooDeep},
		{"10000 objects", objects(taint.MaxDepth), nil},
		{"10001 objects", objects(taint.MaxDepth + 1), taint.ErrTooDeep},
		{"a million open arrays", strings.Repeat("[", 1<<20), taint.ErrTooDeep},
		{"a fault at the deepest level", strings.Repeat("[", taint.MaxDepth) + "x", taint.ErrSyntax},
		{"duplicates", `[{"a":1,"a":1}]`, taint.ErrDuplicateName},
		{"trailing", `1,`, taint.ErrTrailingData},
		{"invalid UTF-8", "\"\xc0\x80\"", taint.ErrInvalidUTF8},
		{"a surrogate as UTF-8", "\"\xed\xa0\x80\"", taint.ErrInvalidUTF8},
		{"U+FFFD itself", "\"\ufffd\"", nil},
		{"a fault at U+FFFD", "[\ufffd]", taint.ErrSyntax},
		{"nothing", "", taint.ErrSyntax},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := taint.Valid([]byte(tc.in))
			require.ErrorIs(t, err, tc.err)
			assert.Equal(t, tc.err == nil, err == nil)
		})
	}
}

func TestErrorTextIsOneShortLineWhateverTheNamesAre(t *testing.T) {
	t.Parallel()
	name := strings.Repeat(`\n\u001b[2J\u202e`, 5_000)
	err := taint.DecodeStrict([]byte(`{"inner":{"`+name+`":1}}`), new(request))
	require.ErrorIs(t, err, taint.ErrUnknownName)
	assert.Less(t, len(err.Error()), 2_000)
	for _, r := range err.Error() {
		require.True(t, r >= ' ' && r < 0x7f, "%q", r)
	}
}
