package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

func killChecks() []Check {
	return slices.Concat(cancelChecks(), closeWhileRunningChecks(), cancelBoundChecks(), deadlockChecks(), againChecks())
}

// cancelChecks are scripts that must stop, wherever they spend their time, when
// the caller's context is cancelled.
func cancelChecks() []Check {
	must := func(id, what, source string) Check {
		return Check{
			ID: id, Level: MUST, Rule: "Cancelling ends " + what + " with the kind cancelled and no limit, and the isolate is spent.",
			Watchdog: endlessWatchdog, body: stubborn{source: source, stop: byCancelling, want: spi.KindCancelled}.body(),
		}
	}
	return []Check{
		must("KILL-001", "a tight loop", "let s = 0; for (let i = 0; ; i++) s += i % 7;"),
		must("KILL-002", "a loop that catches whatever is thrown", "for (;;) { try { for (;;) null.x } catch {} finally { continue } }"),
		must("KILL-003", "a script that has a value ready in catch and finally", "(() => { try { for (;;) ; } catch { return 1 } finally { return 2 } })()"),
		must("KILL-004", "a loop of promise jobs", "while (true) await null"),
		must("KILL-005", "an async loop that catches its rejections", "for (;;) { try { await (async () => { await null; for (;;) ; })() } catch {} }"),
		must("KILL-006", "a chain of timers", timers+"const tick = () => new Promise((r) => later(r, 40)); for (;;) await tick()"),
		must("KILL-007", "a loop in a timer's callback", timers+"later(() => { for (;;) ; }, 5); await new Promise(() => {})"),
		must("KILL-008", "a search by a built-in function", "for (;;) Array.prototype.indexOf.call({ length: 2 ** 31 }, 1)"),
		must("KILL-009", "a loop that moves large blocks", "const u = new Uint8Array(Math.min(1 << 24, Math.floor(input.room / 4))); for (;;) u.copyWithin(1, 0)"),
		must("KILL-010", "a getter that loops while the result is written", "({ get slow() { for (;;) ; } })"),
		must("KILL-011", "a toJSON method that loops while the result is written", "({ toJSON() { for (;;) { try { for (;;) ; } catch {} } } })"),
		{
			ID: "KILL-012", Level: MUST, Rule: "Cancelling ends a regular expression that backtracks for ages.", Watchdog: endlessWatchdog,
			body: stubborn{
				source: "for (;;) /^(?:[a-z]|[a-f])*\\d$/.test('abcdef'.repeat(12))", stop: byCancelling, want: spi.KindCancelled,
				kinds: []spi.Kind{spi.KindException},
			}.body(),
		},
		{
			ID: "KILL-013", Level: MUST, Rule: "Cancelling ends an error that loops while it is reported, if it does.", Watchdog: endlessWatchdog,
			body: cancelWhileReporting,
		},
		{ID: "KILL-014", Level: MUST, Rule: "Lines logged before the cancellation are kept and usage is filled in.", Watchdog: endlessWatchdog, body: keepsLogs(byCancelling, spi.KindCancelled)},
		{ID: "KILL-015", Level: MUST, Rule: "A context that was cancelled with a cause of the caller's is a cancelled one.", Watchdog: endlessWatchdog, body: cancelWithCause},
	}
}

// closeWhileRunningChecks: closing the isolate is the other way to stop it.
func closeWhileRunningChecks() []Check {
	must := func(id, what, source string) Check {
		return Check{
			ID: id, Level: MUST, Rule: "Closing the isolate ends " + what + " with the kind killed and no limit.",
			Watchdog: endlessWatchdog, body: stubborn{source: source, stop: byClosing, want: spi.KindKilled}.body(),
		}
	}
	return []Check{
		must("KILL-016", "a tight loop", "for (;;) ;"),
		must("KILL-017", "a loop that catches whatever is thrown", "for (;;) { try { for (;;) null.x } catch {} finally { continue } }"),
		must("KILL-018", "a loop of promise jobs", "while (true) await null"),
		must("KILL-019", "a chain of timers", timers+"const tick = () => new Promise((r) => later(r, 40)); for (;;) await tick()"),
		must("KILL-020", "a getter that loops while the result is written", "({ get slow() { for (;;) ; } })"),
		{ID: "KILL-021", Level: MUST, Rule: "Lines logged before the isolate was closed are kept and usage is filled in.", Watchdog: endlessWatchdog, body: keepsLogs(byClosing, spi.KindKilled)},
		{ID: "KILL-022", Level: MUST, Rule: "When Close has returned, the eval that it ended has returned as well.", Watchdog: endlessWatchdog, body: closeWaits},
		{ID: "KILL-023", Level: MUST, Rule: "Whenever an isolate is closed, a short eval ends with its value, killed or ErrClosed.", Watchdog: manyWatchdog, body: stopAnyTime(byClosing, spi.KindKilled)},
	}
}

func cancelWhileReporting(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx, s.withPatience())
	if err != nil {
		return err
	}
	evalCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(s.allow(50*time.Millisecond), cancel).Stop()
	out, err := s.inTime(s.allow(50*time.Millisecond), func() (*spi.Outcome, error) {
		return s.evalIn(evalCtx, iso, "const e = new Error('shown'); for (const k of ['name', 'message', 'stack']) "+
			"Object.defineProperty(e, k, { get() { for (;;) ; } }); throw e", "")
	})
	if err != nil {
		return err
	}
	return wantKind(out, spi.KindCancelled, spi.KindException)
}

func keepsLogs(stop interruption, want spi.Kind) body {
	return func(ctx context.Context, s *subject) error {
		return s.patiently(untilBegun(), func(after time.Duration) error {
			iso, err := s.isolate(ctx, s.withPatience())
			if err != nil {
				return err
			}
			out, err := s.interrupt(ctx, iso, "console.log('began'); for (;;) ;", after, stop)
			if err != nil {
				return err
			}
			if err := wantKind(out, want); err != nil {
				return err
			}
			if got := logTexts(out); !slices.Equal(got, []string{"began"}) {
				return &hastyError{fmt.Errorf("logs are %q, wanted the line before the loop", got)}
			}
			if out.Usage.Wall <= 0 {
				return errors.New("usage says nothing of wall time")
			}
			return wantPeak(out, 1, s.config().Limits.MemoryBytes)
		})
	}
}

func cancelWithCause(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx, s.withPatience())
	if err != nil {
		return err
	}
	evalCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := func(context.CancelFunc, spi.Isolate) error { cancel(context.DeadlineExceeded); return nil }
	out, err := s.interrupt(evalCtx, iso, "for (;;) ;", s.allow(50*time.Millisecond), stop)
	if err != nil {
		return err
	}
	return wantKind(out, spi.KindCancelled)
}

func closeWaits(ctx context.Context, s *subject) error {
	for range 5 {
		iso, err := s.isolate(ctx, s.withPatience())
		if err != nil {
			return err
		}
		pending := background(func() (*spi.Outcome, error) { return iso.Eval(ctx, request("for (;;) ;", "")) })
		time.Sleep(s.allow(20 * time.Millisecond))
		if err := iso.Close(); err != nil {
			return fmt.Errorf("Close: %w", err)
		}
		select {
		case <-pending:
		case <-time.After(s.allow(1500 * time.Millisecond)): // the other goroutine must get its turn
			return errors.New("Close returned while the eval was still running")
		}
	}
	return nil
}

// stopAnyTime stops a short eval at many moments of its life.
func stopAnyTime(stop interruption, want spi.Kind) body {
	return func(ctx context.Context, s *subject) error {
		for i := range 40 {
			iso, err := s.isolate(ctx, s.withPatience())
			if err != nil {
				return err
			}
			evalCtx, cancel := context.WithCancel(ctx)
			pending := background(func() (*spi.Outcome, error) {
				return s.evalIn(evalCtx, iso, "let n = 0; for (let i = 0; i < 20000; i++) n += i; [n]", "")
			})
			time.Sleep(time.Duration(i) * 100 * time.Microsecond)
			stopErr := stop(cancel, iso)
			a := <-pending
			cancel()
			switch {
			case stopErr != nil:
				return stopErr
			case a.err != nil && want == spi.KindKilled && errors.Is(a.err, spi.ErrClosed):
				continue
			case a.err != nil:
				return a.err
			case a.value.Error == nil:
				err = wantValue(a.value, "[199990000]")
			default:
				err = wantKind(a.value, want)
			}
			if err != nil {
				return fmt.Errorf("stopped after %d00 µs: %w", i, err)
			}
		}
		return s.healthy(ctx)
	}
}

// cancelBoundChecks are what a context ends and what it does not.
func cancelBoundChecks() []Check {
	return []Check{
		{ID: "KILL-024", Level: MUST, Rule: "An eval whose context was cancelled before it began has the outcome cancelled.", body: endedBefore(
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				ended, cancel := context.WithCancel(ctx)
				cancel()
				return ended, cancel
			}, spi.KindCancelled)},
		{ID: "KILL-025", Level: MUST, Rule: "An eval whose context's deadline had passed before it began has the outcome timeout and no limit.", body: endedBefore(
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithDeadline(ctx, time.Now().Add(-time.Second))
			}, spi.KindTimeout)},
		{ID: "KILL-026", Level: MUST, Rule: "Cancelling after an eval has ended changes nothing: neither its outcome nor the isolate.", body: cancelAfterEnd},
		{ID: "KILL-027", Level: MUST, Rule: "Whenever an eval is cancelled, it ends with its own value or the kind cancelled.", Watchdog: manyWatchdog, body: stopAnyTime(byCancelling, spi.KindCancelled)},
		{ID: "KILL-028", Level: MUST, Rule: "The context of Open bounds the opening only: cancelling it later ends no eval.", body: openContext},
		{ID: "KILL-029", Level: MUST, Rule: "Stopping one isolate leaves another that runs alone.", Watchdog: endlessWatchdog, body: stopsOneOnly},
	}
}

func endedBefore(end func(context.Context) (context.Context, context.CancelFunc), want spi.Kind) body {
	return func(ctx context.Context, s *subject) error {
		for _, source := range []string{"1", "for (;;) ;", "let a = ;"} {
			iso, err := s.isolate(ctx, s.withPatience())
			if err != nil {
				return err
			}
			ended, cancel := end(ctx)
			out, err := s.inTime(0, func() (*spi.Outcome, error) { return s.evalIn(ended, iso, source, "") })
			cancel()
			if err != nil {
				return err
			}
			if err := wantKind(out, want); err != nil {
				return fmt.Errorf("%s: %w", source, err)
			}
			if err := wantNoLimit(out); err != nil {
				return err
			}
		}
		return nil
	}
}

func cancelAfterEnd(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx)
	if err != nil {
		return err
	}
	for i := range 3 {
		evalCtx, cancel := context.WithCancel(ctx)
		out, err := s.evalIn(evalCtx, iso, "globalThis.n = (globalThis.n ?? 0) + 1; console.log('n'); n", "")
		cancel()
		if err != nil {
			return err
		}
		time.Sleep(s.allow(5 * time.Millisecond))
		if err := wantValue(out, fmt.Sprint(i+1)); err != nil {
			return err
		}
		if len(out.Logs) != 1 {
			return fmt.Errorf("logs are %q, wanted one line", logTexts(out))
		}
	}
	return nil
}

func openContext(ctx context.Context, s *subject) error {
	openCtx, cancel := context.WithCancel(ctx)
	iso, err := s.isolate(openCtx)
	if err != nil {
		cancel()
		return err
	}
	cancel()
	time.Sleep(s.allow(20 * time.Millisecond))
	for range 2 {
		out, err := s.evalIn(ctx, iso, "[input]", "7")
		if err != nil {
			return err
		}
		if err := wantValue(out, "[7]"); err != nil {
			return err
		}
	}
	return nil
}

func stopsOneOnly(ctx context.Context, s *subject) error {
	for _, stop := range []interruption{byCancelling, byClosing} {
		err := s.patiently(untilBegun(), func(after time.Duration) error { return s.stopOne(ctx, after, stop) })
		if err != nil {
			return err
		}
	}
	return nil
}

// stopOne stops one of two isolates, and then the other.
func (s *subject) stopOne(ctx context.Context, after time.Duration, stop interruption) error {
	other, err := s.isolate(ctx, s.withLeisure())
	if err != nil {
		return err
	}
	pending := background(func() (*spi.Outcome, error) { return s.evalIn(ctx, other, "for (;;) ;", "") })
	iso, err := s.isolate(ctx, s.withPatience())
	if err != nil {
		return err
	}
	if _, err := s.interrupt(ctx, iso, "for (;;) ;", after, stop); err != nil {
		return err
	}
	select {
	case a := <-pending:
		if a.err != nil {
			return fmt.Errorf("the other isolate: %w", a.err)
		}
		return fmt.Errorf("the other isolate ended as well: %s", ending(a.value))
	case <-time.After(after):
	}
	if err := other.Close(); err != nil {
		return err
	}
	a := <-pending
	switch {
	case errors.Is(a.err, spi.ErrClosed):
		return &hastyError{a.err}
	case a.err != nil:
		return a.err
	}
	return wantKind(a.value, spi.KindKilled)
}

// deadlockChecks are scripts that wait for what cannot come.
func deadlockChecks() []Check {
	must := func(id, rule, source string) Check {
		return Check{ID: id, Level: MUST, Rule: rule, Watchdog: endlessWatchdog, body: deadlock(source)}
	}
	return []Check{
		must("KILL-030", "Awaiting a promise that nobody can settle is a deadlock, at once and not at the timeout.", "console.log('began'); await new Promise(() => {}); 'never'"),
		must("KILL-031", "A result that is a promise which nobody can settle is a deadlock.", "console.log('began'); new Promise(() => {})"),
		must("KILL-032", "A script whose last timer has run and which still waits is a deadlock.", timers+"console.log('began'); later(() => {}, 10); await new Promise(() => {})"),
		must("KILL-033", "Two async functions that wait for each other are a deadlock.",
			"console.log('began'); let a, b; a = (async () => { await null; await b })(); b = (async () => { await null; await a })(); await b"),
		must("KILL-034", "An async iteration that never gets its next value is a deadlock.", "console.log('began'); for await (const x of [new Promise(() => {})]) ;"),
	}
}

func deadlock(source string) body {
	return func(ctx context.Context, s *subject) error {
		out, err := s.inTime(0, func() (*spi.Outcome, error) { return s.eval(ctx, source, "", s.withPatience()) })
		if err != nil {
			return err
		}
		if err := wantKind(out, spi.KindDeadlock); err != nil {
			return err
		}
		if got := logTexts(out); !slices.Equal(got, []string{"began"}) {
			return fmt.Errorf("logs are %q, wanted the line before the wait", got)
		}
		return wantNoLimit(out)
	}
}
