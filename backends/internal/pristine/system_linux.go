package pristine

import (
	"errors"
	"os"

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
	var errs []error
	for _, f := range []any{im.file, im.pagemap} {
		if f, ok := f.(*os.File); ok && f != nil {
			if err := f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// sealedFile returns a file in memory that holds content and that nobody can
// change, not even this process. Pages of zeroes are holes.
func sealedFile(content []byte) (_ *os.File, err error) {
	const name, flags = "pristine-image", unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), name)
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	if err := file.Truncate(int64(len(content))); err != nil {
		return nil, err
	}
	zeroes := make([]byte, PageBytes)
	for at := 0; at < len(content); at += PageBytes {
		page := content[at : at+PageBytes]
		if string(page) == string(zeroes) {
			continue
		}
		if _, err := file.WriteAt(page, int64(at)); err != nil {
			return nil, err
		}
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
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

// giveBack drops all pages of a mapping: it is then as if it had just been made.
func giveBack(mem []byte) error { return unix.Madvise(mem, unix.MADV_DONTNEED) }
