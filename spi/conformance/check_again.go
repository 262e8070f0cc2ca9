package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// againChecks: an isolate that has run scripts is held to all that a new one is.
func againChecks() []Check {
	again := func(id, rule string, kind spi.Kind) Check {
		h := endingOf(kind)
		c := Check{ID: id, Level: MUST, Rule: rule, body: func(ctx context.Context, s *subject) error {
			return h.meet(ctx, s, s.used, nothingElse)
		}}
		if h.need != "" {
			c.Needs = []Need{h.need}
		}
		return c
	}
	must := func(id, rule string, b body) Check {
		return Check{ID: id, Level: MUST, Rule: rule, Watchdog: endlessWatchdog, body: b}
	}
	return []Check{
		again("KILL-035", "A later eval of an isolate ends at its timeout, with the limit and the lines before it.", spi.KindTimeout),
		again("KILL-036", "Cancelling ends a later eval of an isolate, with the lines before it.", spi.KindCancelled),
		again("KILL-037", "Closing the isolate ends a later eval of it, with the lines before it.", spi.KindKilled),
		again("KILL-038", "A deadlock in a later eval of an isolate is one, at once.", spi.KindDeadlock),
		again("KILL-039", "A later eval of an isolate that wants too much memory has the kind memory, with the limit.", spi.KindMemory),
		again("KILL-040", "A result of a later eval that is too large has the kind output_too_large, with the limit.", spi.KindOutputTooLarge),
		again("KILL-041", "Endless recursion in a later eval of an isolate has the kind stack_overflow.", spi.KindStackOverflow),
		again("KILL-042", "A later eval of an isolate ends with its fuel, with the limit and the lines before it.", spi.KindFuel),
		must("KILL-043", "A deadline of the caller that comes first ends a later eval as well, and names no limit.", laterDeadline),
		must("KILL-044", "Cancelling ends an eval whose context has a later deadline, in a new isolate and in a used one.", cancelBeforeDeadline),
		must("KILL-045", "A spent isolate is spent for good: however often it is asked, it has no outcome.", spentForGood),
	}
}

func laterDeadline(ctx context.Context, s *subject) error {
	return s.patiently(untilBegun(), func(after time.Duration) error {
		iso, err := s.used(ctx, s.withPatience())
		if err != nil {
			return err
		}
		short, cancel := context.WithTimeout(ctx, after)
		defer cancel()
		out, err := s.inTime(after, func() (*spi.Outcome, error) { return s.evalIn(short, iso, began+"for (;;) ;", "") })
		if err != nil {
			return err
		}
		return firstError(
			func() error { return wantKind(out, spi.KindTimeout) },
			func() error { return wantNoLimit(out) },
			func() error { return hasty(wantBegan(out)) },
		)
	})
}

func cancelBeforeDeadline(ctx context.Context, s *subject) error {
	later, cancel := context.WithTimeout(ctx, s.allow(time.Hour))
	defer cancel()
	for _, open := range []opener{s.isolate, s.used} {
		if err := endingOf(spi.KindCancelled).meet(later, s, open, nothingElse); err != nil {
			return err
		}
	}
	return nil
}

func spentForGood(ctx context.Context, s *subject) error {
	for _, kind := range []spi.Kind{spi.KindTimeout, spi.KindMemory} {
		var iso spi.Isolate
		open := func(ctx context.Context, changes ...func(*spi.Config)) (spi.Isolate, error) {
			var err error
			iso, err = s.isolate(ctx, changes...)
			return iso, err
		}
		if err := endingOf(kind).meet(ctx, s, open, nothingElse); err != nil {
			return err
		}
		for i := range 10 {
			if err := wantSpent(ctx, iso); err != nil {
				return fmt.Errorf("%s, asked again %d times: %w", kind, i+1, err)
			}
		}
	}
	return nil
}
