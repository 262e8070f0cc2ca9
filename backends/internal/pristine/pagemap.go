package pristine

import (
	"encoding/binary"
	"errors"
)

// entryBytes is the size of an entry of /proc/self/pagemap.
const entryBytes = 8

// Bits of an entry, see Documentation/admin-guide/mm/pagemap.rst of Linux.
const (
	filePage    = 1 << 61 // of a file, or shared
	swappedPage = 1 << 62
	presentPage = 1 << 63
)

var errNoPagemap = errors.New("pristine: the kernel does not say which pages were written to")

// pageEntries are entries of pagemap as they were read, one for each page.
type pageEntries []byte

func (e pageEntries) at(page int) uint64 {
	return binary.NativeEndian.Uint64(e[page*entryBytes:])
}

// isThere reports whether the kernel has a page at all.
func isThere(entry uint64) bool { return entry&(presentPage|swappedPage) != 0 }

// isOwn reports whether a page of a private mapping of a file has been written to
// since it was mapped or handed back: it is there, and not the file's. A page of
// zeroes that memory of no file was only read from counts as well.
func isOwn(entry uint64) bool { return isThere(entry) && entry&filePage == 0 }

// own counts the pages that are the mapping's own.
func (e pageEntries) own() int {
	n := 0
	for page := range len(e) / entryBytes {
		if isOwn(e.at(page)) {
			n++
		}
	}
	return n
}

// copyOwn copies the pages from the image that are the mapping's own, neighbours
// at once.
func (e pageEntries) copyOwn(mem, image []byte) {
	pages := len(e) / entryBytes
	for page := 0; page < pages; page++ {
		if !isOwn(e.at(page)) {
			continue
		}
		first := page
		for page++; page < pages && isOwn(e.at(page)); page++ {
		}
		copy(mem[first*PageBytes:page*PageBytes], image[first*PageBytes:])
	}
}
