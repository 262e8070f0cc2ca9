package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func testKey() Key {
	k := Key{ID: "k1"}
	copy(k.Secret[:], "a secret of the tests of seal")
	return k
}

// forge seals a body that Seal would not write, with the right key.
func forge(t *testing.T, key Key, expiry int64, body []byte) []byte {
	t.Helper()
	h := header{keyID: key.ID, expiry: expiry, salt: [saltBytes]byte{1, 2, 3}}
	aead, err := messageCipher(&key, &h.salt)
	require.NoError(t, err)
	out := h.append(nil)
	return aead.Seal(out, nil, body, out)
}

// The format is read here by the table of the package comment and HKDF as RFC
// 5869 has it, without the code that wrote it.
func TestTheFormatIsTheOneThatIsWrittenDown(t *testing.T) {
	t.Parallel()
	key := testKey()
	ring, err := NewRing(key)
	require.NoError(t, err)
	b := Binding{Kind: "session", Audience: "aud", Image: "img!", Format: 0x01020304}
	expires := time.UnixMilli(0x0102030405)
	state := bytes.Repeat([]byte("state "), 100)
	message, err := ring.Seal(b, expires, state, math.MaxInt64)
	require.NoError(t, err)

	assert.Equal(t, "LSBX\x01\x02k1\x00\x00\x00\x01\x02\x03\x04\x05", string(message[:16]))
	salt, nonce, encrypted := message[16:48], message[48:60], message[60:]

	extract := hmac.New(sha256.New, salt)
	_, _ = extract.Write(key.Secret[:])
	expand := hmac.New(sha256.New, extract.Sum(nil))
	_, _ = expand.Write([]byte("sandboxd seal 1\x01"))
	block, err := aes.NewCipher(expand.Sum(nil))
	require.NoError(t, err)
	gcm, err := cipher.NewGCM(block)
	require.NoError(t, err)
	body, err := gcm.Open(nil, nonce, encrypted, message[:48])
	require.NoError(t, err)

	head := "\x07session\x00\x03aud\x00\x04img!\x01\x02\x03\x04\x00\x00\x00\x00\x00\x00\x02\x58"
	require.Equal(t, head, string(body[:len(head)]))
	zr, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer zr.Close()
	got, err := zr.DecodeAll(body[len(head):], nil)
	require.NoError(t, err)
	assert.Equal(t, state, got)
}

func TestAMessageOfAnEarlierBuildOpens(t *testing.T) {
	t.Parallel()
	ring, err := NewRing(testKey())
	require.NoError(t, err)
	message, err := hex.DecodeString(earlier)
	require.NoError(t, err)
	b := Binding{Kind: KindContinuation, Audience: "tenant-7", Image: "sha256:abc", Format: 3}
	got, err := ring.Open(b, time.Unix(0, 0), message, 1<<20, 1<<20)
	require.NoError(t, err)
	assert.Equal(t, "a state that was put away", string(got))
}

// earlier was sealed when version 1 was new.
const earlier = "" +
	"4c53425801026b31000003bb2cc3d8007dbbc92a8dceb7feb14e6d0d5f84c9cda75ac1717599e0167997e8659b8c619268ce" +
	"ee884dc8d9859577c574576874fe2c45fd390d74e6a060410095433b2a28f73da9c0614e857420a87f5a65f22f84bd6f46a6" +
	"6167068cbb9467fc8b31697d26b1367de01dda81435e9cf3012ecbadf11d26e9938bd4e079d27d87433d71d62d747356e384" +
	"3ccb24494babdf"
