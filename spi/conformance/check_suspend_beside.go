package conformance

import (
	"context"
	"fmt"

	"github.com/loom-sandbox/sandboxd/spi"
)

func resumedLeavesNothing(ctx context.Context, s *subject) error {
	clean, err := s.eval(ctx, dirtying, "1", s.withLeisure())
	if err != nil {
		return err
	}
	_, state, err := s.stateOf(ctx, dirtying+"; globalThis.more = 'x'.repeat(100000); 1")
	if err != nil {
		return err
	}
	for i := range 6 {
		iso, err := s.resume(ctx, state)
		if err == nil {
			_, err = s.evalIn(ctx, iso, "globalThis.left = "+fmt.Sprint(i)+"; delete Array.prototype.filter; more + more", "")
		}
		if err == nil && i%2 == 0 { // others stay open
			err = iso.Close()
		}
		if err != nil {
			return err
		}
		out, err := s.eval(ctx, dirtying, "1", s.withLeisure())
		if err == nil {
			err = s.sameButStack(clean, out)
		}
		if err != nil {
			return fmt.Errorf("in an isolate opened after %d were resumed: %w", i+1, err)
		}
	}
	return s.healthy(ctx)
}

func resumedAtOnce(ctx context.Context, s *subject) error {
	_, shared, err := s.stateOf(ctx, "globalThis.n = 1000; const own = []; n")
	if err != nil {
		return err
	}
	return together(8, func(i int) error {
		iso, err := s.resume(ctx, shared)
		if err != nil {
			return err
		}
		for turn := range 3 {
			out, err := s.evalIn(ctx, iso, "n += input; own.push(n); for (let i = 0; i < 20000; i++) ; await null; own[own.length - 1]", fmt.Sprint(i))
			if err == nil {
				err = wantValue(out, fmt.Sprint(1000+(turn+1)*i))
			}
			if err == nil {
				iso, err = s.goesAway()(ctx, iso)
			}
			if err != nil {
				return fmt.Errorf("turn %d: %w", turn+1, err)
			}
		}
		return nil
	})
}

func resumedElsewhere(ctx context.Context, s *subject) error {
	b, err := s.another(ctx)
	if err != nil {
		return &unknownError{err}
	}
	defer b.Close()
	elsewhere := &subject{backend: b, descriptor: b.Describe(), slow: s.slow, another: s.another}
	defer elsewhere.cleanUp()
	iso, state, err := s.stateOf(ctx, begun)
	if err != nil {
		return err
	}
	there, err := elsewhere.resume(ctx, state)
	if err != nil {
		return fmt.Errorf("elsewhere: %w", err)
	}
	if err := s.twins(ctx, iso, there, "list.push(Math.random()); list", "n++; n", "throw new TypeError(String(n))"); err != nil {
		return fmt.Errorf("elsewhere, it is another outcome: %w", err)
	}
	if !NeedHostCalls.declaredBy(&s.descriptor) {
		return nil
	}
	for _, source := range waitingSources() {
		stayed, err := s.waitingParts(ctx, source, stays)
		if err != nil {
			return err
		}
		homes := []mover{elsewhere.goesAway(), s.goesAway()} // there and back
		turn := 0
		away, err := s.waitingParts(ctx, source, func(ctx context.Context, iso spi.Isolate) (spi.Isolate, error) {
			turn++
			return homes[(turn+1)%2](ctx, iso)
		})
		if err == nil {
			err = s.sameAway(stayed, away)
		}
		if err != nil {
			return fmt.Errorf("%s: elsewhere: %w", clip(source), err)
		}
	}
	return nil
}

func resumedGivenUp(ctx context.Context, s *subject) error {
	for _, move := range []mover{stays, s.goesAway()} {
		iso, err := s.isolate(ctx, s.withLeisure(), s.withWaits())
		if err != nil {
			return err
		}
		out, err := s.beginWaiting(ctx, iso, "console.log('before'); globalThis.n = 1; try { await tools.echo(1); n = 2 } finally { n = 3 }")
		if err == nil && !out.Waits() {
			err = fmt.Errorf("ended with %s, wanted it to wait", ending(out))
		}
		if err == nil {
			iso, err = move(ctx, iso)
		}
		if err != nil {
			return err
		}
		next, err := s.evalIn(ctx, iso, "console.log('after'); n", "")
		if err == nil {
			err = wantValue(next, "1")
		}
		if err == nil && (len(next.Logs) != 1 || len(next.Pending) > 0 || next.Usage.HostCalls != 0) {
			err = fmt.Errorf("the next eval has the logs %q, %d pending calls and %d made", logTexts(next), len(next.Pending), next.Usage.HostCalls)
		}
		if err != nil {
			return err
		}
		caller, ok := iso.(spi.Caller)
		if !ok {
			return fmt.Errorf("a resumed isolate is no spi.Caller")
		}
		if _, err := caller.Continue(ctx, []spi.Reply{echoed(out.Pending[0])}); err == nil {
			return fmt.Errorf("a script that was given up went on")
		} else if err := wantOneOf("Continue of a script that was given up", err, spi.ErrNotWaiting); err != nil {
			return err
		}
		// And calls are counted on: none has the number of one that was made before.
		again, err := s.beginWaiting(ctx, iso, "await tools.echo(2)")
		if err == nil && (!again.Waits() || again.Pending[0].ID != out.Pending[0].ID+1) {
			err = fmt.Errorf("the next call is %v, and the one before had the ID %d", again.Pending, out.Pending[0].ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func preparedPutAway(ctx context.Context, s *subject) error {
	const source = "globalThis.n = input; console.log('ran'); [n, Math.random()]"
	p, err := s.prepare(ctx, source)
	if err != nil {
		return err
	}
	for i := range 3 {
		iso, err := s.from(p)(ctx, s.withLeisure())
		if err != nil {
			return err
		}
		if _, err := s.evalIn(ctx, iso, source, fmt.Sprint(i)); err != nil {
			return err
		}
		state, err := suspend(ctx, iso)
		if err != nil {
			return err
		}
		resumed, err := s.resume(ctx, state)
		if err == nil {
			err = s.twins(ctx, iso, resumed, "[n, Math.random()]", source, "n = 7; [n, typeof input]")
		}
		if err != nil {
			return fmt.Errorf("put away, it is another outcome: %w", err)
		}
	}
	return p.Close()
}
