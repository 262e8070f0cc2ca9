package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// interruption stops an eval from outside.
type interruption func(cancel context.CancelFunc, iso spi.Isolate) error

func byCancelling(cancel context.CancelFunc, _ spi.Isolate) error { cancel(); return nil }
func byClosing(_ context.CancelFunc, iso spi.Isolate) error       { return iso.Close() }

// withPatience gives a script that is going to be stopped a timeout: where
// stopping does not work, the check fails soon and does not hang.
func (s *subject) withPatience() func(*spi.Config) { return withTimeout(s.allow(6 * time.Second)) }

// withLeisure gives a script that ends by itself more time than it can need,
// whatever else runs.
func (s *subject) withLeisure() func(*spi.Config) { return withTimeout(s.allow(time.Minute)) }

// hastyError: what was seen is wrong, unless the check had given too little time.
type hastyError struct{ err error }

func (e *hastyError) Error() string { return e.err.Error() }
func (e *hastyError) Unwrap() error { return e.err }

func hasty(err error) error {
	if err == nil {
		return nil
	}
	return &hastyError{err}
}

// patiently tries with more time as long as what was seen may come from too
// little. The times grow so far that in the end it does not.
func (s *subject) patiently(times []time.Duration, try func(time.Duration) error) error {
	var err error
	for _, t := range times {
		err = try(s.allow(t).Round(time.Millisecond))
		var hasty *hastyError
		if !errors.As(err, &hasty) {
			return err
		}
	}
	return err
}

// untilBegun are how long a script is left alone before it is stopped. On a busy
// machine it may not have begun by then, and nothing tells when it has.
func untilBegun() []time.Duration {
	return []time.Duration{50 * time.Millisecond, 300 * time.Millisecond, 1200 * time.Millisecond}
}

// interrupt starts an eval, stops it after a while and waits for its outcome.
// That the isolate was closed already is a hasty error.
func (s *subject) interrupt(ctx context.Context, iso spi.Isolate, source string, after time.Duration, stop interruption) (*spi.Outcome, error) {
	evalCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	pending := background(func() (*spi.Outcome, error) { return s.evalIn(evalCtx, iso, source, s.room(s.config())) })
	select {
	case a := <-pending:
		if a.err != nil {
			return nil, a.err
		}
		return nil, fmt.Errorf("ended before it was stopped: %s", ending(a.value))
	case <-time.After(after):
	}
	stopped := background(func() (none, error) { return none{}, stop(cancel, iso) })
	return s.inTime(0, func() (*spi.Outcome, error) {
		a := <-pending
		if b := <-stopped; a.err == nil && b.err != nil {
			return nil, fmt.Errorf("stopping it: %w", b.err)
		}
		if errors.Is(a.err, spi.ErrClosed) {
			return nil, &hastyError{a.err}
		}
		return a.value, a.err
	})
}

// ending says in a word how an eval ended.
func ending(out *spi.Outcome) string {
	if out.Error != nil {
		return string(out.Error.Kind)
	}
	return "a value"
}

// stubborn is a body as data: a script that nothing in it ends, stopped from
// outside.
type stubborn struct {
	source string
	stop   interruption
	want   spi.Kind
	// kinds that will do as well, where an engine may give up by itself.
	kinds []spi.Kind
}

func (b stubborn) body() body { return b.run }

func (b stubborn) run(ctx context.Context, s *subject) error {
	return s.patiently(untilBegun(), func(after time.Duration) error { return b.try(ctx, s, after) })
}

func (b stubborn) try(ctx context.Context, s *subject, after time.Duration) error {
	iso, err := s.isolate(ctx, s.withPatience())
	if err != nil {
		return err
	}
	out, err := s.interrupt(ctx, iso, b.source, after, b.stop)
	if err != nil {
		return err
	}
	if err := wantKind(out, append([]spi.Kind{b.want}, b.kinds...)...); err != nil {
		return err
	}
	if out.Error.Kind != b.want {
		return s.healthy(ctx)
	}
	refused := func() error { return wantRefused(ctx, iso, spi.ErrClosed) }
	if b.want != spi.KindKilled {
		refused = func() error { return hasty(wantSpent(ctx, iso)) }
	}
	return firstError(
		func() error { return wantNoLimit(out) },
		refused,
		func() error { return s.healthy(ctx) },
	)
}
