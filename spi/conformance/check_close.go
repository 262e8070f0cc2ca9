package conformance

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

func closeChecks() []Check {
	must := func(id, rule string, b body) Check {
		return Check{ID: id, Level: MUST, Rule: rule, Watchdog: endlessWatchdog, body: b}
	}
	// own is for those that close the backend.
	own := func(id, rule string, b body) Check {
		return Check{ID: id, Level: MUST, Rule: rule, Watchdog: endlessWatchdog, own: true, body: b}
	}
	return append([]Check{
		must("CLOSE-001", "Closing an isolate again does nothing, whether or not a script ever ran in it.", closeTwice),
		must("CLOSE-002", "After Close an isolate answers every eval with ErrClosed.", evalAfterClose),
		must("CLOSE-003", "An isolate that is spent can be closed, and then answers with ErrClosed.", closeSpent),
		must("CLOSE-004", "Many calls of Close while a script runs all return, and the eval was killed.", closeAtOnce),
		must("CLOSE-005", "Closing one isolate leaves the others open.", closeOneOnly),
		{
			ID: "CLOSE-006", Level: MUST, Rule: "An isolate closed while it is about to be used ends with its value, killed or ErrClosed.",
			Watchdog: manyWatchdog, body: closeWhileStarting,
		},
		own("CLOSE-007", "Closing the backend again does nothing.", closeBackendTwice),
		own("CLOSE-008", "After Close a backend opens nothing: Open returns ErrClosed.", openAfterClose),
		own("CLOSE-009", "After Close a backend still describes itself as before.", describeAfterClose),
		own("CLOSE-010", "Closing the backend ends the isolates that are open: their evals return ErrClosed, and closing them does nothing.", closeBackendEndsIsolates),
		own("CLOSE-011", "Closing the backend ends the evals that run, in time, with the kind killed.", closeBackendEndsEvals),
		own("CLOSE-012", "A backend that opened nothing can be closed, from several goroutines at once.", closeUnused),
		{ID: "CLOSE-013", Level: SHOULD, Rule: "Opening under a context that has ended returns the context's error.", body: openUnderEnded},
		{ID: "CLOSE-014", Level: SHOULD, Rule: "Isolates that were opened, used, killed and closed leave no goroutine behind.", Watchdog: manyWatchdog, body: noGoroutines},
	}, openChecks()...)
}

func closeTwice(ctx context.Context, s *subject) error {
	for _, source := range []string{"", "1", "throw 1", "let a = ;"} {
		iso, err := s.isolate(ctx)
		if err != nil {
			return err
		}
		if source != "" {
			if _, err := s.evalIn(ctx, iso, source, ""); err != nil {
				return err
			}
		}
		for i := range 3 {
			if err := iso.Close(); err != nil {
				return fmt.Errorf("Close number %d: %w", i+1, err)
			}
		}
	}
	return s.healthy(ctx)
}

func evalAfterClose(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx)
	if err != nil {
		return err
	}
	if err := iso.Close(); err != nil {
		return err
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	return firstError(
		func() error { return wantRefused(ctx, iso, spi.ErrClosed) },
		func() error { return wantRefused(ctx, iso, spi.ErrClosed) },
		func() error { return wantRefused(ended, iso, spi.ErrClosed) },
	)
}

func closeSpent(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx, withTimeout(s.shortTimeout()))
	if err != nil {
		return err
	}
	if _, err := s.evalIn(ctx, iso, "for (;;) ;", ""); err != nil {
		return err
	}
	return firstError(
		func() error { return wantSpent(ctx, iso) },
		func() error { return wantSpent(ctx, iso) },
		iso.Close,
		func() error { return wantRefused(ctx, iso, spi.ErrClosed) },
		iso.Close,
		func() error { return s.healthy(ctx) },
	)
}

func closeAtOnce(ctx context.Context, s *subject) error {
	all := func(_ context.CancelFunc, iso spi.Isolate) error {
		return together(8, func(int) error { return iso.Close() })
	}
	return s.patiently(untilBegun(), func(after time.Duration) error {
		iso, err := s.isolate(ctx, s.withPatience())
		if err != nil {
			return err
		}
		out, err := s.interrupt(ctx, iso, "for (;;) ;", after, all)
		if err != nil {
			return err
		}
		return wantKind(out, spi.KindKilled)
	})
}

func closeOneOnly(ctx context.Context, s *subject) error {
	var isolates [4]spi.Isolate
	for i := range isolates {
		iso, err := s.isolate(ctx)
		if err != nil {
			return err
		}
		if _, err := s.evalIn(ctx, iso, "globalThis.n = input", fmt.Sprint(i)); err != nil {
			return err
		}
		isolates[i] = iso
	}
	for _, i := range []int{2, 0, 3} {
		if err := isolates[i].Close(); err != nil {
			return err
		}
		out, err := s.evalIn(ctx, isolates[1], "n", "")
		if err == nil {
			err = wantValue(out, "1")
		}
		if err != nil {
			return fmt.Errorf("after another was closed: %w", err)
		}
	}
	return nil
}

func closeWhileStarting(ctx context.Context, s *subject) error {
	for range 50 {
		iso, err := s.isolate(ctx, s.withPatience())
		if err != nil {
			return err
		}
		pending := background(func() (*spi.Outcome, error) { return s.evalIn(ctx, iso, "[input]", "5") })
		if err := iso.Close(); err != nil {
			return fmt.Errorf("Close: %w", err)
		}
		a := <-pending
		switch {
		case errors.Is(a.err, spi.ErrClosed):
			continue
		case a.err != nil:
			return a.err
		case a.value.Error == nil:
			err = wantValue(a.value, "[5]")
		default:
			err = wantKind(a.value, spi.KindKilled)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func closeBackendTwice(_ context.Context, s *subject) error {
	for i := range 3 {
		if err := s.backend.Close(); err != nil {
			return fmt.Errorf("Close number %d: %w", i+1, err)
		}
	}
	return nil
}

func openAfterClose(ctx context.Context, s *subject) error {
	if err := s.backend.Close(); err != nil {
		return err
	}
	for range 2 {
		iso, err := s.backend.Open(ctx, s.config())
		if err == nil {
			if iso != nil {
				_ = iso.Close()
			}
			return errors.New("Open of a closed backend gave no error")
		}
		if err := wantOneOf("Open of a closed backend", err, spi.ErrClosed); err != nil {
			return err
		}
	}
	return nil
}

func describeAfterClose(_ context.Context, s *subject) error {
	if err := s.backend.Close(); err != nil {
		return err
	}
	if d := s.backend.Describe(); !reflect.DeepEqual(d, s.descriptor) {
		return fmt.Errorf("Describe says %+v, and before that %+v", d, s.descriptor)
	}
	return nil
}

func closeBackendEndsIsolates(ctx context.Context, s *subject) error {
	var isolates []spi.Isolate
	for i := range 3 {
		iso, err := s.isolate(ctx)
		if err != nil {
			return err
		}
		if i > 0 {
			if _, err := s.evalIn(ctx, iso, "1", ""); err != nil {
				return err
			}
		}
		isolates = append(isolates, iso)
	}
	if err := s.backend.Close(); err != nil {
		return err
	}
	for _, iso := range isolates {
		err := firstError(
			func() error { return wantRefused(ctx, iso, spi.ErrClosed) },
			iso.Close,
			func() error { return wantRefused(ctx, iso, spi.ErrClosed) },
		)
		if err != nil {
			return err
		}
	}
	return nil
}

func closeBackendEndsEvals(ctx context.Context, s *subject) error {
	var pending []<-chan answer[*spi.Outcome]
	for _, source := range []string{"for (;;) ;", "for (;;) { try { for (;;) ; } catch {} }", "while (true) await null"} {
		iso, err := s.isolate(ctx, s.withPatience())
		if err != nil {
			return err
		}
		pending = append(pending, background(func() (*spi.Outcome, error) { return s.evalIn(ctx, iso, source, "") }))
	}
	time.Sleep(s.allow(100 * time.Millisecond))
	start := time.Now()
	if err := s.backend.Close(); err != nil {
		return err
	}
	for _, p := range pending {
		a := <-p
		switch {
		case errors.Is(a.err, spi.ErrClosed): // it had not begun
		case a.err != nil:
			return a.err
		default:
			if err := wantKind(a.value, spi.KindKilled); err != nil {
				return err
			}
		}
	}
	if took, latest := time.Since(start), s.latest(0); took > latest {
		return fmt.Errorf("the evals ended %v after Close was called, wanted within %v", took.Round(time.Millisecond), latest)
	}
	return nil
}

func closeUnused(_ context.Context, s *subject) error {
	return together(4, func(int) error { return s.backend.Close() })
}

func openUnderEnded(ctx context.Context, s *subject) error {
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	late, cancelLate := context.WithDeadline(ctx, time.Now().Add(-time.Second))
	defer cancelLate()
	for _, ended := range []context.Context{cancelled, late} {
		iso, err := s.backend.Open(ended, s.config())
		if err == nil {
			if iso != nil {
				_ = iso.Close()
			}
			return fmt.Errorf("Open gave an isolate, wanted %w", ended.Err())
		}
		if err := wantOneOf("Open", err, ended.Err()); err != nil {
			return err
		}
	}
	return nil
}

func noGoroutines(ctx context.Context, s *subject) error {
	return s.noneLeft("isolates", func(i int) error {
		iso, err := s.isolate(ctx, withTimeout(s.allow(20*time.Millisecond)))
		if err != nil {
			return err
		}
		evalCtx, cancel := context.WithTimeout(ctx, s.allow(time.Duration(1+i%4)*10*time.Millisecond))
		defer cancel()
		if _, err := s.evalIn(evalCtx, iso, []string{"1", "for (;;) ;", "throw 1", "while (true) await null"}[i%4], ""); err != nil {
			return err
		}
		return iso.Close()
	})
}

// noneLeft counts goroutines before and after a use that is repeated. They are
// those of the whole program, which other work of it may change: it looks again
// until there are as few as before.
func (s *subject) noneLeft(what string, use func(i int) error) error {
	const fewer, more = 8, 40
	for i := range fewer { // pools and caches are full afterwards
		if err := use(i); err != nil {
			return err
		}
	}
	before := runtime.NumGoroutine()
	for i := range more {
		if err := use(i); err != nil {
			return err
		}
	}
	var after int
	for deadline := time.Now().Add(s.allow(5 * time.Second)); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if after = runtime.NumGoroutine(); after <= before {
			return nil
		}
	}
	return fmt.Errorf("%d goroutines before %d %s and %d after them", before, more, what, after)
}
