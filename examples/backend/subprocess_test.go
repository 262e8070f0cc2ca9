package subprocess

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

// newBackend is one with this kind of children.
func newBackend(t *testing.T, argument string) *Backend {
	t.Helper()
	dir, err := makeEmptyDir()
	require.NoError(t, err)
	b := &Backend{
		argument: argument, cacheDir: filepath.Join(t.TempDir(), "cache"), emptyDir: dir,
		descriptor: Describe(), isolates: map[*isolate]bool{},
	}
	b.life, b.end = context.WithCancel(context.Background())
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	b.program, err = os.Executable()
	require.NoError(t, err)
	c, what, err := b.start(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, c.end())
	b.descriptor.Image, b.descriptor.MinMemoryBytes = what.Image, what.MinMemoryBytes
	return b
}

const fuel = 1 << 40

func open(t *testing.T, b *Backend, timeout time.Duration) *isolate {
	t.Helper()
	iso, err := b.Open(t.Context(), &spi.Config{
		Limits: spi.Limits{Timeout: timeout, MemoryBytes: 16 << 20, OutputBytes: 1 << 10, LogBytes: 1 << 10, Fuel: fuel},
		Now:    time.Unix(1, 0),
	})
	require.NoError(t, err)
	return iso.(*isolate)
}

func script(source string) *spi.Request {
	return &spi.Request{Source: source, Language: spi.JavaScript, Input: json.RawMessage("null")}
}

// gone demands that the child has ended and was waited for.
func gone(t *testing.T, i *isolate) {
	t.Helper()
	assert.NotNil(t, i.child.cmd.ProcessState, "the child is still there")
}

func TestAChildThatIsNotAnHonestOneHoldsUpNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		argument string
		want     spi.Kind
	}{
		"deaf":                     {oddDeaf, spi.KindTimeout},
		"deaf, and left its group": {oddMoved, spi.KindTimeout},
		"dead":                     {oddDead, spi.KindBackend},
		"endless":                  {oddEndless, spi.KindBackend},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := 10 * time.Second
			if c.want == spi.KindTimeout {
				timeout = 100 * time.Millisecond
			}
			i := open(t, newBackend(t, c.argument), timeout)
			out, err := i.Eval(t.Context(), script("1"))
			require.NoError(t, err)
			require.NotNil(t, out.Error)
			assert.Equal(t, c.want, out.Error.Kind)
			assert.Positive(t, out.Usage.Wall)
			gone(t, i)
		})
	}
}

func TestADeafChildDoesNotHoldUpClose(t *testing.T) {
	t.Parallel()
	for name, argument := range map[string]string{"in its group": oddDeaf, "out of it": oddMoved} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := open(t, newBackend(t, argument), time.Minute)
			closed := make(chan error, 1)
			time.AfterFunc(50*time.Millisecond, func() { closed <- i.Close() })
			out, err := i.Eval(t.Context(), script("1"))
			require.NoError(t, err)
			require.NotNil(t, out.Error)
			assert.Equal(t, spi.KindKilled, out.Error.Kind)
			require.NoError(t, <-closed)
			gone(t, i)
		})
	}
}

func TestAChildThatSaysThatItIsSpentIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(reply{Value: "1", Spent: true, Outcome: &spi.Outcome{ValueType: spi.TypeNumber}})
	require.NoError(t, err)
	i := open(t, newBackend(t, oddSays), 10*time.Second)
	out, err := i.Eval(t.Context(), script(string(text)))
	require.NoError(t, err)
	assert.Equal(t, "1", string(out.Value))
	gone(t, i)
	_, err = i.Eval(t.Context(), script(string(text)))
	assert.ErrorIs(t, err, spi.ErrIsolateSpent)
}

func TestWhatAnHonestChildSaysIsTheOutcome(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(reply{Value: `"<"`, Outcome: &spi.Outcome{
		ValueType: spi.TypeString, Logs: []spi.LogLine{{Level: spi.LevelLog, Text: "é"}},
		Usage: spi.Usage{Fuel: 3, MemoryPeakBytes: 4, OutputBytes: 5, LogBytes: 6},
	}})
	require.NoError(t, err)
	out, err := open(t, newBackend(t, oddSays), 10*time.Second).Eval(t.Context(), script(string(text)))
	require.NoError(t, err)
	assert.Positive(t, out.Usage.Wall)
	out.Usage.Wall = 0
	assert.Equal(t, &spi.Outcome{
		Value: json.RawMessage(`"<"`), ValueType: spi.TypeString, Logs: []spi.LogLine{{Level: spi.LevelLog, Text: "é"}},
		Usage: spi.Usage{Fuel: 3, MemoryPeakBytes: 4, OutputBytes: 3, LogBytes: 3}, // counted, not taken over
	}, out)
}

func TestWhatAChildSaysIsHeldToItsFormAndToTheLimits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<10)
	for name, said := range map[string]any{
		"not JSON":              "certainly",
		"nothing":               reply{},
		"spent from the start":  reply{Spent: true},
		"a failure":             reply{Failure: "x"},
		"a failure and a value": reply{Failure: "x", Value: "1", Outcome: &spi.Outcome{ValueType: spi.TypeNumber}},
		"ready again":           reply{Ready: &identity{}, Value: "1", Outcome: &spi.Outcome{ValueType: spi.TypeNumber}},
		"value and error":       reply{Value: "1", Outcome: &spi.Outcome{ValueType: spi.TypeNumber, Error: &spi.ScriptError{Kind: spi.KindException}}},
		"neither":               reply{Outcome: &spi.Outcome{ValueType: spi.TypeNumber}},
		"value is not JSON":     reply{Value: "{", Outcome: &spi.Outcome{ValueType: spi.TypeObject}},
		"name twice":            reply{Value: `{"a":1,"a":2}`, Outcome: &spi.Outcome{ValueType: spi.TypeObject}},
		"unknown type":          reply{Value: "1", Outcome: &spi.Outcome{ValueType: "bigint"}},
		"another type":          reply{Value: "5", Outcome: &spi.Outcome{ValueType: spi.TypeString}},
		"undefined has a value": reply{Value: "5", Outcome: &spi.Outcome{ValueType: spi.TypeUndefined}},
		"value over its limit":  reply{Value: `"` + long + `"`, Outcome: &spi.Outcome{ValueType: spi.TypeString}},
		"logs over their limit": reply{Value: "1", Outcome: &spi.Outcome{ValueType: spi.TypeNumber, Logs: []spi.LogLine{{Level: spi.LevelLog, Text: long}}}},
		"unknown level":         reply{Value: "1", Outcome: &spi.Outcome{ValueType: spi.TypeNumber, Logs: []spi.LogLine{{Level: "trace"}}}},
		"memory over its limit": reply{Value: "1", Outcome: &spi.Outcome{ValueType: spi.TypeNumber, Usage: spi.Usage{MemoryPeakBytes: 1 << 30}}},
		"fuel over its limit":   reply{Value: "1", Outcome: &spi.Outcome{ValueType: spi.TypeNumber, Usage: spi.Usage{Fuel: fuel + 1}}},
		"negative fuel":         reply{Value: "1", Outcome: &spi.Outcome{ValueType: spi.TypeNumber, Usage: spi.Usage{Fuel: -1}}},
		"killed, says the child": reply{Outcome: &spi.Outcome{
			Error: &spi.ScriptError{Kind: spi.KindKilled}}},
		"timeout before its time": reply{Outcome: &spi.Outcome{Error: &spi.ScriptError{Kind: spi.KindTimeout}}},
		"stack without a limit":   reply{Outcome: &spi.Outcome{Error: &spi.ScriptError{Kind: spi.KindStackOverflow}}},
		"another limit's stack":   overflow(spi.LimitFuel, 1),
		"stack beyond the memory": overflow(spi.LimitStack, 16<<20+1),
		"calls beyond the memory": overflow(spi.LimitCallDepth, 16<<20+1),
		"unknown kind":            reply{Outcome: &spi.Outcome{Error: &spi.ScriptError{Kind: "denial"}}},
		"place beyond the script": reply{Outcome: &spi.Outcome{Error: &spi.ScriptError{Kind: spi.KindException, Line: 2}}},
		"name too long":           reply{Outcome: &spi.Outcome{Error: &spi.ScriptError{Kind: spi.KindException, Name: long}}},
		"unknown member":          `{"Value":"1","Outcome":{"ValueType":"number"},"More":1}`,
		"member twice":            `{"Value":"1","Value":"2","Outcome":{"ValueType":"number"}}`,
		"member within twice":     `{"Value":"1","Outcome":{"ValueType":"string","ValueType":"number"}}`,
		"member in another case":  `{"value":"1","Outcome":{"ValueType":"number"}}`,
		"half a character":        `{"Value":"\"\ud800\"","Outcome":{"ValueType":"string"}}`,
		"goes on":                 `{"Value":"1","Outcome":{"ValueType":"number"}} 1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, raw := said.(string)
			if !raw {
				encoded, err := json.Marshal(said)
				require.NoError(t, err)
				text = string(encoded)
			}
			i := open(t, newBackend(t, oddSays), 10*time.Second)
			out, err := i.Eval(t.Context(), script(text))
			require.NoError(t, err)
			require.NotNil(t, out.Error)
			assert.Equal(t, spi.KindBackend, out.Error.Kind)
			assert.Empty(t, out.Logs)
			gone(t, i)
			_, err = i.Eval(t.Context(), script("1"))
			assert.ErrorIs(t, err, spi.ErrIsolateSpent)
		})
	}
}

func TestAMessageIsUTF8(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{"{\"Value\":\"é\"}\n": nil, "{\"Value\":\"\xff\"}\n": errForm} {
		var r reply
		assert.ErrorIs(t, receive(bufio.NewReader(strings.NewReader(text)), 100, &r), want)
	}
}

func overflow(name spi.LimitName, value int64) reply {
	return reply{Outcome: &spi.Outcome{Error: &spi.ScriptError{
		Kind: spi.KindStackOverflow, Limit: &spi.ReachedLimit{Name: name, Value: value},
	}}}
}

func TestFuelIsNotBurntWhereThereIsNoLimitOfIt(t *testing.T) {
	t.Parallel()
	i := &isolate{limits: spi.Limits{MemoryBytes: 1}}
	assert.False(t, i.mayEnd(&spi.ScriptError{Kind: spi.KindFuel}, "1"))
	i.limits.Fuel = 1
	assert.True(t, i.mayEnd(&spi.ScriptError{Kind: spi.KindFuel}, "1"))
}

func TestNothingOfTheHostReachesAChild(t *testing.T) {
	t.Setenv("SANDBOXD_SECRET", "canary")
	program, err := os.Executable()
	require.NoError(t, err)
	dir, err := makeEmptyDir()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, removeEmptyDir(dir)) })
	info, err := os.Stat(dir)
	require.NoError(t, err)
	assert.Zero(t, info.Mode().Perm()&0o222, "one child could leave something for the next")
	cmd := command(program, oddSurroundings, dir)
	if runtime.GOOS != "windows" { // where nothing is inherited that Go does not name
		inherited, err := os.Open(program)
		require.NoError(t, err)
		defer inherited.Close()
		cmd.ExtraFiles = []*os.File{inherited} // as if the host's own parent had left it open
	}
	out, err := cmd.Output()
	require.NoError(t, err)
	assert.Equal(t, "[] [] <nil> true\n", string(out))
}

// Subtests share a backend: compiling takes a while.
func TestAChildDoesNotOutliveWhatEndsIt(t *testing.T) {
	t.Parallel()
	b := newBackend(t, childArgument)
	t.Run("killed from outside, its eval ends", func(t *testing.T) {
		i := open(t, b, time.Minute)
		time.AfterFunc(50*time.Millisecond, func() { _ = i.child.cmd.Process.Kill() })
		out, err := i.Eval(t.Context(), script("for (;;) ;"))
		require.NoError(t, err)
		require.NotNil(t, out.Error)
		assert.Equal(t, spi.KindBackend, out.Error.Kind)
		gone(t, i)
		_, err = i.Eval(t.Context(), script("1"))
		assert.ErrorIs(t, err, spi.ErrIsolateSpent)
	})
	t.Run("without its host, it ends what runs and exits", func(t *testing.T) {
		i := open(t, b, time.Minute)
		answers := i.child.ask(&question{"console.log('began'); for (;;) ;", spi.JavaScript, "null"}, 1<<20)
		time.Sleep(50 * time.Millisecond)
		i.child.stop() // what the system does when the host dies
		a := <-answers
		require.NoError(t, a.err)
		assert.Equal(t, spi.KindCancelled, a.reply.kind())
		i.child.ending.Do(func() { assert.NoError(t, i.child.cmd.Wait(), "it exits by itself") })
	})
	t.Run("with its backend closed, nothing is left", func(t *testing.T) {
		i := open(t, b, time.Minute)
		require.NoError(t, b.Close())
		gone(t, i)
		assert.NoDirExists(t, b.emptyDir)
	})
	t.Run("what changed the mode of its directory is removed, too", func(t *testing.T) {
		b := newBackend(t, childArgument)
		require.NoError(t, os.Chmod(b.emptyDir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(b.emptyDir, "left"), nil, 0o600))
		require.NoError(t, os.Chmod(b.emptyDir, 0o500))
		require.NoError(t, b.Close())
		assert.NoDirExists(t, b.emptyDir)
	})
}
