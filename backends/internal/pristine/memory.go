package pristine

import (
	"fmt"
	"math"
)

// Memory is the memory of one guest. It is for one goroutine at a time.
type Memory struct {
	space    []byte // from its first byte; nil once freed
	size     int64  // what is usable, a multiple of 64 KiB; at least the image's length
	capBytes int64
	way      Way
}

// Reserve gives one guest memory of its own, which starts as the image and can
// grow to capBytes, a multiple of 64 KiB and at least the image's length. What it
// has not grown to is address space only, where the system has such a thing.
//
// Errors: [ErrLength], [ErrClosed], and those of the system, which has memory and
// mappings to spare or not.
func (im *Image) Reserve(capBytes int64) (*Memory, error) {
	if capBytes < int64(len(im.content)) || capBytes%wasmPageBytes != 0 || capBytes > math.MaxInt {
		return nil, fmt.Errorf("%w: a cap of %d bytes, must be a multiple of %d, at least the %d of the image and addressable", ErrLength, capBytes, wasmPageBytes, len(im.content))
	}
	if im.closed.Load() {
		return nil, ErrClosed
	}
	space, err := reserveSpace(int(capBytes))
	if err != nil {
		return nil, fmt.Errorf("pristine: reserve %d bytes: %w", capBytes, err)
	}
	m := &Memory{space: space, capBytes: capBytes}
	if err := m.fill(im); err != nil {
		m.Free()
		return nil, fmt.Errorf("pristine: memory for an image of %d bytes: %w", len(im.content), err)
	}
	return m, nil
}

// fill makes the beginning of the memory the image.
func (m *Memory) fill(im *Image) error {
	length := int64(len(im.content))
	if im.file != nil {
		if err := mapFile(m.space[:length], im.file); err != nil {
			return err
		}
		m.size, m.way = length, Remap
		return nil
	}
	if err := m.commit(length); err != nil {
		return err
	}
	m.size = length
	copy(m.space, im.content)
	return nil
}

// Way says how the first bytes of this memory, as many as the image has, can be
// restored.
func (m *Memory) Way() Way { return m.way }

// CapBytes is what the memory can grow to.
func (m *Memory) CapBytes() int64 { return m.capBytes }

// Resize returns the first size bytes. What was not there before is zero. It
// returns nil if size is over the cap or the system has no more memory, and if
// the memory was freed. A size below an earlier one changes nothing but the
// length of what is returned.
//
// The bytes stay where they are, but for systems with no address space to
// reserve: there an earlier slice is of no use after a larger one was returned.
func (m *Memory) Resize(size int64) []byte {
	if size < 0 || size > m.capBytes || m.space == nil {
		return nil
	}
	if size > m.size {
		whole := (size + wasmPageBytes - 1) / wasmPageBytes * wasmPageBytes
		if err := m.commit(whole); err != nil {
			return nil
		}
		m.size = whole
	}
	return m.space[:size:size]
}

// Free gives the memory back. Nothing may use it any more. Freeing it again does
// nothing.
func (m *Memory) Free() {
	if m.space != nil {
		freeSpace(m.space)
		m.space, m.size = nil, 0
	}
}
