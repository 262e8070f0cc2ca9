package conformance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

func limitChecks() []Check {
	return slices.Concat(
		timeoutChecks(),
		timeoutBoundChecks(),
		memoryChecks(),
		outputChecks(),
		logChecks(),
		fuelChecks(),
		configChecks(),
		unreachedChecks(),
		asideChecks(),
		usageChecks(),
	)
}

// timeoutChecks are scripts that must be ended wherever they spend their time.
func timeoutChecks() []Check {
	must := func(id, rule string, e endless) Check {
		return Check{ID: id, Level: MUST, Rule: rule, Watchdog: endlessWatchdog, body: e.body()}
	}
	engines := []spi.Kind{spi.KindException, spi.KindMemory} // an engine's own bound
	return []Check{
		must("LIMIT-001", "A tight loop ends at its timeout with the limit and its value, and the isolate is spent.", endless{
			source: "let n = 0; for (;;) n = (n + 1) | 0;",
		}),
		must("LIMIT-002", "A loop that catches whatever is thrown ends at its timeout.", endless{
			source: "for (;;) { try { for (;;) null.x } catch {} }",
		}),
		must("LIMIT-003", "A loop that goes on in finally ends at its timeout.", endless{
			source: "for (;;) { try { for (;;) ; } finally { continue } }",
		}),
		must("LIMIT-004", "A script that has a value ready in catch and finally cannot turn its timeout into that value.", endless{
			source: "(() => { try { for (;;) ; } catch { return 'caught' } finally { return 'swallowed' } })()",
		}),
		must("LIMIT-005", "Promise jobs that queue the next one without end are ended at the timeout.", endless{
			source: "const again = () => Promise.resolve().then(again); await again();",
		}),
		must("LIMIT-006", "Jobs that multiply while nobody awaits them are ended at the timeout.", endless{
			source: "const f = () => { Promise.resolve().then(f) }; f(); await new Promise(() => {})",
		}),
		must("LIMIT-007", "An async function that catches its rejections in a loop ends at its timeout.", endless{
			source: "const burn = async () => { await null; for (;;) ; }; for (;;) { try { await burn() } catch {} }",
		}),
		must("LIMIT-008", "A generator without end is ended at the timeout.", endless{
			source: "for (const x of (function* () { for (;;) yield 1 })()) ;",
		}),
		must("LIMIT-009", "A loop in the callback of a timer ends at the timeout.", endless{
			source: timers + "later(() => { for (;;) ; }, 1); await new Promise(() => {})",
		}),
		must("LIMIT-010", "A chain of timers without end is ended at the timeout.", endless{
			source: timers + "const tick = (v) => new Promise((done) => later(() => done(v + 1), 40)); let v = 0; for (;;) v = await tick(v);",
		}),
		must("LIMIT-011", "An interval that is never cleared is ended at the timeout.", endless{
			source: timers + "every(() => {}, 1e6); await new Promise(() => {})",
		}),
		must("LIMIT-012", "A regular expression that backtracks for ages is ended in time.", endless{
			source: "/^(?:[a-z]|[a-f])*\\d$/.test('abcdef'.repeat(12))", kinds: engines, values: []string{"false"},
		}),
		must("LIMIT-013", "Joining an array of two thousand million holes is ended in time.", endless{
			source: "const holes = []; holes.length = 2000000000; holes.join('--').length", kinds: engines,
		}),
		must("LIMIT-014", "A search through an array-like object of endless length is ended in time.", endless{
			source: "Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)", kinds: []spi.Kind{spi.KindException},
		}),
		must("LIMIT-015", "Arithmetic and decimal text of huge BigInts are ended in time.", endless{
			source: "const big = 3n ** 600000n; let digits = 0; for (let i = 0; i < 50; i++) digits += String(big).length; digits",
			kinds:  engines, values: []string{"14313650"},
		}),
		must("LIMIT-016", "A loop whose steps each move a large block of memory ends at its timeout.", endless{
			source: "const u = new Uint8Array(Math.min(1 << 24, Math.floor(input.room / 4))); for (;;) u.copyWithin(1, 0)",
		}),
		must("LIMIT-017", "Sorting with a comparison that never ends is ended at the timeout.", endless{
			source: "[3, 1, 2].sort(() => { for (;;) ; })",
		}),
		must("LIMIT-018", "A loop that compiles code ends at its timeout.", endless{
			source: "for (let i = 0; ; i++) new Function('return ' + i)()",
		}),
		must("LIMIT-019", "A recursion that is caught and begun again without end is ended at the timeout.", endless{
			source: "for (;;) { try { (function f() { f() })() } catch {} }", kinds: []spi.Kind{spi.KindStackOverflow},
		}),
		must("LIMIT-020", "A getter that loops while the result is written is ended at the timeout.", endless{
			source: "({ id: 7, get slow() { for (;;) ; } })",
		}),
		must("LIMIT-021", "A toJSON method that loops while the result is written is ended at the timeout.", endless{
			source: "({ list: [{ toJSON() { for (;;) ; } }] })",
		}),
		must("LIMIT-022", "A proxy that loops while the result is written is ended at the timeout.", endless{
			source: "new Proxy({}, { ownKeys() { for (;;) ; } })",
		}),
		must("LIMIT-023", "A result that claims to be endless is ended in time.", endless{
			source: "new Proxy([], { get: (_, key) => (key === 'length' ? 2 ** 53 - 1 : 1) })",
			kinds:  []spi.Kind{spi.KindException, spi.KindMemory, spi.KindOutputTooLarge},
		}),
		must("LIMIT-024", "A thenable result whose then loops is ended at the timeout.", endless{
			source: "({ get then() { for (;;) ; } })",
		}),
		must("LIMIT-025", "An error whose name, message or stack loops while it is reported is ended in time.", endless{
			source: "const e = new Error('shown'); for (const k of ['name', 'message', 'stack']) " +
				"Object.defineProperty(e, k, { get() { for (;;) ; } }); throw e",
			kinds: []spi.Kind{spi.KindException},
		}),
		must("LIMIT-026", "A value whose conversion to text loops while it is logged is ended in time.", endless{
			source: "const loop = () => { for (;;) ; }; console.log('%s %d', { toString: loop, [Symbol.toPrimitive]: loop }, { valueOf: loop }, " +
				"{ get [Symbol.toStringTag]() { loop() } }); 'logged'",
			values: []string{`"logged"`},
		}),
	}
}

// timeoutBoundChecks are what counts against the timeout and what comes with it.
func timeoutBoundChecks() []Check {
	return []Check{
		{ID: "LIMIT-027", Level: MUST, Rule: "A script that runs into its timeout was given nearly all of it, and usage says so.", Watchdog: endlessWatchdog, body: timeoutIsGranted},
		{ID: "LIMIT-028", Level: MUST, Rule: "Lines logged before the timeout are kept, in order.", Watchdog: endlessWatchdog, body: logsOutliveTimeout},
		{ID: "LIMIT-029", Level: MUST, Rule: "A timeout of one millisecond is a timeout like any other.", body: shortestTimeout},
		{ID: "LIMIT-030", Level: MUST, Rule: "Time between opening, evals and the next eval does not count against the timeout.", body: waitingIsFree},
		{ID: "LIMIT-031", Level: MUST, Rule: "A deadline of the caller that comes first gives the kind timeout and names no limit.", body: callersDeadline},
		{ID: "LIMIT-032", Level: MUST, Rule: "A deadline of the caller that comes later does not put the limit off.", Watchdog: endlessWatchdog, body: callersLaterDeadline},
		{ID: "LIMIT-033", Level: MUST, Rule: "A script is not ended before its timeout because others ran into theirs.", Watchdog: endlessWatchdog, body: timeoutIsOnesOwn},
	}
}

func timeoutIsGranted(ctx context.Context, s *subject) error {
	timeout := s.allow(300 * time.Millisecond).Round(time.Millisecond)
	start := time.Now()
	out, err := s.eval(ctx, "for (;;) ;", "", withTimeout(timeout))
	took := time.Since(start)
	if err != nil {
		return err
	}
	if err := wantKind(out, spi.KindTimeout); err != nil {
		return err
	}
	least := timeout * 9 / 10
	switch {
	case took < least:
		return fmt.Errorf("ended after %v, wanted at least %v", took, least)
	case out.Usage.Wall < least || out.Usage.Wall > took:
		return fmt.Errorf("usage says %v of wall time, wanted %v to %v", out.Usage.Wall, least, took)
	}
	return wantPeak(out, 1, s.config().Limits.MemoryBytes)
}

func logsOutliveTimeout(ctx context.Context, s *subject) error {
	return s.patiently(untilBegun(), func(timeout time.Duration) error {
		out, err := s.eval(ctx, "console.log('one'); console.warn('two'); for (;;) ;", "", withTimeout(timeout))
		if err != nil {
			return err
		}
		return firstError(
			func() error { return wantKind(out, spi.KindTimeout) },
			func() error { return wantLimit(out, spi.LimitTimeout, timeout.Milliseconds()) },
			func() error {
				if got := logTexts(out); !slices.Equal(got, []string{"one", "two"}) {
					return &hastyError{fmt.Errorf("logs are %q, wanted the lines before the loop", got)}
				}
				return nil
			},
		)
	})
}

func shortestTimeout(ctx context.Context, s *subject) error {
	for range 3 {
		out, err := s.inTime(time.Millisecond, func() (*spi.Outcome, error) {
			return s.eval(ctx, "for (;;) ;", "", withTimeout(time.Millisecond))
		})
		if err != nil {
			return err
		}
		if err := wantKind(out, spi.KindTimeout); err != nil {
			return err
		}
		if err := wantLimit(out, spi.LimitTimeout, 1); err != nil {
			return err
		}
	}
	return s.healthy(ctx)
}

func waitingIsFree(ctx context.Context, s *subject) error {
	return s.patiently(untilDone(), func(timeout time.Duration) error {
		var isolates [2]spi.Isolate
		for i := range isolates {
			var err error
			if isolates[i], err = s.isolate(ctx, withTimeout(timeout)); err != nil {
				return err
			}
		}
		one := func(iso spi.Isolate) error {
			_, err := s.evalOf(ctx, iso, timeout, "input", "1", "1")
			return err
		}
		return firstError(
			func() error { return one(isolates[0]) },
			func() error { time.Sleep(timeout + timeout/4); return nil },
			func() error { return one(isolates[0]) },
			func() error { return one(isolates[1]) }, // its first
		)
	})
}

// untilDone are timeouts for scripts that need far less.
func untilDone() []time.Duration {
	return []time.Duration{200 * time.Millisecond, time.Second, 5 * time.Second}
}

// evalOf runs a script that is to give a value, and measures it. That it ran into
// its timeout is a hasty error if the timeout had really passed.
func (s *subject) evalOf(ctx context.Context, iso spi.Isolate, timeout time.Duration, source, input, want string) (time.Duration, error) {
	start := time.Now()
	out, err := s.evalIn(ctx, iso, source, input)
	took := time.Since(start)
	switch {
	case err != nil:
		return took, err
	case out.Error == nil || out.Error.Kind != spi.KindTimeout:
		return took, wantValue(out, want)
	}
	err = fmt.Errorf("ended with timeout after %v of %v, wanted the value %s", took, timeout, want)
	if took < timeout*9/10 {
		return took, err
	}
	return took, &hastyError{err}
}

func callersDeadline(ctx context.Context, s *subject) error {
	return s.patiently(untilBegun(), func(after time.Duration) error {
		iso, err := s.isolate(ctx)
		if err != nil {
			return err
		}
		short, cancel := context.WithTimeout(ctx, after)
		defer cancel()
		out, err := s.inTime(after, func() (*spi.Outcome, error) { return s.evalIn(short, iso, "for (;;) ;", "") })
		if err != nil {
			return err
		}
		return firstError(
			func() error { return wantKind(out, spi.KindTimeout) },
			func() error { return wantNoLimit(out) },
			func() error { return hasty(wantSpent(ctx, iso)) },
		)
	})
}

func callersLaterDeadline(ctx context.Context, s *subject) error {
	later, cancel := context.WithTimeout(ctx, s.allow(time.Hour))
	defer cancel()
	return endless{source: "for (;;) ;"}.run(later, s)
}

func timeoutIsOnesOwn(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx)
	if err != nil {
		return err
	}
	for range 3 {
		if _, err := s.eval(ctx, "for (;;) ;", "", withTimeout(s.allow(20*time.Millisecond).Round(time.Millisecond))); err != nil {
			return err
		}
	}
	out, err := s.evalIn(ctx, iso, "let n = 0; for (let i = 0; i < 100000; i++) n += i; n", "")
	if err != nil {
		return err
	}
	return wantValue(out, "4999950000")
}
