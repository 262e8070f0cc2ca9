//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package pristine

// reserveSpace reserves nothing: memory comes from Go's heap when it is used.
func reserveSpace(int) ([]byte, error) { return []byte{}, nil }

// commit moves the memory to a slice with size bytes.
func (m *Memory) commit(size int64) error {
	grown := make([]byte, size)
	copy(grown, m.space)
	m.space = grown
	return nil
}

func freeSpace([]byte) {}
