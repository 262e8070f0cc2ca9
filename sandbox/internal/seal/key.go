package seal

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	// MaxKeyIDBytes is how long the ID of a key may be.
	MaxKeyIDBytes = 32
	// MaxKeys is how many keys a ring may hold.
	MaxKeys = 64
	// MaxKeyTextBytes is how long the text of a set of keys may be.
	MaxKeyTextBytes = 64 << 10

	secretBytes = 32
)

// Key is a secret with a name. The ID is no secret: it stands in what is sealed.
// Printing a Key shows its ID only.
type Key struct {
	// ID is 1 to [MaxKeyIDBytes] of a to z, 0 to 9, dot, underscore and hyphen.
	ID string
	// Secret is random. All zero is not allowed.
	Secret [secretBytes]byte
}

// Format prints the ID, whatever the verb.
func (k Key) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, k.text()) }

// MarshalText keeps the secret out of JSON and logs.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.text()), nil }

func (k Key) text() string {
	if !validID(k.ID) {
		return "key(?)"
	}
	return "key(" + k.ID + ")"
}

func (k Key) check() error {
	switch {
	case !validID(k.ID):
		return fmt.Errorf("%w: an ID must be 1 to %d characters of a-z, 0-9, '.', '_' and '-'", ErrKey, MaxKeyIDBytes)
	case k.Secret == [secretBytes]byte{}:
		return fmt.Errorf("%w: a secret must not be all zero", ErrKey)
	}
	return nil
}

func validID(id string) bool {
	if id == "" || len(id) > MaxKeyIDBytes {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// ParseKeys reads a set of keys, one on a line:
//
//	# made with: openssl rand -base64 32
//	2026-02  <base64 of 32 bytes>
//	2026-01  <base64 of 32 bytes>
//
// The first is the one that seals; the others only open what they sealed before.
// "#" begins a comment; empty lines are skipped. An error matches [ErrKey] and
// names the line, never what is on it.
func ParseKeys(text string) (*Ring, error) {
	if len(text) > MaxKeyTextBytes {
		return nil, fmt.Errorf("%w: the text of all keys must be at most %d bytes", ErrKey, MaxKeyTextBytes)
	}
	var keys []Key
	number := 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		key, err := parseKey(fields)
		if err == nil {
			err = checkAmong(keys, key)
		}
		if err != nil {
			return nil, atLine(number, err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: there must be at least one key, as a line with an ID and the base64 of %d bytes", ErrKey, secretBytes)
	}
	return NewRing(keys[0], keys[1:]...)
}

func parseKey(fields []string) (Key, error) {
	if len(fields) != 2 {
		return Key{}, fmt.Errorf("%w: a line must be an ID and the base64 of %d bytes", ErrKey, secretBytes)
	}
	// The decoder's error quotes nothing but says where; even that is dropped.
	secret, err := base64.StdEncoding.Strict().DecodeString(fields[1])
	if err != nil || len(secret) != secretBytes {
		return Key{}, fmt.Errorf("%w: a secret must be the padded base64 of %d bytes", ErrKey, secretBytes)
	}
	return Key{ID: fields[0], Secret: [secretBytes]byte(secret)}, nil
}

// atLine puts the line in front of what is wrong and keeps [ErrKey] in the chain.
func atLine(number int, err error) error {
	return &lineError{number: number, err: err}
}

type lineError struct {
	number int
	err    error
}

func (e *lineError) Error() string {
	return fmt.Sprintf("seal: line %d of the keys: %s", e.number, strings.TrimPrefix(e.err.Error(), "seal: "))
}

func (e *lineError) Unwrap() error { return e.err }

// checkAmong checks key and that it is another one than those before it.
func checkAmong(before []Key, key Key) error {
	if err := key.check(); err != nil {
		return err
	}
	if len(before) == MaxKeys {
		return fmt.Errorf("%w: there must be at most %d keys", ErrKey, MaxKeys)
	}
	for _, other := range before {
		if other.ID == key.ID {
			return fmt.Errorf("%w: the IDs of keys must differ", ErrKey)
		}
		if other.Secret == key.Secret {
			return fmt.Errorf("%w: the secrets of keys must differ", ErrKey)
		}
	}
	return nil
}

// errNoRing is what a nil or zero Ring answers.
var errNoRing = errors.New("seal: a ring must come from NewRing, RandomRing or ParseKeys")
