package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

func preparedTightly(ctx context.Context, s *subject) error {
	preparer, err := s.preparer()
	if err != nil {
		return err
	}
	source := bulky() + strings.Repeat("\n;[1, 2, 3].map((x) => x * 2)", 20_000) + "\nsum"
	plain, err := s.eval(ctx, source, "", s.withLeisure())
	if err != nil {
		return err
	}
	for _, tight := range []func(*spi.Config){withTimeout(1), withTimeout(time.Millisecond), withMemory(s.descriptor.MinMemoryBytes)} {
		limits := s.config(s.withLeisure(), tight).Limits
		start := time.Now()
		p, err := preparer.Prepare(ctx, &limits, source, spi.JavaScript)
		if took, latest := time.Since(start), s.latest(limits.Timeout); took > latest {
			return fmt.Errorf("Prepare within %v returned after %v, wanted within %v", limits.Timeout, took.Round(time.Millisecond), latest)
		}
		switch {
		case err != nil:
			if err := wantOneOf("Prepare within tight limits", err, spi.ErrNotPrepared); err != nil {
				return err
			}
			continue
		case p == nil:
			return errors.New("Prepare within tight limits returned nothing and no error")
		}
		out, err := s.evalFrom(ctx, p, source, "", s.withLeisure())
		if err := errors.Join(err, p.Close()); err != nil {
			return err
		}
		if err := s.asPlain(plain, out); err != nil {
			return err
		}
	}
	return s.healthy(ctx)
}

// preparedNotRun cannot see what a script does while it is prepared, but that it
// would not end.
func preparedNotRun(ctx context.Context, s *subject) error {
	for _, source := range []string{"for (;;) ;", "while (true) await null", "globalThis.ran = (globalThis.ran ?? 0) + 1; ran"} {
		p, err := s.prepare(ctx, source, withTimeout(s.allow(5*time.Second)))
		if err != nil {
			return err
		}
		if strings.HasPrefix(source, "globalThis") {
			out, err := s.evalFrom(ctx, p, source, "")
			if err == nil {
				err = wantValue(out, "1")
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// three are what a script was given: an input, a time and a random number.
type three struct {
	input  json.RawMessage
	ms     int64
	random float64
}

func threeOf(value []byte) (got three, err error) {
	var parts [3]json.RawMessage
	if err = json.Unmarshal(value, &parts); err == nil {
		got.input = parts[0]
		err = errors.Join(json.Unmarshal(parts[1], &got.ms), json.Unmarshal(parts[2], &got.random))
	}
	return got, err
}

func preparedInputs(ctx context.Context, s *subject) error {
	const source = "[input, Date.now(), Math.random()]"
	p, err := s.prepare(ctx, source)
	if err != nil {
		return err
	}
	drawn := map[uint64]float64{}
	for i, input := range []string{"1", `{"a":[1,2]}`, "null", `"text"`, "1", `{"a":[1,2]}`} {
		seed, now := uint64(i%3), checkTime().Add(time.Duration(i)*37*time.Hour)
		out, err := s.evalFrom(ctx, p, source, input, withSeed(seed), func(c *spi.Config) { c.Now = now })
		if err != nil {
			return err
		}
		if out.Error != nil {
			return fmt.Errorf("isolate %d ended with %s", i+1, out.Error.Kind)
		}
		got, err := threeOf(out.Value)
		if err != nil {
			return fmt.Errorf("value is %s: %w", clip(string(out.Value)), err)
		}
		since := time.Duration(got.ms-now.UnixMilli()) * time.Millisecond
		before, again := drawn[seed]
		switch {
		case !sameJSON(got.input, []byte(input)):
			return fmt.Errorf("the input of isolate %d is %s, wanted %s", i+1, clip(string(got.input)), input)
		case since < 0 || since > 10*time.Second:
			return fmt.Errorf("the clock of isolate %d began %v after the time that it was given", i+1, since)
		case again && before != got.random:
			return fmt.Errorf("the seed %d gives %v, and in another isolate %v", seed, before, got.random)
		}
		for other, random := range drawn {
			if other != seed && random == got.random {
				return fmt.Errorf("the seeds %d and %d give the same random number", other, seed)
			}
		}
		drawn[seed] = got.random
	}
	return nil
}

// dirtying is a script that says what it finds and leaves something in every
// place that it can reach.
const dirtying = `
const tag = (t) => t, regexp = /x/g, found = [
  typeof globalThis.left, ({}).left === undefined, [].left === undefined, Math.abs.left === undefined, typeof Array.prototype.map, JSON.stringify([1]),
  Object.isFrozen(Object.prototype), (function f() {}).left === undefined, Symbol.iterator.description, regexp.lastIndex, tag` + "`t`" + `.length, typeof globalThis.input,
  Object.keys(globalThis).length, typeof console.log, (async () => {}).constructor.left === undefined,
];
regexp.test('xx');
globalThis.left = 1; Object.prototype.left = 2; Array.prototype.left = 3; Math.abs.left = 4; Function.prototype.left = 5;
(async () => {}).constructor.left = 6; delete Array.prototype.map; JSON.stringify.left = 7; console.log = null; globalThis.extra = new Array(5000).fill({});
var hoisted = (globalThis.hoisted ?? 0) + 1; Object.freeze(Object.prototype); delete globalThis.input; Promise.resolve().then(() => { globalThis.job = 1 });
found.push(hoisted); found`

func preparedPristine(ctx context.Context, s *subject) error {
	p, err := s.prepare(ctx, dirtying)
	if err != nil {
		return err
	}
	for i := range 4 {
		if _, err := s.bothWays(ctx, p, dirtying, "1", s.withLeisure()); err != nil {
			return fmt.Errorf("isolate %d: %w", i+1, err)
		}
		iso, err := s.from(p)(ctx) // one that stays open
		if err != nil {
			return err
		}
		if _, err := s.evalIn(ctx, iso, dirtying, "1"); err != nil {
			return err
		}
	}
	return s.healthy(ctx)
}

func preparedShrinks(ctx context.Context, s *subject) error {
	const source = "const held = []; for (let i = 0; i < input; i++) held.push(new Uint8Array(1 << 18).fill(1)); held.length"
	many := min(32<<20, s.config().Limits.MemoryBytes-s.descriptor.MinMemoryBytes) / 2 >> 18
	p, err := s.prepare(ctx, source)
	if err != nil {
		return err
	}
	var peaks []int64
	for _, n := range []int64{0, many, 0, many, 0} {
		out, err := s.evalFrom(ctx, p, source, fmt.Sprint(n), s.withLeisure())
		if err == nil {
			err = wantValue(out, fmt.Sprint(n))
		}
		if err != nil {
			return err
		}
		peaks = append(peaks, out.Usage.MemoryPeakBytes)
	}
	// Where memory is not counted to the byte, two that do the same may differ.
	if grown := (peaks[1] - peaks[0]) / 2; peaks[2] > peaks[0]+grown || peaks[4] > peaks[0]+grown {
		return fmt.Errorf("the peaks of isolates that hold 0, %d, 0, %[1]d and 0 blocks are %v bytes", many, peaks)
	}
	return nil
}

const counting = "globalThis.n = (globalThis.n ?? 0) + input; for (let i = 0; i < 20000; i++) ; await null; n"

func preparedAtOnce(ctx context.Context, s *subject) error {
	p, err := s.prepare(ctx, counting)
	if err != nil {
		return err
	}
	isolates := make([]spi.Isolate, 8)
	for i := range isolates { // all are open before one runs
		if isolates[i], err = s.from(p)(ctx, s.withLeisure()); err != nil {
			return err
		}
	}
	run := func(iso spi.Isolate, i int) error {
		for turn, source := range []string{counting, "n += input", counting} {
			out, err := s.evalIn(ctx, iso, source, fmt.Sprint(i))
			if err == nil {
				err = wantValue(out, fmt.Sprint((turn+1)*i))
			}
			if err != nil {
				return fmt.Errorf("eval %d: %w", turn+1, err)
			}
		}
		return nil
	}
	return together(len(isolates), func(i int) error {
		if err := run(isolates[i], i+1); err != nil {
			return err
		}
		iso, err := s.from(p)(ctx, s.withLeisure()) // and while others run
		if err != nil {
			return err
		}
		return run(iso, 100+i)
	})
}

func preparingAtOnce(ctx context.Context, s *subject) error {
	return together(8, func(i int) error {
		for _, n := range []int{i % 2, i} {
			source := fmt.Sprintf("%d + input", n)
			p, err := s.prepare(ctx, source)
			if err != nil {
				return err
			}
			out, err := s.evalFrom(ctx, p, source, "1000", s.withLeisure())
			if err == nil {
				err = wantValue(out, fmt.Sprint(n+1000))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func preparedOther(ctx context.Context, s *subject) error {
	p, err := s.prepare(ctx, "40 + 2")
	if err != nil {
		return err
	}
	// Under a limit that parsing would reach, too: what was prepared is then of no
	// use, and a backend may parse anew.
	fuels := []int64{0}
	if _, ok := s.descriptor.EnforcementOf(spi.LimitFuel); ok {
		fuels = append(fuels, 1)
	}
	for _, fuel := range fuels {
		for _, source := range []string{"40 + 3", "40 + 2 ", "40 + 2;", "4"} {
			iso, err := s.from(p)(ctx, func(cfg *spi.Config) { cfg.Limits.Fuel = fuel })
			if err != nil {
				return err
			}
			out, err := iso.Eval(ctx, request(source, ""))
			if err == nil {
				return fmt.Errorf("%q, which is not the script that was prepared, ended with %s, wanted %w", source, ending(out), spi.ErrUnsupported)
			}
			if err := wantOneOf("the first eval with another script", err, spi.ErrUnsupported); err != nil {
				return err
			}
		}
	}
	out, err := s.evalFrom(ctx, p, "40 + 2", "")
	if err != nil {
		return err
	}
	return wantValue(out, "42")
}

func preparedLater(ctx context.Context, s *subject) error {
	const first = "globalThis.kept = [input]; var v = 1; let l = 2; console.log('first'); kept"
	p, err := s.prepare(ctx, first)
	if err != nil {
		return err
	}
	var rounds [2][]*spi.Outcome
	for i, open := range []opener{s.isolate, s.from(p)} {
		iso, err := open(ctx, s.withLeisure())
		if err != nil {
			return err
		}
		for n, source := range []string{
			first, "kept.push(input); kept", "throw new Error(String(kept.length))", "[typeof v, typeof l]", "console.warn('x'); await kept", "let a = ;", "return kept", "kept = undefined; 1",
		} {
			out, err := s.evalIn(ctx, iso, source, fmt.Sprint(n))
			if err != nil {
				return err
			}
			out.Usage.Fuel = 0 // what a later one burns may depend on how the heap came about
			rounds[i] = append(rounds[i], out)
		}
	}
	for n := range rounds[0] {
		if err := s.asPlain(rounds[0][n], rounds[1][n]); err != nil {
			return fmt.Errorf("eval %d: %w", n+1, err)
		}
	}
	return nil
}

func preparedKeeps(ctx context.Context, s *subject) error {
	preparer, err := s.preparer()
	if err != nil {
		return err
	}
	const source = "console.log('a line of the log'); 'x'.repeat(40)"
	limits := s.config(s.withLeisure()).Limits
	same := limits
	p, err := preparer.Prepare(ctx, &limits, source, spi.JavaScript)
	if err != nil {
		return err
	}
	defer p.Close()
	if limits != same {
		return fmt.Errorf("the limits were %+v, and are %+v", same, limits)
	}
	limits = spi.Limits{}
	cfg := s.config(withOutput(50), withLogs(30))
	sameConfig := *cfg
	iso, err := opened(p.Open(ctx, cfg))
	if err != nil {
		return err
	}
	s.closeLater(iso)
	if *cfg != sameConfig {
		return fmt.Errorf("the configuration was %+v, and is %+v", sameConfig, *cfg)
	}
	cfg.Limits = spi.Limits{Timeout: 1, MemoryBytes: s.descriptor.MinMemoryBytes, OutputBytes: 1}
	out, err := s.evalIn(ctx, iso, source, "")
	if err != nil {
		return err
	}
	if err := wantValue(out, `"`+strings.Repeat("x", 40)+`"`); err != nil {
		return fmt.Errorf("after the caller changed its configuration: %w", err)
	}
	if !slices.Equal(logTexts(out), []string{"a line of the log"}) {
		return fmt.Errorf("after the caller changed its configuration the logs are %q", logTexts(out))
	}
	return nil
}
