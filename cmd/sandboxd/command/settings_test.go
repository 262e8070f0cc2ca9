package command_test

import (
	"context"
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

func TestSettingsComeFromFlagsThenEnvironmentThenFile(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "c.yaml")
	require.NoError(t, os.WriteFile(config, []byte("eval:\n  timeout: 3s\n  memory: 3MiB\n  fuel: 3\nserve:\n  allow-host: [a.example, b.example]\n"), 0o600))
	inEnv := args("SANDBOXD_CONFIG="+config, "SANDBOXD_TIMEOUT=2s", "SANDBOXD_MEMORY=2MiB", "SANDBOXD_PORT=tcp://10.0.0.1:80", "HOME=/x")
	got := call{args: args("eval", "-e", "limits", "--timeout", "1s"), env: inEnv}.run(t)
	require.Equal(t, 0, got.status, got.stderr)
	assert.JSONEq(t, `{"Timeout":1000000000,"MemoryBytes":2097152,"Fuel":3,"OutputBytes":1048576,"LogBytes":65536,"HostCalls":256,"CallBytes":4194304}`, got.stdout)

	got = call{args: args("--config", config, "eval", "-e", "limits")}.run(t)
	require.Equal(t, 0, got.status, got.stderr)
	assert.JSONEq(t, `{"Timeout":3000000000,"MemoryBytes":3145728,"Fuel":3,"OutputBytes":1048576,"LogBytes":65536,"HostCalls":256,"CallBytes":4194304}`, got.stdout)
}

func TestWhatBelongsToOneCallIsNotTakenFromTheEnvironment(t *testing.T) {
	t.Parallel()
	got := call{args: args("eval", "-e", "input"), env: args("SANDBOXD_INPUT=1", "SANDBOXD_SCRIPT=value 2", "SANDBOXD_HELP=true")}.run(t)
	assert.Equal(t, answer{0, "null\n", ""}, got)
}

func TestOfTwoFlagsThatExcludeEachOtherTheOneFromTheStrongerSourceHolds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for name, c := range map[string]struct {
		args, env []string
		dir       string
		noCache   bool
	}{
		"flag over environment":         {args("--no-cache"), args("SANDBOXD_CACHE_DIR=/x"), "", true},
		"other flag over environment":   {args("--cache-dir", "/y"), args("SANDBOXD_NO_CACHE=true"), "/y", false},
		"flag over file":                {args("--no-cache", "--config", write("dir.yaml", "eval: {cache-dir: /x}")), nil, "", true},
		"environment over file":         {args("--config", write("no.yaml", "eval: {no-cache: true}")), args("SANDBOXD_CACHE_DIR=/x"), "/x", false},
		"other environment over file":   {args("--config", write("dir2.yaml", "eval: {cache-dir: /x}")), args("SANDBOXD_NO_CACHE=true"), "", true},
		"a flag that says no":           {args("--no-cache=false"), args("SANDBOXD_CACHE_DIR=/x"), "/x", false},
		"a flag that says no to itself": {args("--no-cache=false", "--cache-dir", "/y"), args("SANDBOXD_NO_CACHE=true"), "/y", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got command.Settings
			backends := only(nil)
			backends[0].New = func(_ context.Context, s command.Settings) (spi.Backend, error) {
				got = s
				return &stub.Backend{}, nil
			}
			a := call{args: append(args("eval", "-e", "input"), c.args...), env: c.env, backends: backends}.run(t)
			require.Equal(t, 0, a.status, a.stderr)
			assert.Equal(t, c.dir, got.CacheDir)
			assert.Equal(t, c.noCache, got.NoCache)
		})
	}
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
		"second document":  {"eval: {timeout: 1s}\n---\neval: {timeout: 2s}\n", []string{"more than one YAML document"}},
		"second, empty":    {"eval: {timeout: 1s}\n---\n", []string{"more than one YAML document"}},
		"unknown tag":      {"eval: !evil {timeout: 1s}\n", []string{"unknown tag !evil"}},
		"tag on a value":   {"eval:\n  timeout: !!python/object x\n", []string{"unknown tag !!python/object"}},
		"tag on a key":     {"eval:\n  !x timeout: 1s\n", []string{"unknown tag !x"}},
		"several unknown":  {"eval: {z: 1, b: 1, y: 1, a: 1, c: 1}\nzzz: {}\n", []string{"unknown key eval.a;"}},
		"no known keys":    {"version: {x: 1}\n", []string{"unknown key version.x; version has no keys"}},
		"long key":         {"eval:\n  " + strings.Repeat("k", 100) + ": 1\n", []string{"unknown key eval." + strings.Repeat("k", 63) + "…;"}},
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
	for name, text := range map[string]string{
		"byte-order mark":     "\ufeffeval: {fuel: 3}\n",
		"mark of a document":  "---\neval: {fuel: 3}\n",
		"end of a document":   "eval: {fuel: 3}\n...\n",
		"tag of YAML's own":   "eval: {fuel: !!int 3}\n",
		"comments around":     "# a\n---\n# b\neval: {fuel: 3}\n# c\n",
		"anchor and an alias": "eval: {fuel: &n 3, max-source: 1KiB}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := filepath.Join(t.TempDir(), "c.yaml")
			require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
			got := call{args: args("eval", "-e", "limits", "--config", config)}.run(t)
			assert.Equal(t, 0, got.status, got.stderr)
			assert.Contains(t, got.stdout, `"Fuel":3`)
		})
	}
	t.Run("empty is fine", func(t *testing.T) {
		t.Parallel()
		config := filepath.Join(t.TempDir(), "c.yaml")
		require.NoError(t, os.WriteFile(config, []byte("# nothing\n"), 0o600))
		got := call{args: args("eval", "-e", "input", "--config", config)}.run(t)
		assert.Equal(t, answer{0, "null\n", ""}, got)
	})
}
