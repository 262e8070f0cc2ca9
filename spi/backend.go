package spi

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// Backend opens isolates. See the package documentation for its lifecycle.
type Backend interface {
	// Describe returns what this backend is and promises. The answer is
	// constant over the backend's lifetime and may be asked before any Open.
	Describe() Descriptor

	// Open returns a pristine isolate: nothing that an earlier eval did can be
	// seen in it. cfg is guaranteed non-nil and valid ([Config.Validate]); its
	// limits are resolved, so a zero means "none" and not "default". A limit
	// that the backend cannot enforce is refused with [ErrUnsupported]. Isolates
	// do not wait for each other: as many are open at once as memory allows.
	// ctx bounds the opening only, not the isolate's life.
	Open(ctx context.Context, cfg *Config) (Isolate, error)

	// Close releases what the backend holds. It is idempotent; isolates that
	// are still open are ended. Open afterwards returns [ErrClosed].
	Close() error
}

// Isolate is one guest heap. It may be asked to Eval again: what an earlier
// script left in the heap is still there, clock and random numbers go on, and
// the limits of its Config hold for each eval anew.
type Isolate interface {
	// Eval runs one script. req is guaranteed non-nil and valid. The script is
	// ended when ctx ends, when a limit of the isolate's Config is reached or
	// when Close is called, whichever is first; the outcome says which, also
	// where ctx had ended before. Logs and usage are in the outcome on every
	// path. A script that waits for replies (see [Caller]) is given up: its calls
	// never settle. A language that the descriptor does not list is [ErrUnsupported].
	//
	// An eval that was stopped by force, that was refused memory or whose guest
	// contradicted itself leaves the isolate spent: every later Eval returns
	// [ErrIsolateSpent]. After Close it returns [ErrClosed].
	Eval(ctx context.Context, req *Request) (*Outcome, error)

	// Close ends a running Eval (its outcome has [KindKilled]), waits for it to
	// return and releases the isolate. It is idempotent and may be called from
	// another goroutine.
	Close() error
}

// Errors that a backend returns, possibly wrapped.
var (
	// ErrUnsupported: the configuration asks for what the descriptor does not offer.
	ErrUnsupported = errors.New("spi: not supported by this backend")
	// ErrClosed: the backend or the isolate was closed.
	ErrClosed = errors.New("spi: closed")
	// ErrIsolateSpent: an earlier eval of this isolate was ended by force, so
	// its heap can no longer be trusted to be whole.
	ErrIsolateSpent = errors.New("spi: isolate is spent")
)

// Config is what one isolate is opened with.
type Config struct {
	Limits Limits
	// Now is where the guest's clock starts, from 1970 to 2200. Zone and
	// monotonic reading are ignored: the guest sees UTC.
	Now time.Time
	// Seed determines every random number of the guest.
	Seed uint64
	// Observer is told of each log line that is kept and of each event of the
	// script, in order and as it happens, by the goroutine that is in Eval or
	// Continue. Nil means nobody. Without [Descriptor.HostCalls] it is not told.
	Observer Observer
}

// Language of a script.
type Language string

// Languages. More may come; a backend refuses what it does not list.
const (
	JavaScript Language = "js"
)

// Request is one script to run.
type Request struct {
	// Source is the program: valid UTF-8, not empty, no Markdown fence, no
	// byte-order mark and no hashbang. Line 1 of Source is line 1 of what the
	// user wrote.
	Source string
	// Language is one that the descriptor lists.
	Language Language
	// Input is the JSON text that the script sees as the global `input`:
	// strictly valid (no duplicate names, no invalid UTF-8), never empty.
	Input json.RawMessage
	// Functions are the host functions that the script is handed, by dotted names
	// that [CheckFunctionName] allows, none twice and none a part of another: the
	// script finds `a.b.c` as a function c of an object b of a global a. A function
	// that is not there reads as one all the same, if anything with its first name
	// is: calling it is a call with that name, so that whoever answers can refuse
	// it by name, while `in` says that it is not there. DeniedError and ToolError
	// are there with it. Nothing of it is there where the list is empty, and what
	// an earlier script has kept is denied then.
	Functions []string
}

// Descriptor says what a backend is and what it promises.
type Descriptor struct {
	// Name is how operators choose the backend: lower-case letters, digits, '-'.
	Name string `json:"name"`
	// Summary is one line for people.
	Summary string `json:"summary"`
	// Isolation is the wall between guest and host.
	Isolation Isolation `json:"isolation"`
	// Languages that Eval accepts.
	Languages []Language `json:"languages"`
	// Enforces lists the limits that hold, and how exactly.
	Enforces []Enforcement `json:"enforces"`
	// Image identifies the guest program, as "sha256:…". The first eval of an
	// isolate with the same image, script, input, limits, Now and Seed gives the
	// same bytes, unless time or memory of the host ended it. Empty if the
	// backend does not promise that.
	Image string `json:"image,omitempty"`
	// Prepares: the backend is a [Preparer].
	Prepares bool `json:"prepares,omitempty"`
	// HostCalls: isolates are [Caller]s, and tell [Config.Observer].
	HostCalls bool `json:"hostCalls,omitempty"`
	// Suspends: the backend is a [Resumer], and isolates are [Suspender]s. A later
	// script of an isolate may declare again what an earlier one has declared.
	Suspends bool `json:"suspends,omitempty"`
	// Engine names what executes the guest, with its version.
	Engine string `json:"engine"`
	// MaxMemoryBytes is the largest Limits.MemoryBytes that Open accepts.
	MaxMemoryBytes int64 `json:"maxMemoryBytes"`
	// MinMemoryBytes is the smallest: what the guest needs before any script runs.
	MinMemoryBytes int64 `json:"minMemoryBytes"`
}

// Isolation is the kind of wall between guest and host.
type Isolation string

// Isolation levels, weakest first.
const (
	IsolationNone    Isolation = "none"    // same process, same memory
	IsolationWASM    Isolation = "wasm"    // same process, WebAssembly sandbox
	IsolationProcess Isolation = "process" // another process with reduced rights
	IsolationMachine Isolation = "machine" // another kernel
)

// Enforcement says that a limit holds, and how exactly.
type Enforcement struct {
	Limit LimitName `json:"limit"`
	// Exact: to the unit, and the same for the same eval every time.
	// Otherwise Granularity says by how much the limit in effect may differ.
	Exact bool `json:"exact"`
	// Granularity is the documented difference: nanoseconds by which a time may
	// be overrun, bytes by which a size may be rounded down, units for fuel.
	// Zero where Exact, or where it depends on the script.
	Granularity int64 `json:"granularity,omitempty"`
}

// EnforcementOf returns how the backend enforces the named limit.
func (d Descriptor) EnforcementOf(name LimitName) (Enforcement, bool) {
	for _, e := range d.Enforces {
		if e.Limit == name {
			return e, true
		}
	}
	return Enforcement{}, false
}

// Speaks reports whether the backend accepts the language.
func (d Descriptor) Speaks(lang Language) bool { return slices.Contains(d.Languages, lang) }
