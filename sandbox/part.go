package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/tools"
)

// part is one stretch of an eval: from its start or resumption to its end or
// suspension. It belongs to one goroutine.
type part struct {
	sandbox *Sandbox
	job     *job
	events  *events
	origins *origins
	calls   *calls
	// bounds are what an outcome must keep to.
	bounds spi.Limits
	// used is what the parts before this one took of TotalTime.
	used time.Duration
	// session says of which session's state this is a part; nil where of none.
	session *sessionMark
	// keep is nil where nobody keeps the isolate.
	keep keeper

	hasTurn bool
	began   time.Time

	// waiting is for what is done while the script waits, nil before; stopWaiting
	// ends it.
	waiting     context.Context
	stopWaiting func()
}

// keeper keeps an isolate whose script has succeeded, or says why that makes it
// fail.
type keeper func(ctx context.Context, iso spi.Isolate, out *spi.Outcome, p *part) (*spi.ScriptError, error)

// newPart is the first part of an eval.
func (s *Sandbox) newPart(ctx context.Context, j *job, l *ledger) *part {
	own := &struct { // in one piece: it is a part of what the least eval takes
		part
		events  events
		origins origins
		calls   calls
	}{
		part:   part{sandbox: s, job: j, bounds: j.config.Limits},
		events: events{ctx: ctx, observer: s.observer, evalID: j.evalID, clock: s.clock, emit: j.emit},
		calls:  calls{job: j, policy: s.policy, ledger: l, cannotSuspend: s.cannotSuspend},
	}
	p := &own.part
	p.events, p.origins, p.calls = &own.events, &own.origins, &own.calls
	p.origins.add(j.origins...)
	p.events.origins = p.origins
	p.calls.events, p.calls.from = p.events, p.origins
	if j.handed() { // else there are none
		p.calls.done = make(chan finishedCall, j.limits.HostCallsAtOnce)
	}
	return p
}

// opener opens the isolate of a part, and begins sets it going.
type (
	opener func(ctx context.Context) (spi.Isolate, error)
	begins func(ctx context.Context, iso spi.Isolate) (*spi.Outcome, error)
)

// run takes a turn and runs the part to its end. first is how it is told of.
func (p *part) run(ctx context.Context, first EventType, open opener, begin begins) (res *Result, err error) {
	if err := p.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer p.giveTurn()
	p.began = time.Now()
	p.events.tell(Event{Type: first})
	defer func() {
		p.finish(res, err) // also where the backend panics
	}()
	return p.inIsolate(ctx, open, begin)
}

func (p *part) inIsolate(ctx context.Context, open opener, begin begins) (res *Result, err error) {
	iso, err := open(ctx)
	if err == nil && iso == nil {
		err = errors.New("opened no isolate, without an error")
	}
	if err != nil {
		return nil, p.sandbox.failed(ctx, err)
	}
	defer func() {
		failed := iso.Close()
		if failed == nil {
			return
		}
		if before := (*BackendError)(nil); errors.As(err, &before) {
			err = before.Err
		}
		res, err = nil, p.sandbox.failed(ctx, errors.Join(err, failed))
	}()
	p.began = time.Now() // opening does not count
	ctx, cancel := p.limited(ctx)
	defer cancel() // and with it whatever handlers still do
	defer func() {
		if p.stopWaiting != nil {
			p.stopWaiting()
		}
	}()
	return p.drive(ctx, iso, begin)
}

// errTotalTime is why a context ended that the TotalTime of an eval has ended. A
// handler may run an eval of its own, whose time is another one.
type errTotalTime struct{ evalID string }

func (errTotalTime) Error() string { return "sandbox: " + string(LimitTotalTime) + " is over" }

// limited bounds the part by what is left of TotalTime. A script that was handed
// nothing never waits: its Timeout is enough.
func (p *part) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if !p.job.handed() {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, p.began.Add(p.job.limits.TotalTime-p.used), errTotalTime{p.job.evalID})
}

// drive runs the script, and answers its calls until it ends or all that it waits
// for is a matter of a later part.
func (p *part) drive(ctx context.Context, iso spi.Isolate, begin begins) (*Result, error) {
	out, err := begin(ctx, iso)
	for {
		if err == nil {
			err = checkOutcome(out, &p.bounds)
		}
		if err != nil {
			return nil, p.sandbox.failed(ctx, err)
		}
		if !out.Waits() {
			return p.end(ctx, iso, out)
		}
		caller, ok := iso.(spi.Caller)
		if !ok {
			return nil, p.sandbox.failed(ctx, errors.New("outcome waits for calls that nobody can answer"))
		}
		if err := p.calls.note(out.Pending); err != nil {
			return nil, p.sandbox.failed(ctx, err)
		}
		replies, stop := p.wait(ctx)
		if stop != nil {
			return p.stopped(ctx, out, stop)
		}
		if len(replies) == 0 {
			return p.suspend(ctx, iso, out)
		}
		out, err = caller.Continue(ctx, replies)
	}
}

// wait gives up the turn until there is something to go on with.
func (p *part) wait(ctx context.Context) ([]spi.Reply, error) {
	p.giveTurn()
	replies, err := p.calls.gather(p.untilClosed(ctx))
	if err != nil {
		return nil, err
	}
	return replies, p.takeTurn(ctx)
}

// untilClosed is ctx for what is done while the script waits: closing the sandbox
// ends that, where it lets a script that runs come to its end.
func (p *part) untilClosed(ctx context.Context) context.Context {
	if p.waiting == nil {
		waiting, cancel := context.WithCancelCause(ctx)
		p.waiting = waiting
		letGo := context.AfterFunc(p.sandbox.lifetime, func() { cancel(ErrClosed) })
		p.stopWaiting = func() {
			letGo()
			cancel(nil)
		}
	}
	return p.waiting
}

// isOver reports whether ctx ended because of this eval's own TotalTime.
func (p *part) isOver(ctx context.Context) bool {
	return ctx.Err() != nil && context.Cause(ctx) == error(errTotalTime{p.job.evalID})
}

func (p *part) takeTurn(ctx context.Context) error {
	if err := p.sandbox.turn(ctx); err != nil {
		return err
	}
	p.hasTurn = true
	return nil
}

func (p *part) giveTurn() {
	if p.hasTurn {
		p.hasTurn = false
		p.sandbox.turns.Release(1)
	}
}

// end makes the result of a script that has ended.
func (p *part) end(ctx context.Context, iso spi.Isolate, out *spi.Outcome) (*Result, error) {
	if !p.sandbox.descriptor.HostCalls {
		for i := range out.Logs { // the backend did not tell of them
			p.events.Notice(spi.Notice{Log: &out.Logs[i]})
		}
	}
	ended := *out
	if out.Error != nil && out.Error.Kind == spi.KindTimeout && out.Error.Limit == nil && p.isOver(ctx) {
		ended.Error = p.overTotalTime()
	}
	if ended.Error == nil && p.keep != nil {
		failed, err := p.keep(ctx, iso, out, p)
		switch {
		case err != nil && p.isOver(ctx):
			failed = p.overTotalTime()
		case err != nil:
			return nil, p.sandbox.failed(ctx, err)
		}
		if failed != nil {
			ended.Value, ended.Error = nil, failed
		}
	}
	res, err := p.result(&ended)
	if err == nil && !stoppedByHost(ended.Error) {
		res.Warnings = p.calls.notAwaited(out.Pending)
	}
	return res, err
}

// stoppedByHost reports whether a script had no chance to wait for its calls.
func stoppedByHost(e *spi.ScriptError) bool {
	if e == nil {
		return false
	}
	switch e.Kind {
	case spi.KindTimeout, spi.KindFuel, spi.KindMemory, spi.KindStackOverflow, spi.KindCancelled, spi.KindKilled, spi.KindBackend:
		return true
	}
	return false
}

// stopped makes the result of a script that was ended while it waited.
func (p *part) stopped(ctx context.Context, out *spi.Outcome, why error) (*Result, error) {
	ended := *out
	ended.Pending = nil
	switch {
	case p.isOver(ctx):
		ended.Error = p.overTotalTime()
	case errors.Is(why, ErrClosed):
		ended.Error = &spi.ScriptError{Kind: spi.KindKilled, Name: "KilledError", Message: "the sandbox was closed while the script waited"}
	case errors.Is(why, context.DeadlineExceeded):
		ended.Error = &spi.ScriptError{Kind: spi.KindTimeout, Name: "TimeoutError", Message: "the caller's deadline passed while the script waited"}
	default:
		ended.Error = &spi.ScriptError{Kind: spi.KindCancelled, Name: "CancelledError", Message: "the caller cancelled the eval"}
	}
	return p.result(&ended)
}

func (p *part) overTotalTime() *spi.ScriptError {
	most := p.job.limits.TotalTime.Milliseconds()
	return &spi.ScriptError{
		Kind: spi.KindTimeout, Limit: &spi.ReachedLimit{Name: LimitTotalTime, Value: most}, Name: "TimeoutError",
		Message: fmt.Sprintf("the script and its waiting took longer than %s of %d", LimitTotalTime, most),
	}
}

// result labels an outcome with all that the script was given.
func (p *part) result(out *spi.Outcome) (*Result, error) {
	res, err := p.sandbox.label(p.job, out, p.origins.label())
	if err != nil {
		return nil, err
	}
	res.Usage.ReplyBytes = p.calls.ledger.ReplyBytes
	if p.job.handed() {
		res.Usage.Total = p.total()
	}
	switch {
	case out.Error == nil:
	case out.Error.Call != 0:
		how := p.calls.ledger.Failed[out.Error.Call]
		res.Error.Tool, res.Error.Code = how.Tool, how.Code
	case out.Error.Kind == spi.KindDenied && out.Error.Limit != nil: // the backend did not even take the call
		res.Error.Code = tools.CodeLimit
	case out.Error.Kind == spi.KindDenied: // nor that of a script that was handed nothing
		res.Error.Code = tools.CodeNotGranted
	}
	return res, nil
}

// total is what the eval took so far.
func (p *part) total() time.Duration { return p.used + time.Since(p.began) }

// finish tells how the part ended, whatever happened.
func (p *part) finish(res *Result, err error) {
	e := Event{Type: EventFinished, Duration: p.total(), Status: StatusError, Kind: spi.KindBackend}
	switch {
	case res != nil && err == nil:
		if e.Status, e.Kind = res.Status, ""; res.Error != nil {
			e.Kind, e.Tool, e.Code = res.Error.Kind, res.Error.Tool, res.Error.Code
		}
		if res.Status == StatusSuspended {
			e.Type = EventSuspended
		}
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind = spi.KindTimeout
	case errors.Is(err, context.Canceled):
		e.Kind = spi.KindCancelled
	}
	p.events.tell(e)
	if res != nil && p.events.lost > 0 {
		res.Warnings = append(res.Warnings, Warning{
			Code: WarningObserver, Message: fmt.Sprintf("the observer panicked; it was not told %d events", p.events.lost),
		})
	}
}
