package pristine

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzPageSet compares with a map. It takes two bytes for each step.
func FuzzPageSet(f *testing.F) {
	const pages = 300 // not a whole number of words
	f.Add([]byte{0, 0, 1, 0, 63, 0, 64, 0, 0x2b, 1})
	f.Add([]byte{0xff, 0xff, 1, 0x40, 1, 0x80})
	f.Fuzz(func(t *testing.T, steps []byte) {
		set, model := newPageSet(pages), map[int]bool{}
		for i := 0; i+1 < len(steps); i += 2 {
			step := binary.LittleEndian.Uint16(steps[i:])
			page := int(step & 0x3ff % pages)
			switch step >> 13 {
			case 0, 1, 2, 3:
				set.add(page)
				model[page] = true
			case 4, 5:
				set.remove(page)
				delete(model, page)
			case 6: // what the kernel says, of which a part is own
				entries := make(pageEntries, 70*entryBytes)
				first := min(page, pages-70)
				for j := range 70 {
					entry := uint64(filePage | presentPage)
					if (int(step)+j)%3 == 0 {
						entry = presentPage
						model[first+j] = true
					}
					binary.NativeEndian.PutUint64(entries[j*entryBytes:], entry)
				}
				set.addOwn(first, entries)
			case 7:
				if step&0x3ff == 0 {
					set.clear()
					clear(model)
				}
			}
		}
		for page := range pages {
			require.Equal(t, model[page], set.has(page), page)
		}
		// Runs are whole: no two touch, and every page is in one.
		last := -1
		seen := map[int]bool{}
		set.runs(func(first, end int) {
			require.Greater(t, first, last, "a stretch ends where the next begins, or before")
			require.Less(t, first, end)
			last = end
			for page := first; page < end; page++ {
				seen[page] = true
			}
		})
		require.Equal(t, model, seen)
	})
}

func TestRunsOfAPageSetMayShrinkWhileTheyAreVisited(t *testing.T) {
	t.Parallel()
	for _, pages := range [][]int{{}, {0}, {63}, {64}, {255}, {0, 1, 2}, {62, 63, 64, 65}, {5, 7, 9, 200, 201, 255}} {
		set := newPageSet(256)
		for _, p := range pages {
			set.add(p)
		}
		var visited []int
		set.runs(func(first, end int) {
			for p := first; p < end; p++ {
				visited = append(visited, p)
				set.remove(p)
			}
		})
		assert.Equal(t, pages, append([]int{}, visited...))
		assert.False(t, slices.ContainsFunc(visited, set.has))
	}
}

func TestAPageSetThatIsFullHasOneRun(t *testing.T) {
	t.Parallel()
	set := newPageSet(1024)
	for p := range 1024 {
		set.add(p)
	}
	n := 0
	set.runs(func(first, end int) {
		n++
		assert.Equal(t, []int{0, 1024}, []int{first, end})
	})
	assert.Equal(t, 1, n)
}
