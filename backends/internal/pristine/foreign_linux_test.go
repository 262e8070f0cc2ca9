package pristine_test

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
)

// TestLinuxRemaps keeps a defect of Remap from hiding behind Copy, which takes
// over wherever a trial fails.
func TestLinuxRemaps(t *testing.T) {
	t.Parallel()
	pagemap, err := os.Open("/proc/self/pagemap")
	if err != nil {
		t.Skipf("this system does not say which pages were written to: %v", err)
	}
	require.NoError(t, pagemap.Close())
	if os.Getpagesize() != pristine.PageBytes {
		t.Skipf("this system has pages of %d bytes", os.Getpagesize())
	}
	memfd(t, nil)
	im := newImage(t, 1<<20, nil)
	m := reserve(t, im, 1<<20)
	assert.Equal(t, pristine.Remap, m.Way())
	assert.Equal(t, pristine.Remap, im.WayOf(m.Resize(1<<20)))
}

// TestMemoryThatAnEngineMappedIsRestoredInTheWayThatWorks has memory as engines
// make it, and such as only looks like it.
func TestMemoryThatAnEngineMappedIsRestoredInTheWayThatWorks(t *testing.T) {
	t.Parallel()
	const length = 1 << 20
	im := newImage(t, length, []pristine.Span{{512 << 10, 768 << 10}})
	var other []byte // like the image but for one byte
	other = append(other, im.Content()...)
	other[600<<10]++
	works := reserve(t, im, length).Way()
	for name, c := range map[string]struct {
		mem  func(t *testing.T) []byte
		want pristine.Way
	}{
		"a file with the same content": {func(t *testing.T) []byte {
			return mapped(t, memfd(t, im.Content()), 0, length, unix.MAP_PRIVATE)
		}, works},
		"the same, further on in a file": {func(t *testing.T) []byte {
			return mapped(t, memfd(t, make([]byte, 64<<10), im.Content()), 64<<10, length, unix.MAP_PRIVATE)
		}, works},
		"a shared mapping": {func(t *testing.T) []byte {
			return mapped(t, memfd(t, im.Content()), 0, length, unix.MAP_SHARED)
		}, pristine.Copy},
		"memory of no file": {func(t *testing.T) []byte {
			mem := mapped(t, -1, 0, length, unix.MAP_PRIVATE|unix.MAP_ANON)
			copy(mem, im.Content())
			return mem
		}, pristine.Copy},
		"a file with other content, put right by writing": {func(t *testing.T) []byte {
			mem := mapped(t, memfd(t, other), 0, length, unix.MAP_PRIVATE)
			copy(mem, im.Content())
			return mem
		}, pristine.Copy},
		"pages that may not leave": {func(t *testing.T) []byte {
			mem := mapped(t, memfd(t, im.Content()), 0, length, unix.MAP_PRIVATE)
			if err := unix.Mlock(mem); err != nil {
				t.Skipf("this system lets nobody lock a mebibyte: %v", err)
			}
			return mem
		}, pristine.Copy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mem := c.mem(t)
			require.NoError(t, im.Check(mem))
			way := im.WayOf(mem)
			assert.Equal(t, c.want, way)
			require.NoError(t, im.Check(mem), "tried")
			random := rand.New(rand.NewPCG(6, 7))
			for range 20 {
				for range 50 {
					mem[random.IntN(len(mem))]++
				}
				require.NoError(t, im.Restore(mem, way))
				require.NoError(t, im.Check(mem))
			}
		})
	}
}

// TestAFileWithZeroesOfNoFileAfterItWorks has what wasmtime makes of an image that
// ends in zeroes: a memory of a shorter image that has grown is the same.
func TestAFileWithZeroesOfNoFileAfterItWorks(t *testing.T) {
	t.Parallel()
	const length, file = 512 << 10, 128 << 10
	for _, cold := range [][]pristine.Span{nil, {{64 << 10, 256 << 10}}, {{256 << 10, length}}, {{0, length}}} {
		short := newImage(t, file, nil)
		content := make([]byte, length)
		copy(content, short.Content())
		im, err := pristine.New(content, cold)
		require.NoError(t, err)
		defer im.Close()
		m := reserve(t, short, length)
		mem := m.Resize(length)
		way := im.WayOf(mem)
		assert.Equal(t, m.Way(), way)
		for range 2 {
			scribble(mem, 0, length)
			require.NoError(t, im.Restore(mem, way))
			require.NoError(t, im.Check(mem))
		}
	}
}

// memfd returns a file in memory with these parts.
func memfd(t *testing.T, parts ...[]byte) int {
	t.Helper()
	fd, err := unix.MemfdCreate("foreign", unix.MFD_CLOEXEC)
	require.NoError(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	for _, p := range parts {
		n, err := unix.Write(fd, p)
		require.NoError(t, err)
		require.Len(t, p, n)
	}
	return fd
}

func mapped(t *testing.T, fd int, offset int64, length, flags int) []byte {
	t.Helper()
	mem, err := unix.Mmap(fd, offset, length, unix.PROT_READ|unix.PROT_WRITE, flags)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, unix.Munmap(mem)) })
	return mem
}
