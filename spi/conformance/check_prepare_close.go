package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/loom-sandbox/sandboxd/spi"
)

func preparedClosedEarly(ctx context.Context, s *subject) error {
	p, err := s.prepare(ctx, counting)
	if err != nil {
		return err
	}
	used, err := s.from(p)(ctx, s.withLeisure())
	if err != nil {
		return err
	}
	if _, err := s.evalIn(ctx, used, counting, "1"); err != nil {
		return err
	}
	unused, err := s.from(p)(ctx, s.withLeisure())
	if err != nil {
		return err
	}
	running, err := s.from(p)(ctx, s.withLeisure())
	if err != nil {
		return err
	}
	pending := background(func() (*spi.Outcome, error) { return s.evalIn(ctx, running, counting, "3") })
	if err := p.Close(); err != nil {
		return fmt.Errorf("closing what was prepared: %w", err)
	}
	for range 3 { // what is in its place now must not show
		if err := s.healthy(ctx); err != nil {
			return err
		}
	}
	for _, c := range []struct {
		eval func() (*spi.Outcome, error)
		want string
	}{
		{func() (*spi.Outcome, error) { a := <-pending; return a.value, a.err }, "3"},
		{func() (*spi.Outcome, error) { return s.evalIn(ctx, unused, counting, "2") }, "2"},
		{func() (*spi.Outcome, error) { return s.evalIn(ctx, used, "n += input", "4") }, "5"},
	} {
		out, err := c.eval()
		if err == nil {
			err = wantValue(out, c.want)
		}
		if err != nil {
			return fmt.Errorf("an isolate after its script was closed: %w", err)
		}
	}
	return nil
}

// wantShut demands that a prepared script opens nothing any more.
func (s *subject) wantShut(ctx context.Context, p spi.Prepared) error {
	iso, err := p.Open(ctx, s.config())
	if err == nil {
		if iso != nil {
			_ = iso.Close()
		}
		return errors.New("opening from what was closed gave no error")
	}
	return wantOneOf("opening from what was closed", err, spi.ErrClosed)
}

func preparedClosed(ctx context.Context, s *subject) error {
	for _, used := range []bool{false, true} {
		p, err := s.prepare(ctx, "1 + input")
		if err != nil {
			return err
		}
		other, err := s.prepare(ctx, "1 + input") // is another one
		if err != nil {
			return err
		}
		if used {
			if _, err := s.evalFrom(ctx, p, "1 + input", "1"); err != nil {
				return err
			}
		}
		err = together(4, func(int) error { return p.Close() })
		if err == nil {
			err = p.Close()
		}
		if err != nil {
			return fmt.Errorf("closing what was prepared: %w", err)
		}
		for range 2 {
			if err := s.wantShut(ctx, p); err != nil {
				return err
			}
		}
		out, err := s.evalFrom(ctx, other, "1 + input", "4")
		if err == nil {
			err = wantValue(out, "5")
		}
		if err != nil {
			return fmt.Errorf("the same script, prepared on its own: %w", err)
		}
	}
	return s.healthy(ctx)
}

func preparedBackendClosed(ctx context.Context, s *subject) error {
	preparer, err := s.preparer()
	if err != nil {
		return err
	}
	p, err := s.prepare(ctx, "1")
	if err != nil {
		return err
	}
	iso, err := s.from(p)(ctx)
	if err != nil {
		return err
	}
	if err := s.backend.Close(); err != nil {
		return err
	}
	limits := s.config().Limits
	again, err := preparer.Prepare(ctx, &limits, "1", spi.JavaScript)
	if err == nil {
		if again != nil {
			_ = again.Close()
		}
		return errors.New("a script was prepared after the backend was closed")
	}
	return firstError(
		func() error { return wantOneOf("Prepare of a closed backend", err, spi.ErrClosed) },
		func() error { return wantRefused(ctx, iso, spi.ErrClosed) },
		iso.Close,
		func() error { return s.wantShut(ctx, p) },
		p.Close,
		p.Close,
		func() error { return s.wantShut(ctx, p) },
	)
}
