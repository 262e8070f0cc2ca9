package pristine

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// hugePageBytes is a huge page of this architecture and most others.
const hugePageBytes = 2 << 20

// TestPagesThatBecomeOneHugePageAreNoticed does what the kernel does by itself in
// memory of no file where huge pages are always allowed: many pages become one,
// those that were written to and those that were not, and writing is no fault.
func TestPagesThatBecomeOneHugePageAreNoticed(t *testing.T) {
	t.Parallel()
	const length = 8 << 20
	content := make([]byte, length)
	copy(content, "image")
	for name, spans := range map[string][]Span{"hot": nil, "cold": {{1 << 20, length}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			im, err := New(content, spans)
			require.NoError(t, err)
			defer im.Close()
			short, err := New(content[:64<<10], nil)
			require.NoError(t, err)
			defer short.Close()
			for from, file := range map[string]*Image{"file and zeroes of no file": short, "file": im} {
				m, err := file.Reserve(length)
				require.NoError(t, err)
				defer m.Free()
				mem := m.Resize(length)
				f := followOf(im, mem, im.WayOf(mem))
				if m.Way() == Remap && im.countsFaults {
					assert.Equal(t, file == im, f.counted, "%s: whether faults say all", from)
				}
				aligned := int(-address(mem) % hugePageBytes)
				first := (aligned + hugePageBytes) / PageBytes // the second one, wholly without a file
				for range 2 {
					f.eval(page(1, first))
					f.restored(t)
				}
				at := first * PageBytes
				if err := unix.Madvise(mem[at:at+hugePageBytes], unix.MADV_COLLAPSE); err != nil {
					t.Logf("%s: this system makes no huge page of it: %v", from, err)
				}
				for i := range 20 { // each may be spoilt by a fault of another cause
					f.eval(page(first + i*20 + 1))
					f.restored(t)
				}
			}
		})
	}
}
