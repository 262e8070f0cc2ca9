package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

func resumedLimits(ctx context.Context, s *subject) error {
	tight := []func(*spi.Config){withOutput(20), withLogs(10), withTimeout(s.allow(500 * time.Millisecond))}
	if NeedFuel.declaredBy(&s.descriptor) {
		small, err := s.fuelOf(ctx, "1")
		if err != nil {
			return err
		}
		tight = append(tight, withFuel(100*small+s.granularity(spi.LimitFuel)))
	}
	_, roomy, err := s.stateOf(ctx, "1")
	if err != nil {
		return err
	}
	_, narrow, err := s.stateOf(ctx, "1", tight...)
	if err != nil {
		return err
	}
	const long, lines, work = "'x'.repeat(100)", "for (let i = 0; i < 5; i++) console.log('abcd'); 1", "for (let i = 0; i < 200000; i++) ; 2"
	for what, state := range map[string][]byte{"opened with roomy limits": roomy, "opened with tight limits": narrow} {
		open := s.resuming(state)
		for _, c := range []struct {
			source  string
			changes []func(*spi.Config)
			kind    spi.Kind // none is success
			limit   spi.LimitName
			lines   int
			need    Need
		}{
			{long, []func(*spi.Config){s.withLeisure()}, "", "", 0, ""},
			{lines, []func(*spi.Config){s.withLeisure()}, "", "", 5, ""},
			{work, []func(*spi.Config){s.withLeisure()}, "", "", 0, ""},
			{long, tight[:1], spi.KindOutputTooLarge, spi.LimitOutput, 0, ""},
			{lines, tight[1:2], "", "", 2, ""},
			{"for (;;) ;", tight[2:3], spi.KindTimeout, spi.LimitTimeout, 0, ""},
			{"for (;;) ;", tight[3:], spi.KindFuel, spi.LimitFuel, 0, NeedFuel},
		} {
			if c.need != "" && !c.need.declaredBy(&s.descriptor) {
				continue
			}
			iso, err := open(ctx, c.changes...)
			if err != nil {
				return err
			}
			cfg := s.config(c.changes...)
			out, err := s.evalIn(ctx, iso, c.source, "")
			if err != nil {
				return err
			}
			if c.kind == "" {
				if out.Error != nil {
					err = fmt.Errorf("ended with %s, wanted a value", out.Error.Kind)
				}
			} else if err = wantKind(out, c.kind); err == nil {
				value := map[spi.LimitName]int64{spi.LimitOutput: cfg.Limits.OutputBytes, spi.LimitTimeout: cfg.Limits.Timeout.Milliseconds(), spi.LimitFuel: cfg.Limits.Fuel}[c.limit]
				err = wantLimit(out, c.limit, value)
			}
			if err == nil && len(out.Logs) != c.lines {
				err = fmt.Errorf("%d log lines are kept, wanted %d", len(out.Logs), c.lines)
			}
			if err != nil {
				return fmt.Errorf("%s, resumed with others: %s: %w", what, clip(c.source), err)
			}
		}
	}
	return s.resumedMemory(ctx, roomy)
}

// resumedMemory resumes with less and more memory than the isolate was opened with.
func (s *subject) resumedMemory(ctx context.Context, state []byte) error {
	const source = "const held = []; for (let i = 0; i < 24; i++) held.push(new Uint8Array(1 << 20).fill(i)); held.length"
	less, more := s.memory(16<<20), s.memory(64<<20)
	for _, memory := range []int64{less, more, less} {
		iso, err := s.resuming(state)(ctx, s.withLeisure(), withMemory(memory))
		if err != nil {
			return err
		}
		out, err := s.evalIn(ctx, iso, source, "")
		switch {
		case err != nil:
			return err
		case memory-s.descriptor.MinMemoryBytes > 32<<20:
			err = wantValue(out, "24")
		case memory < 24<<20:
			err = firstError(func() error { return wantKind(out, spi.KindMemory) }, func() error { return wantPeak(out, 1, memory) })
		}
		if err != nil {
			return fmt.Errorf("resumed with %d bytes of memory: %w", memory, err)
		}
	}
	return nil
}

func resumedWithinBad(ctx context.Context, s *subject) error {
	_, state, err := s.stateOf(ctx, "globalThis.n = 1; n")
	if err != nil {
		return err
	}
	d := &s.descriptor
	for what, c := range map[string]struct {
		limits  func(*spi.Limits)
		allowed []error // any, if none
	}{
		"no limits":                     {func(l *spi.Limits) { *l = spi.Limits{} }, nil},
		"no time":                       {func(l *spi.Limits) { l.Timeout = 0 }, nil},
		"less than no time":             {func(l *spi.Limits) { l.Timeout = -time.Second }, nil},
		"no output":                     {func(l *spi.Limits) { l.OutputBytes = 0 }, nil},
		"no memory":                     {func(l *spi.Limits) { l.MemoryBytes = 0 }, nil},
		"less than no logs":             {func(l *spi.Limits) { l.LogBytes = -1 }, nil},
		"less than no fuel":             {func(l *spi.Limits) { l.Fuel = -1 }, nil},
		"less than no calls":            {func(l *spi.Limits) { l.HostCalls = -1 }, nil},
		"less memory than the smallest": {func(l *spi.Limits) { l.MemoryBytes = d.MinMemoryBytes - 1 }, []error{spi.ErrUnsupported}},
		"more memory than the largest":  {func(l *spi.Limits) { l.MemoryBytes = d.MaxMemoryBytes + 1 }, []error{spi.ErrUnsupported}},
	} {
		err := s.wantNotResumed(ctx, "a state within "+what, s.resumption(state, func(r *spi.Resumption) { c.limits(&r.Limits) }), c.allowed...)
		if err != nil {
			return err
		}
	}
	if NeedNoFuel.declaredBy(d) {
		if err := s.wantNotResumed(ctx, "a state within fuel, which nobody counts,", s.resumption(state, func(r *spi.Resumption) { r.Limits.Fuel = 1000 }), spi.ErrUnsupported); err != nil {
			return err
		}
	}
	if _, err := s.resume(ctx, state); err != nil {
		return err
	}
	if s.cramped() {
		return nil
	}
	_, grown, err := s.stateOf(ctx, "globalThis.held = new Uint8Array(8 << 20).fill(7); held.length")
	if err != nil {
		return err
	}
	withinSmallest := func(r *spi.Resumption) { r.Limits.MemoryBytes = max(d.MinMemoryBytes, 7<<20) }
	if err := s.wantNotResumed(ctx, "a state that has 8 MiB, within less memory,", s.resumption(grown, withinSmallest), spi.ErrUnsupported); err != nil {
		return err
	}
	_, err = s.resume(ctx, grown)
	return err
}

func resumedGrown(ctx context.Context, s *subject) error {
	free := s.config().Limits.MemoryBytes - s.descriptor.MinMemoryBytes
	blocks := min(20<<20, free/2) >> 18
	// Some of each page: to read all takes an interpreter long.
	const sum = "held.reduce((all, b) => { for (let j = 0; j < b.length; j += 509) all = (all * 31 + b[j]) >>> 0; return all }, 7)"
	first := fmt.Sprintf("globalThis.held = []; for (let i = 0; i < %d; i++) held.push(new Uint8Array(1 << 18).fill(i + 1)); "+
		"for (const b of held) for (let j = 0; j < b.length; j += 4096) b[j] = j >> 12; "+sum, blocks)
	iso, err := s.isolate(ctx, s.withLeisure())
	if err != nil {
		return err
	}
	small, err := s.eval(ctx, "1", "")
	if err != nil {
		return err
	}
	before, err := s.evalIn(ctx, iso, first, "")
	if err != nil {
		return err
	}
	if before.Error != nil {
		return fmt.Errorf("ended with %s, wanted a value", before.Error.Kind)
	}
	for i := range 2 {
		if iso, err = s.goesAway()(ctx, iso); err != nil {
			return err
		}
		out, err := s.evalIn(ctx, iso, sum, "")
		if err == nil {
			err = wantValue(out, string(before.Value))
		}
		if err == nil && out.Usage.MemoryPeakBytes < blocks<<18 {
			err = fmt.Errorf("usage says a peak of %d bytes of memory, wanted %d or more", out.Usage.MemoryPeakBytes, blocks<<18)
		}
		if err != nil {
			return fmt.Errorf("%d MiB, resumed %d times: %w", blocks>>2, i+1, err)
		}
	}
	if err := iso.Close(); err != nil {
		return err
	}
	for range 3 { // what is in its place now must not show
		after, err := s.eval(ctx, "1", "")
		if err != nil {
			return err
		}
		if peak, most := after.Usage.MemoryPeakBytes, small.Usage.MemoryPeakBytes+blocks<<17; peak > most {
			return fmt.Errorf("a new isolate has a peak of %d bytes, and had %d", peak, small.Usage.MemoryPeakBytes)
		}
	}
	return nil
}
