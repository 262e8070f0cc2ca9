package pristine_test

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
)

const (
	imageBytes = 4 << 20
	coldStart  = 48 * (64 << 10) / 4
	coldEnd    = coldStart + 5<<19
)

func usualCold() []pristine.Span {
	return []pristine.Span{{coldStart, coldEnd}, {imageBytes - 64<<10, imageBytes}}
}

func TestRestoreUndoesAnyWrites(t *testing.T) {
	t.Parallel()
	patterns := []struct {
		name  string
		write func(mem []byte)
	}{
		{"nothing", func([]byte) {}},
		{"the first byte", func(mem []byte) { scribble(mem, 0, 1) }},
		{"the last byte", func(mem []byte) { scribble(mem, len(mem)-1, len(mem)) }},
		{"everything", func(mem []byte) { scribble(mem, 0, len(mem)) }},
		{"zeroes everywhere", func(mem []byte) { clear(mem) }},
		{"what was there already", func(mem []byte) { copy(mem, slices.Clone(mem)) }},
		{"a byte of every page", func(mem []byte) {
			for at := 0; at < len(mem); at += pristine.PageBytes {
				mem[at+at/pristine.PageBytes%pristine.PageBytes]++
			}
		}},
		{"every other page", func(mem []byte) {
			for at := 0; at < len(mem); at += 2 * pristine.PageBytes {
				mem[at]++
			}
		}},
		{"hot pages only", func(mem []byte) { scribble(mem, 0, coldStart) }},
		{"cold pages only", func(mem []byte) { scribble(mem, coldStart, coldEnd) }},
		{"both sides of the spans", func(mem []byte) {
			scribble(mem, coldStart-1, coldStart+1)
			scribble(mem, coldEnd-1, coldEnd+1)
		}},
		{"runs across pages", func(mem []byte) {
			for at := 4000; at+9000 < len(mem); at += 70001 {
				scribble(mem, at, at+9000)
			}
		}},
		{"at random", func(mem []byte) {
			random := rand.New(rand.NewPCG(3, 4))
			for range 200 {
				start := random.IntN(len(mem))
				scribble(mem, start, min(start+random.IntN(3*pristine.PageBytes), len(mem)))
			}
		}},
	}
	for name, cold := range map[string][]pristine.Span{
		"usual": usualCold(), "all hot": nil, "all cold": {{0, imageBytes}},
	} {
		im := newImage(t, imageBytes, cold)
		for _, f := range fixtures(t, im) {
			t.Run(name+", "+f.name+" by "+f.way.String(), func(t *testing.T) {
				t.Parallel()
				for round := range 2 { // the second finds the pages that the first left
					for _, p := range patterns {
						p.write(f.mem)
						require.NoError(t, im.Restore(f.mem, f.way), p.name)
						require.NoError(t, im.Check(f.mem), "%s, round %d", p.name, round)
					}
				}
			})
		}
	}
}

func TestMemoryOfAnotherLengthIsRefusedUntouched(t *testing.T) {
	t.Parallel()
	im := newImage(t, 128<<10, nil)
	for _, length := range []int{0, 1, 64 << 10, 192 << 10} {
		for _, way := range []pristine.Way{pristine.Copy, pristine.Remap} {
			mem := make([]byte, length)
			assert.ErrorIs(t, im.Restore(mem, way), pristine.ErrLength)
			assert.Equal(t, make([]byte, length), mem)
		}
		assert.Equal(t, pristine.Copy, im.WayOf(make([]byte, length)))
	}
}

func TestTheHeapIsCopiedAndStaysPristineWhenTried(t *testing.T) {
	t.Parallel()
	im := newImage(t, 1<<20, []pristine.Span{{512 << 10, 1 << 20}})
	for _, offset := range []int{0, 1, 8} { // the larger ones begin within a page
		mem := make([]byte, offset+1<<20)[offset:]
		copy(mem, im.Content())
		assert.Equal(t, pristine.Copy, im.WayOf(mem))
		assert.NoError(t, im.Check(mem))
	}
}

func TestManyMemoriesOfOneImageAreRestoredAtOnce(t *testing.T) {
	t.Parallel()
	im := newImage(t, 1<<20, []pristine.Span{{256 << 10, 768 << 10}})
	var done sync.WaitGroup
	for seed := range uint64(16) {
		done.Go(func() {
			random := rand.New(rand.NewPCG(seed, 5))
			for range 10 {
				m, err := im.Reserve(2 << 20)
				if !assert.NoError(t, err) {
					return
				}
				mem := m.Resize(1 << 20)
				for range 5 {
					for range 20 {
						mem[random.IntN(len(mem))]++
					}
					assert.NoError(t, im.Restore(mem, m.Way()))
					assert.NoError(t, im.Check(mem))
				}
				m.Free()
			}
		})
	}
	done.Wait()
}

func TestClosingAnImageMeanwhileLeavesMemoriesRestorable(t *testing.T) {
	t.Parallel()
	im := newImage(t, 1<<20, []pristine.Span{{256 << 10, 768 << 10}})
	var done sync.WaitGroup
	for range 4 {
		m := reserve(t, im, 1<<20)
		mem := m.Resize(1 << 20)
		done.Go(func() {
			for i := range 50 {
				mem[i*20011]++
				assert.NoError(t, im.Restore(mem, m.Way()))
				assert.NoError(t, im.Check(mem))
			}
		})
	}
	done.Go(func() { assert.NoError(t, im.Close()) })
	done.Wait()
}

func TestRestoreDoesNotAllocate(t *testing.T) {
	im := newImage(t, 1<<20, []pristine.Span{{256 << 10, 768 << 10}})
	for _, f := range fixtures(t, im) {
		allocations := testing.AllocsPerRun(100, func() {
			f.mem[0]++
			assert.NoError(t, im.Restore(f.mem, f.way))
		})
		assert.Zero(t, allocations, f.name)
	}
}

// FuzzRestore takes five bytes for each write: where, how much, and of what.
func FuzzRestore(f *testing.F) {
	const length = 256 << 10
	im := newImage(f, length, []pristine.Span{{64 << 10, 192 << 10}})
	all := fixtures(f, im)
	f.Add([]byte{0, 0, 0, 0, 0})
	f.Add([]byte{0xff, 0xff, 0x03, 0xff, 1, 0, 0, 1, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, writes []byte) {
		for _, x := range all {
			for w := range slices.Chunk(writes, 5) {
				if len(w) < 5 {
					break
				}
				start := int(binary.LittleEndian.Uint32(w) & (length - 1))
				n := min(int(w[3])*64, length-start)
				for i := range x.mem[start : start+n] {
					x.mem[start+i] = w[4] + byte(i)
				}
			}
			require.NoError(t, im.Restore(x.mem, x.way))
			require.NoError(t, im.Check(x.mem), x.name)
		}
	})
}
