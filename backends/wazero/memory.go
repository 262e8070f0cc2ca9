package wazero

import (
	"github.com/tetratelabs/wazero/experimental"

	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
	"github.com/loom-sandbox/sandboxd/backends/internal/wasmhost"
)

var _ experimental.LinearMemory = (*linearMemory)(nil)

// linearMemory is one guest's memory. A growth beyond its cap is refused, which
// the guest sees as a failed memory.grow.
type linearMemory struct {
	*pristine.Memory
	capBytes uint64 // of the eval that runs; at most what was reserved
}

// limit sets the cap, rounded down to whole pages, if that much was reserved.
func (m *linearMemory) limit(maxBytes int64) bool {
	whole := maxBytes / wasmhost.PageBytes * wasmhost.PageBytes
	if whole > m.CapBytes() {
		return false
	}
	m.capBytes = uint64(whole)
	return true
}

// Reallocate implements [experimental.LinearMemory].
func (m *linearMemory) Reallocate(size uint64) []byte {
	if size > m.capBytes {
		return nil
	}
	return m.Resize(int64(size))
}
