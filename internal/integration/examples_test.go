package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// built is an example as a program.
func built(t *testing.T, name string) func(args ...string) (out string, err error) {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../examples/"+name).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
		return string(out), err
	}
}

func TestTheCodeModeExampleRuns(t *testing.T) {
	t.Parallel()
	out, err := built(t, "codemode")()
	require.NoError(t, err, out)
	for _, part := range []string{
		"lookup(args: {", `"origin": "sandbox, tool:crm.lookup"`, `"orders": 3`, "the script was not handed tools.mail.send", `"hostCalls": 4`,
	} {
		assert.Contains(t, out, part)
	}
}

func TestAScriptIsSuspendedInOneProcessAndResumedInAnother(t *testing.T) {
	t.Parallel()
	approval := built(t, "approval")
	for answer, want := range map[string][]string{
		"approve": {`paying back: {"order":4711,"amount":90}`, `"state": "paid"`, `"status": "ok"`},
		"refuse":  {`"kind": "denied"`, `"tool": "payments.refund"`, "a person has refused"},
	} {
		dir := t.TempDir()
		out, err := approval("-dir", dir, "start")
		require.NoError(t, err, out)
		assert.Contains(t, out, `waits for a person: payments.refund {"order":4711,"amount":90}`)
		assert.NotContains(t, out, "paying back")
		out, err = approval("-dir", dir, "finish", answer)
		require.NoError(t, err, out)
		for _, part := range want {
			assert.Contains(t, out, part)
		}
		out, err = approval("-dir", dir, "finish", answer)
		require.Error(t, err, "it is gone: %s", out)

		_, err = approval("-dir", dir, "start")
		require.NoError(t, err)
		require.NoError(t, os.Remove(filepath.Join(dir, "key")))
		out, err = approval("-dir", dir, "finish", answer)
		require.Error(t, err)
		assert.Contains(t, out, "it was changed, or sealed with another key")
		assert.NotContains(t, out, "paying back")
	}
}
