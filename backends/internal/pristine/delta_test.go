package pristine_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
)

func TestADeltaMakesPristineMemoryWhatItWas(t *testing.T) {
	t.Parallel()
	const page = pristine.PageBytes
	im := newImage(t, 1<<20, []pristine.Span{{512 << 10, 768 << 10}})
	for name, c := range map[string]struct {
		size  int64
		write func(mem []byte)
		pages int64 // that the delta has
	}{
		"nothing":                    {1 << 20, func([]byte) {}, 0},
		"one byte":                   {1 << 20, func(mem []byte) { mem[77]++ }, 1},
		"first and last byte":        {1 << 20, func(mem []byte) { mem[0]++; mem[len(mem)-1]++ }, 2},
		"a page that became zero":    {1 << 20, func(mem []byte) { clear(mem[page : 2*page]) }, 1},
		"everything":                 {1 << 20, func(mem []byte) { scribble(mem, 0, len(mem)) }, 256},
		"grown, nothing there":       {9 << 20, func([]byte) {}, 0},
		"grown, zeroes written":      {9 << 20, func(mem []byte) { clear(mem[1<<20:]) }, 0},
		"grown, across the border":   {9 << 20, func(mem []byte) { scribble(mem, 1<<20-1, 1<<20+1) }, 2},
		"grown, the very last":       {9<<20 + 64<<10, func(mem []byte) { mem[len(mem)-1] = 1 }, 1},
		"grown, pages here or there": {9 << 20, func(mem []byte) { mem[3<<20] = 1; mem[3<<20+page] = 1; mem[7<<20] = 1 }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := reserve(t, im, 16<<20).Resize(c.size)
			c.write(from)
			want := slices.Clone(from)
			d := im.Diff(from)
			assert.Equal(t, want, from, "taking it changes nothing")
			assert.Equal(t, c.size, d.MemoryBytes())
			assert.GreaterOrEqual(t, d.Bytes(), c.pages*page)
			assert.Less(t, d.Bytes(), c.pages*page+page)

			scribble(from, 0, len(from)) // the delta has what it needs
			for _, to := range [][]byte{reserve(t, im, 16<<20).Resize(c.size), grownHeap(im, c.size)} {
				require.NoError(t, d.Apply(to))
				require.Equal(t, want, to)
				require.Equal(t, d, im.Diff(to), "the same again")
			}
		})
	}
}

func TestADeltaFitsOnlyMemoryOfItsLength(t *testing.T) {
	t.Parallel()
	im := newImage(t, 128<<10, nil)
	mem := slices.Clone(im.Content())
	mem[0]++
	d := im.Diff(mem)
	for _, size := range []int64{0, 64 << 10, 192 << 10} {
		to := grownHeap(im, size)
		assert.ErrorIs(t, d.Apply(to), pristine.ErrLength)
		assert.Equal(t, grownHeap(im, size), to)
	}
}

func TestRestoreUndoesADelta(t *testing.T) {
	t.Parallel()
	im := newImage(t, 1<<20, []pristine.Span{{512 << 10, 768 << 10}})
	for _, f := range fixtures(t, im) {
		for at := 0; at < len(f.mem); at += 50000 {
			f.mem[at]++
		}
		d := im.Diff(f.mem)
		require.NoError(t, im.Restore(f.mem, f.way))
		require.NoError(t, d.Apply(f.mem))
		require.ErrorIs(t, im.Check(f.mem), pristine.ErrDiffers, f.name)
		require.NoError(t, im.Restore(f.mem, f.way))
		require.NoError(t, im.Check(f.mem), f.name)
	}
}

// grownHeap is pristine memory of any length from Go's heap.
func grownHeap(im *pristine.Image, size int64) []byte {
	mem := make([]byte, size)
	copy(mem, im.Content())
	return mem
}
