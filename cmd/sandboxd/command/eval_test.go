package command_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/command"
	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/stub"
	"github.com/loom-sandbox/sandboxd/spi"
)

func TestEvalPrintsTheValueAndMapsEndingsToExitStatuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		call
		want answer
	}{
		"value":           {call{args: args("eval", "-e", `value {"a": [1, 2]}`)}, answer{0, `{"a":[1,2]}` + "\n", ""}},
		"stdin":           {call{args: args("eval", "-"), stdin: "value 5"}, answer{0, "5\n", ""}},
		"input":           {call{args: args("eval", "-e", "input", "--input", `{"b": 1.0}`)}, answer{0, `{"b":1.0}` + "\n", ""}},
		"negative input":  {call{args: args("eval", "-e", "input", "--input", "-5")}, answer{0, "-5\n", ""}},
		"input on stdin":  {call{args: args("eval", "-e", "input", "--input-file", "-"), stdin: "[1]"}, answer{0, "[1]\n", ""}},
		"no input":        {call{args: args("eval", "-e", "input")}, answer{0, "null\n", ""}},
		"log":             {call{args: args("eval", "-e", "log log hello")}, answer{0, "null\n", "hello\n"}},
		"info":            {call{args: args("eval", "-e", "log info hello")}, answer{0, "null\n", "hello\n"}},
		"warning":         {call{args: args("eval", "-e", "log warn hello")}, answer{0, "null\n", "warn: hello\n"}},
		"exception":       {call{args: args("eval", "-e", "throw TypeError x is not a function")}, answer{1, "", "exception: TypeError: x is not a function (line 3, column 9)\n    at f (script:3:9)\n"}},
		"hostile error":   {call{args: args("eval", "-e", "throw E a\x1b[31m\r\u009b\u202eb\nsandboxd: all is well")}, answer{1, "", "exception: E: a\\u001b[31m\\u000d\\u009b\\u202eb\n    sandboxd: all is well (line 3, column 9)\n    at f (script:3:9)\n"}},
		"syntax":          {call{args: args("eval", "-e", "end syntax")}, answer{1, "", "syntax: the script gave no reason\n"}},
		"unserializable":  {call{args: args("eval", "-e", "end unserializable")}, answer{1, "", "unserializable: the script gave no reason\n"}},
		"deadlock":        {call{args: args("eval", "-e", "end deadlock")}, answer{1, "", "deadlock: the script waits for something that can no longer happen\n"}},
		"timeout":         {call{args: args("eval", "-e", "wait", "--timeout", "5ms")}, answer{3, "", "timeout: the script ran longer than timeoutMs of 5\n"}},
		"memory":          {call{args: args("eval", "-e", "end memory", "--memory", "2MiB")}, answer{3, "", "memory: the script needed more than memoryBytes of 2097152\n"}},
		"fuel":            {call{args: args("eval", "-e", "end fuel", "--fuel", "9")}, answer{3, "", "fuel: the script burnt more than fuel of 9\n"}},
		"stack":           {call{args: args("eval", "-e", "end stack_overflow")}, answer{3, "", "stack_overflow: the script's calls nest too deeply\n"}},
		"output":          {call{args: args("eval", "-e", "end output_too_large", "--max-output", "1kB")}, answer{3, "", "output_too_large: the result is larger than outputBytes of 1000\n"}},
		"source too big":  {call{args: args("eval", "-e", "value 123", "--max-source", "5")}, answer{3, "", "input_too_large: the script is larger than sourceBytes of 5\n"}},
		"input too big":   {call{args: args("eval", "-e", "input", "--input", `"123`, "--max-input", "3")}, answer{3, "", "input_too_large: the input is larger than inputBytes of 3\n"}},
		"denied":          {call{args: args("eval", "-e", "end denied")}, answer{3, "", "denied: the script gave no reason\n"}},
		"cancelled":       {call{args: args("eval", "-e", "end cancelled")}, answer{3, "", "cancelled: the eval was cancelled\n"}},
		"killed":          {call{args: args("eval", "-e", "end killed")}, answer{3, "", "killed: the eval was killed\n"}},
		"backend kind":    {call{args: args("eval", "-e", "end backend")}, answer{4, "", "backend: the script gave no reason\n"}},
		"backend fault":   {call{args: args("eval", "-e", "fault it broke\nbadly")}, answer{4, "", "sandboxd: sandbox: backend stub: it broke badly\n"}},
		"broken backend":  {call{args: args("eval", "-e", "input", "--backend", "broken")}, answer{4, "", "sandboxd: backend broken did not start: the engine did not start\n"}},
		"missing backend": {call{args: args("eval", "-e", "input", "--backend", "gone")}, answer{4, "", "sandboxd: backend gone is not available here: no such engine on this machine\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, c.run(t))
		})
	}
}

func TestEveryKindHasAnExitStatus(t *testing.T) {
	t.Parallel()
	for _, k := range spi.Kinds() {
		got := call{args: args("eval", "-e", "end "+string(k))}.run(t)
		assert.NotZero(t, got.status, k)
		assert.Equal(t, k == spi.KindBackend, got.status == command.StatusBackend, k)
		assert.True(t, strings.HasPrefix(got.stderr, string(k)+": "), got.stderr)
	}
}

func TestJSONPrintsTheWholeLabelledResultAndNothingElse(t *testing.T) {
	t.Parallel()
	for script, status := range map[string]int{"log warn hi": 0, "throw E m": 1, "end timeout": 3} {
		got := call{args: args("eval", "--json", "-e", script, "--seed", "s", "--now", "2026-01-02T03:04:05Z")}.run(t)
		assert.Equal(t, status, got.status)
		assert.Empty(t, got.stderr)
		var r struct {
			Status string
			Logs   struct {
				Label map[string]string `json:"__loomTainted"`
			}
			Run map[string]string
		}
		require.NoError(t, json.Unmarshal([]byte(got.stdout), &r))
		assert.Equal(t, map[string]string{"origin": "sandbox"}, r.Logs.Label)
		assert.Equal(t, "s", r.Run["seed"])
		assert.Equal(t, "2026-01-02T03:04:05.000Z", r.Run["now"])
		assert.Equal(t, 1, strings.Count(got.stdout, "\n"))
	}
}

// endless counts what is read of it.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.read += int64(len(p))
	return len(p), nil
}

func TestAnEndlessStandardInputIsNotReadWithoutEnd(t *testing.T) {
	t.Parallel()
	in := &endless{}
	var stderr strings.Builder
	status := command.Main(t.Context(), command.App{
		Args: args("eval", "-"), Stdin: in, Stdout: io.Discard, Stderr: &stderr, Backends: stubs(),
	})
	assert.Equal(t, 3, status)
	assert.Contains(t, stderr.String(), "input_too_large: the script is larger than sourceBytes of 262144")
	assert.LessOrEqual(t, in.read, int64(16<<20+1))
}

func TestTheEndOfTheContextCancelsTheEvalAndStillPrintsTheResult(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := &stub.Backend{Started: make(chan struct{})}
	go func() {
		<-b.Started
		cancel()
	}()
	var stdout, stderr strings.Builder
	status := command.Main(ctx, command.App{
		Args: args("eval", "--json", "-e", "wait", "--timeout", "1h"), Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Backends: only(b),
	})
	assert.Equal(t, 3, status)
	assert.Empty(t, stderr.String())
	assert.Contains(t, stdout.String(), `"kind":"cancelled"`)
}

func only(b *stub.Backend) []command.Backend {
	return []command.Backend{{Name: "stub", Describe: stub.Describe, New: func(context.Context, command.Settings) (spi.Backend, error) { return b, nil }}}
}

func TestTheBackendGetsWhatTheEngineFlagsSay(t *testing.T) {
	t.Parallel()
	image := filepath.Join(t.TempDir(), "image.wasm")
	require.NoError(t, os.WriteFile(image, []byte("an image"), 0o600))
	sum := sha256.Sum256([]byte("an image"))
	var got command.Settings
	backends := only(&stub.Backend{})
	backends[0].New = func(_ context.Context, s command.Settings) (spi.Backend, error) {
		got = s
		return &stub.Backend{}, nil
	}
	a := call{args: args("eval", "-e", "input", "--no-cache", "--engine-image", image, "--engine-image-sha256", strings.ToUpper(hex.EncodeToString(sum[:]))), backends: backends}.run(t)
	require.Equal(t, 0, a.status, a.stderr)
	assert.True(t, got.NoCache)
	assert.Empty(t, got.CacheDir)
	assert.Equal(t, []byte("an image"), got.EngineImage)
	assert.Equal(t, hex.EncodeToString(sum[:]), got.EngineImageSHA256)
	assert.NotNil(t, got.Logger)
}

func TestBackendsSaysWhatEachPromisesAndWhyOneIsUnavailable(t *testing.T) {
	t.Parallel()
	got := call{args: args("backends")}.run(t)
	assert.Equal(t, 0, got.status)
	assert.Contains(t, got.stdout, "gone (unavailable: no such engine on this machine)\n")
	assert.Contains(t, got.stdout, "stub (default)\n")
	assert.Contains(t, got.stdout, "timeoutMs    within 1ms\n")
	assert.Contains(t, got.stdout, "fuel         exact\n")
	assert.Contains(t, got.stdout, "  prepares    yes\n")

	got = call{args: args("backends", "--json")}.run(t)
	var list []struct {
		Name        string
		Default     bool
		Available   bool
		Unavailable string
		Descriptor  spi.Descriptor
	}
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &list))
	require.Len(t, list, 3)
	assert.Equal(t, []bool{false, true, false}, []bool{list[0].Default, list[1].Default, list[2].Default})
	assert.Equal(t, "no such engine\non this machine", list[0].Unavailable)
	assert.Equal(t, stub.Describe(), list[1].Descriptor)
}

func TestVersion(t *testing.T) {
	t.Parallel()
	assert.Regexp(t, `^sandboxd 1\.2\.3 go\S+ \w+/\w+\n$`, call{args: args("version")}.run(t).stdout)
	var v map[string]string
	require.NoError(t, json.Unmarshal([]byte(call{args: args("version", "--json")}.run(t).stdout), &v))
	assert.Equal(t, "1.2.3", v["version"])
}

// full is a device without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestWhatCannotBeWrittenIsNotStatus0(t *testing.T) {
	t.Parallel()
	for _, a := range [][]string{args("--help"), args("serve", "--help"), args("version"), args("version", "--json"), args("backends"), args("backends", "--json"), args("eval", "-e", "input"), args("eval", "-e", "input", "--json")} {
		var stderr strings.Builder
		status := command.Main(t.Context(), command.App{Args: a, Stdin: strings.NewReader(""), Stdout: full{}, Stderr: &stderr, Backends: stubs()})
		assert.Equal(t, 4, status, a)
		assert.Regexp(t, `^sandboxd: .*cannot be written: no space left\n$`, stderr.String())
	}
	for script, want := range map[string]answer{"log log hi": {4, "null\n", ""}, "input": {0, "null\n", ""}, "throw E m": {1, "", ""}, "end timeout": {3, "", ""}} {
		var stdout strings.Builder
		status := command.Main(t.Context(), command.App{Args: args("eval", "-e", script), Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: full{}, Backends: stubs()})
		assert.Equal(t, want, answer{status, stdout.String(), ""}, script)
	}
}
