//go:build unix

package subprocess

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// kill ends the process and the group that it was started in. It may have left
// that group, so the group alone is not enough. The process was not waited for
// yet, so that its number is still its own. An error says that nobody is there.
func kill(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	_ = p.Kill()
}

// closeInherited closes the descriptors that the host's own parent left open.
// Those that Go opened are marked to be closed by exec, and so are this process's.
func closeInherited() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= 2 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
}
