package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
)

const wasmPage = 64 << 10

// exactly evaluates with fixed clock and seed, so that nothing but the limits
// differs from one run to the next.
func exactly(t *testing.T, sb *sandbox.Sandbox, script string, limits sandbox.Limits) *observed {
	t.Helper()
	if limits.Timeout == 0 {
		limits.Timeout = time.Minute
	}
	o, err := observe(context.Background(), sb, &sandbox.Request{Script: script, Input: []byte(`[3,1,2]`), Limits: limits, Now: noon(), Seed: "exact"})
	require.NoError(t, err)
	return o
}

// workScripts do enough of each kind of work for a limit to fall into it.
func workScripts() map[string]string {
	return map[string]string{
		"expression":        "1 + 1",
		"return":            "return input.map((x) => x * x)",
		"loop":              "let n = 0; for (let i = 0; i < 100000; i++) n += i; n",
		"sort":              "Array.from({ length: 2000 }, () => Math.random()).sort()[0] < 1",
		"text":              "JSON.stringify(Array.from({ length: 500 }, (_, i) => ({ i, t: 'x'.repeat(i) }))).length",
		"expression object": "'2026-01-02'.replace(/(\\d+)-(\\d+)-(\\d+)/, '$3.$2.$1')",
		"jobs":              "let n = 0; for (let i = 0; i < 100; i++) n += await i; n",
		"timers":            "let n = 0; for (let i = 0; i < 20; i++) { await new Promise((r) => setTimeout(r, 5)); n++ } [n, Date.now()]",
		"bulk":              "const u = new Uint8Array(3 << 20).fill(7); u.copyWithin(1, 0); u[100]",
		"logs":              "for (let i = 0; i < 50; i++) console.log({ i, list: [i, [i]] })",
		"random":            "[Math.random(), crypto.randomUUID(), performance.now()]",
		"recursion":         "(function f(n) { return n ? f(n - 1) + 1 : 0 })(1000)",
		"result":            "({ toJSON() { return Array.from({ length: 100 }, (_, i) => ({ i })) } })",
		"exception":         "function f() { null.x }\nf()",
		"syntax":            "let a = ;",
		"deadlock":          "await new Promise(() => {})",
	}
}

func TestFuelIsExactToTheUnit(t *testing.T) {
	t.Parallel()
	sb := newSandbox(t, nil)
	t.Run("rows", func(t *testing.T) {
		for name, script := range workScripts() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				free := exactly(t, sb, script, sandbox.Limits{})
				need := free.Usage.Fuel
				require.Positive(t, need)

				enough := exactly(t, sb, script, sandbox.Limits{Fuel: need})
				want, err := free.bytes()
				require.NoError(t, err)
				got, err := enough.bytes()
				require.NoError(t, err)
				assert.Equal(t, want, got, "with exactly the fuel that it needs")

				short := exactly(t, sb, script, sandbox.Limits{Fuel: need - 1})
				require.NotNil(t, short.Error, "with one unit less than it needs (%d)", need)
				assert.Equal(t, spi.KindFuel, short.Error.Kind)
				assert.Equal(t, &spi.ReachedLimit{Name: spi.LimitFuel, Value: need - 1}, short.Error.Limit)
				assert.Equal(t, need-1, short.Usage.Fuel)
			})
		}
	})
}

func TestTheSameRunGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	one, other := newSandbox(t, nil), newSandbox(t, nil)
	t.Run("rows", func(t *testing.T) {
		for name, script := range workScripts() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				first, err := exactly(t, one, script, sandbox.Limits{}).bytes()
				require.NoError(t, err)
				for _, sb := range []*sandbox.Sandbox{one, other} {
					again, err := exactly(t, sb, script, sandbox.Limits{}).bytes()
					require.NoError(t, err)
					assert.Equal(t, first, again)
				}
			})
		}
	})
}

func TestADifferentSeedOrClockIsSeen(t *testing.T) {
	t.Parallel()
	sb := newSandbox(t, nil)
	draw := func(seed string, now time.Time) string {
		o, err := observe(context.Background(), sb, &sandbox.Request{
			Script: "[Math.random(), crypto.randomUUID(), Date.now()]", Seed: seed, Now: now,
		})
		require.NoError(t, err)
		require.Nil(t, o.Error)
		return string(o.Value)
	}
	seen := map[string]bool{}
	for i := range 50 {
		seen[draw(fmt.Sprintf("seed %d", i), noon())] = true
	}
	require.Len(t, seen, 50, "neighbouring seeds")
	require.NotEqual(t, draw("a", noon()), draw("a", noon().Add(time.Millisecond)))
	require.NotEqual(t, draw("", noon()), draw("", noon()), "without a seed")
}

// outputScripts have results of all kinds of text.
func outputScripts() map[string]string {
	return map[string]string{
		"text":                  "'x'.repeat(998)",
		"array":                 "Array.from({ length: 500 }, (_, i) => i % 10)",
		"accents":               "'é'.repeat(499)",
		"escapes":               `'\u0001"\\\n'.repeat(80)`,
		"emoji":                 "'😀'.repeat(200)",
		"half a surrogate pair": `'\ud800'.repeat(9)`,
		"number":                "123456",
		"nothing":               "undefined",
		"toJSON":                "({ toJSON: () => 'x'.repeat(100) })",
		"raw JSON":              "JSON.rawJSON('1' + '0'.repeat(400))",
	}
}

func TestOutputIsExactToTheByte(t *testing.T) {
	t.Parallel()
	sb := newSandbox(t, nil)
	for name, script := range outputScripts() {
		free := exactly(t, sb, script, sandbox.Limits{})
		require.Nil(t, free.Error, name)
		size := free.Usage.OutputBytes
		require.Positive(t, size, name)

		enough := exactly(t, sb, script, sandbox.Limits{OutputBytes: size})
		require.Nil(t, enough.Error, name)
		assert.Equal(t, string(free.Value), string(enough.Value), name)

		short := exactly(t, sb, script, sandbox.Limits{OutputBytes: size - 1})
		require.NotNil(t, short.Error, name)
		assert.Equal(t, spi.KindOutputTooLarge, short.Error.Kind, name)
		assert.Equal(t, &spi.ReachedLimit{Name: spi.LimitOutput, Value: size - 1}, short.Error.Limit, name)
		assert.Zero(t, short.Usage.OutputBytes, name)
	}
}

// logCut is a script and what a limit leaves of its lines.
type logCut struct {
	script    string
	limit     int64
	want      []string
	truncated bool
}

func logCuts() map[string]logCut {
	return map[string]logCut{
		"all":                     {"console.log('abc'); console.log('de')", 7, []string{"abc", "de"}, false},
		"one byte short":          {"console.log('abc'); console.log('de')", 6, []string{"abc", "d"}, true},
		"room for a line end":     {"console.log('abc'); console.log('de')", 5, []string{"abc", ""}, true},
		"no room for a line":      {"console.log('abc'); console.log('de')", 4, []string{"abc"}, true},
		"cut at a character":      {"console.log('aéé')", 5, []string{"aé"}, true},
		"nothing after a cut":     {"console.log('abcdef'); console.log('')", 4, []string{"abc"}, true},
		"an empty line costs one": {"console.log(''); console.log('')", 1, []string{""}, true},
		"one line of a megabyte":  {"console.log('x'.repeat(1e6))", 10, []string{"xxxxxxxxx"}, true},
	}
}

func TestLogsAreExactToTheByte(t *testing.T) {
	t.Parallel()
	sb := newSandbox(t, nil)
	for name, c := range logCuts() {
		o := exactly(t, sb, c.script, sandbox.Limits{LogBytes: c.limit})
		require.Nil(t, o.Error, name)
		assert.Equal(t, c.want, logTexts(o), name)
		assert.Equal(t, c.truncated, o.Truncated.Logs, name)
		assert.LessOrEqual(t, o.Usage.LogBytes, c.limit, name)
	}
}

// memoryScripts need much more memory than a pristine isolate has.
func memoryScripts() map[string]string {
	return map[string]string{
		"one block":   "const u = new Uint8Array(20 << 20); u.length",
		"many blocks": "const a = []; for (let i = 0; i < 100; i++) a.push(new Uint8Array(100_000).fill(1)); a.length",
	}
}

func TestMemoryIsExactToThePage(t *testing.T) {
	t.Parallel()
	sb := newSandbox(t, nil)
	for name, script := range memoryScripts() {
		free := exactly(t, sb, script, sandbox.Limits{})
		require.Nil(t, free.Error, name)
		peak := free.Usage.MemoryPeakBytes
		require.Zero(t, peak%wasmPage, name)

		for _, spare := range []int64{0, 1, wasmPage - 1} {
			enough := exactly(t, sb, script, sandbox.Limits{MemoryBytes: peak + spare})
			require.Nil(t, enough.Error, "%s with %d bytes to spare", name, spare)
			assert.Equal(t, peak, enough.Usage.MemoryPeakBytes, name)
		}
		for _, lack := range []int64{1, wasmPage} {
			short := exactly(t, sb, script, sandbox.Limits{MemoryBytes: peak - lack})
			require.NotNil(t, short.Error, "%s with %d bytes too few", name, lack)
			assert.Equal(t, spi.KindMemory, short.Error.Kind, name)
			assert.Equal(t, &spi.ReachedLimit{Name: spi.LimitMemory, Value: peak - lack}, short.Error.Limit, name)
			assert.LessOrEqual(t, short.Usage.MemoryPeakBytes, peak-lack, name)
		}
	}
}

func TestALeastMemoryRunsAnOrdinaryScript(t *testing.T) {
	t.Parallel()
	sb := newSandbox(t, nil)
	o := exactly(t, sb, "input.map((x) => ({ x }))", sandbox.Limits{MemoryBytes: sb.Descriptor().MinMemoryBytes})
	require.Nil(t, o.Error)
	assert.JSONEq(t, `[{"x":3},{"x":1},{"x":2}]`, string(o.Value))
	assert.Equal(t, sb.Descriptor().MinMemoryBytes, o.Usage.MemoryPeakBytes)
}

func TestASizeOverItsLimitNeverReachesTheEngine(t *testing.T) {
	t.Parallel()
	sb := newSandbox(t, nil)
	for name, c := range map[string]struct {
		req  sandbox.Request
		want *spi.ReachedLimit
	}{
		"script fits":      {sandbox.Request{Script: "1//" + strings.Repeat("x", 7), Limits: sandbox.Limits{SourceBytes: 10}}, nil},
		"script too large": {sandbox.Request{Script: "1//" + strings.Repeat("x", 8), Limits: sandbox.Limits{SourceBytes: 10}}, &spi.ReachedLimit{Name: spi.LimitSource, Value: 10}},
		"input fits":       {sandbox.Request{Script: "1", Input: []byte(`"12345678"`), Limits: sandbox.Limits{InputBytes: 10}}, nil},
		"input too large":  {sandbox.Request{Script: "1", Input: []byte(`"123456789"`), Limits: sandbox.Limits{InputBytes: 10}}, &spi.ReachedLimit{Name: spi.LimitInput, Value: 10}},
	} {
		o, err := observe(context.Background(), sb, &c.req)
		require.NoError(t, err, name)
		if c.want == nil {
			require.Nil(t, o.Error, name)
			continue
		}
		require.NotNil(t, o.Error, name)
		assert.Equal(t, spi.KindInputTooLarge, o.Error.Kind, name)
		assert.Equal(t, c.want, o.Error.Limit, name)
		assert.Zero(t, o.Usage.Fuel, name)
	}
}
