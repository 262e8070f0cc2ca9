package qjs

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

func TestMemoryGrowsWithinItsCapAndKeepsItsContent(t *testing.T) {
	t.Parallel()
	const page = pageBytes
	m := &memory{capBytes: 10*page + 1}
	for i, c := range []struct {
		pages   int
		room    int // in bytes, of the slice behind
		refused bool
	}{
		{3, 3 * page, false}, {4, 6 * page, false}, {6, 6 * page, false}, {7, 10*page + 1, false}, {11, 0, true}, {10, 10*page + 1, false},
	} {
		got := m.Reallocate(uint64(c.pages * page))
		if c.refused {
			require.Nil(t, got, i)
			require.True(t, m.refused.Load())
			continue
		}
		require.Len(t, got, c.pages*page, i)
		require.Equal(t, c.room, cap(got), i)
		require.EqualValues(t, c.pages*page, m.size.Load(), i)
		require.Equal(t, i > 0, got[2*page] == 1, "what was written is kept, and what was not is zero")
		got[2*page] = 1
	}
	m.Free()
	assert.Nil(t, m.bytes)
	assert.EqualValues(t, 10*page, m.size.Load(), "the peak stays known")
}

func TestTheSmallestMemoryIsEnoughForTheGuestAndASmallScript(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.Limits.MemoryBytes = MinMemoryBytes
	iso := open(t, cfg)
	assert.EqualValues(t, 320<<10, iso.(*Isolate).guest.memory.size.Load(), "as MinMemoryBytes says")
	out, err := iso.Eval(t.Context(), script("Array.from({ length: 1000 }, (_, i) => 'n' + i).length"))
	require.NoError(t, err)
	requireValue(t, out, "1000")
	assert.LessOrEqual(t, out.Usage.MemoryPeakBytes, MinMemoryBytes)
}

func TestMemoryIsCapped(t *testing.T) {
	t.Parallel()
	const limit = 4<<20 + 12345 // the last page is not whole
	for name, c := range map[string]struct {
		source, input string
		value         string // none where it ends with the kind memory
	}{
		"held":       {source: "const held = []; for (;;) held.push(new Uint8Array(1 << 16))"},
		"at once":    {source: "new Uint8Array(1 << 30)"},
		"beyond all": {source: "'x'.repeat(1 << 29) + 'y'"},
		"rethrown":   {source: "try { new Uint8Array(1 << 30) } catch { throw new RangeError('mine') }"},
		"waiting":    {source: "try { new Uint8Array(1 << 30) } catch {} await new Promise(() => {})"},
		"in a job":   {source: "queueMicrotask(() => new Uint8Array(1 << 30)); await new Promise(() => {})"},
		"input":      {source: "1", input: `"` + strings.Repeat("x", 8<<20) + `"`},
		"source":     {source: "1 //" + strings.Repeat("x", 8<<20)},
		"recovered":  {source: "try { new Uint8Array(1 << 30) } catch {} 'on'", value: `"on"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config()
			cfg.Limits.MemoryBytes = limit
			iso := open(t, cfg)
			req := script(c.source)
			if c.input != "" {
				req.Input = json.RawMessage(c.input)
			}
			out, err := iso.Eval(t.Context(), req)
			require.NoError(t, err)
			if c.value != "" {
				requireValue(t, out, c.value)
			} else {
				requireKind(t, out, spi.KindMemory)
				assert.Equal(t, &spi.ReachedLimit{Name: spi.LimitMemory, Value: limit}, out.Error.Limit)
			}
			assert.Positive(t, out.Usage.MemoryPeakBytes)
			assert.LessOrEqual(t, out.Usage.MemoryPeakBytes, int64(limit))
			_, err = iso.Eval(t.Context(), script("1"))
			require.ErrorIs(t, err, spi.ErrIsolateSpent)
		})
	}
}

func TestAScriptThatOnlySaysThatItRanOutOfMemoryDidNot(t *testing.T) {
	t.Parallel()
	iso := open(t, config())
	out, err := iso.Eval(t.Context(), script("const e = new Error('out of memory'); e.name = 'InternalError'; throw e"))
	require.NoError(t, err)
	requireKind(t, out, spi.KindException)
	out, err = iso.Eval(t.Context(), script("'whole'"))
	require.NoError(t, err)
	requireValue(t, out, `"whole"`)
}
