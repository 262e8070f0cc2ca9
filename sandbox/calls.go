package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
	"github.com/loom-sandbox/sandboxd/tools"
)

// calls are the calls of one eval that the script has no reply to, and what is to
// be remembered of the others. It belongs to the goroutine that runs the eval;
// each handler runs in a goroutine of its own and reports on done.
type calls struct {
	job    *job
	policy tools.Policy
	events *events
	from   *origins
	ledger *ledger

	// cannotSuspend says why a call cannot wait for a later part of the eval; empty
	// where it can.
	cannotSuspend string

	open    map[int64]*call
	queue   []*call     // those that have not begun, in order
	ready   []spi.Reply // those that the script has not been given
	running int
	done    chan finishedCall // has room for all that run at once: nobody is held up by an eval that is over
}

// ledger is what of the calls counts beyond a part of an eval.
type ledger struct {
	// Base is the last call of the evals before this one in the same isolate, and
	// Last that of this one.
	Base, Last int64
	// Made counts the calls of each tool.
	Made map[string]int64
	// ReplyBytes counts results.
	ReplyBytes int64
	// Failed says of calls that failed how: the script may let the error pass later.
	Failed map[int64]failure
}

// failure is how a call failed.
type failure struct{ Tool, Code string }

func newLedger(base int64) *ledger {
	return &ledger{Base: base, Last: base}
}

func (l *ledger) count(tool string) {
	if l.Made == nil {
		l.Made = map[string]int64{}
	}
	l.Made[tool]++
}

func (l *ledger) fail(id int64, how failure) {
	if l.Failed == nil {
		l.Failed = map[int64]failure{}
	}
	l.Failed[id] = how
}

// call is a call without a reply.
type call struct {
	id       int64
	function string
	tool     string          // empty where the script was not handed it
	args     json.RawMessage // as the script gave them: an array
	at       tools.Position
	origin   string // the label of args: of all that the script had been given
	state    callState
	allowed  bool // somebody allowed it: the policy is not asked
}

type finishedCall struct {
	call   *call
	answer tools.Answer
	took   time.Duration
}

// note takes up the calls of an outcome that are new: those behind the last one,
// and those of scripts before this one. A script that waits may have many others,
// which are not looked at. The error is the backend's fault: anybody may have
// written it.
func (c *calls) note(pending []spi.HostCall) error {
	for i := 0; i < len(pending) && pending[i].ID <= c.ledger.Base; i++ {
		if err := c.takeUp(&pending[i]); err != nil {
			return err
		}
	}
	latest, _ := slices.BinarySearchFunc(pending, c.ledger.Last+1, func(h spi.HostCall, id int64) int { return cmp.Compare(h.ID, id) })
	for i := latest; i < len(pending); i++ {
		if err := c.takeUp(&pending[i]); err != nil {
			return err
		}
	}
	if len(c.open) == 0 {
		return errors.New("outcome waits for calls that had their replies")
	}
	return nil
}

func (c *calls) keep(one *call) {
	if c.open == nil {
		c.open = map[int64]*call{}
	}
	c.open[one.id] = one
}

// takeUp takes up one call, unless it is known.
func (c *calls) takeUp(h *spi.HostCall) error {
	if _, known := c.open[h.ID]; known {
		return nil
	}
	if err := c.check(h); err != nil {
		return err
	}
	call := &call{id: h.ID, function: h.Function, args: slices.Clone(h.Args), at: tools.Position{Line: h.Line, Column: h.Column}}
	c.keep(call)
	if h.ID <= c.ledger.Base {
		c.reject(call, failureOf(tools.CodeNotGranted, "the script that made this call has ended"))
		return nil
	}
	c.ledger.Last = h.ID
	c.begin(call)
	return nil
}

func (c *calls) check(h *spi.HostCall) error {
	switch {
	case h.ID <= 0 || h.ID > c.ledger.Base && h.ID <= c.ledger.Last:
		return fmt.Errorf("outcome has a call %d that is not new; the last one was %d", h.ID, c.ledger.Last)
	case int64(len(c.open)) >= MaxHostCalls:
		return fmt.Errorf("outcome has more than %d calls", MaxHostCalls)
	case len(h.Function) > spi.MaxFunctionNameBytes:
		return fmt.Errorf("outcome has a call with a name of %d bytes, over %d", len(h.Function), spi.MaxFunctionNameBytes)
	case int64(len(h.Args)) > c.job.limits.ArgumentBytes:
		return fmt.Errorf("outcome has a call with arguments of %d bytes, over %s of %d", len(h.Args), spi.LimitCallBytes, c.job.limits.ArgumentBytes)
	case h.Line < 0 || h.Column < 0:
		return fmt.Errorf("outcome has a call %d at a place before the script", h.ID)
	case len(h.Args) == 0 || h.Args[0] != '[' || taint.Valid(h.Args) != nil:
		return fmt.Errorf("outcome has a call %d whose arguments are not a JSON array", h.ID)
	}
	return nil
}

// begin decides on a new call, in the order of the calls.
func (c *calls) begin(call *call) {
	call.tool = c.job.granted[call.function]
	c.events.tell(Event{Type: EventToolCalled, CallID: call.id, Tool: call.tool, Data: c.events.called(call.function, call.args)})
	if call.tool == "" {
		c.refuse(call, tools.CodeNotGranted, "the script was not handed "+quoted(call.function), 0)
		return
	}
	if info, _ := c.job.tools.Tool(call.tool); info.MaxCalls > 0 && c.ledger.Made[call.tool] >= info.MaxCalls {
		c.refuse(call, tools.CodeLimit, fmt.Sprintf("%s may be called %d times", call.tool, info.MaxCalls), 0)
		return
	}
	c.ledger.count(call.tool)
	c.queue = append(c.queue, call)
}

// gather waits until there are replies, and returns all that are there, in the
// order of the calls. It returns none when nobody works on any call any more:
// all that are left wait for a later part of the eval. The error is why the eval
// ends instead.
func (c *calls) gather(ctx context.Context) ([]spi.Reply, error) {
	for {
		c.takeDone()
		if c.running == 0 && len(c.queue) == 1 && len(c.ready) == 0 {
			// Nobody else is to be heard of meanwhile: to wake another goroutine
			// would cost more than all else that is done for a call.
			c.take(c.answer(ctx, c.next()))
		}
		c.start(ctx)
		if ctx.Err() != nil {
			if context.Cause(ctx) == ErrClosed {
				return nil, ErrClosed
			}
			return nil, ctx.Err()
		}
		if len(c.ready) > 0 || c.running == 0 {
			return c.give(), nil
		}
		select {
		case f := <-c.done:
			c.take(f)
		case <-ctx.Done():
		}
	}
}

// takeDone takes what is done, without waiting for it.
func (c *calls) takeDone() {
	for {
		select {
		case f := <-c.done:
			c.take(f)
		default:
			return
		}
	}
}

// give hands over what is ready.
func (c *calls) give() []spi.Reply {
	replies := c.ready
	c.ready = nil
	slices.SortFunc(replies, func(a, b spi.Reply) int { return cmp.Compare(a.ID, b.ID) })
	for i := range replies {
		delete(c.open, replies[i].ID)
	}
	return replies
}

// next is the first call that has not begun, which begins.
func (c *calls) next() *call {
	call := c.queue[0]
	c.queue = c.queue[1:]
	call.state, call.origin = callRunning, c.from.label()
	c.running++
	return call
}

// start begins with as many calls as there may be at once, each in a goroutine of
// its own.
func (c *calls) start(ctx context.Context) {
	for len(c.queue) > 0 && c.running < cap(c.done) {
		call := c.next()
		go func() { c.done <- c.answer(ctx, call) }()
	}
}

// answer has a call answered. It leaves alone what may change meanwhile.
func (c *calls) answer(ctx context.Context, call *call) finishedCall {
	began := time.Now()
	var a tools.Answer
	if call.allowed {
		a = c.job.tools.AnswerAllowed(ctx, c.asked(call))
	} else {
		a = c.job.tools.Answer(ctx, c.asked(call), c.policy)
	}
	return finishedCall{call, a, time.Since(began)}
}

// asked is a call as tools know it.
func (c *calls) asked(call *call) *tools.Call {
	return &tools.Call{
		EvalID: c.job.evalID, ID: call.id, Tool: call.tool, Args: call.args,
		ArgsOrigin: call.origin, ScriptSHA256: c.job.scriptSHA256, Position: call.at,
	}
}

// take makes a reply of what came of a call.
func (c *calls) take(f finishedCall) {
	c.running--
	call, a := f.call, f.answer
	c.from.know(a.Origin)
	switch {
	case a.Suspended && c.cannotSuspend != "":
		c.refuse(call, tools.CodePolicy, call.tool+" waits for somebody to decide, and "+c.cannotSuspend, f.took)
	case a.Suspended:
		call.state = callSuspended
	case a.Failure != nil:
		c.failFor(call, a.Failure, a.Cause, f.took)
	default:
		c.fulfil(call, a.Value, f.took)
	}
}

// fulfil gives the script a result, without the labels in it: they are on
// everything that the script says from now on.
func (c *calls) fulfil(call *call, value json.RawMessage, took time.Duration) {
	stripped, from, err := taint.Strip(value)
	if err != nil {
		c.fail(call, failureOf(tools.CodeFailed, call.tool+" failed"), took)
		return
	}
	c.from.add(from...)
	if over := c.ledger.ReplyBytes + int64(len(stripped)); over > c.job.limits.ReplyBytes {
		c.fail(call, failureOf(tools.CodeLimit, fmt.Sprintf(
			"the results of all calls together are larger than %s of %d", LimitReplyBytes, c.job.limits.ReplyBytes)), took)
		return
	}
	c.ledger.ReplyBytes += int64(len(stripped))
	c.events.tell(Event{Type: EventToolAnswered, CallID: call.id, Tool: call.tool, Duration: took})
	c.reply(call, spi.Reply{ID: call.id, Value: stripped})
}

// refuse denies a call.
func (c *calls) refuse(call *call, code, message string, took time.Duration) {
	f := failureOf(code, message)
	f.Denied, f.Name = true, tools.NameDenied
	c.fail(call, f, took)
}

// fail tells of a failure and has the script hear of it.
func (c *calls) fail(call *call, f *tools.Failure, took time.Duration) {
	c.failFor(call, f, nil, took)
}

// failFor is fail for a reason that only operators may know.
func (c *calls) failFor(call *call, f *tools.Failure, cause error, took time.Duration) {
	e := Event{Type: EventToolAnswered, CallID: call.id, Tool: call.tool, Code: f.Code, Duration: took, Cause: cause}
	switch {
	case f.Code == tools.CodeEgressDenied:
		e.Type = EventEgressDenied
	case f.Denied:
		e.Type = EventToolDenied
	}
	c.events.tell(e)
	c.ledger.fail(call.id, failure{call.tool, f.Code})
	c.reject(call, f)
}

func (c *calls) reject(call *call, f *tools.Failure) {
	c.reply(call, spi.Reply{ID: call.id, Error: &spi.CallError{Name: f.Name, Message: cut(f.Message), Denied: f.Denied}})
}

func (c *calls) reply(call *call, r spi.Reply) {
	call.state = callAnswered
	c.ready = append(c.ready, r)
}

// inOrder are the calls without a reply.
func (c *calls) inOrder() []*call {
	if len(c.open) == 0 {
		return nil
	}
	all := make([]*call, 0, len(c.open))
	for _, id := range slices.Sorted(maps.Keys(c.open)) {
		all = append(all, c.open[id])
	}
	return all
}
