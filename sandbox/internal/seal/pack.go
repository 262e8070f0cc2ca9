package seal

import "bytes"

// Pack compresses a state that stays in this process, to at most maxBytes: nobody
// else may have it, and nothing notices if it is changed. state is only read. The
// error is [ErrTooLarge].
func (r *Ring) Pack(state []byte, maxBytes int64) ([]byte, error) {
	if r == nil || len(r.keys) == 0 {
		return nil, errNoRing
	}
	packed := r.codec.encoder.EncodeAll(state, nil)
	if int64(len(packed)) > maxBytes {
		return nil, ErrTooLarge
	}
	return bytes.Clone(packed), nil // it is kept, and what it was made in is many times as large
}

// Unpack is the reverse of Pack, for a state of exactly stateBytes. The error
// is [ErrUnreadable] or [ErrTooLarge].
func (r *Ring) Unpack(packed []byte, stateBytes int64) ([]byte, error) {
	if r == nil || len(r.keys) == 0 {
		return nil, errNoRing
	}
	return r.codec.inflate(packed, stateBytes)
}
