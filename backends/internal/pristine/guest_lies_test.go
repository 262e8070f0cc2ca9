package pristine

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAKernelThatCountsWronglyIsNotBelieved(t *testing.T) {
	t.Parallel()
	honest := follow(t).im
	turn := int64(0)
	for name, count := range map[string]func() int64{
		"never":               func() int64 { return 0 },
		"something else":      func() int64 { turn++; return turn },
		"backwards":           func() int64 { return -honest.threadFaults() },
		"all at once, at 100": func() int64 { return honest.threadFaults() / 100 },
	} {
		im, err := New(make([]byte, guestBytes), nil)
		require.NoError(t, err)
		defer im.Close()
		require.True(t, im.faultsAreCounted())
		im.threadFaults = count
		assert.False(t, im.faultsAreCounted(), name)

		// Where it is not believed every restore looks, whatever it then says.
		im.countsFaults, im.threadFaults = false, func() int64 { return 0 }
		m, err := im.Reserve(guestBytes)
		require.NoError(t, err)
		defer m.Free()
		f := followOf(im, m.Resize(guestBytes), m.Way())
		for range 3 {
			f.eval(page(1, 2, 1000))
			assert.True(t, f.restored(t), name)
		}
	}
}

// TestALyingCountLeavesWhatCheckFinds: if a kernel that counted in the trial
// stopped counting, Check would say so. That is what Check is for.
func TestALyingCountLeavesWhatCheckFinds(t *testing.T) {
	t.Parallel()
	f := follow(t)
	f.eval(page(1))
	f.restored(t)
	f.im.threadFaults = func() int64 { return 7 }
	f.eval(page(1, 400))
	require.NoError(t, f.Restore())
	require.ErrorIs(t, f.im.Check(f.mem), ErrDiffers)
}

func TestAGuestOfAnyMemoryIsRestored(t *testing.T) {
	t.Parallel()
	f := followedMemory(t)
	for name, mem := range map[string][]byte{
		"heap, in the middle of a page": append(make([]byte, 8, 8+guestBytes), f.im.content...)[8:],
		"heap":                          append([]byte(nil), f.im.content...),
	} {
		g := followOf(f.im, mem, f.im.WayOf(mem))
		assert.False(t, g.counted, name)
		for range 3 {
			g.eval(everyPage(0, guestBytes))
			g.restored(t)
			g.eval(page(guestCold/PageBytes, 1))
			g.Lost()
			g.restored(t)
		}
	}
	// Memory that is not pristine when it comes is never relied on.
	for _, at := range []int{0, guestBytes - 1} {
		f.mem[at]++
		assert.False(t, f.im.Guest(f.mem, f.way).counted)
		require.NoError(t, f.im.Restore(f.mem, f.way))
	}
	// Nor is one of another length, which is refused as Image.Restore does.
	other := f.im.Guest(f.mem[:1<<20], f.way)
	assert.False(t, other.counted)
	assert.ErrorIs(t, other.Restore(), ErrLength)
}

func TestAPagemapThatBreaksLaterMeansComparing(t *testing.T) {
	t.Parallel()
	f := follow(t)
	honest := f.pagemap.ReaderAt
	f.eval(page(1, guestCold/PageBytes))
	f.restored(t)
	f.pagemap.ReaderAt = broken{16}
	for range 3 {
		f.eval(page(2, 700, guestCold/PageBytes))
		f.restored(t)
		assert.False(t, f.exact)
	}
	f.pagemap.ReaderAt = honest
	f.eval(page(2, 701))
	f.restored(t)
	assert.True(t, f.exact)
}

func TestAClosedImageRestoresItsGuests(t *testing.T) {
	t.Parallel()
	f := followedMemory(t)
	f.eval(page(1))
	f.restored(t)
	require.NoError(t, f.im.Close())
	for n := range 3 {
		f.eval(page(1, 300+n, guestCold/PageBytes+n))
		require.NoError(t, f.Restore())
		require.NoError(t, f.im.Check(f.mem))
	}
}
