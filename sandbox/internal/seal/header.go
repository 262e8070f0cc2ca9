package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
)

const (
	magic     = "LSBX"
	version   = 1
	saltBytes = 32

	// gcmOverhead is the nonce and the tag.
	gcmOverhead = 12 + 16

	// derivation keeps these keys apart from whatever else a secret is used for.
	derivation = "sandboxd seal 1"
)

// header is what stands before the encrypted body.
type header struct {
	keyID  string
	expiry int64 // milliseconds since 1970 UTC
	salt   [saltBytes]byte
}

func (h *header) size() int { return len(magic) + 1 + 1 + len(h.keyID) + 8 + saltBytes }

func (h *header) append(dst []byte) []byte {
	dst = append(dst, magic...)
	dst = append(dst, version, byte(len(h.keyID)))
	dst = append(dst, h.keyID...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(h.expiry))
	return append(dst, h.salt[:]...)
}

// parseHeader reads what append wrote. Nothing in it can be relied on before the
// body is decrypted.
func parseHeader(sealed []byte) (h header, encrypted []byte, ok bool) {
	r := reader{rest: sealed}
	if string(r.take(len(magic))) != magic || r.number(1) != version {
		return header{}, nil, false
	}
	h.keyID = string(r.take(int(r.number(1))))
	h.expiry = int64(r.number(8))
	copy(h.salt[:], r.take(saltBytes))
	return h, r.rest, !r.short && validID(h.keyID)
}

// messageCipher returns the cipher of the one message that has this salt.
func messageCipher(key *Key, salt *[saltBytes]byte) (cipher.AEAD, error) {
	derived, err := hkdf.Key(sha256.New, key.Secret[:], salt[:], derivation, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
