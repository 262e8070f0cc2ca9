//go:build !unix

package codecache

import (
	"fmt"
	"os"
)

// checkPrivate checks the kind only: there are no Unix permissions here, and the
// user's own cache directory is closed by the system's access lists.
func checkPrivate(path string, dir bool) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("codecache: %w", err)
	}
	if dir != info.IsDir() || !dir && !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is not what it should be", ErrUntrusted, path)
	}
	return nil
}
