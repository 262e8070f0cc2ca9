//go:build unix

package wazero

import (
	"fmt"
	"syscall"
)

// block is address space for the whole cap; pages cost memory once they are
// touched, and growing moves nothing.
type block struct{ mapping []byte }

func reserve(capBytes uint64) (block, error) {
	b, err := syscall.Mmap(-1, 0, int(capBytes), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return block{}, fmt.Errorf("reserving %d bytes of address space: %w", capBytes, err)
	}
	return block{b}, nil
}

func (b *block) resize(size uint64) []byte { return b.mapping[:size] }

func (b *block) release() {
	if b.mapping != nil {
		_ = syscall.Munmap(b.mapping) // only fails for a mapping that is not one
		b.mapping = nil
	}
}
