package integration

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/loom-sandbox/sandboxd/backends/wazero"
	"github.com/loom-sandbox/sandboxd/sandbox"
)

// TestMain also serves the measurements that need a process of their own.
func TestMain(m *testing.M) {
	if ran, status := runAsChild(); ran {
		os.Exit(status)
	}
	goleak.VerifyTestMain(m)
}

// newSandbox is a sandbox on wazero, closed when the test ends. Tests share one
// among their rows: compiling the image takes most of a second.
func newSandbox(tb testing.TB, opts *sandbox.Options) *sandbox.Sandbox {
	tb.Helper()
	sb, closeAll, err := openSandbox(opts)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, closeAll()) })
	return sb
}

func openSandbox(opts *sandbox.Options) (*sandbox.Sandbox, func() error, error) {
	backend, err := wazero.New(context.Background(), nil)
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
