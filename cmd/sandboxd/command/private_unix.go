//go:build unix

package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkPrivate refuses a secret that another user can read, or can put there. The
// group may read it: that is how secrets are mounted for services.
func checkPrivate(info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() && st.Uid != 0 {
		return errors.New("belongs to another user; allowed is you or root")
	}
	if mode := info.Mode().Perm(); mode&0o027 != 0 {
		return fmt.Errorf("has mode %04o; allowed is nothing for others, and no writing for the group, such as 0600", mode)
	}
	return nil
}
