package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// usageChecks: what an eval consumed is its own, on every path.
func usageChecks() []Check {
	return []Check{
		{ID: "LIMIT-095", Level: MUST, Rule: "However an eval ends, usage has its wall time, its memory and, where it is declared, its fuel.", Watchdog: manyWatchdog, body: everyEnding(usageOfEnding)},
		{ID: "LIMIT-096", Level: MUST, Rule: "The wall time of an eval is what it took: neither a constant nor that of those before it.", Watchdog: manyWatchdog, body: wallAnew},
		{ID: "LIMIT-097", Level: MUST, Rule: "The fuel in usage is that of one eval and not of all of the isolate.", Needs: []Need{NeedExactFuel}, body: fuelOfOne},
		{ID: "LIMIT-098", Level: MUST, Rule: "The peak of memory is that of the isolate and not of one before it.", own: true, body: peakOfOne},
	}
}

// wallTolerance is by how much the clocks of backend and caller may differ.
func wallTolerance(took time.Duration) time.Duration { return took/20 + 5*time.Millisecond }

func usageOfEnding(s *subject, m met) error {
	u := &m.out.Usage
	stopped := m.out.Error.Kind == spi.KindTimeout || m.out.Error.Kind == spi.KindCancelled || m.out.Error.Kind == spi.KindKilled
	switch {
	case u.Wall <= 0 || u.Wall > m.took+wallTolerance(m.took):
		return fmt.Errorf("usage says %v of wall time, and the call took %v", u.Wall, m.took)
	case stopped && u.Wall < m.within/2:
		return &hastyError{fmt.Errorf("usage says %v of wall time, and it was stopped after %v", u.Wall, m.within)}
	case NeedFuel.declaredBy(&s.descriptor) && u.Fuel <= 0:
		return &hastyError{fmt.Errorf("usage says %d units of fuel", u.Fuel)} // it may not have begun
	case u.MemoryPeakBytes <= 0:
		return fmt.Errorf("usage says a peak of %d bytes of memory", u.MemoryPeakBytes)
	}
	return nil
}

// wallAnew runs a long eval and then short ones, of which the busiest machine
// lets one be quick.
func wallAnew(ctx context.Context, s *subject) error {
	return s.patiently(untilEnded(), func(least time.Duration) error {
		iso, err := s.isolate(ctx, s.withLeisure())
		if err != nil {
			return err
		}
		_, took, out, err := s.turnsFor(ctx, iso, least)
		if err != nil {
			return err
		}
		long := out.Usage.Wall
		switch {
		case long > took+wallTolerance(took):
			return fmt.Errorf("usage says %v of wall time, and the call took %v", long, took)
		case long < took/4: // and the rest was spent waiting for a turn?
			return &hastyError{fmt.Errorf("usage says %v of wall time, and the call took %v", long, took)}
		}
		shortest := long
		for range 4 {
			start := time.Now()
			out, err := s.evalIn(ctx, iso, "1", "")
			if err != nil {
				return err
			}
			if took := time.Since(start); out.Usage.Wall > took+wallTolerance(took) {
				return fmt.Errorf("usage says %v of wall time, and the call took %v", out.Usage.Wall, took)
			}
			shortest = min(shortest, out.Usage.Wall)
		}
		if shortest > long/2 {
			return &hastyError{fmt.Errorf("usage says %v of wall time for a short eval after one of %v", shortest, long)}
		}
		return nil
	})
}

func fuelOfOne(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx, s.withLeisure())
	if err != nil {
		return err
	}
	var least, most int64
	for n := range 4 {
		out, err := s.evalIn(ctx, iso, computing, "50000")
		if err == nil {
			err = wantValue(out, "25000")
		}
		if err != nil {
			return err
		}
		if n == 0 {
			least = out.Usage.Fuel
		}
		least, most = min(least, out.Usage.Fuel), max(most, out.Usage.Fuel)
	}
	if most > least+least/2 {
		return fmt.Errorf("the same script burns %d units at one time and %d at another, in the same isolate", least, most)
	}
	return nil
}

// peakOfOne has a backend that nobody used: what a check before this one had
// would hide what it looks for.
func peakOfOne(ctx context.Context, s *subject) error {
	peak := func(source string) (int64, error) {
		out, err := s.eval(ctx, source, s.room(s.config()), s.withLeisure())
		if err != nil {
			return 0, err
		}
		return out.Usage.MemoryPeakBytes, wantValue(out, "1")
	}
	before, err := peak("1")
	if err != nil {
		return err
	}
	hungry, err := peak("new Uint8Array(Math.floor(input.room / 2) + 1).fill(1)[0]")
	if err != nil {
		return err
	}
	after, err := peak("1")
	if err != nil {
		return err
	}
	if after > before+(hungry-before)/2 {
		return fmt.Errorf("a small script has a peak of %d bytes, and of %d in an isolate after one with %d", before, after, hungry)
	}
	return nil
}
