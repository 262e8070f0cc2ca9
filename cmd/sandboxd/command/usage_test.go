package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBadUsageGivesOneLineThatNamesTheThingAndStatus2(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	image := write("image.wasm", "not an image")
	bad := write("bad.json", `{"a": 1,`)
	file := write("x.js", "value 1")

	for name, c := range map[string]struct {
		call
		says []string
	}{
		"no command":                  {call{args: args()}, []string{"eval", "serve", "backends", "version"}},
		"unknown command":             {call{args: args("evla")}, []string{"evla", "eval"}},
		"unknown flag":                {call{args: args("eval", "--frob")}, []string{"--frob"}},
		"unknown flag with controls":  {call{args: args("eval", "--\x1b[31m\nx")}, []string{`\u001b[31m x`}},
		"flag without its value":      {call{args: args("eval", "x", "--timeout")}, []string{"--timeout", "missing value", "500ms"}},
		"flag followed by a flag":     {call{args: args("eval", "x", "--backend", "--json")}, []string{"--backend", "missing value", "NAME"}},
		"-e without a script":         {call{args: args("eval", "-e")}, []string{"--script", "missing value"}},
		"no script":                   {call{args: args("eval")}, []string{"FILE", "-e SCRIPT", "eval --help"}},
		"two scripts":                 {call{args: args("eval", file, "-e", "x")}, []string{"FILE and -e"}},
		"two files":                   {call{args: args("eval", file, file)}, []string{"unexpected argument"}},
		"two inputs":                  {call{args: args("eval", file, "--input", "1", "--input-file", bad)}, []string{"--input and --input-file"}},
		"everything from stdin":       {call{args: args("eval", "-", "--input-file", "-")}, []string{"standard input"}},
		"missing file":                {call{args: args("eval", "missing.js")}, []string{"script missing.js: no such file"}},
		"directory":                   {call{args: args("eval", dir)}, []string{"is a directory"}},
		"missing input file":          {call{args: args("eval", file, "--input-file", "missing.json")}, []string{"--input-file missing.json: no such file"}},
		"input that is not JSON":      {call{args: args("eval", file, "--input", `{"a" 1}`)}, []string{"--input is not strict JSON", "byte 5"}},
		"input file that ends early":  {call{args: args("eval", file, "--input-file", bad)}, []string{"--input-file", "bad.json", "byte 8"}},
		"input with duplicate names":  {call{args: args("eval", file, "--input", `{"a":1,"a":2}`)}, []string{"unique", "byte 7"}},
		"empty input":                 {call{args: args("eval", file, "--input", "")}, []string{"--input is not strict JSON"}},
		"empty script":                {call{args: args("eval", "-e", " \n")}, []string{"script is empty"}},
		"empty stdin":                 {call{args: args("eval", "-")}, []string{"script is empty"}},
		"empty fence":                 {call{args: args("eval", "-e", "```js\n```")}, []string{"script is empty"}},
		"script that is not UTF-8":    {call{args: args("eval", "-"), stdin: "\xff"}, []string{"the script", "UTF-8"}},
		"bad time":                    {call{args: args("eval", file, "--now", "yesterday")}, []string{"--now", "yesterday", "RFC 3339"}},
		"time out of range":           {call{args: args("eval", file, "--now", "1950-01-01T00:00:00Z")}, []string{"--now", "1970", "2200"}},
		"zero time":                   {call{args: args("eval", file, "--now", "0001-01-01T00:00:00Z")}, []string{"--now", "1970"}},
		"long seed":                   {call{args: args("eval", file, "--seed", strings.Repeat("s", 129))}, []string{"--seed", "128"}},
		"unknown backend":             {call{args: args("eval", file, "--backend", "foo")}, []string{"--backend foo", "gone, stub, broken"}},
		"unknown language":            {call{args: args("eval", file, "--language", "py")}, []string{"--language", "auto", "js"}},
		"negative duration":           {call{args: args("eval", file, "--timeout", "-1s")}, []string{"--timeout", "-1s", "negative"}},
		"duration without unit":       {call{args: args("eval", file, "--timeout", "2")}, []string{"--timeout", `"2"`, "2s"}},
		"zero duration":               {call{args: args("eval", file, "--timeout", "0s")}, []string{"--timeout", "1ms to 1h"}},
		"absurd duration":             {call{args: args("eval", file, "--timeout", "1000h")}, []string{"--timeout", "1000h", "1ms to 1h"}},
		"negative size":               {call{args: args("eval", file, "--memory", "-1MiB")}, []string{"--memory", "-1MiB", "64MiB"}},
		"fraction of a size":          {call{args: args("eval", file, "--memory", "1.5MiB")}, []string{"--memory", "1.5MiB"}},
		"size that overflows":         {call{args: args("eval", file, "--memory", "9223372036854775807KiB")}, []string{"--memory", "too large"}},
		"size too small":              {call{args: args("eval", file, "--memory", "1KiB")}, []string{"--memory is 1KiB", "1MiB to 1GiB"}},
		"size too large":              {call{args: args("eval", file, "--max-output", "1GiB")}, []string{"--max-output is 1GiB", "1B to 256MiB"}},
		"size zero":                   {call{args: args("eval", file, "--max-logs", "0")}, []string{"--max-logs", "1B to 64MiB"}},
		"negative fuel":               {call{args: args("eval", file, "--fuel", "-1")}, []string{"--fuel", "-1", "0 or more"}},
		"fuel that overflows":         {call{args: args("eval", file, "--fuel", "9223372036854775808")}, []string{"--fuel"}},
		"image without sum":           {call{args: args("eval", file, "--engine-image", image)}, []string{"--engine-image-sha256"}},
		"image with a bad sum":        {call{args: args("eval", file, "--engine-image", image, "--engine-image-sha256", "12")}, []string{"--engine-image-sha256", "64 hex digits"}},
		"image with another sum":      {call{args: args("eval", file, "--engine-image", image, "--engine-image-sha256", strings.Repeat("0", 64))}, []string{"--engine-image", "SHA-256"}},
		"both caches":                 {call{args: args("eval", file, "--cache-dir", dir, "--no-cache")}, []string{"--cache-dir and --no-cache"}},
		"bool that is none":           {call{args: args("eval", file, "--json=maybe")}, []string{"--json", "maybe"}},
		"bad environment":             {call{args: args("eval", file), env: args("SANDBOXD_TIMEOUT=soon")}, []string{"--timeout", "soon", "SANDBOXD_TIMEOUT"}},
		"serve: bad address":          {call{args: args("serve", "--listen", "nowhere")}, []string{"--listen nowhere", "HOST:PORT"}},
		"serve: unknown backend":      {call{args: args("serve", "--backend", "foo")}, []string{"--backend foo", "stub"}},
		"serve: argument":             {call{args: args("serve", "now")}, []string{"unexpected argument now"}},
		"serve: default over ceiling": {call{args: args("serve", "--default-timeout", "1m")}, []string{"--default-timeout is 1m", "1ms to 30s"}},
		"serve: fuel over ceiling":    {call{args: args("serve", "--default-fuel", "9", "--max-fuel", "8")}, []string{"--default-fuel is 9", "0 to 8"}},
		"serve: absurd ceiling":       {call{args: args("serve", "--max-source", "1GiB")}, []string{"--max-source", "1B to 16MiB"}},
		"serve: negative concurrency": {call{args: args("serve", "--max-concurrent", "-1")}, []string{"--max-concurrent", "-1", "0 or more"}},
		"serve: host with port":       {call{args: args("serve", "--allow-host", "example.com:80")}, []string{"--allow-host", "without port"}},
		"serve: log format":           {call{args: args("serve", "--log-format", "xml")}, []string{"--log-format", "text", "json"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := c.run(t)
			assert.Equal(t, 2, got.status, got.stderr)
			assert.Empty(t, got.stdout)
			assert.Equal(t, 1, strings.Count(got.stderr, "\n"), "one line: %q", got.stderr)
			assert.True(t, strings.HasPrefix(got.stderr, "sandboxd: "), got.stderr)
			for _, part := range c.says {
				assert.Contains(t, got.stderr, part)
			}
		})
	}
}

func TestHelpIsOnStandardOutputAndListsExitStatuses(t *testing.T) {
	t.Parallel()
	for _, a := range [][]string{args("--help"), args("eval", "--help"), args("serve", "--help"), args("backends", "--help"), args("version", "-h")} {
		got := call{args: a}.run(t)
		assert.Equal(t, 0, got.status)
		assert.Empty(t, got.stderr)
		assert.Contains(t, got.stdout, "Usage: sandboxd")
	}
	assert.Contains(t, call{args: args("eval", "--help")}.run(t).stdout, "Exit status: 0 ok; 1 the script failed")
}

func TestSettingsComeFromFlagsThenEnvironmentThenFile(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "c.yaml")
	require.NoError(t, os.WriteFile(config, []byte("eval:\n  timeout: 3s\n  memory: 3MiB\n  fuel: 3\nserve:\n  allow-host: [a.example, b.example]\n"), 0o600))
	inEnv := args("SANDBOXD_CONFIG="+config, "SANDBOXD_TIMEOUT=2s", "SANDBOXD_MEMORY=2MiB", "SANDBOXD_PORT=tcp://10.0.0.1:80", "HOME=/x")
	got := call{args: args("eval", "-e", "limits", "--timeout", "1s"), env: inEnv}.run(t)
	require.Equal(t, 0, got.status, got.stderr)
	assert.JSONEq(t, `{"Timeout":1000000000,"MemoryBytes":2097152,"Fuel":3,"OutputBytes":1048576,"LogBytes":65536}`, got.stdout)

	got = call{args: args("--config", config, "eval", "-e", "limits")}.run(t)
	require.Equal(t, 0, got.status, got.stderr)
	assert.JSONEq(t, `{"Timeout":3000000000,"MemoryBytes":3145728,"Fuel":3,"OutputBytes":1048576,"LogBytes":65536}`, got.stdout)
}

func TestWhatBelongsToOneCallIsNotTakenFromTheEnvironment(t *testing.T) {
	t.Parallel()
	got := call{args: args("eval", "-e", "input"), env: args("SANDBOXD_INPUT=1", "SANDBOXD_SCRIPT=value 2", "SANDBOXD_HELP=true")}.run(t)
	assert.Equal(t, answer{0, "null\n", ""}, got)
}

func TestAFaultyConfigurationFileIsRefusedByName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		says []string
	}{
		"unknown flag":     {"serve:\n  lissten: x\n", []string{"unknown key serve.lissten", "listen"}},
		"unknown section":  {"server: {}\n", []string{"unknown key server", "eval, serve"}},
		"flag of one call": {"eval:\n  script: x\n", []string{"unknown key eval.script"}},
		"not a section":    {"serve: 5\n", []string{"section per command"}},
		"duplicate":        {"eval:\n  timeout: 1s\n  timeout: 2s\n", []string{"[3:3]"}},
		"broken":           {"eval: [\n", []string{"[1:"}},
		"wrong type":       {"eval:\n  timeout: {a: 1}\n", []string{"eval.timeout", "must be a string"}},
		"fraction":         {"eval:\n  fuel: 1.5\n", []string{"eval.fuel", "whole number"}},
		"bad value":        {"eval:\n  timeout: soon\n", []string{"--timeout", "soon", "c.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := filepath.Join(t.TempDir(), "c.yaml")
			require.NoError(t, os.WriteFile(config, []byte(c.text), 0o600))
			got := call{args: args("eval", "-e", "limits", "--config", config)}.run(t)
			assert.Equal(t, 2, got.status)
			assert.Equal(t, 1, strings.Count(got.stderr, "\n"), got.stderr)
			assert.Contains(t, got.stderr, "c.yaml")
			for _, part := range c.says {
				assert.Contains(t, got.stderr, part)
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		got := call{args: args("eval", "-e", "limits", "--config", "missing.yaml")}.run(t)
		assert.Equal(t, 2, got.status)
		assert.Contains(t, got.stderr, "--config missing.yaml: no such file")
	})
	t.Run("empty is fine", func(t *testing.T) {
		t.Parallel()
		config := filepath.Join(t.TempDir(), "c.yaml")
		require.NoError(t, os.WriteFile(config, []byte("# nothing\n"), 0o600))
		got := call{args: args("eval", "-e", "input", "--config", config)}.run(t)
		assert.Equal(t, answer{0, "null\n", ""}, got)
	})
}
