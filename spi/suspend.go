package spi

import (
	"context"
	"errors"
	"time"
)

// Suspender is an [Isolate] whose state can be put away as bytes, between two
// evals or while a script waits for replies. Isolates are where
// [Descriptor.Suspends] says so.
type Suspender interface {
	// Suspend returns all that the isolate is: heap, clock, random numbers, and of
	// a script that waits what it has used, logged and called. The isolate stays as
	// it is and may go on. The bytes are not compressed and hold long runs of
	// zeros. What would be more than maxBytes is [ErrStateTooLarge].
	Suspend(ctx context.Context, maxBytes int64) ([]byte, error)
}

// Resumer is a [Backend] that opens isolates from such bytes. It is one where
// [Descriptor.Suspends] says so.
type Resumer interface {
	// Resume is [Backend.Open] for the state of an isolate that was suspended, by
	// this backend or by any with the same [Descriptor.Image]: the isolate goes on
	// as the suspended one would, any number of times, and a script that waits goes
	// on with [Caller.Continue]. r is guaranteed non-nil. State comes from whoever
	// is trusted as much as the backend's own code: the caller authenticates it.
	// What is not a state of this image is [ErrState].
	Resume(ctx context.Context, r *Resumption) (Isolate, error)
}

// Resumption is what an isolate is resumed with.
type Resumption struct {
	State []byte
	// Limits hold from now on. What a script that waits has used counts.
	Limits Limits
	// Now sets the guest's clock; zero lets it go on from where it stood.
	Now time.Time
	// Seed restarts the random numbers; nil lets them go on.
	Seed *uint64
	// Observer is as in [Config].
	Observer Observer
}

// Errors of suspending.
var (
	// ErrState: bytes are not the state of an isolate with this image.
	ErrState = errors.New("spi: not a state of this image")
	// ErrStateTooLarge: a state has more bytes than allowed.
	ErrStateTooLarge = errors.New("spi: state is too large")
)
