package pristine

import (
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// liar is a pagemap that says of some pages what is not so.
type liar struct {
	honest io.ReaderAt
	lie    func(entry uint64) uint64
}

func (l liar) ReadAt(p []byte, at int64) (int, error) {
	n, err := l.honest.ReadAt(p, at)
	for i := 0; i+entryBytes <= n; i += entryBytes {
		binary.NativeEndian.PutUint64(p[i:], l.lie(binary.NativeEndian.Uint64(p[i:])))
	}
	return n, err
}

// broken is a pagemap that cannot be read, wholly or in part.
type broken struct{ n int }

func (b broken) ReadAt(p []byte, _ int64) (int, error) {
	return min(b.n, len(p)), errors.New("broken")
}

// remapped gives an image and a memory of it that is restored by Remap.
func remapped(t *testing.T) (*Image, []byte) {
	t.Helper()
	content := make([]byte, 1<<20)
	for i := range content {
		content[i] = byte(i >> 12)
	}
	im, err := New(content, []Span{{512 << 10, 768 << 10}})
	require.NoError(t, err)
	m, err := im.Reserve(1 << 20)
	require.NoError(t, err)
	if m.Way() != Remap {
		t.Skip("this system does not say which pages were written to, so memory is compared")
	}
	t.Cleanup(m.Free)
	return im, m.Resize(1 << 20)
}

func TestCheckFindsWhatAnUntruePagemapLeaves(t *testing.T) {
	t.Parallel()
	for name, lie := range map[string]func(uint64) uint64{
		"the file's":   func(e uint64) uint64 { return e | filePage },
		"nowhere":      func(e uint64) uint64 { return e &^ (presentPage | swappedPage) },
		"nothing here": func(uint64) uint64 { return 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			im, mem := remapped(t)
			honest := im.pagemap
			im.pagemap = liar{honest, lie}
			mem[1000]++
			require.NoError(t, im.Restore(mem, Remap))
			require.ErrorIs(t, im.Check(mem), ErrDiffers)
			assert.Equal(t, Copy, im.WayOf(mem), "the trial finds it as well")
			require.NoError(t, im.Check(mem), "and leaves it pristine")
			im.pagemap = honest
			assert.Equal(t, Remap, im.WayOf(mem))
		})
	}
}

func TestAPagemapThatCannotBeReadMeansComparing(t *testing.T) {
	t.Parallel()
	for _, p := range []io.ReaderAt{broken{}, broken{16}, broken{1 << 20}, nil} {
		im, mem := remapped(t)
		im.pagemap = p
		for at := 0; at < len(mem); at += 3000 {
			mem[at]++
		}
		require.NoError(t, im.Restore(mem, Remap))
		require.NoError(t, im.Check(mem))
		assert.Equal(t, Copy, im.WayOf(mem))
		require.NoError(t, im.Check(mem))
	}
}

func TestWithoutPagemapOrFileMemoryIsStillTheImage(t *testing.T) {
	t.Parallel()
	im, _ := remapped(t)
	require.NoError(t, im.closeFiles())
	im.file, im.pagemap = nil, nil
	m, err := im.Reserve(4 << 20)
	require.NoError(t, err)
	defer m.Free()
	assert.Equal(t, Copy, m.Way())
	mem := m.Resize(2 << 20)
	require.NoError(t, im.Check(mem[:1<<20]))
	require.Equal(t, make([]byte, 1<<20), mem[1<<20:])
	mem[5], mem[1<<20] = 1, 1
	d := im.Diff(mem)
	require.NoError(t, im.Restore(mem[:1<<20], Remap), "though it is no mapping of a file")
	require.NoError(t, im.Check(mem[:1<<20]))
	require.NoError(t, d.Apply(mem))
	assert.Equal(t, []byte{1, 1}, []byte{mem[5], mem[1<<20]})
}

func TestAPageOnItsWayToSwapCountsAsWrittenTo(t *testing.T) {
	t.Parallel()
	for entry, own := range map[uint64]bool{
		0:                           false,
		1<<55 | 1<<56:               false, // bits that say nothing of it
		presentPage:                 true,
		presentPage | 12345:         true,
		swappedPage:                 true,
		swappedPage | presentPage:   true,
		presentPage | filePage:      false,
		swappedPage | filePage:      false, // the file's, being moved
		filePage:                    false,
		presentPage | 1<<56 | 1<<57: true,
	} {
		assert.Equal(t, own, isOwn(entry), "%#x", entry)
	}
}
