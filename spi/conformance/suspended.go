package conformance

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/loom-sandbox/sandboxd/spi"
)

// roomyState is more than any state of a check has.
const roomyState = 1 << 30

// suspend puts an isolate away; it stays open.
func suspend(ctx context.Context, iso spi.Isolate) ([]byte, error) {
	sus, err := suspenderOf(iso)
	if err != nil {
		return nil, err
	}
	state, err := sus.Suspend(ctx, roomyState)
	switch {
	case err != nil:
		return nil, fmt.Errorf("Suspend: %w", err)
	case len(state) == 0:
		return nil, errors.New("Suspend returned nothing and no error")
	}
	return state, nil
}

func suspenderOf(iso spi.Isolate) (spi.Suspender, error) {
	sus, ok := iso.(spi.Suspender)
	if !ok {
		return nil, errors.New("the descriptor says that isolates suspend, and one is no spi.Suspender")
	}
	return sus, nil
}

// resumer is the backend as one that resumes.
func (s *subject) resumer() (spi.Resumer, error) {
	r, ok := s.backend.(spi.Resumer)
	if !ok {
		return nil, errors.New("the descriptor says that the backend resumes, and it is no spi.Resumer")
	}
	return r, nil
}

// resumption is what a check resumes with unless it says otherwise: roomy limits,
// and clock and random numbers go on.
func (s *subject) resumption(state []byte, changes ...func(*spi.Resumption)) *spi.Resumption {
	r := &spi.Resumption{State: state, Limits: s.config(s.withLeisure(), s.withWaits()).Limits}
	for _, change := range changes {
		change(r)
	}
	return r
}

// resume resumes a state; the isolate is closed at the check's end.
func (s *subject) resume(ctx context.Context, state []byte, changes ...func(*spi.Resumption)) (spi.Isolate, error) {
	resumer, err := s.resumer()
	if err != nil {
		return nil, err
	}
	iso, err := resumer.Resume(ctx, s.resumption(state, changes...))
	switch {
	case err != nil:
		return nil, fmt.Errorf("Resume: %w", err)
	case iso == nil:
		return nil, errors.New("Resume returned no isolate and no error")
	}
	s.closeLater(iso)
	return iso, nil
}

// wantNotResumed demands that Resume gives one of the errors and no isolate.
// Nothing allowed is any error.
func (s *subject) wantNotResumed(ctx context.Context, what string, r *spi.Resumption, allowed ...error) error {
	resumer, err := s.resumer()
	if err != nil {
		return err
	}
	iso, err := resumer.Resume(ctx, r)
	if err == nil {
		if iso != nil {
			_ = iso.Close()
		}
		return fmt.Errorf("%s was resumed, wanted an error %v", what, allowed)
	}
	if len(allowed) == 0 {
		return nil
	}
	return wantOneOf("Resume of "+what, err, allowed...)
}

// mover is what becomes of an isolate between two evals, or at a wait.
type mover func(ctx context.Context, iso spi.Isolate) (spi.Isolate, error)

func stays(_ context.Context, iso spi.Isolate) (spi.Isolate, error) { return iso, nil }

// goesAway puts the isolate away, closes it and resumes what was put away.
func (s *subject) goesAway(changes ...func(*spi.Resumption)) mover {
	return func(ctx context.Context, iso spi.Isolate) (spi.Isolate, error) {
		state, err := suspend(ctx, iso)
		if err != nil {
			return nil, err
		}
		if err := iso.Close(); err != nil {
			return nil, fmt.Errorf("closing the isolate: %w", err)
		}
		return s.resume(ctx, state, changes...)
	}
}

// withWaits allows a script to make calls, where there are any.
func (s *subject) withWaits() func(*spi.Config) {
	return func(cfg *spi.Config) {
		if NeedHostCalls.declaredBy(&s.descriptor) {
			cfg.Limits.HostCalls, cfg.Limits.CallBytes = 100, 1<<20
		}
	}
}

// beginWaiting runs a script that is handed tools.echo, to its first wait or its end.
func (s *subject) beginWaiting(ctx context.Context, iso spi.Isolate, source string) (*spi.Outcome, error) {
	req := request(source, sameInput)
	req.Functions = []string{"tools.echo"}
	out, err := iso.Eval(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("Eval: %w", err)
	}
	return out, wellFormedPart(out)
}

// waitMore gives replies to a script that waits, and goes on to its next wait or its end.
func waitMore(ctx context.Context, iso spi.Isolate, replies ...spi.Reply) (*spi.Outcome, error) {
	caller, ok := iso.(spi.Caller)
	if !ok {
		return nil, errors.New("the descriptor says that scripts call, and an isolate is no spi.Caller")
	}
	out, err := caller.Continue(ctx, replies)
	if err != nil {
		return nil, fmt.Errorf("Continue: %w", err)
	}
	return out, wellFormedPart(out)
}

// echoed answers a call with its arguments, or fails if it asks for that.
func echoed(c spi.HostCall) spi.Reply {
	switch string(c.Args) {
	case `["fail"]`:
		return spi.Reply{ID: c.ID, Error: &spi.CallError{Message: "it failed"}}
	case `["deny"]`:
		return spi.Reply{ID: c.ID, Error: &spi.CallError{Name: "DeniedError", Message: "it is denied", Denied: true}}
	}
	return spi.Reply{ID: c.ID, Value: c.Args}
}

// partsOf runs a script to its end, answers one call at each wait and moves the
// isolate before.
func (s *subject) partsOf(ctx context.Context, iso spi.Isolate, source string, move mover) ([]*spi.Outcome, error) {
	out, err := s.beginWaiting(ctx, iso, source)
	var parts []*spi.Outcome
	for err == nil {
		parts = append(parts, out)
		switch {
		case !out.Waits():
			return parts, nil
		case len(parts) > 100:
			return nil, errors.New("a script with a few calls waits for the hundredth time")
		}
		if iso, err = move(ctx, iso); err == nil {
			out, err = waitMore(ctx, iso, echoed(out.Pending[0]))
		}
	}
	return nil, fmt.Errorf("part %d: %w", len(parts)+1, err)
}

// waitingParts is partsOf in an isolate of its own.
func (s *subject) waitingParts(ctx context.Context, source string, move mover, changes ...func(*spi.Config)) ([]*spi.Outcome, error) {
	iso, err := s.isolate(ctx, append([]func(*spi.Config){s.withLeisure(), s.withWaits()}, changes...)...)
	if err != nil {
		return nil, err
	}
	return s.partsOf(ctx, iso, source, move)
}

// sameAway demands that a script that was away came to what one came to that stayed.
func (s *subject) sameAway(stayed, away []*spi.Outcome) error {
	for i := range min(len(stayed), len(away)) {
		if err := s.samePart(stayed[i], away[i]); err != nil {
			return fmt.Errorf("put away, part %d is another outcome: %w", i+1, err)
		}
	}
	if len(stayed) != len(away) {
		return fmt.Errorf("put away, it has %d parts, wanted %d", len(away), len(stayed))
	}
	return nil
}

func (s *subject) samePart(stayed, away *spi.Outcome) error {
	if err := s.sameButStack(stayed, away); err != nil {
		return err
	}
	a, b := &stayed.Usage, &away.Usage
	switch {
	case len(stayed.Pending)+len(away.Pending) > 0 && !reflect.DeepEqual(stayed.Pending, away.Pending):
		return fmt.Errorf("pending are %v, and away %v", stayed.Pending, away.Pending)
	case a.HostCalls != b.HostCalls || a.CallBytes != b.CallBytes:
		return fmt.Errorf("usage says %d calls of %d bytes, and away %d of %d", a.HostCalls, a.CallBytes, b.HostCalls, b.CallBytes)
	case NeedImage.declaredBy(&s.descriptor) && a.MemoryPeakBytes != b.MemoryPeakBytes:
		return fmt.Errorf("the peak is %d bytes, and away %d", a.MemoryPeakBytes, b.MemoryPeakBytes)
	}
	return nil
}
