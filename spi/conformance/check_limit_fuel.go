package conformance

import (
	"context"
	"fmt"
	"math"

	"github.com/loom-sandbox/sandboxd/spi"
)

func fuelChecks() []Check {
	fuel := []Need{NeedFuel}
	must := func(id, rule string, needs []Need, b body) Check {
		return Check{ID: id, Level: MUST, Rule: rule, Needs: needs, Watchdog: manyWatchdog, body: b}
	}
	return []Check{
		must("LIMIT-072", "A loop without end is ended by its fuel with the limit and its value, and the isolate is spent.", fuel,
			fuelEnds("console.log('began'); for (;;) ;")),
		must("LIMIT-073", "A script cannot catch the end of its fuel.", fuel,
			fuelEnds("console.log('began'); for (;;) { try { for (;;) ; } catch {} finally { continue } }")),
		must("LIMIT-074", "Promise jobs burn fuel.", fuel,
			fuelEnds("console.log('began'); for (;;) { try { await null } catch {} }")),
		must("LIMIT-075", "Writing the result burns fuel.", fuel,
			fuelEnds("console.log('began'); ({ get slow() { for (;;) ; } })")),
		must("LIMIT-076", "Built-in functions burn fuel.", fuel,
			fuelEnds("console.log('began'); Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)")),
		must("LIMIT-077", "Usage counts fuel on every path, and more work burns more.", fuel, fuelIsCounted),
		must("LIMIT-078", "Each eval of an isolate has the whole fuel.", fuel, fuelAnew),
		must("LIMIT-079", "No fuel limit and the largest one both limit nothing that an ordinary script does.", fuel, fuelUnlimited),
		must("LIMIT-080", "The same eval burns the same fuel.", []Need{NeedExactFuel}, fuelIsRepeatable),
		must("LIMIT-081", "Exactly the fuel that a script burns is enough for it, and one unit less is not.", []Need{NeedExactFuel}, fuelIsExact),
		must("LIMIT-082", "A fuel limit that is not declared is refused by Open with ErrUnsupported.", []Need{NeedNoFuel},
			func(ctx context.Context, s *subject) error {
				for _, n := range []int64{1, 1_000_000_000, math.MaxInt64} {
					if err := s.wantUnsupported(ctx, fmt.Sprintf("fuel of %d, which is not declared,", n), withFuel(n)); err != nil {
						return err
					}
				}
				return nil
			}),
	}
}

func withFuel(n int64) func(*spi.Config) {
	return func(c *spi.Config) { c.Limits.Fuel = n }
}

// fuelOf is what a script burns; units are the backend's own, so that every
// check has to measure first.
func (s *subject) fuelOf(ctx context.Context, source string) (int64, error) {
	out, err := s.eval(ctx, source, "")
	switch {
	case err != nil:
		return 0, err
	case out.Usage.Fuel <= 0:
		return 0, fmt.Errorf("usage says %d units of fuel for %q", out.Usage.Fuel, clip(source))
	}
	return out.Usage.Fuel, nil
}

// fuelEnds demands that fuel ends a script that logs "began" and goes on for ever.
func fuelEnds(source string) body {
	return func(ctx context.Context, s *subject) error {
		small, err := s.fuelOf(ctx, "console.log('began'); [1, 2].map((x) => x)")
		if err != nil {
			return err
		}
		limit := 10*small + s.granularity(spi.LimitFuel)
		iso, err := s.isolate(ctx, withFuel(limit))
		if err != nil {
			return err
		}
		out, err := s.evalIn(ctx, iso, source, "")
		if err != nil {
			return err
		}
		return firstError(
			func() error { return wantKind(out, spi.KindFuel) },
			func() error { return wantLimit(out, spi.LimitFuel, limit) },
			func() error {
				most := limit + s.granularity(spi.LimitFuel)
				if e, _ := s.descriptor.EnforcementOf(spi.LimitFuel); !e.Exact && e.Granularity == 0 {
					most = math.MaxInt64 // by how much it may differ depends on the script
				}
				if out.Usage.Fuel <= 0 || out.Usage.Fuel > most {
					return fmt.Errorf("usage says %d units of fuel, wanted 1 to %d", out.Usage.Fuel, most)
				}
				return nil
			},
			func() error {
				if got := logTexts(out); len(got) != 1 || got[0] != "began" {
					return fmt.Errorf("logs are %q, wanted the line before the loop", got)
				}
				return nil
			},
			func() error { return wantSpent(ctx, iso) },
			func() error { return s.healthy(ctx) },
		)
	}
}

func fuelIsCounted(ctx context.Context, s *subject) error {
	for _, source := range []string{"1 + 1", "throw 1", "await new Promise(() => {})", "({ a: 1n })"} {
		if _, err := s.fuelOf(ctx, source); err != nil {
			return err
		}
	}
	few, err := s.fuelOf(ctx, "for (let i = 0; i < 1000; i++) ;")
	if err != nil {
		return err
	}
	many, err := s.fuelOf(ctx, "for (let i = 0; i < 1000000; i++) ;")
	if err != nil {
		return err
	}
	if many < 10*few+s.granularity(spi.LimitFuel) && many < few+100_000 {
		return fmt.Errorf("a thousand turns of a loop burn %d units and a million %d", few, many)
	}
	return nil
}

func fuelAnew(ctx context.Context, s *subject) error {
	const source = "let n = 0; for (let i = 0; i < 20000; i++) n += i; n"
	need, err := s.fuelOf(ctx, source)
	if err != nil {
		return err
	}
	iso, err := s.isolate(ctx, withFuel(need+need/2+s.granularity(spi.LimitFuel)))
	if err != nil {
		return err
	}
	for i := range 4 {
		out, err := s.evalIn(ctx, iso, "{ "+source+" }", "")
		if err == nil {
			err = wantValue(out, "199990000")
		}
		if err != nil {
			return fmt.Errorf("eval %d: %w", i+1, err)
		}
	}
	return nil
}

func fuelUnlimited(ctx context.Context, s *subject) error {
	for _, n := range []int64{0, math.MaxInt64} {
		out, err := s.eval(ctx, "let n = 0; for (let i = 0; i < 100000; i++) n += i; n", "", withFuel(n))
		if err == nil {
			err = wantValue(out, "4999950000")
		}
		if err != nil {
			return fmt.Errorf("with fuel of %d: %w", n, err)
		}
	}
	return nil
}

// fuelScripts do one kind of work each.
func fuelScripts() []string {
	return []string{
		"1 + 1",
		"let n = 0; for (let i = 0; i < 10000; i++) n += i; n",
		"Array.from({ length: 500 }, () => Math.random()).sort()[0] < 1",
		"let n = 0; for (let i = 0; i < 100; i++) n += await i; n",
		"await new Promise((r) => setTimeout(r, 5)); Date.now()",
		"for (let i = 0; i < 50; i++) console.log({ i })",
		"'2026-01-02'.replace(/(\\d+)-(\\d+)-(\\d+)/, '$3.$2.$1')",
		"throw new Error('x')",
		"await new Promise(() => {})",
	}
}

func fuelIsRepeatable(ctx context.Context, s *subject) error {
	for _, source := range fuelScripts() {
		first, err := s.fuelOf(ctx, source)
		if err != nil {
			return err
		}
		for range 2 {
			again, err := s.fuelOf(ctx, source)
			if err != nil {
				return err
			}
			if again != first {
				return fmt.Errorf("%s: burnt %d units, and then %d", source, first, again)
			}
		}
	}
	return nil
}

func fuelIsExact(ctx context.Context, s *subject) error {
	for _, source := range fuelScripts() {
		need, err := s.fuelOf(ctx, source)
		if err != nil {
			return err
		}
		enough, err := s.eval(ctx, source, "", withFuel(need))
		if err != nil {
			return err
		}
		if enough.Error != nil && enough.Error.Kind == spi.KindFuel || enough.Usage.Fuel != need {
			return fmt.Errorf("%s: with the %d units that it burns it burns %d, and its error is %v", source, need, enough.Usage.Fuel, enough.Error)
		}
		short, err := s.eval(ctx, source, "", withFuel(need-1))
		if err != nil {
			return err
		}
		if err := wantKind(short, spi.KindFuel); err != nil {
			return fmt.Errorf("%s: with one unit less than the %d that it burns: %w", source, need, err)
		}
		if err := wantLimit(short, spi.LimitFuel, need-1); err != nil {
			return err
		}
	}
	return nil
}
