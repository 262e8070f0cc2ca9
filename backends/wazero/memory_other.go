//go:build !unix

package wazero

// block is ordinary memory that is copied when it grows.
type block struct {
	bytes    []byte
	capBytes uint64
}

func reserve(capBytes uint64) (block, error) { return block{capBytes: capBytes}, nil }

// resize doubles, within the cap, so that growing page by page stays linear.
func (b *block) resize(size uint64) []byte {
	if size > uint64(cap(b.bytes)) {
		grown := make([]byte, size, min(max(size, 2*uint64(cap(b.bytes))), b.capBytes))
		copy(grown, b.bytes)
		b.bytes = grown
	}
	b.bytes = b.bytes[:size]
	return b.bytes
}

func (b *block) release() { b.bytes = nil }
