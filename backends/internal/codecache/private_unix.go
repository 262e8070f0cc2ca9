//go:build unix

package codecache

import (
	"fmt"
	"os"
	"syscall"
)

// checkPrivate refuses what another user owns or may change. A directory must
// be closed to others altogether; a link is neither.
func checkPrivate(path string, dir bool) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("codecache: %w", err)
	}
	if dir != info.IsDir() || !dir && !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is not what it should be", ErrUntrusted, path)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%w: %s belongs to another user", ErrUntrusted, path)
	}
	mode := info.Mode().Perm()
	if dir && mode&0o077 != 0 || mode&0o022 != 0 {
		return fmt.Errorf("%w: %s has mode %04o, allowed is 0700 for a directory", ErrUntrusted, path, mode)
	}
	return nil
}
