package pristine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
)

func TestAnImageIsWholePagesOfAGuest(t *testing.T) {
	t.Parallel()
	for _, length := range []int{0, 1, pristine.PageBytes, 64<<10 - 1, 64<<10 + pristine.PageBytes} {
		_, err := pristine.New(make([]byte, length), nil)
		assert.ErrorIs(t, err, pristine.ErrLength, length)
	}
}

func TestASpanIsWholePagesOfTheImage(t *testing.T) {
	t.Parallel()
	const end = 64 << 10
	for _, s := range []pristine.Span{
		{-pristine.PageBytes, 0}, {1, pristine.PageBytes}, {0, 1}, {0, end + pristine.PageBytes},
		{2 * pristine.PageBytes, pristine.PageBytes}, {end, end + pristine.PageBytes},
	} {
		_, err := pristine.New(make([]byte, end), []pristine.Span{{0, pristine.PageBytes}, s})
		assert.ErrorIs(t, err, pristine.ErrSpan, s)
	}
}

func TestColdSpansMayOverlapAndComeInAnyOrder(t *testing.T) {
	t.Parallel()
	const page = pristine.PageBytes
	for name, cold := range map[string][]pristine.Span{
		"none":        nil,
		"empty":       {{0, 0}, {page, page}, {16 * page, 16 * page}},
		"all":         {{0, 16 * page}},
		"touching":    {{0, page}, {page, 2 * page}},
		"the same":    {{page, 3 * page}, {page, 3 * page}},
		"inside":      {{page, 9 * page}, {3 * page, 4 * page}, {8 * page, 10 * page}},
		"unordered":   {{9 * page, 16 * page}, {0, page}, {4 * page, 5 * page}},
		"first":       {{0, page}},
		"last":        {{15 * page, 16 * page}},
		"every other": {{page, 2 * page}, {3 * page, 4 * page}, {5 * page, 6 * page}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			im := newImage(t, 16*page, cold)
			for _, f := range fixtures(t, im) {
				scribble(f.mem, 0, len(f.mem))
				require.NoError(t, im.Restore(f.mem, f.way))
				require.NoError(t, im.Check(f.mem), f.name)
			}
		})
	}
}

func TestCheckNamesTheFirstPageThatDiffers(t *testing.T) {
	t.Parallel()
	im := newImage(t, 64<<10, nil)
	mem := append([]byte(nil), im.Content()...)
	require.NoError(t, im.Check(mem))
	mem[5*pristine.PageBytes-1]++
	mem[9*pristine.PageBytes]++
	err := im.Check(mem)
	require.ErrorIs(t, err, pristine.ErrDiffers)
	assert.EqualError(t, err, "pristine: memory differs from its image: page 4 of 16")
	assert.ErrorIs(t, im.Check(mem[:60<<10]), pristine.ErrLength)
}

func TestAClosedImageStillRestoresWhatIsInUse(t *testing.T) {
	t.Parallel()
	im := newImage(t, 1<<20, []pristine.Span{{512 << 10, 768 << 10}})
	all := fixtures(t, im)
	require.NoError(t, im.Close())
	require.NoError(t, im.Close(), "again")
	for _, f := range all {
		scribble(f.mem, 0, len(f.mem))
		require.NoError(t, im.Restore(f.mem, f.way), f.name)
		require.NoError(t, im.Check(f.mem), f.name)
	}
	_, err := im.Reserve(1 << 20)
	assert.ErrorIs(t, err, pristine.ErrClosed)
}
