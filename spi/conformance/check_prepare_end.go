package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

func preparedEndings(ctx context.Context, s *subject) error {
	for _, h := range s.declaredEndings() {
		p, err := s.prepare(ctx, began+h.source)
		if err != nil {
			return err
		}
		for range 2 {
			if err := h.meet(ctx, s, s.from(p), nothingElse); err != nil {
				return err
			}
		}
	}
	return nil
}

// byInput ends in a way that its input names, or with a value.
const byInput = "switch (input) { case 'loop': for (;;) ; case 'hold': const held = []; for (;;) held.push(new Uint8Array(1 << 20).fill(1)); " +
	"case 'deep': (function f() { f() })(); case 'throw': throw new Error('thrown') } [typeof globalThis.ran, globalThis.ran = input]"

func preparedWhole(ctx context.Context, s *subject) error {
	p, err := s.prepare(ctx, byInput)
	if err != nil {
		return err
	}
	whole := func() error {
		out, err := s.evalFrom(ctx, p, byInput, "5", s.withLeisure())
		if err != nil {
			return err
		}
		return wantValue(out, `["undefined",5]`)
	}
	if err := whole(); err != nil {
		return err
	}
	small := func(c *spi.Config) { c.Limits.MemoryBytes = s.memory(16 << 20) }
	for _, c := range []struct {
		input  string
		change func(*spi.Config)
		kinds  []spi.Kind
	}{
		{`"loop"`, withTimeout(s.shortTimeout()), []spi.Kind{spi.KindTimeout}},
		{`"hold"`, small, []spi.Kind{spi.KindMemory, spi.KindTimeout}},
		{`"deep"`, s.withLeisure(), []spi.Kind{spi.KindStackOverflow, spi.KindException, spi.KindMemory}},
		{`"throw"`, s.withLeisure(), []spi.Kind{spi.KindException}},
	} {
		out, err := s.evalFrom(ctx, p, byInput, c.input, c.change)
		if err == nil {
			err = wantKind(out, c.kinds...)
		}
		if err != nil {
			return fmt.Errorf("with the input %s: %w", c.input, err)
		}
		if err := whole(); err != nil {
			return fmt.Errorf("after an eval that ended with %s: %w", out.Error.Kind, err)
		}
	}
	for _, stop := range []interruption{byCancelling, byClosing} {
		iso, err := s.from(p)(ctx, s.withPatience())
		if err != nil {
			return err
		}
		evalCtx, cancel := context.WithCancel(ctx)
		pending := background(func() (*spi.Outcome, error) { return s.evalIn(evalCtx, iso, byInput, `"loop"`) })
		time.Sleep(s.allow(50 * time.Millisecond))
		err = stop(cancel, iso)
		a := <-pending
		cancel()
		if errors.Is(a.err, spi.ErrClosed) { // it had not begun
			a.err = nil
		}
		if err := errors.Join(err, a.err); err != nil {
			return err
		}
		if err := whole(); err != nil {
			return fmt.Errorf("after an eval that was stopped: %w", err)
		}
	}
	return nil
}

// preparedShortOfMemory opens isolates whose cap may be less than what parsing
// took.
func preparedShortOfMemory(ctx context.Context, s *subject) error {
	source := bulky()
	p, err := s.prepare(ctx, source)
	if err != nil {
		return err
	}
	least := s.descriptor.MinMemoryBytes
	for _, memory := range []int64{least, least + 64<<10, least + 256<<10, least + 1<<20, least + 4<<20, least + 16<<20} {
		if memory > s.descriptor.MaxMemoryBytes {
			break
		}
		plain, err := s.eval(ctx, source, "", withMemory(memory), s.withLeisure())
		if err != nil {
			return err
		}
		out, err := s.evalFrom(ctx, p, source, "", withMemory(memory), s.withLeisure())
		if err != nil {
			return fmt.Errorf("with %d bytes of memory: %w", memory, err)
		}
		if NeedImage.declaredBy(&s.descriptor) {
			err = s.asPlain(plain, out)
		} else if ending(plain) != ending(out) {
			err = fmt.Errorf("prepared, it ends with %s, and as it is with %s", ending(out), ending(plain))
		}
		if err == nil {
			err = wantPeak(out, 1, memory)
		}
		if err != nil {
			return fmt.Errorf("with %d bytes of memory: %w", memory, err)
		}
	}
	return nil
}

// preparedUnbound prepares within limits that are enough for parsing, and no more.
func preparedUnbound(ctx context.Context, s *subject) error {
	const source = "const held = []; for (let i = 0; i < 20; i++) held.push(new Uint8Array(1 << 17).fill(i)); let n = 0; for (let i = 0; i < 300000; i++) n += i; n"
	roomy := []func(*spi.Config){s.withLeisure(), withMemory(s.memory(32 << 20))}
	if s.config(roomy...).Limits.MemoryBytes < s.descriptor.MinMemoryBytes+8<<20 {
		return nil // the script would not run anyway
	}
	tight := []func(*spi.Config){withMemory(s.descriptor.MinMemoryBytes + 1<<20), withOutput(1), withLogs(0)}
	if NeedFuel.declaredBy(&s.descriptor) {
		small, err := s.fuelOf(ctx, "1")
		if err != nil {
			return err
		}
		tight = append(tight, withFuel(50*small+s.granularity(spi.LimitFuel)))
	}
	p, err := s.prepare(ctx, source, tight...)
	if errors.Is(err, spi.ErrNotPrepared) { // the guess was too low for this engine
		return nil
	}
	if err != nil {
		return err
	}
	for range 2 {
		plain, err := s.bothWays(ctx, p, source, "", roomy...)
		if err != nil {
			return err
		}
		if err := wantValue(plain, "44999850000"); err != nil {
			return err
		}
	}
	return nil
}

func preparedBytes(ctx context.Context, s *subject) error {
	for _, source := range []string{"1", bulky()} {
		p, err := s.prepare(ctx, source)
		if err != nil {
			return err
		}
		bytes := p.Bytes()
		if bytes <= 0 {
			return fmt.Errorf("the size of %s, prepared, is %d bytes", clip(source), bytes)
		}
		if _, err := s.evalFrom(ctx, p, source, ""); err != nil {
			return err
		}
		if again := p.Bytes(); again != bytes {
			return fmt.Errorf("the size of %s, prepared, is %d bytes, and after an eval %d", clip(source), bytes, again)
		}
	}
	return nil
}

func preparedUnderEnded(ctx context.Context, s *subject) error {
	preparer, err := s.preparer()
	if err != nil {
		return err
	}
	p, err := s.prepare(ctx, "1")
	if err != nil {
		return err
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	late, cancelLate := context.WithDeadline(ctx, time.Now().Add(-time.Second))
	defer cancelLate()
	for _, ended := range []context.Context{cancelled, late} {
		limits := s.config().Limits
		other, err := preparer.Prepare(ended, &limits, "2", spi.JavaScript)
		if err == nil {
			if other != nil {
				_ = other.Close()
			}
			return fmt.Errorf("Prepare gave a script, wanted %w", ended.Err())
		}
		if err := wantOneOf("Prepare", err, ended.Err()); err != nil {
			return err
		}
		iso, err := p.Open(ended, s.config())
		if err == nil {
			if iso != nil {
				_ = iso.Close()
			}
			return fmt.Errorf("opening from what was prepared gave an isolate, wanted %w", ended.Err())
		}
		if err := wantOneOf("opening from what was prepared", err, ended.Err()); err != nil {
			return err
		}
	}
	out, err := s.evalFrom(ctx, p, "1", "")
	if err != nil {
		return err
	}
	return wantValue(out, "1")
}

func preparedEvalUnderEnded(ctx context.Context, s *subject) error {
	const source = "console.log('ran'); 1"
	p, err := s.prepare(ctx, source)
	if err != nil {
		return err
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	late, cancelLate := context.WithDeadline(ctx, time.Now().Add(-time.Second))
	defer cancelLate()
	for _, c := range []struct {
		ctx  context.Context
		kind spi.Kind
	}{{cancelled, spi.KindCancelled}, {late, spi.KindTimeout}} {
		iso, err := s.from(p)(ctx)
		if err != nil {
			return err
		}
		out, err := s.evalIn(c.ctx, iso, source, "")
		if err != nil {
			return err
		}
		err = firstError(
			func() error { return wantKind(out, c.kind) },
			func() error { return wantNoLimit(out) },
			func() error {
				if len(out.Logs) > 0 {
					return fmt.Errorf("it ran: logs are %q", logTexts(out))
				}
				return nil
			},
		)
		if err != nil {
			return err
		}
	}
	return nil
}

func preparedNoGoroutines(ctx context.Context, s *subject) error {
	return s.noneLeft("prepared scripts", func(i int) error {
		source := []string{"1", "for (;;) ;", "throw 1", "while (true) await null"}[i%4]
		p, err := s.prepare(ctx, source)
		if err != nil {
			return err
		}
		if _, err := s.evalFrom(ctx, p, source, "", withTimeout(s.allow(10*time.Millisecond))); err != nil {
			return err
		}
		return p.Close()
	})
}
