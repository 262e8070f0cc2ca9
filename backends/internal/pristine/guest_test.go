package pristine

import (
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The memory of these tests: hot, cold, hot.
const (
	guestBytes = 4 << 20
	guestCold  = 2 << 20 // where the cold span starts
	guestHot   = 3 << 20 // and where it ends
)

// counting is a pagemap that counts how often somebody looked.
type counting struct {
	io.ReaderAt

	looks int
}

func (c *counting) ReadAt(p []byte, at int64) (int, error) {
	c.looks++
	return c.ReaderAt.ReadAt(p, at)
}

// followed is a guest whose looks are counted.
type followed struct {
	*Guest

	mem     []byte
	pagemap *counting
	perLook int // reads of pagemap in one look: one for each hot span
}

// follow gives a guest of an image of its own, restored once. A system that does
// not count faults has nothing to spare, and such tests are skipped there.
func follow(t testing.TB) *followed {
	t.Helper()
	f := followedMemory(t)
	if !f.counted {
		t.Skip("this system does not count the faults of a thread, so every restore looks")
	}
	require.NoError(t, f.Restore())
	require.True(t, f.exact)
	return f
}

// followedMemory is the same where the system may be any, and not restored yet.
func followedMemory(t testing.TB) *followed {
	t.Helper()
	content := make([]byte, guestBytes)
	for i := range content {
		content[i] = byte(i>>12) + byte(i)
	}
	im, err := New(content, []Span{{guestCold, guestHot}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, im.Close()) })
	m, err := im.Reserve(guestBytes + 1<<20)
	require.NoError(t, err)
	t.Cleanup(m.Free)
	return followOf(im, m.Resize(guestBytes), m.Way())
}

func followOf(im *Image, mem []byte, way Way) *followed {
	f := &followed{Guest: im.Guest(mem, way), mem: mem, perLook: len(im.hot)}
	if im.pagemap != nil {
		f.pagemap = &counting{ReaderAt: im.pagemap}
		im.pagemap = f.pagemap
	}
	return f
}

// close keeps what counting hides: the image closes its pagemap.
func (c *counting) Close() error { return c.ReaderAt.(io.Closer).Close() }

// restored restores, demands that the memory is pristine, and says whether
// anybody looked.
func (f *followed) restored(t testing.TB) (looked bool) {
	t.Helper()
	before := 0
	if f.pagemap != nil {
		before = f.pagemap.looks
	}
	require.NoError(t, f.Restore())
	looked = f.pagemap != nil && f.pagemap.looks > before
	require.NoError(t, f.im.Check(f.mem))
	return looked
}

// eval writes as an eval does that nothing moves to another thread.
func (f *followed) eval(write func(mem []byte)) {
	f.Begin()
	write(f.mem)
	f.End()
}

// page changes the first byte of pages.
func page(pages ...int) func(mem []byte) {
	return func(mem []byte) {
		for _, p := range pages {
			mem[p*PageBytes] ^= 0x5a
		}
	}
}

// everyPage changes a byte of each page between two addresses.
func everyPage(start, end int) func(mem []byte) {
	return func(mem []byte) {
		for at := start; at < end; at += PageBytes {
			mem[at+at/PageBytes%PageBytes]++
		}
	}
}

// TestAGuestIsPristineWhateverWroteToIt goes through each pattern several times,
// so that every one also meets the pages that it left before.
func TestAGuestIsPristineWhateverWroteToIt(t *testing.T) {
	t.Parallel()
	const cold = guestCold / PageBytes
	for name, c := range map[string]struct {
		use  func(f *followed)
		look bool // each time, since each time something is new
	}{
		"nothing written":       {func(f *followed) { f.eval(func([]byte) {}) }, false},
		"the same pages again":  {func(f *followed) { f.eval(page(1, 2, 3, 77)) }, false},
		"no eval at all":        {func(*followed) {}, false},
		"twice between":         {func(f *followed) { f.eval(page(5)); f.eval(page(5, 6)) }, false},
		"begun twice":           {func(f *followed) { f.Begin(); f.Begin(); page(5)(f.mem); f.End() }, false},
		"a page of each span":   {func(f *followed) { f.eval(page(0, cold, 1023)) }, true},
		"the first cold byte":   {func(f *followed) { f.eval(func(mem []byte) { mem[guestCold]++ }) }, true},
		"the last cold byte":    {func(f *followed) { f.eval(func(mem []byte) { mem[guestHot-1]++ }) }, true},
		"a cold page was read":  {func(f *followed) { f.eval(func(mem []byte) { mem[5000] += mem[guestCold+5000] | 1 }) }, false}, // Check has, too
		"across a span's start": {func(f *followed) { f.eval(func(mem []byte) { mem[guestCold-1]++; mem[guestCold]++ }) }, true},
		"more than is kept":     {func(f *followed) { f.eval(everyPage(0, maxOwnBytes+PageBytes)) }, true},
		"all of it":             {func(f *followed) { f.eval(everyPage(0, guestBytes)) }, true},
		"after lost, the same":  {func(f *followed) { f.Begin(); f.Lost(); page(9)(f.mem); f.End() }, true},
		"lost twice":            {func(f *followed) { f.Begin(); f.Lost(); f.Lost(); page(9)(f.mem); f.End() }, true},
		"lost, then begun again": {func(f *followed) {
			f.Begin()
			f.Lost()
			onAThreadOfItsOwn(func() { page(9, 200)(f.mem) })
			f.Begin()
			page(10)(f.mem)
			f.End()
		}, true},
		"written by another thread": {func(f *followed) {
			f.Begin()
			f.Lost()
			onAThreadOfItsOwn(func() { everyPage(guestHot, guestBytes)(f.mem); page(cold)(f.mem) })
			f.End()
		}, true},
		"an end without a beginning": {func(f *followed) { page(11)(f.mem); f.End() }, true},
		"the host, where it may":     {func(f *followed) { f.Writes(Span{12 * PageBytes, 12*PageBytes + 8}); f.mem[12*PageBytes+3]++ }, false},
		"the host, in a cold page": {func(f *followed) {
			f.Writes(Span{guestCold + 100, guestCold + 108})
			f.mem[guestCold+104]++
		}, true},
		"the host, across pages": {func(f *followed) {
			f.Writes(Span{guestCold - 4, guestCold + 4})
			f.mem[guestCold-1]++
			f.mem[guestCold]++
		}, true},
		"the host, nothing":              {func(f *followed) { f.Writes(Span{guestCold, guestCold}) }, false},
		"the host, beyond the end":       {func(f *followed) { f.Writes(Span{guestBytes - 8, guestBytes + 8}); f.mem[guestBytes-1]++ }, true},
		"the host, all beyond":           {func(f *followed) { f.Writes(Span{guestBytes + 1<<20, guestBytes + 2<<20}) }, true},
		"the host in between, unasked":   {func(f *followed) { f.eval(func([]byte) {}); f.Writes(Span{0, guestBytes}); page(cold, 500)(f.mem) }, true},
		"a delta of pages that are kept": {func(f *followed) { f.applies(page(20, 21)) }, false},
		"a delta of a cold page":         {func(f *followed) { f.applies(page(20, cold+7)) }, true},
		"a delta of everything":          {func(f *followed) { f.applies(everyPage(0, guestBytes)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := follow(t)
			c.use(f)
			f.restored(t)
			const rounds = 40
			looks := 0
			for range rounds {
				c.use(f)
				if f.restored(t) {
					looks++
				}
			}
			if c.look {
				assert.Equal(t, rounds, looks, "each time there was something to look for")
			} else {
				// Faults of other causes are counted as well, so that a look proves nothing.
				assert.Less(t, looks, rounds/2, "looked where nothing can have changed")
			}
		})
	}
}

// applies makes a delta elsewhere and applies it, as for a prepared script.
func (f *followed) applies(write func(mem []byte)) {
	prepared := append([]byte(nil), f.im.content...)
	write(prepared)
	d := f.im.Diff(prepared)
	f.Applies(d)
	if err := d.Apply(f.mem); err != nil {
		panic(err) // of the test: the lengths are the same
	}
}

// onAThreadOfItsOwn runs f where the caller's faults are not counted.
func onAThreadOfItsOwn(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread ends with the goroutine
		f()
	}()
	<-done
}

// TestAnotherThreadThatIsNotAnnouncedIsNoticedByCheck shows that the looks are needed: a
// guest that is told nothing of another thread's write does not see it. It is the
// contract of Lost, and that the tests above would notice if it were not kept.
func TestAnotherThreadThatIsNotAnnouncedIsNoticedByCheck(t *testing.T) {
	t.Parallel()
	f := follow(t)
	for n := range 100 { // until no fault of another cause makes it look
		f.Begin()
		onAThreadOfItsOwn(func() { page(300 + n)(f.mem) })
		f.End()
		exact := f.exact
		require.NoError(t, f.Restore())
		if exact {
			require.ErrorIs(t, f.im.Check(f.mem), ErrDiffers)
			return
		}
		require.NoError(t, f.im.Check(f.mem))
	}
	t.Fatal("every one of a hundred evals that wrote nothing had a fault")
}

func TestARetiredPageIsNoticedWhenItIsWrittenAgain(t *testing.T) {
	t.Parallel()
	f := follow(t)
	const often, once = 40, 41
	f.eval(page(often, once))
	f.restored(t)
	require.True(t, f.own.has(often) && f.own.has(once))
	for n := 0; f.own.has(once); n++ {
		require.Less(t, n, 4*trialEvery*maxIdle, "a page that nobody writes to stays")
		f.eval(page(often))
		f.restored(t)
	}
	assert.True(t, f.own.has(often), "one that is needed stays")
	for range 3 {
		f.eval(page(often, once))
		assert.True(t, f.restored(t) || f.own.has(once), "writing to it again is a fault")
	}
	assert.True(t, f.own.has(once), "and makes it the memory's own again")
	// What the host announces of a retired page is noticed as well.
	for n := 0; f.own.has(once); n++ {
		require.Less(t, n, 4*trialEvery*maxIdle)
		f.eval(page(often))
		f.restored(t)
	}
	f.Writes(Span{once * PageBytes, once*PageBytes + 1})
	page(once)(f.mem)
	assert.True(t, f.restored(t))
}

func TestAPageThatIsNeededNowAndThenIsNotRetired(t *testing.T) {
	t.Parallel()
	f := follow(t)
	for n := range trialEvery * maxIdle * 3 {
		if f.restores%trialEvery == trialEvery-1 && n/trialEvery%2 == 0 {
			f.eval(page(60, 61)) // in every other trial
		} else {
			f.eval(page(60))
		}
		require.NoError(t, f.Restore())
	}
	require.NoError(t, f.im.Check(f.mem))
	f.eval(page(61))
	f.restored(t)
	assert.True(t, f.own.has(60) && f.own.has(61))
}
