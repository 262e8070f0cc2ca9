package pristine

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestPagesThatTheProcessLockedAreSeen runs in a process of its own, all memory of
// which is locked while a guest is followed: that gives it pages without a fault.
func TestPagesThatTheProcessLockedAreSeen(t *testing.T) {
	const child = "PRISTINE_TEST_LOCKS_MEMORY"
	if os.Getenv(child) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		if bytes.Contains(out, []byte("--- SKIP")) {
			t.Skipf("nothing was locked in the process of its own: %s", out)
		}
		require.Contains(t, string(out), "--- PASS: "+t.Name())
		return
	}
	f := follow(t)
	f.eval(page(1))
	f.restored(t)
	require.False(t, f.im.canary.dead())
	if err := unix.Mlockall(unix.MCL_CURRENT); err != nil {
		t.Skipf("this user may not lock memory: %v", err)
	}
	assert.True(t, f.im.canary.dead())
	time.Sleep(2 * canaryEvery)
	f.eval(page(1, 400))
	require.NoError(t, f.Restore())
	require.NoError(t, f.im.Check(f.mem))
}
