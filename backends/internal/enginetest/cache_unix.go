//go:build unix

package enginetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCacheOfOthers demands that what somebody else may write is not executed.
func TestCacheOfOthers(t *testing.T, start Starter) {
	t.Run("a directory that others may write is not used", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "cache")
		require.NoError(t, os.Mkdir(dir, 0o777))
		require.NoError(t, os.Chmod(dir, 0o777))
		assert.Contains(t, startWith(t, start, dir), "not using the cache of compiled code")
		assert.Empty(t, cached(t, dir))
	})
	t.Run("a file that others may write is made again", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "cache")
		require.Empty(t, startWith(t, start, dir))
		require.NoError(t, os.Chmod(largest(cached(t, dir)), 0o666))
		assert.Contains(t, startWith(t, start, dir), "making the cache of compiled code again")
		assert.Empty(t, startWith(t, start, dir), "mended")
	})
}
