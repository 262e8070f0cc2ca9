package pristine_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
)

// fixture is a memory that can be restored in one way.
type fixture struct {
	name string
	mem  []byte
	way  pristine.Way
}

// fixtures gives a memory of each kind: from Go's heap, from Reserve, and one from
// Reserve that is restored by comparing although it need not be.
func fixtures(t testing.TB, im *pristine.Image) []fixture {
	t.Helper()
	heap := slices.Clone(im.Content())
	out := []fixture{{"heap", heap, im.WayOf(heap)}}
	for _, name := range []string{"reserved", "reserved, compared"} {
		m := reserve(t, im, int64(len(im.Content()))+1<<20)
		f := fixture{name, m.Resize(int64(len(im.Content()))), m.Way()}
		if name != "reserved" {
			f.way = pristine.Copy
		}
		out = append(out, f)
	}
	return out
}

// newImage makes an image of which the first quarter and the last page are not
// zero.
func newImage(t testing.TB, length int, cold []pristine.Span) *pristine.Image {
	t.Helper()
	content := make([]byte, length)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range content {
		if i < length/4 || i >= length-pristine.PageBytes {
			content[i] = byte(random.Uint32())
		}
	}
	im, err := pristine.New(content, cold)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, im.Close()) })
	return im
}

func reserve(t testing.TB, im *pristine.Image, capBytes int64) *pristine.Memory {
	t.Helper()
	m, err := im.Reserve(capBytes)
	require.NoError(t, err)
	t.Cleanup(m.Free)
	return m
}

// scribble changes every byte of a range.
func scribble(mem []byte, start, end int) {
	for i := start; i < end; i++ {
		mem[i] ^= 0x5a
	}
}
