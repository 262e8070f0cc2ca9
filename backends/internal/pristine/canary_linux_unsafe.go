//go:build linux

package pristine

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// canary is a page that nobody touches. It is there only once the kernel was told
// to bring every page of the process there, as by mlockall: that gives memories
// pages of their own without a fault of the thread that writes to them.
type canary struct{ page []byte }

func newCanary() (*canary, error) {
	// For reading only, so that no neighbour is of its kind and a huge page for both.
	page, err := unix.Mmap(-1, 0, PageBytes, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, err
	}
	return &canary{page}, nil
}

// dead reports whether the page is there, or the kernel does not say.
//
// Safe because mincore reads nothing of the page and writes one byte for it.
func (c *canary) dead() bool {
	var there byte
	_, _, errno := unix.RawSyscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(unsafe.SliceData(c.page))), PageBytes, uintptr(unsafe.Pointer(&there)))
	return errno != 0 || there&1 != 0
}

func (c *canary) free() { _ = unix.Munmap(c.page) } // only fails for a mapping that is not one
