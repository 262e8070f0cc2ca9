package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// callRunChecks: what holds for a script that calls while it runs and waits.
func callRunChecks(must func(id, rule string, b body, more ...Need) Check) []Check {
	many := func(c Check) Check {
		c.Watchdog = manyWatchdog
		return c
	}
	own := func(c Check) Check {
		c.own = true
		return c
	}
	return []Check{
		must("CALL-017", "While a call has no reply no timer fires and the guest's clock stands; timers fire afterwards.", callsBeforeTimers),
		must("CALL-018", "A script whose calls all have their replies and that nothing can wake ends in a deadlock.", callDeadlocks().body()),
		must("CALL-019", "Calls that the script did not wait for are pending beside its value or its error.", callsNotAwaited),
		must("CALL-020", "The next Eval gives up a script that waits: its calls never settle.", waitingGivenUp),
		must("CALL-021", "Many isolates that wait at once each get their own replies.", callersAtOnce),

		must("CALL-022", "Exactly as many calls as hostCalls are made; one more is denied, which the script can catch; 0 allows none.", callLimit),
		must("CALL-023", "Arguments of exactly callBytes in all are taken; a byte more is denied, which the script can catch.", callBytesLimit),
		must("CALL-024", "A call that a limit refused and nobody caught ends the script as denied, with that limit.", callLimitUncaught),
		many(must("CALL-025", "The timeout is for all parts of an eval together.", callTimeoutAddsUp)),
		must("CALL-026", "The time that a script waits for replies counts neither for its timeout nor for its wall time.", callWaitIsFree),
		must("CALL-027", "Fuel adds up over the parts of an eval and can end a later one.", callFuelAddsUp, NeedFuel),
		must("CALL-028", "The fuel of all parts is exactly enough for a script that calls, and one unit less is not.", callFuelExact, NeedExactFuel),

		many(must("CALL-029", "Cancelling, a deadline and closing end a script while it goes on, and say which it was.", continueInterrupted)),
		must("CALL-030", "Continue under a context that has ended runs nothing of the script and says how that ended.", continueUnderEnded),
		must("CALL-031", "Continue is ErrClosed on a closed isolate and ErrIsolateSpent on a spent one.", continueRefused),
		own(must("CALL-032", "Closing the backend gives up the scripts that wait.", callerBackendClosed)),

		must("CALL-033", "The log lines of all parts are one list, within logBytes together.", callLogs),
		must("CALL-034", "An observer is told of each kept line and of each event, in order and before the part returns.", callObserver),
		must("CALL-035", "Events are bounded by logBytes and apart from the lines, and what is dropped is told.", callEventsBounded),

		many(must("CALL-036", "The same script with the same replies gives the same parts, fuel and bytes.", callsSame, NeedImage)),
		many(must("CALL-037", "A prepared script with functions has the same parts as one that is not prepared.", callsPrepared, NeedPrepares)),

		must("CALL-038", "Where fetch is handed out, it is a call with the request, and its reply is the response.", callsFetch),
		must("CALL-039", "A later script of an isolate finds the functions that it was handed, and none of those of an earlier one.", laterFunctions),
	}
}

// callsBeforeTimers lets real time go by while the script waits.
func callsBeforeTimers(ctx context.Context, s *subject) error {
	const nap = 300 * time.Millisecond
	source := timers + "const order = []; later(() => order.push('soon'), 0); later(() => order.push('late'), 50); const before = Date.now(); " +
		"await tools.a(); order.push(Date.now() - before < 150 ? 'stood' : 'went on'); await tools.b(order); await new Promise((r) => later(r, 100)); order"
	d, err := s.talk(ctx, source, s.withLeisure())
	if err != nil {
		return err
	}
	if err := d.wantWaits("1 tools.a []"); err != nil {
		return err
	}
	time.Sleep(nap)
	if err := d.reply(ctx); err != nil {
		return err
	}
	if err := d.wantWaits("1 tools.a []"); err != nil {
		return err
	}
	time.Sleep(nap)
	if err := d.reply(ctx, valued(1, "0")); err != nil {
		return err
	}
	if !d.out.Waits() {
		return fmt.Errorf("ended with %s, wanted that it waits", partsEnd(d.out))
	}
	// Without timers jobs stand in for them.
	if jobs := `[["soon","late","stood"]]`; sameJSON(d.out.Pending[0].Args, []byte(jobs)) {
		return errors.New("a timer fired while a call had no reply")
	}
	return firstError(
		func() error { return d.wantWaits(`2 tools.b [["stood"]]`) },
		func() error { return d.reply(ctx, valued(2, "0")) },
		func() error { return wantValue(d.out, `["stood","soon","late"]`) },
	)
}

func callDeadlocks() dialogues {
	list := dialogues{}
	for _, source := range []string{
		"await tools.a(); await new Promise(() => {})", "tools.a(); await new Promise(() => {})", "const p = tools.a(); await Promise.race([]); await p",
	} {
		list = append(list, talks{turns: asking("1 tools.a []", valued(1, "1")), script: script{source: source, kinds: []spi.Kind{spi.KindDeadlock}, also: ofCall(0)}})
	}
	return list
}

func callsNotAwaited(ctx context.Context, s *subject) error {
	d, err := s.talk(ctx, "tools.a('x'); tools.b(); 5")
	if err != nil {
		return err
	}
	if err := firstError(
		func() error { return wantValue(d.out, "5") },
		func() error { return wantPending(d.out, `1 tools.a ["x"]`, "2 tools.b []") },
		func() error { return wantUsed(d.out, 2, 7) },
		func() error { return d.wantContinue(ctx, []spi.Reply{valued(1, "1")}, spi.ErrNotWaiting) },
	); err != nil {
		return err
	}
	d, err = s.talk(ctx, "tools.a(); await tools.b(); throw new Error('own')")
	if err != nil {
		return err
	}
	return firstError(
		func() error { return d.wantWaits("1 tools.a []", "2 tools.b []") },
		func() error { return d.reply(ctx, valued(2, "1")) },
		func() error { return wantKind(d.out, spi.KindException) },
		func() error { return wantPending(d.out, "1 tools.a []") },
	)
}

func waitingGivenUp(ctx context.Context, s *subject) error {
	d, err := s.talk(ctx, "globalThis.seen = ['began']; try { await tools.a() } finally { seen.push('settled') }")
	if err != nil {
		return err
	}
	if err := d.wantWaits("1 tools.a []"); err != nil {
		return err
	}
	out, err := s.evalIn(ctx, d.iso, "await null; seen", "")
	if err != nil {
		return err
	}
	if err := wantValue(out, `["began"]`); err != nil {
		return err
	}
	if err := d.wantContinue(ctx, []spi.Reply{valued(1, "1")}, spi.ErrNotWaiting); err != nil {
		return err
	}
	next, err := talkIn(ctx, d.iso, "await tools.b(); seen")
	if err != nil {
		return err
	}
	return firstError(
		func() error { return next.wantWaits("2 tools.b []") },
		func() error { return next.wantContinue(ctx, []spi.Reply{valued(1, "1")}, spi.ErrReply) },
		func() error { return next.reply(ctx, valued(2, "1")) },
		func() error { return wantValue(next.out, `["began"]`) },
	)
}

func callersAtOnce(ctx context.Context, s *subject) error {
	const many = 16
	all := make([]*dialogue, many)
	for i := range all {
		var err error
		if all[i], err = s.talk(ctx, fmt.Sprintf("const kept = %d; const v = await tools.a(kept); [kept, v, await tools.b(v)]", i), s.withLeisure()); err != nil {
			return err
		}
	}
	return together(many, func(i int) error {
		d := all[many-1-i]
		n := many - 1 - i
		return firstError(
			func() error { return d.wantWaits(fmt.Sprintf("1 tools.a [%d]", n)) },
			func() error { return d.reply(ctx, valued(1, fmt.Sprint(n+100))) },
			func() error { return d.wantWaits(fmt.Sprintf("2 tools.b [%d]", n+100)) },
			func() error { return d.reply(ctx, valued(2, fmt.Sprint(n+200))) },
			func() error { return wantValue(d.out, fmt.Sprintf("[%d,%d,%d]", n, n+100, n+200)) },
		)
	})
}
