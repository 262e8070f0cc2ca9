package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/loom-sandbox/sandboxd/sandbox/internal/seal"
	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
	"github.com/loom-sandbox/sandboxd/tools"
)

// suspended is what of an eval is kept beside the state of its isolate.
type suspended struct {
	EvalID   string
	Run      Run
	Limits   Limits
	Used     time.Duration // of Limits.TotalTime
	Script   string        // SHA-256
	Manifest tools.Manifest
	Emit     bool `json:",omitempty"`
	Origins  originLists
	Ledger   *ledger
	Pending  []pendingCall
	Sequence int64        // of the last event
	Memory   int64        // that the guest has
	Session  *sessionMark `json:",omitempty"`
}

// pendingCall is a call that waits for somebody, as the script made it.
type pendingCall struct {
	ID       int64
	Function string
	Args     json.RawMessage
	At       tools.Position
}

func argumentBytes(pending []pendingCall) (n int64) {
	for i := range pending {
		n += int64(len(pending[i].Args))
	}
	return n
}

// suspend puts an eval away of which all pending calls wait for somebody.
func (p *part) suspend(ctx context.Context, iso spi.Isolate, out *spi.Outcome) (*Result, error) {
	state, err := stateOf(ctx, iso, &p.job.limits)
	if errors.Is(err, spi.ErrStateTooLarge) {
		return p.tooLargeToSuspend(out)
	}
	if err != nil && p.isOver(ctx) {
		return p.stopped(ctx, out, err)
	}
	if err != nil {
		return nil, p.sandbox.failed(ctx, err)
	}
	kept := suspended{
		EvalID: p.job.evalID, Run: p.job.run, Limits: p.job.limits, Used: p.total(), Script: p.job.scriptSHA256,
		Manifest: p.job.tools.Manifest(), Emit: p.job.emit, Origins: p.origins.lists(), Ledger: p.calls.ledger,
		Sequence: p.events.last + 1, // the one that tells of it, once it is done
		Memory:   out.Usage.MemoryPeakBytes,
		Session:  p.session,
	}
	for _, call := range p.calls.inOrder() {
		kept.Pending = append(kept.Pending, pendingCall{call.id, call.function, call.args, call.at})
	}
	sealed, err := p.sandbox.sealer.seal(seal.KindContinuation, &kept, state)
	if errors.Is(err, seal.ErrTooLarge) {
		return p.tooLargeToSuspend(out)
	}
	if err != nil {
		return nil, p.sandbox.failed(ctx, err)
	}
	waiting := *out
	waiting.Value, waiting.Error = nil, nil
	res, err := p.result(&waiting)
	if err != nil {
		return nil, err
	}
	res.Continuation = sealed
	for _, call := range p.calls.inOrder() {
		res.Pending = append(res.Pending, PendingCall{call.id, call.tool, taint.Wrap(p.origins.label(), object(call.args))})
	}
	return res, nil
}

func (p *part) tooLargeToSuspend(out *spi.Outcome) (*Result, error) {
	ended := *out
	ended.Error = overLimit(spi.KindOutputTooLarge,
		spi.ReachedLimit{Name: LimitContinuationBytes, Value: p.sandbox.sealer.maxBytes}, "the state of the script, which waits for a decision,")
	return p.result(&ended)
}

// stateOf is the state of an isolate, no larger than it can be within its limits.
func stateOf(ctx context.Context, iso spi.Isolate, limits *Limits) ([]byte, error) {
	suspender, ok := iso.(spi.Suspender)
	if !ok {
		return nil, errors.New("isolate cannot be put away, against what the backend says")
	}
	return suspender.Suspend(ctx, limits.MemoryBytes+limits.ArgumentBytes+2*limits.LogBytes+stateSlack)
}

// object is the one object that a tool was called with: the arguments were checked.
func object(args json.RawMessage) json.RawMessage {
	var all []json.RawMessage
	if err := json.Unmarshal(args, &all); err != nil || len(all) != 1 {
		return json.RawMessage("{}")
	}
	return all[0]
}
