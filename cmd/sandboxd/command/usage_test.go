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
		"both caches in one file":     {call{args: args("eval", file, "--config", write("both.yaml", "eval: {cache-dir: /x, no-cache: true}"))}, []string{"--cache-dir and --no-cache", "both.yaml"}},
		"both caches in environment":  {call{args: args("eval", file), env: args("SANDBOXD_CACHE_DIR=/x", "SANDBOXD_NO_CACHE=1")}, []string{"--cache-dir and --no-cache", "SANDBOXD_CACHE_DIR"}},
		"both inputs":                 {call{args: args("eval", file, "--input", "1", "--input-file", bad)}, []string{"--input and --input-file"}},
		"empty file name":             {call{args: args("eval", "")}, []string{"FILE is empty"}},
		"empty command":               {call{args: args("")}, []string{"unexpected empty argument"}},
		"empty second file":           {call{args: args("eval", file, "")}, []string{"unexpected empty argument"}},
		"empty script flag":           {call{args: args("eval", "-e", "")}, []string{"script is empty"}},
		"empty seed":                  {call{args: args("eval", file, "--seed", "")}, []string{"--seed: is empty"}},
		"empty backend":               {call{args: args("eval", file, "--backend=")}, []string{"--backend: is empty"}},
		"comma in a time":             {call{args: args("eval", file, "--now", "2026-01-02T03:04:05,5Z")}, []string{"--now", "RFC 3339"}},
		"offset of a day":             {call{args: args("eval", file, "--now", "2026-01-02T03:04:05-24:00")}, []string{"--now", "RFC 3339"}},
		"offset of 60 minutes":        {call{args: args("eval", file, "--now", "2026-01-02T03:04:05+00:60")}, []string{"--now", "RFC 3339"}},
		"long backend name":           {call{args: args("eval", file, "--backend", strings.Repeat("n", 100))}, []string{"--backend " + strings.Repeat("n", 63) + "… is"}},
		"long flag name":              {call{args: args("eval", file, "--"+strings.Repeat("n", 500))}, []string{"unknown flag", "nnn…"}},
		"long argument":               {call{args: args("eval", file, strings.Repeat("n o ", 500))}, []string{"unexpected argument", "…"}},
		"long file name":              {call{args: args("eval", strings.Repeat("d/", 100)+"x.js")}, []string{"script …", "d/d/x.js: no such file"}},
		"long address":                {call{args: args("serve", "--listen", strings.Repeat("n", 100))}, []string{"--listen " + strings.Repeat("n", 63) + "…:"}},
		"bound from environment":      {call{args: args("eval", file), env: args("SANDBOXD_TIMEOUT=9h")}, []string{"--timeout is 9h; allowed is 1ms to 1h (set by SANDBOXD_TIMEOUT)"}},
		"backend from environment":    {call{args: args("eval", file), env: args("SANDBOXD_BACKEND=foo")}, []string{"--backend foo is not known", "(set by SANDBOXD_BACKEND)"}},
		"language from environment":   {call{args: args("eval", file), env: args("SANDBOXD_LANGUAGE=py")}, []string{"--language", "(set by SANDBOXD_LANGUAGE)"}},
		"bound from a file":           {call{args: args("serve", "--config", write("bound.yaml", "serve: {max-source: 1GiB}"))}, []string{"--max-source is 1GiB", "bound.yaml)"}},
		"address from environment":    {call{args: args("serve"), env: args("SANDBOXD_LISTEN=nowhere")}, []string{"--listen nowhere", "(set by SANDBOXD_LISTEN)"}},
		"empty config":                {call{args: args("eval", file, "--config=")}, []string{"--config: is empty; allowed is FILE"}},
		"empty config in environment": {call{args: args("eval", file), env: args("SANDBOXD_CONFIG=")}, []string{"--config: is empty; allowed is FILE (set by SANDBOXD_CONFIG)"}},
		"config from environment":     {call{args: args("eval", file), env: args("SANDBOXD_CONFIG=missing.yaml")}, []string{"--config missing.yaml: no such file (set by SANDBOXD_CONFIG)"}},
		"empty host":                  {call{args: args("serve", "--allow-host=")}, []string{"--allow-host: is empty", "NAME"}},
		"empty host among others":     {call{args: args("serve", "--allow-host", "a.example,")}, []string{"--allow-host: is empty or has an empty entry"}},
		"empty host in environment":   {call{args: args("serve"), env: args("SANDBOXD_ALLOW_HOST=")}, []string{"--allow-host: is empty", "(set by SANDBOXD_ALLOW_HOST)"}},
		"empty hosts in a file":       {call{args: args("serve", "--config", write("hosts.yaml", "serve: {allow-host: []}"))}, []string{"--allow-host: is empty", "hosts.yaml)"}},
		"empty host in a file":        {call{args: args("serve", "--config", write("host.yaml", "serve: {allow-host: [a.example, '']}"))}, []string{"--allow-host: is empty", "host.yaml)"}},
		"serve: empty backend":        {call{args: args("serve", "--backend=")}, []string{"--backend: is empty"}},
		"serve: empty backends":       {call{args: args("serve", "--config", write("backends.yaml", "serve: {backend: []}"))}, []string{"--backend: is empty"}},
		"serve: few bytes":            {call{args: args("serve", "--max-queue-bytes", "1MiB")}, []string{"--max-queue-bytes is 1MiB; allowed is 78817970B to 1024GiB"}},
		"bad environment":             {call{args: args("eval", file), env: args("SANDBOXD_TIMEOUT=soon")}, []string{"--timeout", "soon", "SANDBOXD_TIMEOUT"}},
		"serve: bad address":          {call{args: args("serve", "--listen", "nowhere")}, []string{"--listen nowhere", "HOST:PORT"}},
		"serve: unknown backend":      {call{args: args("serve", "--backend", "foo")}, []string{"--backend foo", "stub"}},
		"serve: argument":             {call{args: args("serve", "now")}, []string{"unexpected argument now"}},
		"serve: default over ceiling": {call{args: args("serve", "--default-timeout", "1m")}, []string{"--default-timeout is 1m", "1ms to 30s"}},
		"serve: fuel over ceiling":    {call{args: args("serve", "--default-fuel", "9", "--max-fuel", "8")}, []string{"--default-fuel is 9", "0 to 8"}},
		"serve: absurd cache":         {call{args: args("serve", "--max-prepared", "2000GiB")}, []string{"--max-prepared is 2000GiB", "0B to 1024GiB"}},
		"serve: absurd ceiling":       {call{args: args("serve", "--max-source", "1GiB")}, []string{"--max-source", "1B to 16MiB"}},
		"serve: negative concurrency": {call{args: args("serve", "--max-concurrent", "-1")}, []string{"--max-concurrent", "-1", "0 or more"}},
		"serve: host with port":       {call{args: args("serve", "--allow-host", "example.com:80")}, []string{"--allow-host", "without port"}},
		"serve: no expiry":            {call{args: args("serve", "--continuation-expiry", "0s")}, []string{"--continuation-expiry is 0s; allowed is 1s to 8784h"}},
		"serve: absurd continuation":  {call{args: args("serve", "--max-continuation", "2GiB")}, []string{"--max-continuation is 2GiB; allowed is 1B to 1GiB"}},
		"serve: empty audience":       {call{args: args("serve", "--continuation-audience=")}, []string{"--continuation-audience: is empty"}},
		"serve: long audience":        {call{args: args("serve", "--continuation-audience", strings.Repeat("n", 1025))}, []string{"--continuation-audience is 1025 bytes; allowed is 1 to 1024"}},
		"serve: no calls":             {call{args: args("serve", "--max-host-calls", "0")}, []string{"--max-host-calls is 0; allowed is 1 to 100000"}},
		"serve: no key file":          {call{args: args("serve", "--continuation-key-file", "missing.keys")}, []string{"--continuation-key-file missing.keys: no such file"}},
		"serve: key file from env":    {call{args: args("serve"), env: args("SANDBOXD_CONTINUATION_KEY_FILE=missing.keys")}, []string{"--continuation-key-file missing.keys: no such file (set by SANDBOXD_CONTINUATION_KEY_FILE)"}},
		"serve: key file directory":   {call{args: args("serve", "--continuation-key-file", dir)}, []string{"--continuation-key-file ", "is a directory"}},
		"serve: empty key file":       {call{args: args("serve", "--continuation-key-file", write("empty.keys", "# none\n"))}, []string{"empty.keys: key is not allowed: there must be at least one key"}},
		"serve: broken key file":      {call{args: args("serve", "--continuation-key-file", write("bad.keys", "# two\nhunter2 c2VjcmV0\n"))}, []string{"bad.keys: line 2 of the keys: key is not allowed: a secret must be the padded base64 of 32 bytes"}},
		"serve: large key file":       {call{args: args("serve", "--continuation-key-file", write("large.keys", strings.Repeat("#\n", 40<<10)))}, []string{"large.keys: larger than 65536 bytes"}},
		"key: argument":               {call{args: args("key", "mine")}, []string{"unexpected argument mine"}},
		"serve: log format":           {call{args: args("serve", "--log-format", "xml")}, []string{"--log-format", "text", "json"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := c.run(t)
			assert.Equal(t, 2, got.status, got.stderr)
			assert.Empty(t, got.stdout)
			assert.Equal(t, 1, strings.Count(got.stderr, "\n"), "one line: %q", got.stderr)
			assert.True(t, strings.HasPrefix(got.stderr, "sandboxd: "), got.stderr)
			assert.NotContains(t, got.stderr, "hunter2")
			for _, part := range c.says {
				assert.Contains(t, got.stderr, part)
			}
		})
	}
}

func TestHelpIsOnStandardOutputAndListsExitStatuses(t *testing.T) {
	t.Parallel()
	for _, a := range [][]string{args("--help"), args("eval", "--help"), args("serve", "--help"), args("backends", "--help"), args("version", "-h"), args("key", "--help")} {
		got := call{args: a}.run(t)
		assert.Equal(t, 0, got.status)
		assert.Empty(t, got.stderr)
		assert.Contains(t, got.stdout, "Usage: sandboxd")
	}
	assert.Contains(t, call{args: args("eval", "--help")}.run(t).stdout, "Exit status: 0 ok; 1 the script failed")
}
