package wazero

import (
	"github.com/tetratelabs/wazero/experimental"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmhost"
)

var _ experimental.LinearMemory = (*linearMemory)(nil)

// linearMemory is one guest's memory. A growth beyond its cap is refused, which
// the guest sees as a failed memory.grow.
type linearMemory struct {
	capBytes uint64
	block    block
}

func newMemory(maxBytes int64) (*linearMemory, error) {
	capBytes := uint64(maxBytes) / wasmhost.PageBytes * wasmhost.PageBytes
	b, err := reserve(capBytes)
	if err != nil {
		return nil, err
	}
	return &linearMemory{capBytes: capBytes, block: b}, nil
}

// Reallocate implements [experimental.LinearMemory].
func (m *linearMemory) Reallocate(size uint64) []byte {
	if size > m.capBytes {
		return nil
	}
	return m.block.resize(size)
}

// Free implements [experimental.LinearMemory].
func (m *linearMemory) Free() { m.block.release() }
