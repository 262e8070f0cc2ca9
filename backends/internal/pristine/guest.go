package pristine

import (
	"runtime"
	"time"
)

// Guest is a memory that is restored again and again, and what is known of it
// from one time to the next. It is for one goroutine at a time.
//
// Looking which pages were written to is most of what restoring costs, and is
// spared where nothing can have changed: the first write to a page that is not the
// memory's own is a page fault, and the kernel counts the faults of each thread.
// So who writes to the memory does it between [Guest.Begin] and [Guest.End], and
// if no fault was counted there, the pages to copy are those of last time.
type Guest struct {
	im  *Image
	mem []byte
	way Way

	own     pageSet // of the hot spans, as of the last look
	counted bool    // a page becomes mem's own by a fault that is counted, and not otherwise
	exact   bool    // no other page can have become its own since

	watching bool
	faults   int64 // of this thread, at Begin

	restores int
	idle     []uint8 // by page: in how many trials in a row it was not needed
}

// Guest begins to follow mem, which is pristine and has the way that WayOf or
// [Memory.Way] gave.
func (im *Image) Guest(mem []byte, way Way) *Guest {
	pages := len(im.content) / PageBytes
	return &Guest{
		im: im, mem: mem, way: way, own: newPageSet(pages), idle: make([]uint8, pages),
		counted: way == Remap && im.countsFaults && im.ofFile(mem),
	}
}

// ofFile reports whether mem, which is pristine, has a file behind all of it. Where
// it has none the kernel may make one huge page of many, those that are mem's own
// and those that are not, whenever it likes: then writing to them is no fault.
// There are at most three pieces, of which the middle one is the file's.
func (im *Image) ofFile(mem []byte) bool {
	entry := make(pageEntries, entryBytes)
	for _, at := range []int{0, len(mem) - PageBytes} {
		// Comparing reads it, and so brings it there.
		if len(mem) != len(im.content) || !samePage(mem, im.content, at) ||
			im.readEntries(entry, mem[at:at+PageBytes]) != nil || !isThere(entry.at(0)) || isOwn(entry.at(0)) {
			return false
		}
	}
	return true
}

// Begin says that this goroutine is about to write to the memory. It binds the
// goroutine to its thread until End or Lost.
func (g *Guest) Begin() {
	if !g.exact || g.watching {
		return
	}
	runtime.LockOSThread()
	g.watching, g.faults = true, g.im.threadFaults()
}

// Lost says that the memory may be written to by another thread from here to End,
// and lets go of the thread.
func (g *Guest) Lost() {
	g.exact = false
	if g.watching {
		g.watching = false
		runtime.UnlockOSThread()
	}
}

// End says that the writing is over.
func (g *Guest) End() {
	if !g.watching {
		g.exact = false // or was never
		return
	}
	if g.im.threadFaults() != g.faults {
		g.exact = false
	}
	g.watching = false
	runtime.UnlockOSThread()
}

// Writes says that the host itself writes to a part of the memory, at any time.
func (g *Guest) Writes(s Span) {
	for page := s.Start / PageBytes; g.exact && page*PageBytes < s.End; page++ {
		g.exact = page*PageBytes < int64(len(g.mem)) && g.own.has(int(page))
	}
}

// Applies is Writes for what a delta changes.
func (g *Guest) Applies(d *Delta) {
	for _, r := range d.runs {
		g.Writes(Span{int64(r.start), int64(r.end)})
	}
}

// Restore is [Image.Restore].
func (g *Guest) Restore() error {
	if g.way != Remap {
		return g.im.Restore(g.mem, g.way)
	}
	g.restores++
	if g.exact && !g.im.closed.Load() && g.im.canaryLives() {
		if g.restores%trialEvery == 0 {
			g.retire()
		}
		g.own.runs(func(first, end int) {
			copy(g.mem[first*PageBytes:end*PageBytes], g.im.content[first*PageBytes:])
		})
		return nil
	}
	if err := g.im.checkLength(g.mem); err != nil {
		return err
	}
	g.own.clear()
	if g.im.remap(g.mem, &g.own) != nil {
		return g.im.Restore(g.mem, Copy)
	}
	g.exact = g.counted
	return nil
}

// canaryEvery is how often the canary is looked at, which takes longer than all
// else that is asked of the kernel.
const canaryEvery = time.Millisecond

// canaryLives reports whether the canary was alive a moment ago. Once dead it
// stays so.
func (im *Image) canaryLives() bool {
	now := int64(time.Since(im.made))
	if last := im.lookedAt.Load(); now-last >= int64(canaryEvery) {
		if im.canary.dead() {
			return false
		}
		im.lookedAt.Store(now)
	}
	return true
}

// A page that one script needed would be copied for all later ones. So from time
// to time a restore is a trial of which pages its eval changed, and those that
// were not needed in several trials are given back.
const (
	trialEvery = 64
	maxIdle    = 4
)

// retire is a trial, before the pages are copied.
func (g *Guest) retire() {
	g.own.runs(func(first, end int) {
		for page := first; page < end; page++ {
			at := page * PageBytes
			if !samePage(g.mem, g.im.content, at) {
				g.idle[page] = 0
			} else if g.idle[page]++; g.idle[page] >= maxIdle {
				g.idle[page] = 0
				if giveBack(g.mem[at:at+PageBytes]) == nil {
					g.own.remove(page)
				}
			}
		}
	})
}
