//go:build unix

package subprocess

import (
	"os"
	"syscall"
)

// joinHost moves this process into the group of its parent.
func joinHost() error {
	group, err := syscall.Getpgid(os.Getppid())
	if err != nil {
		return err
	}
	return syscall.Setpgid(0, group)
}
