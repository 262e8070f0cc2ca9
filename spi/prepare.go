package spi

import (
	"context"
	"errors"
)

// Preparer is a [Backend] that can parse a script once and run it many times.
// It says so in [Descriptor.Prepares]; who does not is not asked, and refuses
// with [ErrUnsupported] if it has the method all the same, as a wrapper may.
type Preparer interface {
	// Prepare parses a script within the time, the memory and the fuel of
	// limits, and keeps the state after parsing. limits are resolved as in a
	// [Config]; outputs and logs do not matter, since nothing runs. ctx bounds
	// the preparing only. [ErrNotPrepared] says that this script has to be
	// evaluated as it is: because it does not parse, or not within the limits.
	// A language that the descriptor does not list is [ErrUnsupported]. Other
	// errors are those of [Backend.Open]. Any number of goroutines may call it.
	Prepare(ctx context.Context, limits *Limits, source string, language Language) (Prepared, error)
}

// Prepared is a script that has been parsed. It may be used by any number of
// goroutines.
type Prepared interface {
	// Open is [Backend.Open] for this script: the first Eval of the isolate must
	// have its source and language, and is [ErrUnsupported] otherwise. The
	// outcome is the one that an isolate from Backend.Open would give, usage
	// included: what parsing burnt counts as burnt, against the limits too.
	// Only Usage.Wall is less. Later evals may have any source.
	Open(ctx context.Context, cfg *Config) (Isolate, error)

	// Bytes is the host memory that is kept, for whoever bounds it: positive, and
	// always the same.
	Bytes() int64

	// Close releases what is kept. It is idempotent; isolates that are open go
	// on. Open afterwards returns [ErrClosed], as it does once the backend is closed.
	Close() error
}

// ErrNotPrepared says that a script cannot be prepared, only evaluated.
var ErrNotPrepared = errors.New("spi: script cannot be prepared")
