package pristine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzGuest takes two bytes for each step: what happens, and where.
func FuzzGuest(f *testing.F) {
	g := followedMemory(f)
	pages := guestBytes / PageBytes
	f.Add([]byte{0, 1, 1, 2, 2, 3, 3, 0, 4, 9, 5, 0})
	f.Add([]byte{0, 0, 1, 7, 3, 0, 9, 0, 0, 0, 1, 7, 3, 0, 9, 0, 0, 0, 1, 200, 3, 0, 9, 0})
	f.Add([]byte{0, 0, 7, 130, 2, 0, 8, 140, 3, 0, 9, 0, 6, 1, 9, 0, 6, 150, 9, 0, 10, 3, 9, 0})
	f.Fuzz(func(t *testing.T, steps []byte) {
		begun, lost := false, false
		for i := 0; i+1 < len(steps); i += 2 {
			at := int(steps[i+1]) * pages / 256
			switch steps[i] % 12 {
			case 0:
				if !begun {
					g.Begin()
					begun, lost = true, false
				}
			case 1, 11: // the guest writes, which only a running one does
				if begun {
					page(at)(g.mem)
				}
			case 2:
				if begun {
					g.Lost()
					lost = true
				}
			case 3:
				g.End() // also where nothing began
				begun = false
			case 4:
				g.Writes(Span{int64(at) * PageBytes, int64(at)*PageBytes + 9})
				g.mem[at*PageBytes+8]++
			case 5:
				g.Writes(Span{int64(at) * PageBytes, int64(at+3) * PageBytes})
				everyPage(at*PageBytes, min(at+3, pages)*PageBytes)(g.mem)
			case 6:
				if !begun { // a delta is for pristine memory
					g.restored(t)
					g.applies(page(at, pages-1-at))
				}
			case 7:
				if begun {
					everyPage(at*PageBytes, min(at+40, pages)*PageBytes)(g.mem)
				}
			case 8:
				if begun && lost {
					onAThreadOfItsOwn(func() { page(at)(g.mem) })
				}
			case 9:
				if !begun {
					g.restored(t)
				}
			case 10: // the same over and over, until pages are retired
				for range at % 8 * trialEvery {
					if !begun {
						g.eval(page(at))
						require.NoError(t, g.Restore())
					}
				}
			}
		}
		g.End()
		g.restored(t)
	})
}
