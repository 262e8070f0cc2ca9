package conformance

import (
	"context"
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
func (s *subject) withPatience() func(*spi.Config) { return withTimeout(s.allow(4 * time.Second)) }

// interrupt starts an eval, stops it after a while and waits for its outcome.
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
	iso, err := s.isolate(ctx, s.withPatience())
	if err != nil {
		return err
	}
	out, err := s.interrupt(ctx, iso, b.source, s.allow(50*time.Millisecond), b.stop)
	if err != nil {
		return err
	}
	if err := wantKind(out, append([]spi.Kind{b.want}, b.kinds...)...); err != nil {
		return err
	}
	if out.Error.Kind != b.want {
		return s.healthy(ctx)
	}
	spent := spi.ErrIsolateSpent
	if b.want == spi.KindKilled {
		spent = spi.ErrClosed
	}
	return firstError(
		func() error { return wantNoLimit(out) },
		func() error { return wantRefused(ctx, iso, spent) },
		func() error { return s.healthy(ctx) },
	)
}
