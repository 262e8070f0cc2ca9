package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// openChecks: the context of Open.
func openChecks() []Check {
	return []Check{
		{ID: "CLOSE-015", Level: SHOULD, Rule: "Opening under a context that ends soon gives an isolate or the context's error, in time.", Watchdog: manyWatchdog, body: openUnderShort},
	}
}

func openUnderShort(ctx context.Context, s *subject) error {
	for _, after := range []time.Duration{100 * time.Microsecond, time.Millisecond, 5 * time.Millisecond} {
		for _, end := range []func() (context.Context, context.CancelFunc){
			func() (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, after) },
			func() (context.Context, context.CancelFunc) {
				short, cancel := context.WithCancel(ctx)
				time.AfterFunc(after, cancel)
				return short, cancel
			},
		} {
			if err := s.openUnder(end); err != nil {
				return fmt.Errorf("under a context of %v: %w", after, err)
			}
		}
	}
	return s.healthy(ctx)
}

func (s *subject) openUnder(end func() (context.Context, context.CancelFunc)) error {
	short, cancel := end()
	defer cancel()
	start := time.Now()
	iso, err := s.backend.Open(short, s.config())
	took, latest := time.Since(start), s.latest(0)
	switch {
	case err == nil && iso == nil:
		return errors.New("Open returned no isolate and no error")
	case err == nil:
		if err := iso.Close(); err != nil {
			return fmt.Errorf("closing the isolate: %w", err)
		}
	case short.Err() == nil:
		return fmt.Errorf("Open: %w", err)
	default:
		if err := wantOneOf("Open", err, short.Err()); err != nil {
			return err
		}
	}
	if took > latest {
		return fmt.Errorf("Open returned after %v, wanted within %v", took.Round(time.Millisecond), latest)
	}
	return nil
}
