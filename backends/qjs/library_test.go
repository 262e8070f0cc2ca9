package qjs

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"
	"weak"

	lib "github.com/fastschema/qjs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

// What the library grants, and what is taken away from it.

func TestTheGlobalObjectHoldsNothingOfTheLibrarys(t *testing.T) {
	t.Parallel()
	out := run(t, config(), `["std", "os", "bjson", "gc", "navigator", "performance", "print", "scriptArgs", "QJS_PROXY_VALUE",
		"setTimeout", "setInterval", "clearTimeout", "clearInterval", "SharedArrayBuffer"].filter((name) => name in globalThis)`)
	requireValue(t, out, "[]")
}

// rooted is an isolate whose guest has a file as its root, in place of the
// device that it usually is: harm would show.
func rooted(t *testing.T, file string) *Isolate {
	t.Helper()
	own, stop := context.WithCancel(t.Context())
	g := &guest{memory: &memory{capBytes: 64 << 20}, stop: stop, sink: &sink{over: true}}
	require.NoError(t, g.start(own, file))
	iso := &Isolate{guest: g, limits: config().Limits, forget: func() {}, closing: make(chan struct{})}
	t.Cleanup(func() { _ = iso.Close() })
	return iso
}

func TestNoFileIsReadMadeChangedOrRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "root")
	const canary = "export default 'canary'"
	for _, name := range []string{file, filepath.Join(dir, "canary.js")} {
		require.NoError(t, os.WriteFile(name, []byte(canary), 0o600))
	}
	before, err := os.Stat(file)
	require.NoError(t, err)
	iso := rooted(t, file)
	for _, call := range []string{
		"(await import(p)).default", "std.loadFile(p)", "std.open(p, 'r').readAsString()", "std.open(p, 'w').puts('x')", "std.writeFile(p, 'x')",
		"std.loadScript(p)", "os.open(p, os.O_RDWR) < 0", "os.open(p, os.O_WRONLY | os.O_TRUNC) < 0", "os.open(p, os.O_RDWR | os.O_CREAT) < 0",
		"os.mkdir(p) < 0", "os.remove(p) < 0", "os.rename(p, '/new') < 0", "os.utimes(p, 1, 1) < 0", "os.chdir(p) < 0",
		"os.readdir(p)[1] > 0", "os.stat(p)[1] > 0",
	} {
		out, err := iso.Eval(t.Context(), script(`(async () => { const std = await import('qjs:std'); const os = await import('qjs:os'); const done = [];
			for (const p of ['/', '.', '', '/.', '..', '../canary.js', '/canary.js', 'canary.js', '/new', 'x/..', '/etc/hostname']) {
				try { const got = `+call+`; if (got !== true && got !== null) done.push(p, got) } catch {}
			}
			return done })()`))
		require.NoError(t, err, call)
		requireValue(t, out, "[]")
	}
	after, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, before.ModTime(), after.ModTime())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 2)
	for _, entry := range left {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		require.NoError(t, err)
		assert.Equal(t, canary, string(content))
	}
}

func TestTheEnvironmentIsEmpty(t *testing.T) {
	t.Setenv("SANDBOXD_CANARY", "here")
	out := run(t, config(), "(await import('qjs:std')).getenviron()")
	requireValue(t, out, "{}")
}

func TestTheLibraryLetsAScriptImportItsModules(t *testing.T) {
	t.Parallel()
	out := run(t, config(), "const os = await import('qjs:os'); const std = await import('qjs:std'); [typeof os.sleep, typeof std.exit]")
	requireValue(t, out, `["function","function"]`)
}

func TestTheLibraryLetsAScriptSleepBeyondItsTimeout(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.Limits.Timeout = 50 * time.Millisecond
	iso := open(t, cfg)
	start := time.Now()
	out, err := iso.Eval(t.Context(), script("console.log('bed'); (await import('qjs:os')).sleep(3000); console.log('up')"))
	require.NoError(t, err)
	requireKind(t, out, spi.KindTimeout)
	assert.Less(t, time.Since(start), 2500*time.Millisecond, "the caller does not wait for the guest to wake")
	assert.Equal(t, []spi.LogLine{{Level: spi.LevelLog, Text: "bed"}}, out.Logs)
	_, err = iso.Eval(t.Context(), script("1"))
	require.ErrorIs(t, err, spi.ErrIsolateSpent)
	require.NoError(t, iso.Close())
	assert.Less(t, time.Since(start), 2500*time.Millisecond, "nor does Close")
}

func TestTheLibraryLetsAScriptEndItsGuest(t *testing.T) {
	t.Parallel()
	iso := open(t, config())
	out, err := iso.Eval(t.Context(), script("console.log(1); (await import('qjs:std')).exit(0)"))
	require.NoError(t, err)
	requireKind(t, out, spi.KindBackend)
	require.Len(t, out.Logs, 1)
	_, err = iso.Eval(t.Context(), script("1"))
	require.ErrorIs(t, err, spi.ErrIsolateSpent)
}

func TestTheLibraryHasTheRealClock(t *testing.T) {
	t.Parallel()
	out := run(t, config(), "Date.now()")
	ms, err := strconv.ParseInt(string(out.Value), 10, 64)
	require.NoError(t, err)
	assert.Less(t, math.Abs(float64(time.Now().UnixMilli()-ms)), float64(time.Hour.Milliseconds()), "and not Config.Now")
}

func TestTheLibraryDoesNotSeedItsRandomNumbers(t *testing.T) {
	t.Parallel()
	one := run(t, config(), "Array.from({ length: 8 }, Math.random)")
	other := run(t, config(), "Array.from({ length: 8 }, Math.random)")
	assert.NotEqual(t, string(one.Value), string(other.Value), "with the same Config.Seed")
}

func TestTheLibraryBreaksOnDeepRecursion(t *testing.T) {
	t.Parallel()
	const dive = "const f = (n) => n === 0 ? 0 : 1 + f(n - 1); "
	requireValue(t, run(t, config(), dive+"f(100)"), "100")
	iso := open(t, config())
	out, err := iso.Eval(t.Context(), script("let caught = 0; function f() { f() } try { f() } catch { caught = 1 } caught"))
	require.NoError(t, err)
	requireKind(t, out, spi.KindBackend) // and not stack_overflow, and no RangeError to catch
	_, err = iso.Eval(t.Context(), script("1"))
	require.ErrorIs(t, err, spi.ErrIsolateSpent)
}

func TestAClosedIsolateIsReleasedButForWhatTheLibraryKeeps(t *testing.T) {
	t.Parallel()
	var runtimes []weak.Pointer[lib.Runtime]
	for range 4 {
		iso, err := shared.Open(t.Context(), config())
		require.NoError(t, err)
		_, err = iso.Eval(t.Context(), script("1"))
		require.NoError(t, err)
		runtimes = append(runtimes, weak.Make(iso.(*Isolate).guest.runtime))
		require.NoError(t, iso.Close())
	}
	assert.Eventually(t, func() bool {
		runtime.GC()
		return !slices.ContainsFunc(runtimes, func(p weak.Pointer[lib.Runtime]) bool { return p.Value() != nil })
	}, 20*time.Second, 10*time.Millisecond)
}
