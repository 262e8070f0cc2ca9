package sandbox

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/loom-sandbox/sandboxd/sandbox/internal/seal"
	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/tools"
)

// ResumeRequest goes on with a suspended eval.
type ResumeRequest struct {
	// Continuation is [Result.Continuation]. It can be resumed any number of times,
	// and goes on from the same state each time.
	Continuation []byte
	// Replies answer calls of [Result.Pending], any part of them. With none the eval
	// is suspended again at once, which gives it a new expiry.
	Replies []Reply
	// Tools are those that the script was handed, with the same schemas; others are
	// not handed to it. Nil is enough where all of them are [tools.Remote].
	Tools *tools.Set
	// Limits from now on, for the eval as a whole; a zero field leaves one as it was.
	Limits Limits
	// Now sets the script's clock, and Seed restarts its random numbers; zero and
	// empty let them go on.
	Now  time.Time
	Seed string
}

// Resume goes on with a suspended eval, here or in any sandbox with the same keys,
// audience and guest image. Results and errors are those of [Sandbox.Eval];
// [Result.Usage] is of all parts of the eval together. What was asked of tools
// before is not asked again, and the policy not about calls that were let wait.
//
// The continuation itself is refused with [ErrContinuationTooLarge],
// [ErrContinuationUnreadable], [ErrContinuationForeign] or
// [ErrContinuationExpired], before any script goes on. One that is resumed twice
// gives the same twice, but what replies allow to run then runs twice: EvalID and
// ID of [tools.Call] are the same both times, to tell. Whoever wants it once keeps
// a list.
func (s *Sandbox) Resume(ctx context.Context, req ResumeRequest) (*Result, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.running.Done()
	c, err := s.openContinuation(req.Continuation)
	if err != nil {
		return nil, err
	}
	if c.Session != nil {
		return nil, ErrContinuationForeign
	}
	return s.resume(ctx, &req, c, nil)
}

// continuation is what one holds.
type continuation struct {
	suspended
	state []byte
}

func (s *Sandbox) openContinuation(sealed []byte) (*continuation, error) {
	c := &continuation{}
	var err error
	if c.state, err = s.sealer.open(seal.KindContinuation, sealed, &c.suspended); err != nil {
		return nil, err
	}
	if c.Ledger == nil {
		return nil, ErrContinuationUnreadable
	}
	return c, nil
}

// resume goes on from a continuation; keep is as in [part].
func (s *Sandbox) resume(ctx context.Context, req *ResumeRequest, c *continuation, keep keeper) (*Result, error) {
	j, err := s.readmit(req, c)
	if err != nil {
		return nil, err
	}
	r := &spi.Resumption{State: c.state, Limits: j.config.Limits}
	if err := restart(r, req.Now, req.Seed); err != nil {
		return nil, err
	}
	p := s.newPart(ctx, j, c.Ledger)
	p.used, p.session, p.keep, p.events.last = c.Used, c.Session, keep, c.Sequence
	p.origins.recall(c.Origins)
	p.calls.reopen(c.Pending)
	p.bounds.CallBytes = max(p.bounds.CallBytes, argumentBytes(c.Pending)) // made under another limit, perhaps
	settled, err := p.calls.settle(req.Replies)
	if err != nil {
		return nil, err
	}
	r.Observer = p.events.notices()
	return p.run(ctx, EventResumed,
		func(ctx context.Context) (spi.Isolate, error) { return s.reopen(ctx, r) },
		func(ctx context.Context, iso spi.Isolate) (*spi.Outcome, error) {
			caller, ok := iso.(spi.Caller)
			if !ok {
				return nil, errors.New("isolate cannot go on, against what the backend says")
			}
			p.calls.apply(settled)
			return caller.Continue(ctx, p.calls.give())
		})
}

// reopen opens an isolate from its state.
func (s *Sandbox) reopen(ctx context.Context, r *spi.Resumption) (spi.Isolate, error) {
	// A wrapper may pass the descriptor on and not the method.
	resumer, ok := s.backend.(spi.Resumer)
	if !ok || !s.descriptor.Suspends {
		return nil, spi.ErrUnsupported
	}
	return resumer.Resume(ctx, r)
}

// restart sets clock and random numbers where that was asked for.
func restart(r *spi.Resumption, now time.Time, seed string) error {
	if !now.IsZero() {
		var err error
		if r.Now, err = startOfClock(now); err != nil {
			return err
		}
	}
	if err := checkSeed(seed); err != nil {
		return err
	}
	if seed != "" {
		n := seedOf(seed)
		r.Seed = &n
	}
	return nil
}

// readmit makes a job of what a continuation holds.
func (s *Sandbox) readmit(req *ResumeRequest, c *continuation) (*job, error) {
	limits, err := resolve(s.fields, &req.Limits, &c.Limits, &s.ceilings)
	if err != nil {
		return nil, err
	}
	if err := limits.hold(c.Memory); err != nil {
		return nil, err
	}
	j := &job{limits: limits, evalID: c.EvalID, run: c.Run, scriptSHA256: c.Script}
	j.config = spi.Config{Limits: limits.enforced()}
	set := req.Tools
	if set == nil {
		if set, err = tools.FromManifest(c.Manifest); err != nil {
			return nil, mismatch(err)
		}
	}
	if err := set.Matches(c.Manifest); err != nil {
		return nil, mismatch(err)
	}
	names := make([]string, 0, len(c.Manifest))
	for i := range c.Manifest {
		names = append(names, c.Manifest[i].Name)
	}
	if set, err = set.Only(names...); err != nil {
		return nil, mismatch(err)
	}
	return j, s.grant(j, set, c.Emit)
}

func mismatch(err error) error {
	return &RequestError{"tools", "are not those that the script was handed: " + strings.TrimPrefix(err.Error(), "tools: ")}
}
