package integration

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/loom-sandbox/sandboxd/backends/wazero"
	"github.com/loom-sandbox/sandboxd/sandbox"
)

// cacheDir keeps the compiled images for all tests of this process; compiling
// takes seconds. TestMain sets and removes it.
var cacheDir string

// cacheVariable hands the directory on to the processes that fuzz.
const cacheVariable = "SANDBOXD_INTEGRATION_CACHE"

// TestMain also serves the measurements that need a process of their own.
func TestMain(m *testing.M) {
	if ran, status := runAsChild(); ran {
		os.Exit(status)
	}
	if cacheDir = os.Getenv(cacheVariable); cacheDir != "" {
		goleak.VerifyTestMain(m) // the directory is another process's to remove
		return
	}
	dir, err := os.MkdirTemp("", "sandboxd-integration-")
	if err == nil {
		err = os.Setenv(cacheVariable, dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	cacheDir = dir
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = max(status, 1)
		}
		os.Exit(status)
	}))
}

// newSandbox is a sandbox on a wazero backend of its own, closed when the test
// ends.
func newSandbox(tb testing.TB, opts *sandbox.Options) *sandbox.Sandbox {
	tb.Helper()
	sb, closeAll, err := openSandbox(opts)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, closeAll()) })
	return sb
}

func openSandbox(opts *sandbox.Options) (*sandbox.Sandbox, func() error, error) {
	backend, err := wazero.New(context.Background(), &wazero.Options{CacheDir: cacheDir})
	if err != nil {
		return nil, nil, err
	}
	sb, err := sandbox.New(backend, opts)
	if err != nil {
		_ = backend.Close()
		return nil, nil, err
	}
	return sb, func() error {
		if err := sb.Close(); err != nil {
			return err
		}
		return backend.Close()
	}, nil
}
