package pristine_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
)

func TestAnEncodedDeltaIsReadBackWhole(t *testing.T) {
	t.Parallel()
	im := newImage(t, 1<<20, nil)
	for name, c := range map[string]struct {
		size  int64
		write func(mem []byte)
	}{
		"nothing":                  {1 << 20, func([]byte) {}},
		"one byte":                 {1 << 20, func(mem []byte) { mem[77]++ }},
		"a page that became zero":  {1 << 20, func(mem []byte) { clear(mem[4096:8192]) }},
		"everything":               {1 << 20, func(mem []byte) { scribble(mem, 0, len(mem)) }},
		"grown, nothing there":     {9 << 20, func([]byte) {}},
		"grown, across the border": {9 << 20, func(mem []byte) { scribble(mem, 1<<20-1, 1<<20+1) }},
		"grown, the very last":     {9<<20 + 64<<10, func(mem []byte) { mem[len(mem)-1] = 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := reserve(t, im, 16<<20).Resize(c.size)
			c.write(from)
			d := im.Diff(from)
			data := im.Encode([]byte("before"), d)
			require.True(t, bytes.HasPrefix(data, []byte("before")))
			data = data[len("before"):]
			kept := slices.Clone(data)
			read, err := im.Decode(data)
			require.NoError(t, err)
			scribble(data, 0, len(data)) // the delta has what it needs
			assert.Equal(t, d, read)
			to := reserve(t, im, 16<<20).Resize(c.size)
			require.NoError(t, read.Apply(to))
			require.Equal(t, from, to)
			assert.Equal(t, kept, im.Encode(nil, d), "the same again")
		})
	}
}

func TestWhatIsAsTheImageIsZeroInAnEncodedDelta(t *testing.T) {
	t.Parallel()
	im := newImage(t, 64<<10, nil)
	mem := slices.Clone(im.Content())
	mem[100] ^= 0xff
	data := im.Encode(nil, im.Diff(mem))
	content := data[len(data)-pristine.PageBytes:]
	assert.Equal(t, byte(0xff), content[100])
	content[100] = 0
	assert.Equal(t, make([]byte, pristine.PageBytes), content)
}

func TestDeadPartsCountAsUnchanged(t *testing.T) {
	t.Parallel()
	const page = pristine.PageBytes
	im := newImage(t, 64<<10, nil)
	mem := slices.Clone(im.Content())
	scribble(mem, 0, len(mem))
	d := im.Diff(mem, pristine.Span{Start: page, End: 3 * page}, pristine.Span{Start: 5 * page, End: 5 * page}, pristine.Span{Start: 8 * page, End: 64 << 10})
	to := slices.Clone(im.Content())
	require.NoError(t, d.Apply(to))
	want := slices.Clone(mem)
	copy(want[page:3*page], im.Content()[page:])
	copy(want[8*page:], im.Content()[8*page:])
	assert.Equal(t, want, to)
}

func TestWhatIsNoDeltaIsRefused(t *testing.T) {
	t.Parallel()
	const page = pristine.PageBytes
	im := newImage(t, 64<<10, nil)
	encoded := func(content int, numbers ...uint64) []byte {
		var out []byte
		for _, n := range numbers {
			out = binary.AppendUvarint(out, n)
		}
		return append(out, make([]byte, content)...)
	}
	_, err := im.Decode(encoded(page, 64<<10, 1, page, page))
	require.NoError(t, err, "a good one")
	for name, data := range map[string][]byte{
		"nothing":                    nil,
		"no count":                   encoded(0, 64<<10),
		"shorter than the image":     encoded(0, 0, 0),
		"not whole pages of wasm":    encoded(0, 64<<10+page, 0),
		"longer than any memory":     encoded(0, 1<<33, 0),
		"a run that is not there":    encoded(0, 64<<10, 1),
		"a run without a length":     encoded(0, 64<<10, 1, page),
		"an empty run":               encoded(0, 64<<10, 1, page, 0),
		"a run outside":              encoded(page, 64<<10, 1, 64<<10, page),
		"a run that begins outside":  encoded(page, 64<<10, 1, 1<<63, page),
		"a run that ends outside":    encoded(2*page, 64<<10, 1, 60<<10, 2*page),
		"a run that wraps around":    encoded(page, 64<<10, 1, page, 1<<64-page),
		"a run not on a page":        encoded(page, 64<<10, 1, 1, page),
		"half a page":                encoded(page/2, 64<<10, 1, page, page/2),
		"runs in the wrong order":    encoded(2*page, 64<<10, 2, 2*page, page, page, page),
		"runs that overlap":          encoded(3*page, 64<<10, 2, page, 2*page, 2*page, page),
		"too little content":         encoded(page-1, 64<<10, 1, page, page),
		"too much content":           encoded(page+1, 64<<10, 1, page, page),
		"more runs than bytes":       encoded(8, 64<<10, 1<<40),
		"a number that does not end": bytes.Repeat([]byte{0xff}, 20),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := im.Decode(data)
			require.ErrorIs(t, err, pristine.ErrEncoded)
			assert.Nil(t, d)
		})
	}
}

// FuzzDecode: whatever is read can be applied, and means what it is written as.
func FuzzDecode(f *testing.F) {
	content := make([]byte, 128<<10)
	random := rand.New(rand.NewPCG(3, 4))
	for i := range content {
		content[i] = byte(random.Uint32())
	}
	im, err := pristine.New(content, nil)
	require.NoError(f, err)
	f.Cleanup(func() { _ = im.Close() })
	for _, at := range []int{0, 4095, 70 << 10} {
		mem := append(slices.Clone(content), make([]byte, 64<<10)...)
		mem[at]++
		mem[len(mem)-at-1]++
		f.Add(im.Encode(nil, im.Diff(mem)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := im.Decode(data)
		if err != nil {
			require.ErrorIs(t, err, pristine.ErrEncoded)
			return
		}
		if d.MemoryBytes() > 1<<20 {
			return
		}
		mem := append(slices.Clone(content), make([]byte, d.MemoryBytes()-int64(len(content)))...)
		require.NoError(t, d.Apply(mem))
		again, err := im.Decode(im.Encode(nil, d))
		require.NoError(t, err)
		require.Equal(t, d, again)
	})
}
