package pristine

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// PageBytes is the unit in which memory is compared, copied and kept.
const PageBytes = 4096

// wasmPageBytes is the unit of a guest's memory. It is also a multiple of every
// page size that a kernel has.
const wasmPageBytes = 64 << 10

// Errors of this package, to be tested with [errors.Is].
var (
	// ErrSpan is for a cold span that no image has.
	ErrSpan = errors.New("pristine: bad span")
	// ErrLength is for memory of a length that does not go with the image.
	ErrLength = errors.New("pristine: bad length")
	// ErrDiffers is for memory that is not pristine.
	ErrDiffers = errors.New("pristine: memory differs from its image")
	// ErrClosed is for a new memory of an image that was closed.
	ErrClosed = errors.New("pristine: the image is closed")
)

// Span is a range of bytes, [Start, End), of which both are multiples of
// [PageBytes].
type Span struct{ Start, End int64 }

func (s Span) pages() int { return int((s.End - s.Start) / PageBytes) }

// Image is what a guest's memory holds at its start. It does not change and may
// be used by any number of goroutines.
type Image struct {
	content   []byte
	hot, cold []Span      // in order, disjoint, together the whole content
	file      *os.File    // a sealed file with the content; nil if there is none
	pagemap   io.ReaderAt // what the kernel says of each page; nil if it does not
	closed    atomic.Bool
	// countsFaults: the kernel's count of a thread's page faults can be relied on.
	countsFaults bool
	threadFaults func() int64 // that count
	canary       *canary      // not nil where countsFaults
	made         time.Time
	lookedAt     atomic.Int64 // when the canary was, in nanoseconds since made
	entries      sync.Pool    // of *[]byte, with an entry of pagemap for each hot page
}

// New makes an image of content, which it takes over: nobody may change it
// afterwards. Its length is a multiple of 64 KiB and not 0.
//
// The cold spans are those that evals seldom touch. They may touch or overlap,
// and come in any order. Handing one back costs about a microsecond however
// long it is, looking at a page 24 nanoseconds: a span of less than 64 pages is
// better left out.
//
// New does not fail where the system lacks what [Remap] needs; then every memory
// is restored by [Copy]. Errors: [ErrLength], [ErrSpan].
func New(content []byte, cold []Span) (*Image, error) {
	length := int64(len(content))
	if length == 0 || length%wasmPageBytes != 0 {
		return nil, fmt.Errorf("%w: an image of %d bytes, must be a multiple of %d and not 0", ErrLength, length, wasmPageBytes)
	}
	im := &Image{made: time.Now(), content: content, threadFaults: threadFaults}
	if err := im.divide(cold); err != nil {
		return nil, err
	}
	pages := 0
	for _, s := range im.hot {
		pages += s.pages()
	}
	im.entries.New = func() any {
		buffer := make([]byte, pages*entryBytes)
		return &buffer
	}
	im.openFiles()
	if !im.remapWorks() {
		im.closeFiles()
		im.file, im.pagemap = nil, nil
	}
	if im.file != nil && im.faultsAreCounted() {
		var err error
		im.canary, err = newCanary()
		im.countsFaults = err == nil
	}
	return im, nil
}

// divide sets the hot and the cold spans.
func (im *Image) divide(cold []Span) error {
	length := int64(len(im.content))
	for _, s := range cold {
		if s.Start < 0 || s.End < s.Start || s.End > length || s.Start%PageBytes != 0 || s.End%PageBytes != 0 {
			return fmt.Errorf("%w: [%d, %d), must be multiples of %d, in order and within %d", ErrSpan, s.Start, s.End, PageBytes, length)
		}
	}
	cold = slices.Clone(cold)
	slices.SortFunc(cold, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	at := int64(0) // everything below is divided
	for _, s := range cold {
		s.Start = max(s.Start, at)
		if s.Start >= s.End {
			continue
		}
		if last := len(im.cold) - 1; s.Start == at && last >= 0 {
			im.cold[last].End = s.End
		} else {
			im.addHot(at, s.Start)
			im.cold = append(im.cold, s)
		}
		at = s.End
	}
	im.addHot(at, length)
	return nil
}

func (im *Image) addHot(start, end int64) {
	if start < end {
		im.hot = append(im.hot, Span{start, end})
	}
}

// Content returns what a memory holds at its start. It must not be changed.
func (im *Image) Content() []byte { return im.content }

// Close gives back what the image holds of the system. Memories that are in use
// stay valid and can be restored, though slower; new ones cannot be had. Closing
// an image again does nothing.
func (im *Image) Close() error {
	if im.closed.Swap(true) {
		return nil
	}
	if im.canary != nil {
		im.canary.free()
	}
	return im.closeFiles()
}

// Check returns an error that wraps [ErrDiffers] and names the first page that
// differs if mem is not what the image says, byte for byte, and [ErrLength] if
// its length is not the image's. It reads all of mem.
func (im *Image) Check(mem []byte) error {
	if err := im.checkLength(mem); err != nil {
		return err
	}
	for at := 0; at < len(mem); at += PageBytes {
		if !samePage(mem, im.content, at) {
			return fmt.Errorf("%w: page %d of %d", ErrDiffers, at/PageBytes, len(mem)/PageBytes)
		}
	}
	return nil
}

func (im *Image) checkLength(mem []byte) error {
	if len(mem) != len(im.content) {
		return fmt.Errorf("%w: memory of %d bytes, must be the %d of its image", ErrLength, len(mem), len(im.content))
	}
	return nil
}
