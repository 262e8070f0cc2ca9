package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// resuming opens isolates from a state, within the limits of a configuration.
func (s *subject) resuming(state []byte) opener {
	return func(ctx context.Context, changes ...func(*spi.Config)) (spi.Isolate, error) {
		return s.resume(ctx, state, func(r *spi.Resumption) { r.Limits = s.config(changes...).Limits })
	}
}

func resumedEnded(ctx context.Context, s *subject) error {
	_, state, err := s.stateOf(ctx, "globalThis.kept = [1]; kept")
	if err != nil {
		return err
	}
	for _, h := range s.declaredEndings() {
		var last spi.Isolate
		open := func(ctx context.Context, changes ...func(*spi.Config)) (spi.Isolate, error) {
			iso, err := s.resuming(state)(ctx, changes...)
			last = iso
			return iso, err
		}
		if err := h.meet(ctx, s, open, nothingElse); err != nil {
			return fmt.Errorf("resumed: %w", err)
		}
		if h.spent {
			if err := wantSpent(ctx, last); err != nil {
				return fmt.Errorf("resumed, and ended with %s: %w", h.kind, err)
			}
		}
		again, err := s.resume(ctx, state)
		if err == nil {
			err = s.walk(ctx, again, stays, step{"kept.push(2); kept", "[1,2]"})
		}
		if err != nil {
			return fmt.Errorf("resumed again after %s: %w", h.kind, err)
		}
	}
	return s.healthy(ctx)
}

func suspendedDead(ctx context.Context, s *subject) error {
	dead := func(what string, iso spi.Isolate, want error) error {
		sus, err := suspenderOf(iso)
		if err != nil {
			return err
		}
		if state, err := sus.Suspend(ctx, roomyState); err == nil {
			return fmt.Errorf("an isolate that is %s was suspended, with %d bytes", what, len(state))
		} else if err := wantOneOf("Suspend of an isolate that is "+what, err, want); err != nil {
			return err
		}
		return nil
	}
	for _, moved := range []mover{stays, s.goesAway(func(r *spi.Resumption) { r.Limits.Timeout = s.allow(50 * time.Millisecond) })} {
		spent, err := s.isolate(ctx, withTimeout(s.allow(50*time.Millisecond)))
		if err != nil {
			return err
		}
		if spent, err = moved(ctx, spent); err != nil {
			return err
		}
		out, err := s.evalIn(ctx, spent, "for (;;) ;", "")
		if err == nil {
			err = wantKind(out, spi.KindTimeout)
		}
		if err == nil {
			err = dead("spent", spent, spi.ErrIsolateSpent)
		}
		if err != nil {
			return err
		}
		closed, err := s.isolate(ctx)
		if err != nil {
			return err
		}
		if closed, err = moved(ctx, closed); err != nil {
			return err
		}
		err = firstError(
			func() error { return s.walk(ctx, closed, stays, step{"1", "1"}) },
			closed.Close,
			func() error { return dead("closed", closed, spi.ErrClosed) },
			spent.Close,
			func() error { return dead("closed", spent, spi.ErrClosed) },
		)
		if err != nil {
			return err
		}
	}
	return nil
}

func resumedBackendClosed(ctx context.Context, s *subject) error {
	iso, state, err := s.stateOf(ctx, "globalThis.n = 1; n")
	if err != nil {
		return err
	}
	idle, err := s.resume(ctx, state)
	if err != nil {
		return err
	}
	running, err := s.resume(ctx, state, func(r *spi.Resumption) { r.Limits.Timeout = s.allow(20 * time.Second) })
	if err != nil {
		return err
	}
	pending := background(func() (*spi.Outcome, error) { return s.evalIn(ctx, running, "for (;;) ;", "") })
	time.Sleep(s.allow(50 * time.Millisecond))
	if err := s.backend.Close(); err != nil {
		return err
	}
	ended := <-pending
	switch {
	case errors.Is(ended.err, spi.ErrClosed): // it had not begun
	case ended.err != nil:
		return ended.err
	default:
		if err := wantKind(ended.value, spi.KindKilled); err != nil {
			return fmt.Errorf("a resumed isolate, running as its backend was closed: %w", err)
		}
	}
	for _, open := range []spi.Isolate{idle, running, iso} {
		if err := wantRefused(ctx, open, spi.ErrClosed); err != nil {
			return err
		}
		sus, err := suspenderOf(open)
		if err != nil {
			return err
		}
		if _, err := sus.Suspend(ctx, roomyState); err == nil {
			return errors.New("an isolate was suspended after its backend was closed")
		} else if err := wantOneOf("Suspend after the backend was closed", err, spi.ErrClosed); err != nil {
			return err
		}
		if err := open.Close(); err != nil {
			return fmt.Errorf("closing a resumed isolate after its backend: %w", err)
		}
	}
	return s.wantNotResumed(ctx, "a state, after the backend was closed,", s.resumption(state), spi.ErrClosed)
}

func resumedWhileClosing(ctx context.Context, s *subject) error {
	_, state, err := s.stateOf(ctx, "globalThis.n = 'x'.repeat(100000); 1")
	if err != nil {
		return err
	}
	resumer, err := s.resumer()
	if err != nil {
		return err
	}
	var resumed atomic.Int64
	var closed atomic.Bool
	one := func() (ended bool, err error) {
		late := closed.Load()
		iso, err := resumer.Resume(ctx, s.resumption(state))
		switch {
		case errors.Is(err, spi.ErrClosed):
			return true, nil
		case err != nil:
			return true, fmt.Errorf("Resume: %w", err)
		case late:
			return true, errors.New("Resume gave an isolate after Close had returned")
		}
		resumed.Add(1)
		if sus, err := suspenderOf(iso); err != nil {
			return true, err
		} else if _, err := sus.Suspend(ctx, roomyState); err != nil && !errors.Is(err, spi.ErrClosed) {
			return true, fmt.Errorf("Suspend: %w", err)
		}
		if _, err := iso.Eval(ctx, request("n.length", "")); err != nil && !errors.Is(err, spi.ErrClosed) {
			return true, fmt.Errorf("Eval: %w", err)
		}
		return false, iso.Close()
	}
	pending := background(func() (none, error) {
		return none{}, together(8, func(int) error {
			for {
				if ended, err := one(); ended || err != nil {
					return err
				}
			}
		})
	})
	for deadline := time.Now().Add(s.allow(5 * time.Second)); resumed.Load() < 8 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	closeErr := s.backend.Close()
	closed.Store(true)
	a := <-pending
	return errors.Join(closeErr, a.err)
}

func suspendUnderEnded(ctx context.Context, s *subject) error {
	iso, state, err := s.stateOf(ctx, "globalThis.n = 1; n")
	if err != nil {
		return err
	}
	sus, err := suspenderOf(iso)
	if err != nil {
		return err
	}
	resumer, err := s.resumer()
	if err != nil {
		return err
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	late, cancelLate := context.WithDeadline(ctx, time.Now().Add(-time.Second))
	defer cancelLate()
	for _, ended := range []context.Context{cancelled, late} {
		if _, err := sus.Suspend(ended, roomyState); err == nil {
			return fmt.Errorf("Suspend gave a state, wanted %w", ended.Err())
		} else if err := wantOneOf("Suspend", err, ended.Err()); err != nil {
			return err
		}
		resumed, err := resumer.Resume(ended, s.resumption(state))
		if err == nil {
			if resumed != nil {
				_ = resumed.Close()
			}
			return fmt.Errorf("Resume gave an isolate, wanted %w", ended.Err())
		}
		if err := wantOneOf("Resume", err, ended.Err()); err != nil {
			return err
		}
	}
	// Nor does a context that ends later end what was resumed under it.
	soon, end := context.WithCancel(ctx)
	resumed, err := resumer.Resume(soon, s.resumption(state))
	end()
	if err != nil {
		return fmt.Errorf("Resume: %w", err)
	}
	s.closeLater(resumed)
	time.Sleep(20 * time.Millisecond) // what the end brings about may take a moment
	return firstError(
		func() error { return s.walk(ctx, resumed, s.goesAway(), step{"n + 1", "2"}) },
		func() error { return s.walk(ctx, iso, s.goesAway(), step{"n + 2", "3"}) },
	)
}

func suspendNoGoroutines(ctx context.Context, s *subject) error {
	_, state, err := s.stateOf(ctx, "globalThis.n = 1; n")
	if err != nil {
		return err
	}
	return s.noneLeft("isolates that were resumed", func(i int) error {
		iso, err := s.resuming(state)(ctx, withTimeout(s.allow(10*time.Millisecond)))
		if err != nil {
			return err
		}
		if _, err := suspend(ctx, iso); err != nil {
			return err
		}
		if i%8 == 7 { // there are evals that fail, and states that are none
			if err := s.wantNotResumed(ctx, "half a state", s.resumption(state[:len(state)/2]), spi.ErrState); err != nil {
				return err
			}
		}
		_, err = s.evalIn(ctx, iso, []string{"n + 1", "for (;;) ;", "throw n", "while (true) await null"}[i%4], "")
		return errors.Join(err, iso.Close())
	})
}
