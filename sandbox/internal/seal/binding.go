package seal

import (
	"encoding/binary"
	"math"
	"time"
)

// Kinds of what is sealed.
const (
	// KindContinuation is a script that waits.
	KindContinuation = "continuation"
	// KindSession is the state between two scripts.
	KindSession = "session"
)

const (
	maxKindBytes = 32
	maxNameBytes = 1024 // of an audience, of an image
	lastYear     = 9999
)

// Binding is what a message is for. All of it must be the same when the message
// is opened.
type Binding struct {
	// Kind is what the state is: [KindContinuation] or [KindSession]; 1 to 32 bytes.
	Kind string
	// Audience is for whom it is, such as a tenant; at most 1024 bytes.
	Audience string
	// Image is in what it can run; at most 1024 bytes.
	Image string
	// Format is how the state is written, 0 to 2147483647.
	Format int
}

func (b Binding) check() error {
	if b.Kind == "" || len(b.Kind) > maxKindBytes || len(b.Audience) > maxNameBytes || len(b.Image) > maxNameBytes ||
		b.Format < 0 || b.Format > math.MaxInt32 {
		return ErrBinding
	}
	return nil
}

// millis is expires as the header has it, rounded down: a message never lives
// longer than was asked for.
func millis(expires time.Time) (int64, error) {
	expires = expires.UTC()
	if year := expires.Year(); year < 1970 || year > lastYear {
		return 0, ErrBinding
	}
	return expires.UnixMilli(), nil
}

// bodyOverhead bounds what a body has beside the names and the frame.
const bodyOverhead = 1 + 2 + 2 + 4 + 8

// appendBody writes all of the body but the frame. The binding was checked.
func appendBody(dst []byte, b Binding, stateBytes int) []byte {
	dst = append(dst, byte(len(b.Kind)))
	dst = append(dst, b.Kind...)
	for _, name := range []string{b.Audience, b.Image} {
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(name)))
		dst = append(dst, name...)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(b.Format))
	return binary.BigEndian.AppendUint64(dst, uint64(stateBytes))
}

// parseBody is the reverse; the frame is a part of body.
func parseBody(body []byte) (b Binding, stateBytes uint64, frame []byte, ok bool) {
	r := reader{rest: body}
	b.Kind = string(r.take(int(r.number(1))))
	b.Audience = string(r.take(int(r.number(2))))
	b.Image = string(r.take(int(r.number(2))))
	format := r.number(4)
	stateBytes = r.number(8)
	if r.short || format > math.MaxInt32 {
		return Binding{}, 0, nil, false
	}
	b.Format = int(format)
	return b, stateBytes, r.rest, b.check() == nil
}

// reader cuts pieces off the front of rest. Once there is not enough left it
// gives nothing but zeros.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if r.short || n > len(r.rest) {
		r.short = true
		return nil
	}
	piece := r.rest[:n:n]
	r.rest = r.rest[n:]
	return piece
}

// number reads a big-endian number of up to 8 bytes.
func (r *reader) number(bytes int) uint64 {
	var n uint64
	for _, c := range r.take(bytes) {
		n = n<<8 | uint64(c)
	}
	return n
}
