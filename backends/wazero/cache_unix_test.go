//go:build unix

package wazero

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestACacheThatOthersMayWriteIsNotUsed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	require.NoError(t, os.Mkdir(dir, 0o777))
	require.NoError(t, os.Chmod(dir, 0o777))
	warnings := startWith(t, dir)
	assert.Contains(t, warnings, "not using the cache of compiled code")
	assert.Empty(t, cached(t, dir))
}

func TestAFileThatOthersMayWriteIsMadeAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	require.Empty(t, startWith(t, dir))
	require.NoError(t, os.Chmod(largest(cached(t, dir)), 0o666))
	assert.Contains(t, startWith(t, dir), "making the cache of compiled code again")
	assert.Empty(t, startWith(t, dir), "mended")
}
