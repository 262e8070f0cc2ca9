package pristine

import "bytes"

// Way is how memory can be made pristine.
type Way int

const (
	// Copy compares each page with the image and copies it where it differs. It
	// works on any memory.
	Copy Way = iota
	// Remap asks the kernel which pages have been written to. It works on private
	// mappings of a file with the image's content, on Linux.
	Remap
)

// maxOwnBytes is how much of its own a memory may keep in the hot spans when it
// is restored. Keeping pages saves the faults of the next eval; one with more
// goes back to having none, so that idle memories stay small.
const maxOwnBytes = 3 << 19

// WayOf says how mem can be restored, which must be pristine and of the image's
// length. It tries [Remap] on it, with writes in the first and the last page of
// every span, and compares everything; it answers [Copy] if that does not hold.
// Either way mem is pristine afterwards.
//
// It is for memory that an engine has mapped, in at most one piece for the
// content and one for zeroes after it; of a [Memory] its [Memory.Way] is known.
// It reads all of mem, which takes about half a millisecond.
func (im *Image) WayOf(mem []byte) Way {
	if im.pagemap == nil || len(mem) != len(im.content) || address(mem)%PageBytes != 0 {
		return Copy
	}
	if im.tryRemap(mem) {
		return Remap
	}
	im.copyChanged(mem, Span{0, int64(len(mem))})
	return Copy
}

// tryRemap reports whether remap does what it should on mem. What it leaves there
// is pristine only if it does.
func (im *Image) tryRemap(mem []byte) bool {
	for _, spans := range [][]Span{im.hot, im.cold} {
		for _, s := range spans {
			mem[s.Start] ^= 0xff
			mem[s.End-1] ^= 0xff
		}
	}
	if im.remap(mem, nil) != nil || im.Check(mem) != nil {
		return false
	}
	// What lies below the pages that mem has of its own must be the image too.
	if giveBack(mem) != nil || im.Check(mem) != nil {
		return false
	}
	return giveBack(mem) == nil // what Check has touched
}

// Restore makes mem equal the image, whatever was written to it. The way must be
// one that WayOf gave for this memory. After an error, which is [ErrLength], mem
// must not be used.
//
// Nothing else may use mem meanwhile. It does not allocate.
func (im *Image) Restore(mem []byte, way Way) error {
	if err := im.checkLength(mem); err != nil {
		return err
	}
	if way == Remap && im.remap(mem, nil) == nil {
		return nil
	}
	im.copyChanged(mem, Span{0, int64(len(mem))})
	return nil
}

// remap hands back the cold spans and copies back each page of the hot ones that
// is mem's own, which are added to kept unless that is nil. After an error nothing
// is known of mem's content, but it can be restored by comparing.
func (im *Image) remap(mem []byte, kept *pageSet) error {
	buffer := im.entries.Get().(*[]byte)
	defer im.entries.Put(buffer)
	own, rest := 0, pageEntries(*buffer)
	for _, s := range im.hot {
		entries := rest[:s.pages()*entryBytes]
		if err := im.readEntries(entries, mem[s.Start:s.End]); err != nil {
			return err
		}
		own += entries.own()
		rest = rest[len(entries):]
	}
	for _, s := range im.cold {
		if err := giveBack(mem[s.Start:s.End]); err != nil {
			return err
		}
	}
	rest = pageEntries(*buffer)
	for _, s := range im.hot {
		entries, part := rest[:s.pages()*entryBytes], mem[s.Start:s.End]
		if own*PageBytes <= maxOwnBytes {
			entries.copyOwn(part, im.content[s.Start:s.End])
			if kept != nil {
				kept.addOwn(int(s.Start/PageBytes), entries)
			}
		} else if err := giveBack(part); err != nil {
			return err
		}
		rest = rest[len(entries):]
	}
	return nil
}

// readEntries reads what the kernel says of the pages of mem, which begins with
// one.
func (im *Image) readEntries(entries pageEntries, mem []byte) error {
	if im.pagemap == nil {
		return errNoPagemap
	}
	_, err := im.pagemap.ReadAt(entries, int64(address(mem)/PageBytes)*entryBytes)
	return err
}

// copyChanged compares the pages of a span and copies those that differ.
func (im *Image) copyChanged(mem []byte, s Span) {
	for at := int(s.Start); at < int(s.End); at += PageBytes {
		if !samePage(mem, im.content, at) {
			copy(mem[at:at+PageBytes], im.content[at:])
		}
	}
}

func samePage(a, b []byte, at int) bool {
	return bytes.Equal(a[at:at+PageBytes], b[at:at+PageBytes])
}

// String names the way.
func (w Way) String() string {
	switch w {
	case Copy:
		return "copy"
	case Remap:
		return "remap"
	}
	return "unknown"
}
