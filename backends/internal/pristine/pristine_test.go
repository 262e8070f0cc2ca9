package pristine_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
)

func TestMemoryIsTheImageAfterRestore(t *testing.T) {
	t.Parallel()
	content := make([]byte, 4<<20)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 1 << 20 {
		content[i] = byte(random.Uint32())
	}
	im, err := pristine.New(content, []pristine.Span{{1 << 20, 3 << 20}})
	require.NoError(t, err)
	defer im.Close()
	m, err := im.Reserve(64 << 20)
	require.NoError(t, err)
	defer m.Free()
	mem := m.Resize(4 << 20)
	require.Equal(t, im.WayOf(mem), m.Way())
	require.NoError(t, im.Check(mem))
	for _, way := range []pristine.Way{pristine.Copy, m.Way()} {
		for i := range mem {
			mem[i]++
		}
		require.ErrorIs(t, im.Check(mem), pristine.ErrDiffers)
		require.NoError(t, im.Restore(mem, way))
		require.NoError(t, im.Check(mem))
	}
	require.Equal(t, pristine.Remap, m.Way())
}
