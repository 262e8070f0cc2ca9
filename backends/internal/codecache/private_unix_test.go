//go:build unix

package codecache

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatOthersMayTouchIsNotTrusted(t *testing.T) {
	t.Parallel()
	for name, expose := range map[string]func(t *testing.T, root string){
		"root open to the group":   func(t *testing.T, root string) { require.NoError(t, os.Chmod(root, 0o750)) },
		"entry open to all":        func(t *testing.T, root string) { require.NoError(t, os.Chmod(filepath.Join(root, "k"), 0o777)) },
		"directory inside is open": func(t *testing.T, root string) { require.NoError(t, os.Chmod(filepath.Join(root, "k", "sub"), 0o777)) },
		"file writable by others":  func(t *testing.T, root string) { require.NoError(t, os.Chmod(filepath.Join(root, "k", "a"), 0o666)) },
		"manifest writable": func(t *testing.T, root string) {
			require.NoError(t, os.Chmod(filepath.Join(root, "k", manifestName), 0o620))
		},
		"file replaced by a link":   func(t *testing.T, root string) { relink(t, root, filepath.Join(root, "k", "a")) },
		"entry replaced by a link":  func(t *testing.T, root string) { relink(t, root, filepath.Join(root, "k")) },
		"root is a file":            func(t *testing.T, root string) { require.NoError(t, os.RemoveAll(root)); write(t, root, "") },
		"file of another user":      func(t *testing.T, root string) { chown(t, filepath.Join(root, "k", "a")) },
		"directory of another user": func(t *testing.T, root string) { chown(t, filepath.Join(root, "k")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := stored(t)
			expose(t, root)
			e, err := Open(t.Context(), root, "k")
			if err == nil {
				defer e.Close()
				_, err = e.Verify()
			}
			require.Error(t, err)
			if name != "root is a file" { // which the file system itself refuses
				require.ErrorIs(t, err, ErrUntrusted)
			}
		})
	}
}

// relink moves something aside and leaves a link to it in its place.
func relink(t *testing.T, root, path string) {
	t.Helper()
	aside := root + "-aside"
	require.NoError(t, os.Rename(path, aside))
	require.NoError(t, os.Symlink(aside, path))
}

// chown needs root, which the continuous checks have.
func chown(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("giving a file to another user needs root")
	}
	require.NoError(t, os.Lchown(path, 65534, 65534))
}
