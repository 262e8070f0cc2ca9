package seal

import (
	"bytes"
	"crypto/rand"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatIsPackedComesBack(t *testing.T) {
	t.Parallel()
	ring := RandomRing()
	noise := make([]byte, 100_000)
	_, _ = rand.Read(noise)
	for name, state := range map[string][]byte{
		"nothing": nil, "zeros": make([]byte, 8<<20), "noise": noise, "noise in zeros": append(make([]byte, 1<<20), noise...),
	} {
		packed, err := ring.Pack(state, 200_000)
		require.NoError(t, err, name)
		back, err := ring.Unpack(packed, int64(len(state)))
		require.NoError(t, err, name)
		assert.True(t, bytes.Equal(state, back), name)
		_, err = ring.Unpack(packed, int64(len(state))+1)
		require.ErrorIs(t, err, ErrUnreadable, name)
		if len(state) > 0 {
			_, err = ring.Pack(state, int64(len(packed))-1)
			require.ErrorIs(t, err, ErrTooLarge, name)
		}
	}
	_, err := (&Ring{}).Pack(nil, 10)
	require.Error(t, err)
	_, err = (*Ring)(nil).Unpack(nil, 10)
	require.Error(t, err)
}
