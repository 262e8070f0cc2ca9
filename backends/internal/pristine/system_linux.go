package pristine

import (
	"errors"
	"io"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// openFiles sets what Remap needs. It leaves nothing behind if any of it is
// missing.
func (im *Image) openFiles() {
	if os.Getpagesize() != PageBytes {
		return // an entry of pagemap is for a larger page than ours
	}
	pagemap, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return
	}
	file, err := sealedFile(im.content)
	if err != nil {
		pagemap.Close()
		return
	}
	im.file, im.pagemap = file, pagemap
}

func (im *Image) closeFiles() error {
	if im.file == nil {
		return nil
	}
	err := im.file.Close()
	if pagemap, ok := im.pagemap.(io.Closer); ok {
		err = errors.Join(err, pagemap.Close())
	}
	return err
}

// sealedFile returns a file in memory that holds content and that nobody can
// change, not even this process. It has no holes: filling one when a guest
// touches it can fail, and ends the process.
func sealedFile(content []byte) (*os.File, error) {
	const name, flags = "pristine-image", unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), name)
	_, err = file.WriteAt(content, 0)
	if err == nil {
		const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
		_, err = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// remapWorks tries Remap on a memory of the image's own.
func (im *Image) remapWorks() bool {
	if im.file == nil {
		return false
	}
	m, err := im.Reserve(int64(len(im.content)))
	if err != nil {
		return false
	}
	defer m.Free()
	return im.WayOf(m.Resize(m.CapBytes())) == Remap
}

// threadFaults is how many page faults the kernel has served for this thread, or
// a number that differs each time where it does not say.
func threadFaults() int64 {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &usage); err != nil {
		return time.Now().UnixNano()
	}
	return int64(usage.Minflt) + int64(usage.Majflt)
}

// faultsAreCounted tries whether each first write to a page of a new memory is
// counted, and that reading where nothing is missing is not. Kernels that only
// act like Linux may not count at all.
func (im *Image) faultsAreCounted() bool {
	m, err := im.Reserve(int64(len(im.content)))
	if err != nil {
		return false
	}
	defer m.Free()
	mem := m.Resize(m.CapBytes())
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for at := 0; at < len(mem); at += 61 * PageBytes {
		before := im.threadFaults()
		mem[at]++
		if im.threadFaults() <= before {
			return false
		}
	}
	before := im.threadFaults()
	for at := 0; at < len(mem); at += 61 * PageBytes {
		mem[at]--
	}
	return im.threadFaults() == before
}

// giveBack drops all pages of a mapping: it is then as if it had just been made.
func giveBack(mem []byte) error { return unix.Madvise(mem, unix.MADV_DONTNEED) }
