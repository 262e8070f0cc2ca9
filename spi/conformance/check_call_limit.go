package conformance

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// refusedAs is what a script sees of a call that a limit refuses.
const refusedAs = `["DeniedError",true,"tools.a"]`

func callLimit(ctx context.Context, s *subject) error {
	source := "const seen = []; for (let i = 0; i < 4; i++) try { seen.push(await tools.a(i)) } catch (e) { seen.push([e.name, e instanceof DeniedError, e.function]) } seen"
	for _, limit := range []int64{0, 1, 3, 4, 5} {
		d, err := s.talk(ctx, source, withCalls(limit, 1000))
		if err != nil {
			return err
		}
		made := min(limit, 4)
		var want []string
		for i := range int64(4) {
			if i >= made {
				want = append(want, refusedAs)
				continue
			}
			want = append(want, fmt.Sprint(i+10))
			if err := d.wantWaits(fmt.Sprintf("%d tools.a [%d]", i+1, i)); err != nil {
				return fmt.Errorf("with %s of %d: %w", spi.LimitHostCalls, limit, err)
			}
			if err := d.reply(ctx, valued(i+1, want[i])); err != nil {
				return err
			}
		}
		err = firstError(
			func() error { return wantValue(d.out, "["+strings.Join(want, ",")+"]") },
			func() error { return wantUsed(d.out, made, 3*made) },
		)
		if err != nil {
			return fmt.Errorf("with %s of %d: %w", spi.LimitHostCalls, limit, err)
		}
	}
	return nil
}

func callBytesLimit(ctx context.Context, s *subject) error {
	// Of 9, 3 and 2 bytes: ["😀é"] is one of two characters.
	source := "const seen = []; for (const x of [['😀é'.slice(0, 2) + 'x'], [1], []]) try { seen.push(await tools.a(...x)) } catch (e) { seen.push([e.name, e instanceof DeniedError, e.function]) } seen"
	sizes := []int64{int64(len(`["😀x"]`)), 3, 2}
	for _, limit := range []int64{0, 1, 2, 4, 5, sizes[0] - 1, sizes[0], sizes[0] + 1, sizes[0] + 2, sizes[0] + 3, sizes[0] + 4, sizes[0] + 5, sizes[0] + 6} {
		d, err := s.talk(ctx, source, withCalls(100, limit))
		if err != nil {
			return err
		}
		left, calls := limit, int64(0)
		var want []string
		for _, size := range sizes {
			if size > left {
				want = append(want, refusedAs)
				continue
			}
			left -= size
			calls++
			want = append(want, fmt.Sprint(calls))
			if !d.out.Waits() {
				return fmt.Errorf("with %s of %d: ended with %s, wanted that call %d waits", spi.LimitCallBytes, limit, partsEnd(d.out), calls)
			}
			if err := d.reply(ctx, valued(calls, fmt.Sprint(calls))); err != nil {
				return err
			}
		}
		err = firstError(
			func() error { return wantValue(d.out, "["+strings.Join(want, ",")+"]") },
			func() error { return wantUsed(d.out, calls, limit-left) },
		)
		if err != nil {
			return fmt.Errorf("with %s of %d: %w", spi.LimitCallBytes, limit, err)
		}
	}
	return nil
}

func callLimitUncaught(ctx context.Context, s *subject) error {
	for _, c := range []struct {
		source       string
		calls, bytes int64
		limit        spi.LimitName
		value        int64
	}{
		{"await tools.a(1)", 0, 100, spi.LimitHostCalls, 0},
		{"await tools.a(1)", 10, 2, spi.LimitCallBytes, 2},
		{"await tools.a('" + strings.Repeat("x", 5000) + "')", 10, 100, spi.LimitCallBytes, 100},
		{"tools.b(); await tools.a(1)", 1, 100, spi.LimitHostCalls, 1},
		{"let kept; try { await tools.a(1) } catch (e) { kept = e } throw kept", 0, 100, spi.LimitHostCalls, 0},
	} {
		d, err := s.talk(ctx, c.source, withCalls(c.calls, c.bytes))
		if err == nil {
			err = firstError(
				func() error { return wantKind(d.out, spi.KindDenied) },
				func() error { return wantLimit(d.out, c.limit, c.value) },
				func() error { return ofCall(0)(d.out) },
			)
		}
		if err != nil {
			return fmt.Errorf("of %q: %w", clip(c.source), err)
		}
	}
	// One of the script's own is none, though a call was refused.
	d, err := s.talk(ctx, "try { await tools.a(1) } catch {} throw new DeniedError('mine')", withCalls(0, 0))
	if err != nil {
		return err
	}
	return firstError(
		func() error { return wantKind(d.out, spi.KindException) },
		func() error { return wantNoLimit(d.out) },
	)
}

// inParts works a little, calls, and so on without end.
const inParts = "for (;;) { for (let i = 0, n = 0; i < 20000; i++) n += i; await tools.a() }"

// callTimeoutAddsUp replies at once, so that no part is long.
func callTimeoutAddsUp(ctx context.Context, s *subject) error {
	timeout := s.shortTimeout()
	d, err := s.talk(ctx, inParts, withCalls(1<<30, 1<<40), withTimeout(timeout))
	if err != nil {
		return err
	}
	wall, latest := d.out.Usage.Wall, s.latest(timeout)
	for start := time.Now(); d.out.Waits(); {
		if err := d.reply(ctx, valued(d.out.Pending[0].ID, "1")); err != nil {
			return err
		}
		if d.out.Usage.Wall < wall {
			return fmt.Errorf("wall time is %v after %v", d.out.Usage.Wall, wall)
		}
		if wall = d.out.Usage.Wall; wall > latest || time.Since(start) > 10*latest {
			return fmt.Errorf("waits after %v of wall time, wanted that it ends within %v", wall, latest)
		}
	}
	return firstError(
		func() error { return wantKind(d.out, spi.KindTimeout) },
		func() error { return wantLimit(d.out, spi.LimitTimeout, timeout.Milliseconds()) },
		func() error {
			if d.out.Usage.HostCalls < 2 {
				return fmt.Errorf("ended after %d calls, wanted several", d.out.Usage.HostCalls)
			}
			return nil
		},
	)
}

func callWaitIsFree(ctx context.Context, s *subject) error {
	return s.patiently([]time.Duration{200 * time.Millisecond, 600 * time.Millisecond, 2 * time.Second}, func(timeout time.Duration) error {
		d, err := s.talk(ctx, "await tools.a(); await tools.b(); 5", withTimeout(timeout))
		if err != nil {
			return err
		}
		for id := range int64(2) {
			if !d.out.Waits() {
				return hasty(fmt.Errorf("ended with %s, wanted that it waits", partsEnd(d.out)))
			}
			time.Sleep(timeout)
			if err := d.reply(ctx, valued(id+1, "1")); err != nil {
				return err
			}
		}
		if err := wantValue(d.out, "5"); err != nil {
			return hasty(err)
		}
		if wall := d.out.Usage.Wall; wall >= timeout {
			return hasty(fmt.Errorf("usage says %v of wall time, and most of it the script waited", wall))
		}
		return nil
	})
}

func callFuelAddsUp(ctx context.Context, s *subject) error {
	first, err := s.talk(ctx, inParts, s.withLeisure())
	if err != nil {
		return err
	}
	one := first.out.Usage.Fuel
	if one <= 0 {
		return fmt.Errorf("usage says %d units of fuel", one)
	}
	fuel := 4*one + s.granularity(spi.LimitFuel)
	d, err := s.talk(ctx, inParts, withFuel(fuel), s.withLeisure())
	if err != nil {
		return err
	}
	burnt := d.out.Usage.Fuel
	for d.out.Waits() {
		if err := d.reply(ctx, valued(d.out.Pending[0].ID, "1")); err != nil {
			return err
		}
		if now := d.out.Usage.Fuel; now <= burnt && d.out.Waits() {
			return fmt.Errorf("usage says %d units of fuel after %d", now, burnt)
		}
		if burnt = d.out.Usage.Fuel; d.out.Usage.HostCalls > 100 {
			return fmt.Errorf("waits after 100 calls and %d units, wanted that it ends after %d", burnt, fuel)
		}
	}
	return firstError(
		func() error { return wantKind(d.out, spi.KindFuel) },
		func() error { return wantLimit(d.out, spi.LimitFuel, fuel) },
		func() error {
			if n := d.out.Usage.HostCalls; n < 2 {
				return fmt.Errorf("ended after %d calls, wanted several", n)
			}
			return wantRefused(ctx, d.iso, spi.ErrIsolateSpent)
		},
	)
}

func callFuelExact(ctx context.Context, s *subject) error {
	source := "let n = 0; for (let i = 0; i < 3; i++) { n += await tools.a(i); for (let k = 0; k < 1000; k++) n += k } n"
	end := func(fuel int64) (*spi.Outcome, error) {
		d, err := s.talk(ctx, source, withFuel(fuel), s.withLeisure())
		if err != nil {
			return nil, err
		}
		for d.out.Waits() {
			if err := d.reply(ctx, valued(d.out.Pending[0].ID, `7`)); err != nil {
				return nil, err
			}
		}
		return d.out, nil
	}
	plain, err := end(0)
	if err != nil {
		return err
	}
	if err := wantValue(plain, "1498521"); err != nil {
		return err
	}
	need := plain.Usage.Fuel
	enough, err := end(need)
	if err != nil {
		return err
	}
	if err := s.same(plain, enough); err != nil {
		return fmt.Errorf("with exactly the fuel that it burns: %w", err)
	}
	less, err := end(need - 1)
	if err != nil {
		return err
	}
	return firstError(
		func() error { return wantKind(less, spi.KindFuel) },
		func() error { return wantUsed(less, 3, 9) },
	)
}
