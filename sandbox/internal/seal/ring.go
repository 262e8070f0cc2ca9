package seal

import (
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"time"
)

// Ring seals with one key and opens with several. Make one with [NewRing],
// [RandomRing] or [ParseKeys]; any number of goroutines may use it. Printing a
// Ring shows no key.
type Ring struct {
	keys  []Key // the first one seals
	codec *codec
}

// NewRing returns a ring that seals with current and opens what current or one of
// older sealed. IDs and secrets must differ; an error matches [ErrKey].
func NewRing(current Key, older ...Key) (*Ring, error) {
	var keys []Key
	for _, key := range slices.Concat([]Key{current}, older) {
		if err := checkAmong(keys, key); err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	codec, err := newCodec()
	if err != nil {
		return nil, err
	}
	return &Ring{keys: keys, codec: codec}, nil
}

// RandomRing returns a ring whose only key nobody else has: what it seals opens
// in this process only, with this ring.
func RandomRing() *Ring {
	key := Key{ID: "random"}
	_, _ = rand.Read(key.Secret[:]) // never fails
	ring, err := NewRing(key)
	if err != nil {
		panic(err) // unreachable: neither the key nor the codec's options can be wrong
	}
	return ring
}

// Format prints nothing of the keys, whatever the verb.
func (r *Ring) Format(w fmt.State, _ rune) {
	if r == nil {
		_, _ = io.WriteString(w, "ring(nil)")
		return
	}
	_, _ = fmt.Fprintf(w, "ring(%d keys)", len(r.keys))
}

// Seal returns plaintext as a message of at most maxBytes that opens for b until
// expires, which is cut to milliseconds. plaintext is only read.
//
// The error matches [ErrTooLarge] or [ErrBinding].
func (r *Ring) Seal(b Binding, expires time.Time, plaintext []byte, maxBytes int64) ([]byte, error) {
	if r == nil || len(r.keys) == 0 {
		return nil, errNoRing
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	until, err := millis(expires)
	if err != nil {
		return nil, err
	}
	key := &r.keys[0]
	h := header{keyID: key.ID, expiry: until}
	_, _ = rand.Read(h.salt[:]) // never fails

	body := r.codec.body(b, plaintext, maxBytes)
	size := h.size() + len(body) + gcmOverhead
	if int64(size) > maxBytes {
		return nil, ErrTooLarge
	}
	aead, err := messageCipher(key, &h.salt)
	if err != nil {
		return nil, err
	}
	out := h.append(make([]byte, 0, size))
	return aead.Seal(out, nil, body, out), nil
}

// Open returns the state in sealed, which is only read, if a key of the ring
// sealed it for exactly b and it has not expired: now must be before the expiry.
// At most maxSealed bytes are looked at and at most maxPlain returned.
//
// The error is, in this order, [ErrTooLarge] if sealed is too long,
// [ErrUnreadable], [ErrForeign], [ErrExpired], and ErrTooLarge if the state is
// too long.
func (r *Ring) Open(b Binding, now time.Time, sealed []byte, maxSealed, maxPlain int64) ([]byte, error) {
	if r == nil || len(r.keys) == 0 {
		return nil, errNoRing
	}
	if int64(len(sealed)) > maxSealed {
		return nil, ErrTooLarge
	}
	h, encrypted, ok := parseHeader(sealed)
	if !ok {
		return nil, ErrUnreadable
	}
	at := slices.IndexFunc(r.keys, func(k Key) bool { return k.ID == h.keyID })
	if at < 0 {
		return nil, ErrUnreadable
	}
	aead, err := messageCipher(&r.keys[at], &h.salt)
	if err != nil {
		return nil, ErrUnreadable
	}
	body, err := aead.Open(nil, nil, encrypted, sealed[:h.size()])
	if err != nil {
		return nil, ErrUnreadable
	}
	// From here on one of our keys vouches for every byte.
	made, stateBytes, frame, ok := parseBody(body)
	switch {
	case !ok:
		return nil, ErrUnreadable
	case made != b:
		return nil, ErrForeign
	case now.UnixMilli() >= h.expiry:
		return nil, ErrExpired
	case maxPlain < 0 || stateBytes > uint64(maxPlain):
		return nil, ErrTooLarge
	}
	return r.codec.inflate(frame, int64(stateBytes))
}
