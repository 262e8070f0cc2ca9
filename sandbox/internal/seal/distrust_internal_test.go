package seal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatAKeyOfOursSealedIsNotTrusted(t *testing.T) {
	t.Parallel()
	ring, err := NewRing(testKey())
	require.NoError(t, err)
	b := Binding{Kind: "session"}
	zw, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(false))
	require.NoError(t, err)
	frame := func(n int) []byte { return zw.EncodeAll(make([]byte, n), nil) }
	with := func(n uint64, frame []byte) []byte {
		body := appendBody(nil, b, 0)
		binary.BigEndian.PutUint64(body[len(body)-8:], n)
		return append(body, frame...)
	}
	// A frame without its length, as a stream has it.
	var stream bytes.Buffer
	sw, err := zstd.NewWriter(&stream, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(windowBytes))
	require.NoError(t, err)
	_, err = sw.Write(make([]byte, 64<<20))
	require.NoError(t, err)
	require.NoError(t, sw.Close())

	const limit = 1 << 20
	for _, tc := range []struct {
		name string
		body []byte
		err  error
	}{
		{"as it should be", with(1000, frame(1000)), nil},
		{"as long as allowed", with(limit, frame(limit)), nil},
		{"longer than allowed", with(limit+1, frame(limit+1)), ErrTooLarge},
		{"says less than it is", with(1000, frame(64<<20)), ErrTooLarge},
		{"says less, and the frame says nothing", with(1000, stream.Bytes()), ErrTooLarge},
		{"says a byte less", with(999, frame(1000)), ErrUnreadable},
		{"says a byte more", with(1001, frame(1000)), ErrUnreadable},
		{"says more than fits an int", with(math.MaxUint64, frame(1000)), ErrTooLarge},
		{"two frames", with(2000, append(frame(1000), frame(1000)...)), nil},
		{"two frames, the second too long", with(1000, append(frame(1000), frame(64<<20)...)), ErrTooLarge},
		{"no frame", with(0, nil), nil},
		{"no frame for a length", with(1, nil), ErrUnreadable},
		{"no zstd", with(4, []byte("abcd")), ErrUnreadable},
		{"half a frame", with(1000, frame(1000)[:5]), ErrUnreadable},
		{"an empty body", nil, ErrUnreadable},
		{"half a body", with(0, nil)[:10], ErrUnreadable},
		{"names longer than the body", []byte("\xff\xff\xff\xff"), ErrUnreadable},
		{"no kind", append([]byte{0, 0, 0, 0, 0}, make([]byte, 12)...), ErrUnreadable},
		{"a format too high", append([]byte("\x07session\x00\x00\x00\x00\x80\x00\x00\x00"), make([]byte, 8)...), ErrUnreadable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := ring.Open(b, time.UnixMilli(0), forge(t, testKey(), 1, tc.body), math.MaxInt64, limit)
			if tc.err != nil {
				require.ErrorIs(t, err, tc.err)
				assert.Nil(t, got)
				return
			}
			require.NoError(t, err)
		})
	}

	// Without a limit of the caller's, a length that no frame reaches costs nothing.
	_, err = ring.Open(b, time.UnixMilli(0), forge(t, testKey(), 1, with(math.MaxInt64, frame(1000))), math.MaxInt64, math.MaxInt64)
	require.ErrorIs(t, err, ErrUnreadable)
}

func TestABombTakesNoMemory(t *testing.T) { // alone: it counts what is allocated
	ring, err := NewRing(testKey())
	require.NoError(t, err)
	b := Binding{Kind: "session"}
	message, err := ring.Seal(b, time.UnixMilli(1), make([]byte, 256<<20), 1<<20)
	require.NoError(t, err)
	require.Less(t, len(message), 64<<10)
	lying := forge(t, testKey(), 1, append(appendBody(nil, b, 1000), ring.codec.encoder.EncodeAll(make([]byte, 256<<20), nil)...))

	for name, bomb := range map[string][]byte{"honest": message, "lying": lying} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = ring.Open(b, time.UnixMilli(0), bomb, 1<<20, 4<<20)
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, ErrTooLarge, name)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2<<20), name)
	}
}

// FuzzOpen changes a message in ways that the input chooses. Nothing but the
// message itself opens.
func FuzzOpen(f *testing.F) {
	other := Key{ID: "k2", Secret: sha256.Sum256([]byte("k2"))}
	r, err := NewRing(other, testKey())
	require.NoError(f, err)
	// The same in each of the fuzzer's processes.
	message, err := hex.DecodeString(earlier)
	require.NoError(f, err)
	b := Binding{Kind: KindContinuation, Audience: "tenant-7", Image: "sha256:abc", Format: 3}
	before := time.Unix(0, 0)
	f.Add([]byte{}, uint16(0), uint16(0))
	f.Add([]byte("LSBX\x01\x02k1"), uint16(0), uint16(8))
	f.Add([]byte("LSBX\x01\xff"), uint16(0), uint16(6))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, uint16(8), uint16(8))
	f.Add([]byte("k2"), uint16(6), uint16(2))
	f.Add(message, uint16(0), uint16(9999))
	f.Add([]byte{}, uint16(40), uint16(9999))
	f.Fuzz(func(t *testing.T, put []byte, at, instead uint16) {
		start := min(int(at), len(message))
		end := min(start+int(instead), len(message))
		for _, changed := range [][]byte{put, slices.Concat(message[:start], put, message[end:])} {
			got, err := r.Open(b, before, changed, 4096, 4096)
			switch {
			case bytes.Equal(changed, message):
				require.NoError(t, err)
				require.Equal(t, "a state that was put away", string(got))
			case len(changed) > 4096:
				require.Equal(t, ErrTooLarge, err)
			default:
				require.Equal(t, ErrUnreadable, err)
				require.Nil(t, got)
			}
			// A stranger is told no more about it.
			_, foreign := r.Open(Binding{}, before, changed, 4096, 0)
			require.Equal(t, bytes.Equal(changed, message), errors.Is(foreign, ErrForeign))
		}
	})
}
