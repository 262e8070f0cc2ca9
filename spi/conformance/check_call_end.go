package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// afterCall runs without end when its call has a reply.
const afterCall = "console.log('before'); await tools.a(); console.log('after'); for (;;) ;"

func continueInterrupted(ctx context.Context, s *subject) error {
	for _, c := range []struct {
		stop interruption
		kind spi.Kind
		then error
	}{{byCancelling, spi.KindCancelled, spi.ErrIsolateSpent}, {byClosing, spi.KindKilled, spi.ErrClosed}} {
		err := s.patiently(untilBegun(), func(after time.Duration) error {
			d, err := s.talk(ctx, afterCall, s.withPatience())
			if err != nil {
				return err
			}
			if err := d.wantWaits("1 tools.a []"); err != nil {
				return err
			}
			partCtx, cancel := context.WithCancel(ctx)
			defer cancel()
			pending := background(func() (none, error) { return none{}, d.reply(partCtx, valued(1, "1")) })
			time.Sleep(after)
			stopped := background(func() (none, error) { return none{}, c.stop(cancel, d.iso) })
			_, err = s.inTime(0, func() (*spi.Outcome, error) {
				a, b := <-pending, <-stopped
				return nil, errors.Join(a.err, b.err)
			})
			if errors.Is(err, spi.ErrClosed) { // it had not begun
				return hasty(err)
			}
			if err != nil {
				return err
			}
			return firstError(
				func() error { return wantKind(d.out, c.kind) },
				func() error { return wantNoLimit(d.out) },
				func() error { return hasty(wantLog(d.out, "before", "after")) },
				func() error { return d.wantContinue(ctx, nil, c.then) },
				func() error { return wantRefused(ctx, d.iso, c.then) },
			)
		})
		if err != nil {
			return err
		}
	}
	d, err := s.talk(ctx, afterCall, s.withPatience())
	if err != nil {
		return err
	}
	late, cancel := context.WithTimeout(ctx, s.shortTimeout())
	defer cancel()
	return firstError(
		func() error { return d.reply(late, valued(1, "1")) },
		func() error { return wantKind(d.out, spi.KindTimeout) },
		func() error { return wantNoLimit(d.out) },
		func() error { return s.healthy(ctx) },
	)
}

// wantLog demands all lines.
func wantLog(out *spi.Outcome, want ...string) error {
	got := logTexts(out)
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		return fmt.Errorf("logs are %s, wanted %q", clip(fmt.Sprintf("%q", got)), want)
	}
	return nil
}

func continueUnderEnded(ctx context.Context, s *subject) error {
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	late, cancelLate := context.WithDeadline(ctx, time.Now().Add(-time.Second))
	defer cancelLate()
	for _, c := range []struct {
		ctx  context.Context
		kind spi.Kind
	}{{cancelled, spi.KindCancelled}, {late, spi.KindTimeout}} {
		d, err := s.talk(ctx, "console.log('before'); globalThis.ran = 'no'; await tools.a(); globalThis.ran = 'yes'; console.log('after'); 5")
		if err != nil {
			return err
		}
		if err := firstError(
			func() error { return d.wantWaits("1 tools.a []") },
			func() error { return d.reply(c.ctx, valued(1, "1")) },
			func() error { return wantKind(d.out, c.kind) },
			func() error { return wantNoLimit(d.out) },
			func() error { return wantLog(d.out, "before") },
			func() error {
				return d.wantContinue(ctx, []spi.Reply{valued(1, "1")}, spi.ErrNotWaiting, spi.ErrIsolateSpent)
			},
		); err != nil {
			return err
		}
		out, err := d.iso.Eval(ctx, request("ran", ""))
		if err != nil {
			err = wantOneOf("the next eval", err, spi.ErrIsolateSpent)
		} else {
			err = wantValue(out, `"no"`)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func continueRefused(ctx context.Context, s *subject) error {
	one := []spi.Reply{valued(1, "1")}
	d, err := s.talk(ctx, "await tools.a()")
	if err != nil {
		return err
	}
	if err := firstError(
		func() error { return d.wantWaits("1 tools.a []") },
		d.iso.Close,
		func() error { return d.wantContinue(ctx, one, spi.ErrClosed) },
		func() error { return d.wantContinue(ctx, nil, spi.ErrClosed) },
		func() error { return wantRefused(ctx, d.iso, spi.ErrClosed) },
		d.iso.Close,
	); err != nil {
		return err
	}
	timeout := s.shortTimeout()
	if d, err = s.talk(ctx, "await tools.a(); for (;;) ;", withTimeout(timeout)); err != nil {
		return err
	}
	if !d.out.Waits() { // a busy machine
		return wantKind(d.out, spi.KindTimeout)
	}
	return firstError(
		func() error { return d.reply(ctx, one...) },
		func() error { return wantKind(d.out, spi.KindTimeout) },
		func() error { return wantLimit(d.out, spi.LimitTimeout, timeout.Milliseconds()) },
		func() error { return d.wantContinue(ctx, one, spi.ErrIsolateSpent) },
		func() error { return d.wantContinue(ctx, nil, spi.ErrIsolateSpent) },
		func() error { return wantSpent(ctx, d.iso) },
	)
}

func callerBackendClosed(ctx context.Context, s *subject) error {
	var all []*dialogue
	for range 3 {
		d, err := s.talk(ctx, "await tools.a()")
		if err != nil {
			return err
		}
		if err := d.wantWaits("1 tools.a []"); err != nil {
			return err
		}
		all = append(all, d)
	}
	_, err := s.inTime(0, func() (*spi.Outcome, error) { return nil, s.backend.Close() })
	if err != nil {
		return fmt.Errorf("closing the backend: %w", err)
	}
	for _, d := range all {
		if err := d.wantContinue(ctx, []spi.Reply{valued(1, "1")}, spi.ErrClosed); err != nil {
			return err
		}
	}
	return nil
}
