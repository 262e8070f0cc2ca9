//go:build linux

package pristine

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapFile puts a private mapping of the file in the place of mem. Huge pages need
// no thought: where the file has them, the kernel splits its mapping at the first
// write, and pages of the mapping's own are small.
//
// Safe because mem is the beginning of a mapping that reserveSpace made and that
// nobody has seen yet, and starts and ends at multiples of the kernel's pages: so
// what MAP_FIXED replaces is memory of ours that nothing points into, and the
// address stays the one that is unmapped in the end.
func mapFile(mem []byte, file *os.File) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		_, failed = unix.MmapPtr(int(fd), 0, unsafe.Pointer(unsafe.SliceData(mem)), uintptr(len(mem)),
			unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED)
	})
	if err != nil {
		return err
	}
	return failed
}
