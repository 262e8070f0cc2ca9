// Package seal makes bytes out of a state that somebody else is to keep: they can
// neither be read nor changed, and they open only for what they were made for and
// only for a time.
//
// A [Ring] holds the keys. What it seals says for what it is ([Binding]) and until
// when; [Ring.Open] gives the state back only where both fit.
//
// # Format
//
// All numbers are unsigned and big endian, but for the expiry, which is signed.
//
//	bytes        what
//	4            "LSBX"
//	1            version, 1
//	1            length of the key ID, 1 to 32
//	1 to 32      key ID
//	8            expiry in milliseconds since 1970 UTC
//	32           salt, random
//	12           nonce, random
//	the rest     AES-256-GCM of the body, with a tag of 16 bytes
//
// All that stands before the nonce is the additional data of the encryption. Its
// key is HKDF-SHA-256 of the secret with the salt and "sandboxd seal 1". So no key
// is used for two messages, however many a secret seals, and no nonce can come
// twice under one key.
//
// The body:
//
//	1, n         length of the kind, kind
//	2, n         length of the audience, audience
//	2, n         length of the image, image
//	4            format
//	8            length of the state
//	the rest     the state as one zstd frame
//
// # Security
//
//   - Of a sealed message one can see the key ID, the expiry and the length. The
//     length says how well the state compresses: who can write a part of a state
//     and sees the lengths of many can guess at the rest of it.
//   - What a message is for stands in the body, so nobody learns it from outside,
//     and [ErrForeign] and [ErrExpired] are only told of a message that a key of
//     the ring sealed. Anything else is [ErrUnreadable], for whatever reason.
//   - A message opens any number of times until it expires. Whoever needs it to
//     open once keeps a list.
//   - A key that is taken out of the ring makes its messages unreadable at once.
//   - The state is inflated after all of this, and never beyond what the caller
//     allows.
//
// # Concurrency
//
// A [Ring] may be used from any number of goroutines; up to four of them
// compress, and up to four inflate, at the same time.
//
// # Errors
//
// Sentinel errors for errors.Is. No text holds a part of a key, of a message or
// of a binding.
//
// # Limits
//
// The caller says how long a message and a state may be, in bytes. A ring holds at
// most [MaxKeys] keys.
package seal
