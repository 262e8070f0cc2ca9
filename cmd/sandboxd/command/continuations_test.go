package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/stub"
	"github.com/loom-sandbox/sandboxd/sandbox"
)

// keyFile is a file with a key of its own.
func keyFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "continuation.keys")
	require.NoError(t, os.WriteFile(path, []byte(call{args: args("key")}.run(t).stdout), 0o600))
	return path
}

// suspend runs a script that calls a tool, and returns its continuation.
func suspend(t *testing.T, url string) string {
	t.Helper()
	status, body := fetch(t, "POST", url+"/v1/eval", `{"script":"call crm.lookup {}","tools":[{"name":"crm.lookup","inputSchema":{}}]}`)
	require.Equal(t, 200, status, body)
	var r struct{ Status, Continuation string }
	require.NoError(t, json.Unmarshal([]byte(body), &r))
	require.Equal(t, "suspended", r.Status)
	return r.Continuation
}

func resume(t *testing.T, url, continuation string) (int, string) {
	t.Helper()
	return fetch(t, "POST", url+"/v1/resume", `{"continuation":"`+continuation+`","replies":[{"id":1,"value":42}]}`)
}

func TestAKeyIsOneLineThatServeTakesAndAnotherEachTime(t *testing.T) {
	t.Parallel()
	one, two := call{args: args("key")}.run(t), call{args: args("key")}.run(t)
	for _, got := range []answer{one, two} {
		assert.Equal(t, 0, got.status)
		assert.Empty(t, got.stderr)
		assert.Regexp(t, `^key-[0-9a-f]{12} [A-Za-z0-9+/]{43}=\n$`, got.stdout)
	}
	_, err := sandbox.ParseKeys(one.stdout + two.stdout) // which refuses equal IDs and secrets
	assert.NoError(t, err)
}

func TestAnyServerWithTheKeyGoesOnWithAScript(t *testing.T) {
	t.Parallel()
	keys := keyFile(t)
	first, log, stopFirst := serving(t, only(&stub.Backend{}), "--continuation-key-file", keys)
	continuation := suspend(t, first)
	assert.Equal(t, 0, stopFirst())
	assert.NotContains(t, log.String(), "this process alone")
	text, err := os.ReadFile(keys)
	require.NoError(t, err)
	assert.NotContains(t, log.String(), strings.Fields(string(text))[1])

	for name, c := range map[string]struct {
		more   []string
		status int
		says   string
	}{
		"the same key":     {args("--continuation-key-file", keys), 200, `"value":42`},
		"another key":      {args("--continuation-key-file", keyFile(t)), 422, `"code":"continuation_unreadable"`},
		"no key":           {nil, 422, `"code":"continuation_unreadable"`},
		"another audience": {args("--continuation-key-file", keys, "--continuation-audience", "others"), 409, `"code":"continuation_foreign"`},
		"less room":        {args("--continuation-key-file", keys, "--max-continuation", "50B"), 413, `"code":"continuation_too_large"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _, stop := serving(t, only(&stub.Backend{}), c.more...)
			status, body := resume(t, url, continuation)
			assert.Equal(t, c.status, status, body)
			assert.Contains(t, body, c.says)
			assert.Equal(t, 0, stop())
		})
	}
}

func TestANewKeyInFrontStillOpensWhatTheOldOneSealed(t *testing.T) {
	t.Parallel()
	keys := keyFile(t)
	first, _, stopFirst := serving(t, only(&stub.Backend{}), "--continuation-key-file", keys)
	continuation := suspend(t, first)
	assert.Equal(t, 0, stopFirst())
	old, err := os.ReadFile(keys)
	require.NoError(t, err)
	rotated := keyFile(t)
	f, err := os.OpenFile(rotated, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.Write(old)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	url, _, stop := serving(t, only(&stub.Backend{}), "--continuation-key-file", rotated)
	status, body := resume(t, url, continuation)
	assert.Equal(t, 200, status, body)
	assert.Equal(t, 0, stop())
}

func TestWithoutAKeyFileServeSaysSoOnceAndResumesItsOwn(t *testing.T) {
	t.Parallel()
	url, log, stop := serving(t, only(&stub.Backend{}))
	status, body := resume(t, url, suspend(t, url))
	assert.Equal(t, 200, status, body)
	assert.Equal(t, 0, stop())
	assert.Equal(t, 1, strings.Count(log.String(), "there is no --continuation-key-file"))
	assert.Regexp(t, `msg=eval evalId=[0-9a-f]{32} backend=stub outcome=suspended`, log.String())
	assert.Regexp(t, `msg=resume evalId=[0-9a-f]{32} backend=stub outcome=ok`, log.String())
}

func TestAKeyFileThatOthersCanReadOrChangeIsRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a mode says nothing there")
	}
	for mode, allowed := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: true, 0o440: true, 0o644: false, 0o604: false, 0o660: false, 0o602: false} {
		keys := keyFile(t)
		require.NoError(t, os.Chmod(keys, mode))
		if allowed {
			_, _, stop := serving(t, only(&stub.Backend{}), "--continuation-key-file", keys)
			assert.Equal(t, 0, stop(), mode)
			continue
		}
		got := call{args: args("serve", "--listen", "127.0.0.1:0", "--continuation-key-file", keys)}.run(t)
		assert.Equal(t, 2, got.status, mode)
		assert.Equal(t, 1, strings.Count(got.stderr, "\n"), got.stderr)
		assert.Regexp(t, `^sandboxd: --continuation-key-file .*continuation\.keys: has mode 06[0-9]{2}; allowed is nothing for others, and no writing for the group`, got.stderr)
	}
}
