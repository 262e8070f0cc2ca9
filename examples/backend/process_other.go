//go:build !unix

package subprocess

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return nil }

func kill(p *os.Process) { _ = p.Kill() }

// closeInherited does nothing: only the handles that Go names are inherited.
func closeInherited() {}
