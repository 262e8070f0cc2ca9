package pristine

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestARestoredMemoryHoldsLittleOfItsOwn(t *testing.T) {
	t.Parallel()
	const length, page = 8 << 20, PageBytes
	im, err := New(make([]byte, length), []Span{{4 << 20, 8 << 20}})
	require.NoError(t, err)
	defer im.Close()
	m, err := im.Reserve(length)
	require.NoError(t, err)
	defer m.Free()
	if m.Way() != Remap {
		t.Skip("this system does not say which pages were written to")
	}
	mem := m.Resize(length)
	const kept = maxOwnBytes / page
	for _, c := range []struct{ hot, cold, want int }{
		{0, 0, 0},
		{30, 0, 30},
		{30, 1024, 30}, // cold ones are handed back
		{kept, 5, kept},
		{kept + 1, 5, 0},
		{30, 0, 30},
		{1024, 1024, 0},
	} {
		for i := range c.hot {
			mem[i*page] = 1
		}
		for i := range c.cold {
			mem[4<<20+i*page] = 1
		}
		require.NoError(t, im.Restore(mem, Remap))
		own := ownPages(t, im, mem)
		assert.Equal(t, c.want, own, "%+v", c)
		assert.Less(t, own*page, 2<<20)
		require.NoError(t, im.Check(mem))
		assert.Equal(t, own, ownPages(t, im, mem), "reading makes no page its own")
	}
}

func TestNobodyCanChangeTheFileOfAnImage(t *testing.T) {
	t.Parallel()
	im, mem := remapped(t)
	_, err := im.file.WriteAt([]byte{1}, 0)
	assert.ErrorIs(t, err, os.ErrPermission)
	assert.ErrorIs(t, im.file.Truncate(4096), os.ErrPermission)
	assert.ErrorIs(t, im.file.Truncate(2<<20), os.ErrPermission)
	_, err = unix.FcntlInt(im.file.Fd(), unix.F_ADD_SEALS, 0)
	assert.ErrorIs(t, err, unix.EPERM)
	_, err = unix.Mmap(int(im.file.Fd()), 0, len(mem), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	assert.ErrorIs(t, err, unix.EPERM)
	require.NoError(t, im.Check(mem))
}

// ownPages counts with a buffer of its own what the kernel says of all of mem.
func ownPages(t *testing.T, im *Image, mem []byte) int {
	t.Helper()
	entries := make(pageEntries, len(mem)/PageBytes*entryBytes)
	require.NoError(t, im.readEntries(entries, mem))
	return entries.own()
}

// TestNothingOfTheSystemIsLeftOpen is not parallel: it counts what the whole
// process has.
func TestNothingOfTheSystemIsLeftOpen(t *testing.T) {
	const reserved = 1 << 30
	use := func() {
		im, err := New(make([]byte, 1<<20), []Span{{512 << 10, 1 << 20}})
		require.NoError(t, err)
		for range 50 {
			m, err := im.Reserve(reserved)
			require.NoError(t, err)
			mem := m.Resize(2 << 20)
			mem[0], mem[1<<20] = 1, 1
			im.Diff(mem)
			require.NoError(t, im.Restore(mem[:1<<20], m.Way()))
			m.Free()
		}
		_, err = im.Reserve(1 << 62)
		require.Error(t, err)
		require.NoError(t, im.Close())
	}
	use() // the runtime opens what it needs once
	files, space := held(t)
	for range 5 {
		use()
	}
	filesAfter, spaceAfter := held(t)
	assert.Equal(t, files, filesAfter)
	assert.Less(t, spaceAfter, space+reserved, "bytes of address space, of which Go takes some as well")
}

// held counts the descriptors of the process and its address space.
func held(t *testing.T) (files int, space int64) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	statm, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	_, err = fmt.Sscan(string(statm), &space)
	require.NoError(t, err)
	return len(fds), space * int64(os.Getpagesize())
}
