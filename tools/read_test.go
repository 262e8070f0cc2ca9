package tools

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/taint"
)

// FuzzDecode finds that decoding is what encoding/json does with strict JSON, and
// that counting and decoding refuse the same.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		` { "a" : [ 1 , -2.50e+07 , "\ud83d\ude00\u0000\"\\" , true,false , null ] , "\u0061b" : { } , "" : [ ] } `,
		`[]`, `"é"`, `0`, `[{},{}]`, ` [ {"a":1} ] `, `1e1000`, `1E-0000999`, strings.Repeat("[", 1001) + strings.Repeat("]", 1001), `[{"a":1,"a":2}]`, `[1`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		value, l, err := decode(raw)
		require.Equal(t, before, raw)
		if taint.Valid(raw) != nil {
			require.ErrorIs(t, err, errNotStrict)
			return
		}
		require.Equal(t, err, within(raw))
		n, first, text, _, listErr := decodeList(raw)
		if err != nil {
			require.Error(t, listErr)
			return
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var want any
		require.NoError(t, dec.Decode(&want))
		require.Equal(t, want, value)
		require.LessOrEqual(t, l.values, float64(len(raw)))
		require.GreaterOrEqual(t, l.values, 1.0)

		list, isList := want.([]any)
		require.Equal(t, isList, listErr == nil)
		require.Equal(t, len(list), n)
		if n > 0 {
			require.Equal(t, list[0], first)
			again, _, err := decode(text)
			require.NoError(t, err)
			require.Equal(t, first, again)
		}
	})
}

func TestWhatIsInAValueIsCounted(t *testing.T) {
	t.Parallel()
	_, l, err := decode(json.RawMessage(`{"ab":[1,"x",[2e-100]],"c":null}`))
	require.NoError(t, err)
	assert.Equal(t, 7.0, l.values)
	assert.Equal(t, 0.0+1+2+2+2+3+1, l.depths)
	assert.Equal(t, 3, l.deepest)
	assert.Equal(t, float64(shortNumber+longNumber), l.numbers)
	assert.Equal(t, 3.0*8+4+3+3, l.text, "as it is written, with quotes")
}
