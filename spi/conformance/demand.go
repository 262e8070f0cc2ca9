package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// inTime runs an eval and demands that it returns by what the timeout allows.
func (s *subject) inTime(timeout time.Duration, eval func() (*spi.Outcome, error)) (*spi.Outcome, error) {
	start := time.Now()
	out, err := eval()
	if took, latest := time.Since(start), s.latest(timeout); err == nil && took > latest {
		return nil, fmt.Errorf("returned after %v, wanted within %v", took.Round(time.Millisecond), latest)
	}
	return out, err
}

// healthy demands that a new isolate works as if nothing had happened.
func (s *subject) healthy(ctx context.Context) error {
	out, err := s.eval(ctx, "[1, 2, 3].map((x) => x * 2)", "")
	if err == nil {
		err = wantValue(out, "[2,4,6]")
	}
	if err != nil {
		return fmt.Errorf("in an isolate opened afterwards: %w", err)
	}
	return nil
}

// wantSpent demands that an isolate whose eval was ended by force refuses the next.
func wantSpent(ctx context.Context, iso spi.Isolate) error {
	return wantRefused(ctx, iso, spi.ErrIsolateSpent)
}

// wantRefused demands that an isolate answers an eval with one of the errors.
func wantRefused(ctx context.Context, iso spi.Isolate, allowed ...error) error {
	out, err := iso.Eval(ctx, request("1", ""))
	if err == nil {
		what := "a value"
		if out != nil && out.Error != nil {
			what = string(out.Error.Kind)
		}
		return fmt.Errorf("the next eval of the isolate ended with %s, wanted the error %v", what, allowed)
	}
	return wantOneOf("the next eval of the isolate", err, allowed...)
}

// wantOneOf demands that an error is or wraps one of those allowed.
func wantOneOf(what string, err error, allowed ...error) error {
	for _, a := range allowed {
		if errors.Is(err, a) {
			return nil
		}
	}
	return fmt.Errorf("%s: error is %v, wanted one that is %v", what, err, allowed)
}

// wantLimit demands that an error names the limit with the value it had.
func wantLimit(out *spi.Outcome, name spi.LimitName, value int64) error {
	l := out.Error.Limit
	switch {
	case l == nil:
		return fmt.Errorf("%s names no limit, wanted %s of %d", out.Error.Kind, name, value)
	case l.Name != name || l.Value != value:
		return fmt.Errorf("%s names %s of %d, wanted %s of %d", out.Error.Kind, l.Name, l.Value, name, value)
	}
	return nil
}

// wantNoLimit demands that an error which no limit brought about names none.
func wantNoLimit(out *spi.Outcome) error {
	if l := out.Error.Limit; l != nil {
		return fmt.Errorf("%s names %s of %d, wanted no limit", out.Error.Kind, l.Name, l.Value)
	}
	return nil
}

// wantPeak demands that the guest's memory was counted and within its cap.
func wantPeak(out *spi.Outcome, least, most int64) error {
	if peak := out.Usage.MemoryPeakBytes; peak < least || peak > most {
		return fmt.Errorf("usage says a peak of %d bytes of memory, wanted %d to %d", peak, least, most)
	}
	return nil
}

// granularity is by how much a limit in effect may differ from what was asked.
func (s *subject) granularity(name spi.LimitName) int64 {
	e, _ := s.descriptor.EnforcementOf(name)
	return e.Granularity
}

// firstError runs the steps in turn until one fails.
func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
