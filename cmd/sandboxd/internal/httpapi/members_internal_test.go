package httpapi

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/taint"
)

func FuzzAnObjectIsSplitAsADecoderWould(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1,"b":[{"c":"]}\""}],"d" : "x\\" }`, " {\n\"a\"\t: -1e3 ,\"\\u0062\":null}\r", `[]`, `null`, `"{}"`, `5`, `{"a":{}}`, `{"":""}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if taint.Valid([]byte(s)) != nil {
			return
		}
		var want map[string]json.RawMessage
		ok := json.Unmarshal([]byte(s), &want) == nil && want != nil
		got, is := object(json.RawMessage(s))
		require.Equal(t, ok, is, s)
		require.Len(t, got, len(want), s)
		for name, value := range want {
			require.Equal(t, string(value), string(got[name]), s)
		}
	})
}

func FuzzAnArrayIsSplitAsADecoderWouldUpToItsBound(f *testing.F) {
	for _, s := range []string{`[]`, `[1,"]",{"a":[2]} , [ ] ]`, " [\n-1e3\t,null]\r", `{}`, `null`, `"[]"`, `[[1,2],[3]]`, `[1,2,3,4,5]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		const most = 4
		if taint.Valid([]byte(s)) != nil {
			return
		}
		var want []json.RawMessage
		ok := json.Unmarshal([]byte(s), &want) == nil && want != nil && len(want) <= most
		got, is := elements(json.RawMessage(s), most)
		require.Equal(t, ok, is, s)
		if !ok {
			return
		}
		require.Len(t, got, len(want), s)
		for i := range want {
			require.Equal(t, string(want[i]), string(got[i]), s)
		}
	})
}

func TestWholeNumbersAreReadHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "0.0": 0, "0e99999999999999999999": 0, "7": 7, "-7": -7, "1.0": 1, "1e3": 1000, "1E+3": 1000, "1.5e1": 15, "1200e-2": 12, "0.05e2": 5,
		"9223372036854775807": math.MaxInt64, "9223372036854775807.000": math.MaxInt64, "922337203685477580.7e1": math.MaxInt64, "-9223372036854775808": math.MinInt64,
	} {
		got, ok := integer(json.RawMessage(text))
		assert.True(t, ok, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", `"1"`, "null", "true", "[1]", "1.5", "1e-1", "15e-2", "9223372036854775808", "9007199254740993e3000", "1e999999999999999999999", "1e-999999999999999999999", "1e19", "0.1",
		"0." + strings.Repeat("0", 400) + "1",
	} {
		_, ok := integer(json.RawMessage(text))
		assert.False(t, ok, text)
	}
}
