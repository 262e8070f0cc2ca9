//go:build unix

package codecache

import (
	"fmt"
	"os"
	"syscall"
)

// checkOwner refuses what another user owns or may change. A directory must be
// closed to others altogether.
func checkOwner(path string, info os.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%w: %s belongs to another user", ErrUntrusted, path)
	}
	mode := info.Mode().Perm()
	if info.IsDir() && mode&0o077 != 0 || mode&0o022 != 0 {
		return fmt.Errorf("%w: %s has mode %04o; allowed is 0700 for a directory, and no writing by others for a file", ErrUntrusted, path, mode)
	}
	return nil
}
