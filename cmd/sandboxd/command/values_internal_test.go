package command

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSizesAreWholeBytesWithAnOptionalUnit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "7B": 7, "64KiB": 64 << 10, "64MiB": 64 << 20, "1GiB": 1 << 30, "64MB": 64e6, "2GB": 2e9, "3kB": 3000, "3KB": 3000,
		"9223372036854775807": math.MaxInt64, "8589934591GiB": 8589934591 << 30,
	} {
		got, err := parseSize(text)
		require.NoError(t, err, text)
		assert.EqualValues(t, want, got, text)
	}
	for _, text := range []string{"", "B", "KiB", "-1", "+1", "1.5MiB", "1e3", "0x10", "1 MiB", "1mib", "1TiB", "1KiBKiB", "٣", "9223372036854775808", "8589934592GiB", "9007199254740993KiB1"} {
		_, err := parseSize(text)
		assert.Error(t, err, text)
	}
}

func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"64MiB", "1.5KiB", "-1", "99999999999GiB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := parseSize(s)
		if err != nil {
			return
		}
		if v < 0 {
			t.Fatalf("%q is negative: %d", s, v)
		}
		if again, err := parseSize(v.String()); err != nil || again != v {
			t.Fatalf("%q shown as %q is %d, %v", s, v, again, err)
		}
	})
}

func TestDurationsAreShownWithoutEmptyParts(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]span{"2s": 2e9, "1m": 60e9, "1h": 3600e9, "1h30m": 5400e9, "1m30s": 90e9, "500ms": 5e8, "0s": 0, "10s": 1e10} {
		assert.Equal(t, want, v.String())
	}
}

func FuzzHarmlessLeavesNothingThatATerminalActsOnAndKeepsJSON(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[31mred\x1b[0m", "\u009b31m", "a\u202eb", "\xff\xfe", "\U000e0041", "a\r\nb\tc"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := harmless(s)
		for _, r := range got {
			if risky(r) {
				t.Fatalf("%q still holds %q", got, r)
			}
		}
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var before, after any
		if json.Unmarshal(raw, &before) != nil || json.Unmarshal([]byte(harmless(string(raw))), &after) != nil || before != after {
			t.Fatalf("%q changed its meaning: %q", raw, harmless(string(raw)))
		}
	})
}

func TestATerminalIsToldFromAFileAndAPipe(t *testing.T) {
	t.Parallel()
	f, err := os.Create(t.TempDir() + "/out")
	require.NoError(t, err)
	defer f.Close()
	assert.False(t, terminal(f))
	assert.False(t, terminal(io.Discard))
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	assert.False(t, terminal(w))
}

func TestReasonsOfFilesAreShort(t *testing.T) {
	t.Parallel()
	wrap := func(err error) error { return &fs.PathError{Op: "open", Path: "/secret/place", Err: err} }
	assert.EqualError(t, reason(wrap(fs.ErrNotExist)), "no such file")
	assert.EqualError(t, reason(wrap(fs.ErrPermission)), "may not be read (permission denied)")
	assert.EqualError(t, reason(wrap(errors.New("input/output error"))), "input/output error")
}
