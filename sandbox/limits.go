package sandbox

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// Defaults of [Limits], used where a field is zero.
const (
	DefaultTimeout     = 2 * time.Second
	DefaultMemoryBytes = int64(64 << 20)
	DefaultSourceBytes = int64(256 << 10)
	DefaultInputBytes  = int64(4 << 20)
	DefaultOutputBytes = int64(1 << 20)
	DefaultLogBytes    = int64(64 << 10)

	DefaultHostCalls       = int64(256)
	DefaultHostCallsAtOnce = int64(32)
	DefaultArgumentBytes   = int64(4 << 20)
	DefaultReplyBytes      = int64(16 << 20)
	DefaultTotalTime       = time.Minute
)

// Hard maxima: what is above is taken for a mistake and refused, whoever asks.
// The maximum of memory is the backend's.
const (
	MaxTimeout     = time.Hour
	MaxSourceBytes = int64(16 << 20)
	MaxInputBytes  = int64(256 << 20)
	MaxOutputBytes = int64(256 << 20)
	MaxLogBytes    = int64(64 << 20)

	MaxHostCalls       = int64(100_000)
	MaxHostCallsAtOnce = int64(1024)
	MaxArgumentBytes   = int64(256 << 20)
	MaxReplyBytes      = int64(256 << 20)
	MaxTotalTime       = 24 * time.Hour
)

// Names of limits that the sandbox enforces itself, beside those of [spi].
const (
	LimitHostCallsAtOnce   spi.LimitName = "hostCallsAtOnce"
	LimitReplyBytes        spi.LimitName = "replyBytes"
	LimitTotalTime         spi.LimitName = "totalMs"
	LimitContinuationBytes spi.LimitName = "continuationBytes" // [Continuations.MaxBytes]
	LimitSessionBytes      spi.LimitName = "sessionBytes"      // [SessionOptions.MaxBytes]
)

// Limits of an eval. A zero field means "the default" in a [Request] and in
// [Options.Defaults], and "the hard maximum" in [Options.Ceilings].
type Limits struct {
	// Timeout is wall time, counted from the script's start, at least 1 ms.
	Timeout time.Duration
	// MemoryBytes caps the guest's whole memory, its image included.
	MemoryBytes int64
	// Fuel is the number of units the guest may burn. The default is no limit,
	// which cannot be asked for where another default or a ceiling is set.
	Fuel int64
	// SourceBytes caps the script's UTF-8 text.
	SourceBytes int64
	// InputBytes caps the input's JSON text.
	InputBytes int64
	// OutputBytes caps the result's JSON text.
	OutputBytes int64
	// LogBytes caps the log lines kept, each with one byte for its line end, and
	// apart from that the events of the script's own.
	LogBytes int64

	// The others are for scripts that are handed tools. But for TotalTime they
	// cannot be asked for where the backend has no host calls.

	// HostCalls is how many calls a script may make. One more is denied.
	HostCalls int64
	// HostCallsAtOnce is how many of them are worked on at once; more wait in order.
	HostCallsAtOnce int64
	// ArgumentBytes caps the arguments of all calls together, as JSON; it is spelt
	// "callBytes". What would be over is denied.
	ArgumentBytes int64
	// ReplyBytes caps the results of all calls together, as JSON. A call whose
	// result would be over fails.
	ReplyBytes int64
	// TotalTime is wall time of the eval with its waiting for tools and for its
	// turns between them, from start to end or suspension; the parts of an eval
	// that is suspended and resumed add up. At least 1 ms. Where it is left open
	// and Timeout is more, it is as long as that.
	TotalTime time.Duration
}

// enforced is the part that the backend enforces.
func (l *Limits) enforced() spi.Limits {
	return spi.Limits{
		Timeout: l.Timeout, MemoryBytes: l.MemoryBytes, Fuel: l.Fuel,
		OutputBytes: l.OutputBytes, LogBytes: l.LogBytes,
		HostCalls: l.HostCalls, CallBytes: l.ArgumentBytes,
	}
}

// field is one limit seen generally, so that checks, defaults and ceilings are
// written once. Durations are in nanoseconds inside, milliseconds in messages.
type field struct {
	name     spi.LimitName
	get      func(*Limits) *int64
	fallback int64 // the default
	min, max int64 // what is not absurd
	by       enforcer
	// missing names the backend that does not enforce this limit, so that
	// nobody can ask for it; empty where it is enforced.
	missing string
}

// enforcer is who enforces a limit.
type enforcer int

const (
	// byBackend: what it does not enforce cannot be asked for; what has a default
	// it must enforce.
	byBackend enforcer = iota
	// byCaller: a backend that enforces it if it has host calls.
	byCaller
	// bySandbox: measured here.
	bySandbox
	// bySandboxCalls: measured here, and there only where there are host calls.
	bySandboxCalls
)

// offered reports whether the limit means something on a backend.
func (f *field) offered(d *spi.Descriptor) bool {
	_, enforced := d.EnforcementOf(f.name)
	switch f.by {
	case byBackend:
		return enforced
	case byCaller:
		return enforced && d.HostCalls
	case bySandboxCalls:
		return d.HostCalls
	}
	return true
}

// fields lists the limits; to add one, add it to Limits and here.
func fields(d spi.Descriptor) []field {
	all := []field{
		{spi.LimitTimeout, func(l *Limits) *int64 { return (*int64)(&l.Timeout) }, int64(DefaultTimeout), int64(time.Millisecond), int64(MaxTimeout), byBackend, ""},
		{spi.LimitMemory, func(l *Limits) *int64 { return &l.MemoryBytes }, DefaultMemoryBytes, d.MinMemoryBytes, d.MaxMemoryBytes, byBackend, ""},
		{spi.LimitFuel, func(l *Limits) *int64 { return &l.Fuel }, 0, 1, math.MaxInt64, byBackend, ""},
		{spi.LimitSource, func(l *Limits) *int64 { return &l.SourceBytes }, DefaultSourceBytes, 1, MaxSourceBytes, bySandbox, ""},
		{spi.LimitInput, func(l *Limits) *int64 { return &l.InputBytes }, DefaultInputBytes, 1, MaxInputBytes, bySandbox, ""},
		{spi.LimitOutput, func(l *Limits) *int64 { return &l.OutputBytes }, DefaultOutputBytes, 1, MaxOutputBytes, byBackend, ""},
		{spi.LimitLogs, func(l *Limits) *int64 { return &l.LogBytes }, DefaultLogBytes, 1, MaxLogBytes, byBackend, ""},
		{spi.LimitHostCalls, func(l *Limits) *int64 { return &l.HostCalls }, DefaultHostCalls, 1, MaxHostCalls, byCaller, ""},
		{LimitHostCallsAtOnce, func(l *Limits) *int64 { return &l.HostCallsAtOnce }, DefaultHostCallsAtOnce, 1, MaxHostCallsAtOnce, bySandboxCalls, ""},
		{spi.LimitCallBytes, func(l *Limits) *int64 { return &l.ArgumentBytes }, DefaultArgumentBytes, 1, MaxArgumentBytes, byCaller, ""},
		{LimitReplyBytes, func(l *Limits) *int64 { return &l.ReplyBytes }, DefaultReplyBytes, 1, MaxReplyBytes, bySandboxCalls, ""},
		{LimitTotalTime, func(l *Limits) *int64 { return (*int64)(&l.TotalTime) }, int64(DefaultTotalTime), int64(time.Millisecond), int64(MaxTotalTime), bySandbox, ""},
	}
	for i := range all {
		if f := &all[i]; !f.offered(&d) {
			f.missing = d.Name
			if f.by != byBackend {
				f.fallback = 0
			}
		}
	}
	return all
}

// shown is the value in the unit that the limit's name carries.
func (f *field) shown(v int64) string {
	if f.name == spi.LimitTimeout || f.name == LimitTotalTime {
		return strconv.FormatFloat(float64(v)/float64(time.Millisecond), 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// check refuses a value that is negative or absurd. Zero is "not given".
func (f *field) check(v int64) *RequestError {
	if v != 0 && f.missing != "" {
		return &RequestError{Field: "limits." + string(f.name), Problem: "is not enforced by backend " + f.missing + "; allowed is none"}
	}
	if v == 0 || v >= f.min && v <= f.max {
		return nil
	}
	allowed := fmt.Sprintf("%s to %s", f.shown(f.min), f.shown(f.max))
	if f.max == math.MaxInt64 {
		allowed = fmt.Sprintf("%s or more", f.shown(f.min))
	}
	return &RequestError{Field: "limits." + string(f.name), Problem: fmt.Sprintf("is %s; allowed is %s", f.shown(v), allowed)}
}

// resolve fills what a request leaves open and caps what it asks for.
func resolve(fs []field, want, defaults, ceilings *Limits) (Limits, error) {
	var out Limits
	for i := range fs {
		f := &fs[i]
		v := *f.get(want)
		if err := f.check(v); err != nil {
			return Limits{}, err
		}
		if v == 0 {
			v = *f.get(defaults)
		}
		// A ceiling on fuel also binds a request that asks for no limit.
		if c := *f.get(ceilings); c != 0 && (v == 0 || v > c) {
			v = c
		}
		*f.get(&out) = v
	}
	return out, nil
}

// hold refuses a cap on memory below what a guest has that is to go on.
func (l *Limits) hold(memory int64) error {
	if l.MemoryBytes == 0 || l.MemoryBytes >= memory {
		return nil
	}
	return &RequestError{"limits." + string(spi.LimitMemory), fmt.Sprintf("is %d; allowed is %d, which the script has already, or more", l.MemoryBytes, memory)}
}

// giveTime makes a TotalTime that nobody asked for long enough for the script's
// own time.
func (l *Limits) giveTime(ceilings *Limits) {
	l.TotalTime = max(l.TotalTime, l.Timeout)
	if c := ceilings.TotalTime; c != 0 {
		l.TotalTime = min(l.TotalTime, c)
	}
}
