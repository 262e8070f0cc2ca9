//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package pristine

import "golang.org/x/sys/unix"

// reserveSpace returns address space that nothing may touch yet.
func reserveSpace(length int) ([]byte, error) {
	return unix.Mmap(-1, 0, length, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
}

// commit makes the first size bytes usable.
func (m *Memory) commit(size int64) error {
	return unix.Mprotect(m.space[m.size:size], unix.PROT_READ|unix.PROT_WRITE)
}

func freeSpace(space []byte) {
	// It fails only for what is no mapping.
	_ = unix.Munmap(space)
}
