package sandbox

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/loom-sandbox/sandboxd/sandbox/internal/seal"
)

// Defaults and hard maxima of [Continuations].
const (
	DefaultContinuationExpiry = 24 * time.Hour
	DefaultContinuationBytes  = int64(16 << 20)
	MaxContinuationExpiry     = 366 * 24 * time.Hour
	MaxContinuationBytes      = int64(1 << 30)
	// MaxAudienceBytes bounds [Continuations.Audience].
	MaxAudienceBytes = 1024
)

// Continuations says how suspended scripts and saved sessions are sealed.
type Continuations struct {
	// Keys seal and open. Nil means a random key of this sandbox, so that nobody
	// else can resume what it suspended.
	Keys *Keys
	// Audience is for whom continuations are, such as a tenant: one that was made
	// for another audience is refused. At most [MaxAudienceBytes].
	Audience string
	// Expiry is how long one can be resumed; zero means [DefaultContinuationExpiry],
	// and more than [MaxContinuationExpiry] is refused.
	Expiry time.Duration
	// MaxBytes caps one; zero means [DefaultContinuationBytes]. A script whose state
	// needs more ends with [spi.KindOutputTooLarge].
	MaxBytes int64
}

// Keys are secrets that seal continuations. They are safe for concurrent use and
// print as nothing that helps to know them.
type Keys struct{ ring *seal.Ring }

// ParseKeys reads keys, one on a line: an ID, white space, and the base64 of 32
// random bytes. The first seals; the others only open what they sealed before. "#"
// begins a comment. An error names the line, never what is on it.
func ParseKeys(text string) (*Keys, error) {
	ring, err := seal.ParseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("sandbox: keys cannot be read: %w", err)
	}
	return &Keys{ring}, nil
}

// Format prints no key.
func (k *Keys) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("keys")) }

// Why a continuation, or a saved session, is refused. No script has gone on then.
var (
	// ErrContinuationTooLarge: it has more bytes than [Continuations.MaxBytes].
	ErrContinuationTooLarge = errors.New("sandbox: continuation is larger than allowed")
	// ErrContinuationUnreadable: it was changed, or sealed with a key that is not one
	// of [Continuations.Keys].
	ErrContinuationUnreadable = errors.New("sandbox: continuation cannot be opened: it was changed, or sealed with another key")
	// ErrContinuationForeign: it is for another audience, or another guest image, or
	// is not what is wanted here, such as a session's where none is expected.
	ErrContinuationForeign = errors.New("sandbox: continuation is for another audience, image or purpose")
	// ErrContinuationExpired: its time is over.
	ErrContinuationExpired = errors.New("sandbox: continuation has expired")
)

// check reports all that is wrong; nil is right.
func (c *Continuations) check() (errs []error) {
	if c == nil {
		return nil
	}
	if c.Expiry < 0 || c.Expiry > MaxContinuationExpiry {
		errs = append(errs, &RequestError{"Options.Continuations.Expiry", fmt.Sprintf("is %s; allowed is up to %s, or 0 for %s", c.Expiry, MaxContinuationExpiry, DefaultContinuationExpiry)})
	}
	if c.MaxBytes < 0 || c.MaxBytes > MaxContinuationBytes {
		errs = append(errs, &RequestError{"Options.Continuations.MaxBytes", fmt.Sprintf("is %d; allowed is up to %d, or 0 for %d", c.MaxBytes, MaxContinuationBytes, DefaultContinuationBytes)})
	}
	if len(c.Audience) > MaxAudienceBytes {
		errs = append(errs, &RequestError{"Options.Continuations.Audience", fmt.Sprintf("is too long; allowed is up to %d bytes", MaxAudienceBytes)})
	}
	if c.Keys != nil && c.Keys.ring == nil {
		errs = append(errs, &RequestError{"Options.Continuations.Keys", "must come from ParseKeys"})
	}
	return errs
}

// sealedFormat is the version of what is sealed. Who changes the meaning of
// header raises it.
const sealedFormat = 2

// stateSlack is what a state may have beyond the guest's memory: globals, tables.
const stateSlack = int64(16 << 20)

// sealer seals and opens, with the settings of one sandbox.
type sealer struct {
	ring     *seal.Ring
	audience string
	image    string
	expiry   time.Duration
	maxBytes int64
	maxState int64
	clock    func() time.Time
}

func newSealer(c *Continuations, s *Sandbox) *sealer {
	if c == nil {
		c = &Continuations{}
	}
	most := s.ceilings.MemoryBytes
	if most == 0 {
		most = s.descriptor.MaxMemoryBytes
	}
	made := &sealer{
		audience: c.Audience, image: cmp.Or(s.descriptor.Image, "backend "+s.descriptor.Name), clock: s.clock,
		maxState: most + 2*MaxArgumentBytes + 2*MaxLogBytes + 2*stateSlack, // whoever has a key is trusted with more
		expiry:   cmp.Or(c.Expiry, DefaultContinuationExpiry), maxBytes: cmp.Or(c.MaxBytes, DefaultContinuationBytes),
	}
	if c.Keys != nil {
		made.ring = c.Keys.ring
	} else {
		made.ring = seal.RandomRing()
	}
	return made
}

func (s *sealer) binding(kind string) seal.Binding {
	return seal.Binding{Kind: kind, Audience: s.audience, Image: s.image, Format: sealedFormat}
}

// seal puts a header and a state away. The error is [seal.ErrTooLarge] or one that
// should not be.
func (s *sealer) seal(kind string, header any, state []byte) ([]byte, error) {
	var head bytes.Buffer
	e := json.NewEncoder(&head)
	e.SetEscapeHTML(false) // arguments stay as the script made them: their length counts
	if err := e.Encode(header); err != nil {
		return nil, err
	}
	plain := make([]byte, 0, 4+head.Len()+len(state))
	plain = binary.BigEndian.AppendUint32(plain, uint32(head.Len()))
	plain = append(append(plain, head.Bytes()...), state...)
	return s.ring.Seal(s.binding(kind), s.clock().Add(s.expiry), plain, s.maxBytes)
}

// open is the reverse. Whoever has a key is trusted with what the header says.
func (s *sealer) open(kind string, sealed []byte, header any) (state []byte, err error) {
	plain, err := s.ring.Open(s.binding(kind), s.clock(), sealed, s.maxBytes, s.maxState)
	switch {
	case errors.Is(err, seal.ErrTooLarge):
		return nil, ErrContinuationTooLarge
	case errors.Is(err, seal.ErrForeign):
		return nil, ErrContinuationForeign
	case errors.Is(err, seal.ErrExpired):
		return nil, ErrContinuationExpired
	case err != nil || len(plain) < 4:
		return nil, ErrContinuationUnreadable
	}
	n := int64(binary.BigEndian.Uint32(plain))
	if n > int64(len(plain)-4) || json.Unmarshal(plain[4:4+n], header) != nil {
		return nil, ErrContinuationUnreadable
	}
	return plain[4+n:], nil
}
