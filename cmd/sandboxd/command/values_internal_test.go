package command

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
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

func TestTextThatIsNotSeenIsEscaped(t *testing.T) {
	t.Parallel()
	for _, r := range []rune{
		0x00ad, 0x034f, 0x0600, 0x061c, 0x115f, 0x1160, 0x17b4, 0x180b, 0x180e, 0x200b, 0x200d, 0x202e, 0x2028, 0x2029, 0x2060, 0x2065, 0x2066,
		0x2800, 0x3164, 0xfe00, 0xfe0f, 0xfeff, 0xffa0, 0xfff0, 0xfff9, 0x1bca0, 0x1d173, 0xe0001, 0xe0041, 0xe0100, 0xe01ef, 0xe0fff,
	} {
		got := harmless("a" + string(r) + "b")
		assert.Regexp(t, `^a(\\u[0-9a-f]{4}){1,2}b$`, got, "%U", r)
	}
	for _, s := range []string{"plain", "äöü", "日本語", "한국어", "עברית", "😀", "a\n\tb", "\u00a0", "\u3000"} {
		assert.Equal(t, s, harmless(s))
	}
}

func result(t *testing.T, lines ...spi.LogLine) *sandbox.Result {
	t.Helper()
	logs, err := taint.WrapValue(taint.OriginSandbox, lines)
	require.NoError(t, err)
	return &sandbox.Result{Status: sandbox.StatusOK, Logs: logs}
}

func TestWhatAScriptLogsCannotPassForALineOfOurs(t *testing.T) {
	t.Parallel()
	r := result(t, spi.LogLine{Level: spi.LevelLog, Text: "timeout: a\nsandboxd: b\r\nc\u2028d"}, spi.LogLine{Level: spi.LevelWarn, Text: "e\n"})
	r.Truncated.Logs = true
	var person, pipe strings.Builder
	require.NoError(t, printLogs(&person, r, true))
	require.NoError(t, printLogs(&pipe, r, false))
	assert.Equal(t, "| timeout: a\n| sandboxd: b\\u000d\n| c\\u2028d\n| warn: e\n| \nsandboxd: more logs were dropped (see --max-logs)\n", person.String())
	assert.Equal(t, "timeout: a\nsandboxd: b\r\nc\u2028d\nwarn: e\n\nsandboxd: more logs were dropped (see --max-logs)\n", pipe.String())
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
