package pristine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
)

func TestACapIsWholePagesOfAGuestAndHasRoomForTheImage(t *testing.T) {
	t.Parallel()
	im := newImage(t, 128<<10, nil)
	for _, capBytes := range []int64{-1 << 40, -1, 0, 64 << 10, 128<<10 - 1, 128<<10 + pristine.PageBytes} {
		_, err := im.Reserve(capBytes)
		assert.ErrorIs(t, err, pristine.ErrLength, capBytes)
	}
	_, err := im.Reserve(1 << 62)
	assert.Error(t, err, "no system has it")
}

func TestMemoryStartsAsTheImageAndGrowsWithZeroes(t *testing.T) {
	t.Parallel()
	im := newImage(t, 1<<20, nil)
	m := reserve(t, im, 8<<20)
	assert.EqualValues(t, 8<<20, m.CapBytes())
	mem := m.Resize(1 << 20)
	require.NoError(t, im.Check(mem))
	scribble(mem, 1<<20-100, 1<<20)
	want := append([]byte(nil), mem...)
	for _, size := range []int64{1<<20 + 64<<10, 1<<20 + 128<<10, 5 << 20, 5 << 20, 8 << 20} {
		mem = m.Resize(size)
		require.EqualValues(t, size, len(mem))
		require.EqualValues(t, size, cap(mem), "what lies beyond cannot be reached by mistake")
		want = append(want, make([]byte, int(size)-len(want))...)
		require.Equal(t, want, mem)
		scribble(mem, len(mem)-8192, len(mem))
		scribble(want, len(mem)-8192, len(mem))
	}
	assert.Nil(t, m.Resize(8<<20+1))
	assert.Nil(t, m.Resize(-1))
	assert.Equal(t, want[:1<<20], m.Resize(1<<20), "less than before")
}

func TestMemoriesOfOneImageAreApart(t *testing.T) {
	t.Parallel()
	im := newImage(t, 1<<20, nil)
	a, b := reserve(t, im, 1<<20), reserve(t, im, 1<<20)
	scribble(a.Resize(1<<20), 0, 1<<20)
	assert.NoError(t, im.Check(b.Resize(1<<20)))
	assert.NoError(t, im.Check(im.Content()), "the image itself")
}

func TestFreedMemoryIsGone(t *testing.T) {
	t.Parallel()
	im := newImage(t, 64<<10, nil)
	m := reserve(t, im, 128<<10)
	m.Free()
	m.Free()
	assert.Nil(t, m.Resize(64<<10))
	assert.EqualValues(t, 128<<10, m.CapBytes())
}

func TestAThousandMemoriesExistAtOnce(t *testing.T) {
	t.Parallel()
	im := newImage(t, 1<<20, []pristine.Span{{256 << 10, 1 << 20}})
	all := make([]*pristine.Memory, 1000)
	for i := range all {
		all[i] = reserve(t, im, 256<<20)
		mem := all[i].Resize(1<<20 + 64<<10)
		require.NotNil(t, mem)
		mem[i*1000%len(mem)], mem[1<<20] = byte(i), byte(i)
	}
	for i, m := range all {
		mem := m.Resize(1<<20 + 64<<10)
		require.Equal(t, byte(i), mem[1<<20])
		require.NoError(t, im.Restore(mem[:1<<20], m.Way()))
		if i%50 == 0 {
			require.NoError(t, im.Check(mem[:1<<20]))
		}
	}
}
