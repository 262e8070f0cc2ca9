package sandbox

import (
	"context"
	"errors"

	"github.com/loom-sandbox/sandboxd/sandbox/internal/seal"
	"github.com/loom-sandbox/sandboxd/spi"
)

// Eval runs a script in the session: [Sandbox.Eval] that goes on from what the
// evals before it left. No [Request.Now] and no [Request.Seed] let the clock and
// the random numbers go on from where they stood; [Result.Run] has those that they
// were last set to. Additional errors are those of sessions.
func (x *Session) Eval(ctx context.Context, req Request) (*Result, error) {
	s := x.sandbox
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.running.Done()
	j, err := s.admit(&req)
	if err != nil {
		return nil, err
	}
	if j.tooLarge != nil {
		return s.tooLarge(j), nil
	}
	from, leave, err := x.use(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := j.limits.hold(from.memory); err != nil {
		return nil, err
	}
	p := s.newPart(ctx, j, newLedger(from.last))
	p.origins.recall(from.origins)
	p.session = &sessionMark{x.id, from.id}
	next := &kept{}
	p.keep = x.keeper(next)
	open := func(ctx context.Context) (spi.Isolate, error) {
		return s.open(ctx, j, p.events.notices(), s.unprepared)
	}
	if from.packed != nil {
		if req.Now.IsZero() {
			j.run.Now = from.run.Now
		}
		if req.Seed == "" {
			j.run.Seed = from.run.Seed
		}
		r := &spi.Resumption{Limits: j.config.Limits, Observer: p.events.notices()}
		if err := restart(r, req.Now, req.Seed); err != nil {
			return nil, err
		}
		open = func(ctx context.Context) (spi.Isolate, error) {
			if r.State, err = s.sealer.ring.Unpack(from.packed, from.bytes); err != nil {
				return nil, err
			}
			return s.reopen(ctx, r)
		}
	}
	res, err := p.run(ctx, EventStarted, open,
		func(ctx context.Context, iso spi.Isolate) (*spi.Outcome, error) { return iso.Eval(ctx, &j.request) })
	return x.moved(res, err, next)
}

// Resume goes on with an eval of this session that was suspended, as
// [Sandbox.Resume] does with others. Once it succeeds the session goes on from
// what it left; if the session has moved on since the eval began, it is
// [ErrSessionMoved].
func (x *Session) Resume(ctx context.Context, req ResumeRequest) (*Result, error) {
	s := x.sandbox
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.running.Done()
	c, err := s.openContinuation(req.Continuation)
	if err != nil {
		return nil, err
	}
	if c.Session == nil || c.Session.Session != x.id {
		return nil, ErrContinuationForeign
	}
	from, leave, err := x.use(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if c.Session.State != from.id {
		return nil, ErrSessionMoved
	}
	next := &kept{}
	res, err := s.resume(ctx, &req, c, x.keeper(next))
	return x.moved(res, err, next)
}

// kept is the state that an eval leaves, if it leaves one.
type kept struct{ state *sessionState }

// keeper makes a state of the isolate of an eval that succeeded.
func (x *Session) keeper(next *kept) keeper {
	return func(ctx context.Context, iso spi.Isolate, out *spi.Outcome, p *part) (*spi.ScriptError, error) {
		tooLarge := overLimit(spi.KindOutputTooLarge, spi.ReachedLimit{Name: LimitSessionBytes, Value: x.options.MaxBytes}, "what the session would keep")
		raw, err := stateOf(ctx, iso, &p.job.limits)
		if errors.Is(err, spi.ErrStateTooLarge) {
			return tooLarge, nil
		}
		if err != nil {
			return nil, err
		}
		packed, err := x.sandbox.sealer.ring.Pack(raw, x.options.MaxBytes)
		if errors.Is(err, seal.ErrTooLarge) {
			return tooLarge, nil
		}
		if err != nil {
			return nil, err
		}
		last := p.calls.ledger.Last
		for i := range out.Pending {
			last = max(last, out.Pending[i].ID)
		}
		next.state = &sessionState{
			id: newID(), packed: packed, bytes: int64(len(raw)), memory: out.Usage.MemoryPeakBytes, origins: p.origins.lists(), last: last, run: p.job.run,
		}
		return nil, nil
	}
}

// moved has the session go on from what an eval left, if all of it went well.
func (x *Session) moved(res *Result, err error, next *kept) (*Result, error) {
	if err == nil && res.Status == StatusOK && next.state != nil {
		x.move(next.state)
	}
	return res, err
}

// savedSession is what of a session is sealed beside its state.
type savedSession struct {
	ID, State string
	Options   SessionOptions
	Fresh     bool `json:",omitempty"` // no eval has succeeded yet
	Memory    int64
	Origins   originLists
	Last      int64
	Run       Run
}

// Save returns the session as bytes, as it was after the last eval that succeeded,
// sealed as continuations are. The session goes on. The error is
// [ErrSessionTooLarge], or that the session is gone.
func (x *Session) Save() ([]byte, error) {
	x.mu.Lock()
	state, why := x.state, x.why
	x.mu.Unlock()
	if state == nil {
		return nil, why
	}
	s := x.sandbox.sealer
	saved := savedSession{
		ID: x.id, State: state.id, Options: x.options, Fresh: state.packed == nil, Memory: state.memory,
		Origins: state.origins, Last: state.last, Run: state.run,
	}
	var raw []byte
	if !saved.Fresh {
		var err error
		if raw, err = s.ring.Unpack(state.packed, state.bytes); err != nil {
			return nil, x.sandbox.failed(context.Background(), err)
		}
	}
	sealed, err := s.seal(seal.KindSession, &saved, raw)
	if errors.Is(err, seal.ErrTooLarge) {
		return nil, ErrSessionTooLarge
	}
	if err != nil {
		return nil, x.sandbox.failed(context.Background(), err)
	}
	return sealed, nil
}

// RestoreSession makes a session of what [Session.Save] returned, here or in any
// sandbox with the same keys, audience and guest image: with the same options, and
// all of its idle time. It can be done any number of times, and each session goes
// its own way. Errors are those of [Sandbox.NewSession] and
// [ErrContinuationTooLarge], [ErrContinuationUnreadable], [ErrContinuationForeign]
// and [ErrContinuationExpired].
func (s *Sandbox) RestoreSession(ctx context.Context, saved []byte) (*Session, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.running.Done()
	if err := s.sessionsThere(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var h savedSession
	raw, err := s.sealer.open(seal.KindSession, saved, &h)
	if err != nil {
		return nil, err
	}
	if h.ID == "" || h.State == "" || h.Options.check() != nil {
		return nil, ErrContinuationUnreadable
	}
	state := &sessionState{id: h.State, origins: h.Origins, last: h.Last, run: h.Run, bytes: int64(len(raw)), memory: h.Memory}
	if !h.Fresh {
		if state.packed, err = s.sealer.ring.Pack(raw, h.Options.MaxBytes); err != nil {
			return nil, ErrContinuationTooLarge
		}
	}
	return s.session(h.ID, h.Options, state), nil
}
