package qjs

import (
	"context"
	"sync/atomic"

	"github.com/tetratelabs/wazero/experimental"
)

// pageBytes is a page of WebAssembly, in which memory grows.
const pageBytes = 64 << 10

// memory is one guest's memory: an ordinary slice, copied when it has to grow. A
// growth beyond the cap is refused, which the guest sees as a failed memory.grow.
type memory struct {
	capBytes uint64
	bytes    []byte

	// The host asks while a guest that is not waited for may be running.
	size    atomic.Int64 // the largest so far
	refused atomic.Bool
}

// givenTo is a context in which the guest that is started gets this memory.
func (m *memory) givenTo(ctx context.Context) context.Context {
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(
		func(_, _ uint64) experimental.LinearMemory { return m },
	))
}

// Reallocate implements [experimental.LinearMemory]. It doubles within the cap,
// so that growing page by page stays linear.
func (m *memory) Reallocate(size uint64) []byte {
	if size > m.capBytes {
		m.refused.Store(true)
		return nil
	}
	if room := uint64(cap(m.bytes)); size > room {
		grown := make([]byte, size, min(max(size, 2*room), m.capBytes))
		copy(grown, m.bytes)
		m.bytes = grown
	}
	m.bytes = m.bytes[:size]
	m.size.Store(int64(size))
	return m.bytes
}

// Free implements [experimental.LinearMemory].
func (m *memory) Free() { m.bytes = nil }
