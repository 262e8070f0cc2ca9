package seal_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/sandbox/internal/seal"
)

func TestAChangedMessageIsUnreadableWhateverWasChanged(t *testing.T) {
	t.Parallel()
	r := ring(t, "k1", "k2")
	message := sealed(t, r, []byte("state"))
	unreadable := func(changed []byte, what string, at int) {
		// Asked in the way that would be told most if it were believed.
		for _, b := range []seal.Binding{binding(), {Kind: "other"}} {
			got, err := r.Open(b, now(), changed, mib, mib)
			require.Truef(t, err == seal.ErrUnreadable, "%s at %d: %v", what, at, err)
			require.Nil(t, got)
		}
	}
	for i := range message {
		for bit := range 8 {
			changed := bytes.Clone(message)
			changed[i] ^= 1 << bit
			unreadable(changed, "a bit", i*8+bit)
		}
		unreadable(message[:i], "cut off", i)
		unreadable(slices.Delete(bytes.Clone(message), i, i+1), "a byte less", i)
		unreadable(slices.Insert(bytes.Clone(message), i, 0), "a byte more", i)
	}
	unreadable(append(bytes.Clone(message), 0), "a byte at the end", 0)
	unreadable(slices.Concat(message, message), "twice", 0)
	unreadable(nil, "nothing", 0)
}

func TestHeadersAreNotSwapped(t *testing.T) {
	t.Parallel()
	r := ring(t, "k1")
	soon, err := r.Seal(binding(), now(), []byte("a"), mib)
	require.NoError(t, err)
	late, err := r.Seal(binding(), until(), []byte("b"), mib)
	require.NoError(t, err)
	const header = 4 + 1 + 1 + len("k1") + 8 + 32
	for _, end := range []int{16, header, header + 12} { // expiry, salt, nonce
		mixed := slices.Concat(late[:end], soon[end:])
		_, err := open(r, mixed)
		assert.ErrorIs(t, err, seal.ErrUnreadable)
	}
	_, err = open(r, soon)
	require.ErrorIs(t, err, seal.ErrExpired)
}

// FuzzRoundTrip seals whatever there is, for whatever there is.
func FuzzRoundTrip(f *testing.F) {
	r := ring(f, "k1")
	f.Add([]byte("state"), "continuation", "a", "b", 1, "c")
	f.Add([]byte{}, "", "", "", -1, "")
	f.Add(make([]byte, 3_000), "k", "\x00", "\xff", 1<<31, "\x00")
	f.Fuzz(func(t *testing.T, state []byte, kind, audience, image string, format int, other string) {
		b := seal.Binding{Kind: kind, Audience: audience, Image: image, Format: format}
		message, err := r.Seal(b, until(), state, 4*mib)
		if err != nil {
			require.ErrorIs(t, err, seal.ErrBinding)
			return
		}
		got, err := r.Open(b, now(), message, 4*mib, int64(len(state)))
		require.NoError(t, err)
		require.True(t, bytes.Equal(state, got))

		wrong := b
		wrong.Audience = other
		_, err = r.Open(wrong, now(), message, 4*mib, 4*mib)
		require.Equal(t, other != audience, errors.Is(err, seal.ErrForeign))
		if len(state) > 0 {
			_, err = r.Open(b, now(), message, 4*mib, int64(len(state))-1)
			require.ErrorIs(t, err, seal.ErrTooLarge)
		}
	})
}
