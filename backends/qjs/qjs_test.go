package qjs

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	lib "github.com/fastschema/qjs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

// shared is one backend for all tests of the package.
var shared *Backend

func TestMain(m *testing.M) {
	if os.Getenv(spoilt) != "" {
		os.Exit(newWhereOthersCompiledFirst())
	}
	var err error
	if shared, err = New(context.Background(), nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = shared.Close() // never fails
	os.Exit(code)
}

// spoilt asks this binary to be a process in which somebody else used the library
// before, without the option that lets scripts be stopped.
const spoilt = "SANDBOXD_TEST_QJS_SPOILT"

func newWhereOthersCompiledFirst() int {
	if _, err := lib.New(lib.Option{CWD: os.DevNull}); err != nil {
		fmt.Println(err)
		return 1
	}
	_, err := New(context.Background(), nil)
	fmt.Println(err)
	return 0
}

func TestNewRefusesALibraryWhoseScriptsCannotBeStopped(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	other := exec.CommandContext(t.Context(), self)
	other.Env = append(os.Environ(), spoilt+"=1")
	said, err := other.CombinedOutput()
	require.NoError(t, err, string(said))
	require.Contains(t, string(said), ErrLibrary.Error()+": others in this process had it compile so that a script cannot be stopped")
}

func config() *spi.Config {
	return &spi.Config{
		Limits: spi.Limits{Timeout: 20 * time.Second, MemoryBytes: 64 << 20, OutputBytes: 1 << 20, LogBytes: 64 << 10},
		Now:    time.UnixMilli(946_684_800_000), Seed: 1,
	}
}

func script(source string) *spi.Request {
	return &spi.Request{Source: source, Language: spi.JavaScript, Input: json.RawMessage("null")}
}

func open(t *testing.T, cfg *spi.Config) spi.Isolate {
	t.Helper()
	iso, err := shared.Open(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, iso.Close()) })
	return iso
}

// run evaluates one script in an isolate of its own.
func run(t *testing.T, cfg *spi.Config, source string) *spi.Outcome {
	t.Helper()
	out, err := open(t, cfg).Eval(t.Context(), script(source))
	require.NoError(t, err)
	return out
}

func requireValue(t *testing.T, out *spi.Outcome, want string) {
	t.Helper()
	if out.Error != nil {
		require.Failf(t, "script failed", "%+v", *out.Error)
	}
	require.JSONEq(t, want, string(out.Value))
}

func requireKind(t *testing.T, out *spi.Outcome, want spi.Kind) {
	t.Helper()
	require.NotNil(t, out.Error, "value %s", out.Value)
	require.Equal(t, want, out.Error.Kind, "%+v", *out.Error)
	require.Empty(t, out.Value)
}

func TestTheDescriptorPromisesWhatIsKnown(t *testing.T) {
	t.Parallel()
	d := Describe()
	assert.Equal(t, Name, d.Name)
	assert.Equal(t, spi.IsolationWASM, d.Isolation)
	assert.True(t, d.Speaks(spi.JavaScript))
	assert.Empty(t, d.Image, "neither clock nor random numbers are ours")
	assert.Equal(t, []int64{1 << 20, 1 << 30}, []int64{d.MinMemoryBytes, d.MaxMemoryBytes})
	for _, name := range []spi.LimitName{spi.LimitTimeout, spi.LimitMemory, spi.LimitOutput, spi.LimitLogs} {
		_, ok := d.EnforcementOf(name)
		assert.True(t, ok, name)
	}
	for _, name := range []spi.LimitName{spi.LimitFuel, spi.LimitStack, spi.LimitCallDepth} {
		_, ok := d.EnforcementOf(name)
		assert.False(t, ok, name)
	}
	memory, _ := d.EnforcementOf(spi.LimitMemory)
	assert.EqualValues(t, 64<<10, memory.Granularity)
	d.Enforces[0].Limit, d.Languages[0] = "spoilt", "spoilt"
	assert.NotEqual(t, d, Describe())
	assert.Equal(t, Describe(), shared.Describe())
}

func TestOpenRefusesWhatItCannotEnforce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change      func(*spi.Limits)
		unsupported string
	}{
		"fuel":               {func(l *spi.Limits) { l.Fuel = 1 }, "fuel of 1 "},
		"memory below 1 MiB": {func(l *spi.Limits) { l.MemoryBytes = 1<<20 - 1 }, "memoryBytes of 1048575 "},
		"memory above 1 GiB": {func(l *spi.Limits) { l.MemoryBytes = 1<<30 + 1 }, "memoryBytes of 1073741825 "},
		"no timeout":         {func(l *spi.Limits) { l.Timeout = 0 }, ""},
	} {
		cfg := config()
		c.change(&cfg.Limits)
		_, err := shared.Open(t.Context(), cfg)
		require.Error(t, err, name)
		if c.unsupported != "" {
			require.ErrorIs(t, err, spi.ErrUnsupported, name)
			require.ErrorContains(t, err, "qjs: "+c.unsupported, name)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := shared.Open(ended, config())
	require.ErrorIs(t, err, context.Canceled)
	_, err = New(ended, nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestALanguageThatIsNotListedIsRefused(t *testing.T) {
	t.Parallel()
	_, err := open(t, config()).Eval(t.Context(), &spi.Request{Source: "1", Language: "ts", Input: json.RawMessage("null")})
	require.ErrorIs(t, err, spi.ErrUnsupported)
	require.ErrorContains(t, err, `language "ts"`)
}

func TestCloseEndsIsolates(t *testing.T) {
	t.Parallel()
	b, err := New(t.Context(), nil)
	require.NoError(t, err)
	iso, err := b.Open(t.Context(), config())
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, b.Close())
	}
	_, err = iso.Eval(t.Context(), script("1"))
	require.ErrorIs(t, err, spi.ErrClosed)
	_, err = b.Open(t.Context(), config())
	require.ErrorIs(t, err, spi.ErrClosed)
}

func TestAnIsolateKeepsItsHeapAndSharesNothing(t *testing.T) {
	t.Parallel()
	iso := open(t, config())
	out, err := iso.Eval(t.Context(), script("let a = 1; b = 2; Array.prototype.mark = 3; null"))
	require.NoError(t, err)
	requireValue(t, out, "null")
	req := script("[a, b, [].mark, input]")
	req.Input = json.RawMessage(`{"__proto__":"\u0000"}`)
	out, err = iso.Eval(t.Context(), req)
	require.NoError(t, err)
	requireValue(t, out, `[1, 2, 3, {"__proto__":"\u0000"}]`)
	requireValue(t, run(t, config(), "[typeof a, typeof b, typeof [].mark, input]"), `["undefined","undefined","undefined",null]`)
}

func TestOutputIsLimitedToTheByte(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.Limits.OutputBytes = 12
	out := run(t, cfg, "'é'.repeat(5)")
	requireValue(t, out, `"ééééé"`)
	assert.EqualValues(t, 12, out.Usage.OutputBytes)
	out = run(t, cfg, "'é'.repeat(5) + 'e'")
	requireKind(t, out, spi.KindOutputTooLarge)
	assert.Equal(t, &spi.ReachedLimit{Name: spi.LimitOutput, Value: 12}, out.Error.Limit)
	assert.Zero(t, out.Usage.OutputBytes)
}

func TestLogsAreLimitedToTheByte(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit  int64
		source string
		want   []string
		cut    bool
	}{
		"exactly":              {8, "console.log('abc'); console.log('é1')", []string{"abc", "é1"}, false},
		"one byte less":        {7, "console.log('abc'); console.log('é1')", []string{"abc", "é"}, true},
		"all there is":         {math.MaxInt64, "console.log('abc')", []string{"abc"}, false},
		"cut at a character":   {6, "console.log('abc'); console.log('é1')", []string{"abc", ""}, true},
		"nothing after a cut":  {6, "console.log('abcdefgh'); console.log('')", []string{"abcde"}, true},
		"none":                 {0, "console.log('')", nil, true},
		"none and none wanted": {0, "1", nil, false},
		"half a pair":          {9, "console.log('\\ud800')", []string{"\ufffd"}, false},
		"a pair across the cut": {
			3, "console.log('a\\ud83d\\ude00')", []string{"a"}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config()
			cfg.Limits.LogBytes = c.limit
			out := run(t, cfg, c.source)
			var texts []string
			var bytes int64
			for _, l := range out.Logs {
				texts = append(texts, l.Text)
				bytes += int64(len(l.Text)) + 1
			}
			assert.Equal(t, c.want, texts)
			assert.Equal(t, c.cut, out.LogsTruncated)
			assert.Equal(t, bytes, out.Usage.LogBytes)
			assert.LessOrEqual(t, bytes, c.limit)
		})
	}
	t.Run("empty lines", func(t *testing.T) {
		t.Parallel()
		out := run(t, config(), "for (let i = 0; i < 5000; i++) console.log(); 1")
		requireValue(t, out, "1")
		assert.Len(t, out.Logs, 2048)
		assert.True(t, out.LogsTruncated)
	})
}

func TestTheConsoleHasLevels(t *testing.T) {
	t.Parallel()
	out := run(t, config(), `console.log("a", 1); console.info({b: [2]}); console.warn(null, undefined);
		console.error(new TypeError("c")); console.debug(Symbol("d"), 1n, { toJSON() { throw 1 } }); throw 0`)
	requireKind(t, out, spi.KindException)
	assert.Equal(t, []spi.LogLine{
		{Level: spi.LevelLog, Text: "a 1"}, {Level: spi.LevelInfo, Text: `{"b":[2]}`}, {Level: spi.LevelWarn, Text: "null undefined"},
		{Level: spi.LevelError, Text: "TypeError: c"}, {Level: spi.LevelDebug, Text: "Symbol(d) 1 <value that cannot be shown>"},
	}, out.Logs)
}

func TestScriptsThatReplaceTheLanguageStillEnd(t *testing.T) {
	t.Parallel()
	for _, spoil := range []string{
		"Function.prototype.call = null", "Function.prototype.apply = null", "Promise.prototype.then = null",
		"JSON.stringify = null", "JSON.parse = null", "Object.prototype.toJSON = () => 'no'",
		"Array.prototype[Symbol.iterator] = null", "globalThis.Promise = null", "Reflect.apply = null",
		"Object.defineProperty = null", "delete globalThis.input", "Object.prototype.__proto__",
	} {
		iso := open(t, config())
		_, err := iso.Eval(t.Context(), script(spoil))
		require.NoError(t, err)
		for range 2 {
			out, err := iso.Eval(t.Context(), script("console.log(1); 5"))
			require.NoError(t, err)
			requireValue(t, out, "5")
			require.Equal(t, []spi.LogLine{{Level: spi.LevelLog, Text: "1"}}, out.Logs, spoil)
		}
	}
}

func TestAResultMayBeLong(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.Limits.OutputBytes = 4 << 20
	text := strings.Repeat("x", 3<<20)
	req := script("input.a")
	req.Input = json.RawMessage(`{"a":"` + text + `"}`)
	out, err := open(t, cfg).Eval(t.Context(), req)
	require.NoError(t, err)
	require.Nil(t, out.Error)
	require.Equal(t, `"`+text+`"`, string(out.Value))
}
