package conformance

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// randomSource and timeSource are all that a script may draw and read; what they
// use beside the language itself need not be there.
const (
	randomSource = "[Math.random(), Math.random(), ...(typeof crypto === 'object' ? [crypto.randomUUID(), ...crypto.getRandomValues(new Uint8Array(16))] : [])]"
	timeSource   = "[Date.now(), new Date().toISOString(), typeof performance === 'object' && performance.now()]"
)

// sameSources do all that could differ from one run to the next.
func sameSources() []string {
	return []string{
		// Random numbers and everything made of them.
		"[" + randomSource + ", [3, 1, 2].sort(() => Math.random() - 0.5)]",
		// Clocks, before and after work and timers.
		timers + "const t = " + timeSource + "; for (let i = 0; i < 50000; i++) ; t.push(" + timeSource + "); " +
			"await new Promise((r) => later(r, 123)); t.push(" + timeSource + "); t",
		// The order of things.
		"const o = { b: 1, 2: 1, a: 1, 1: 1, [Symbol('s')]: 1 }; o.c = 1; delete o.b; o.b = 1; const m = new Map([['z', 1], ['y', 2]]); m.delete('z'); m.set('z', 3); " +
			"const many = {}; for (let i = 0; i < 300; i++) many['k' + (i * 7919) % 1000] = i; " +
			"[Object.keys(o), [...m], [...new Set([3, 1, 3, 2])], Object.keys(many), Array.from({ length: 200 }, (_, i) => ({ i, k: i % 3 })).sort((x, y) => x.k - y.k).map((x) => x.i)]",
		// The order of jobs and timers.
		timers + "const order = []; const say = (x) => () => order.push(x); later(say('t2'), 2); later(say('t1'), 1); later(say('t0')); " +
			"Promise.resolve().then(say('p')); Promise.race([1, 2].map(async (x) => { await null; return x })).then(say('r')); (async () => { await null; say('a')() })(); " +
			"await new Promise((r) => later(r, 10)); order",
		// Numbers and texts.
		"[0.1 + 0.2, Math.sin(1e6), Math.exp(1.1), Math.pow(1.1, 100), Math.tan(0.7), Math.cbrt(7), (1.255).toFixed(2), 2 ** -24, String(Symbol('x')), (() => 1).toString(), [1.5, NaN].join(), new Date(NaN) + '']",
		// Logs, with values of many kinds.
		"console.log({ a: [1, { b: new Map([[1, 2]]) }], f() {}, d: new Date(0), r: /x/g, e: 1 }); console.warn(new Error('logged')); console.error('%s %d', 'x', 4); console.log([Math.random()]); 1",
		// Errors.
		"function outer() { inner() }\nfunction inner() { null.x }\nouter()",
		"console.log('x'); throw Object.assign(new RangeError('m' + Math.random()), { code: 5 })",
		"let a = ;",
		"await new Promise(() => {})",
		"({ a: [1, 2n] })",
		"(function f() { f() })()",
		// Input.
		"input.map((x) => [x, typeof x])",
	}
}

const sameInput = `[3,"a",{"z":1,"a":2},null,1.50]`

func sameChecks() []Check {
	image := []Need{NeedImage}
	must := func(id, rule string, b body) Check {
		return Check{ID: id, Level: MUST, Rule: rule, Needs: image, Watchdog: manyWatchdog, body: b}
	}
	return append([]Check{
		must("SAME-001", "The same eval in two isolates gives the same value, logs, error and, where it is exact, fuel.", sameTwice),
		{
			ID: "SAME-002", Level: MUST, Rule: "An eval is the same in a busy backend as when nothing else ran.", Needs: image,
			Watchdog: loadWatchdog, body: sameUnderLoad,
		},
		{
			ID: "SAME-003", Level: MUST, Rule: "The first evals of a new backend are the same as later ones.", Needs: image,
			Watchdog: manyWatchdog, own: true, body: sameAfterUse,
		},
		must("SAME-004", "A second eval in an isolate is the same as the second eval in another one.", sameSequence),
		must("SAME-005", "Another seed gives other random numbers, also where seeds are neighbours.", otherSeeds),
		must("SAME-006", "The seed changes nothing but random numbers.", seedChangesOnlyRandom),
		must("SAME-007", "Another start of the clock shifts every time by the difference and changes nothing else.", otherStart),
		must("SAME-008", "Limits that are not reached change nothing.", otherLimits),
		must("SAME-009", "Two backends that were made alike have the same image and give the same outcomes.", sameElsewhere),
	}, randomChecks()...)
}

// same says how two outcomes of one eval differ in what must not.
func (s *subject) same(one, other *spi.Outcome) error {
	switch {
	case !bytes.Equal(one.Value, other.Value):
		return fmt.Errorf("value is %s, and another time %s", clip(string(one.Value)), clip(string(other.Value)))
	case one.ValueType != other.ValueType:
		return fmt.Errorf("value has the type %q, and another time %q", one.ValueType, other.ValueType)
	case len(one.Logs)+len(other.Logs) > 0 && !reflect.DeepEqual(one.Logs, other.Logs) || one.LogsTruncated != other.LogsTruncated:
		return fmt.Errorf("logs are %q, and another time %q", logTexts(one), logTexts(other))
	case !reflect.DeepEqual(one.Error, other.Error):
		return fmt.Errorf("error is %+v, and another time %+v", one.Error, other.Error)
	case NeedExactFuel.declaredBy(&s.descriptor) && one.Usage.Fuel != other.Usage.Fuel:
		return fmt.Errorf("fuel is %d, and another time %d", one.Usage.Fuel, other.Usage.Fuel)
	}
	return nil
}

// sameRuns evaluates every source, each in an isolate of its own and with so much
// time that none is ended by it: that would not be the same.
func (s *subject) sameRuns(ctx context.Context, changes ...func(*spi.Config)) ([]*spi.Outcome, error) {
	changes = append([]func(*spi.Config){s.withLeisure()}, changes...)
	var outs []*spi.Outcome
	for _, source := range sameSources() {
		out, err := s.eval(ctx, source, sameInput, changes...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		outs = append(outs, out)
	}
	return outs, nil
}

// wantSame compares the outcomes of two rounds.
func (s *subject) wantSame(some, others []*spi.Outcome) error {
	for i, source := range sameSources() {
		if err := s.same(some[i], others[i]); err != nil {
			return fmt.Errorf("%s: %w", clip(source), err)
		}
	}
	return nil
}

func sameTwice(ctx context.Context, s *subject) error {
	first, err := s.sameRuns(ctx)
	if err != nil {
		return err
	}
	for _, i := range []int{0, 1, 2, 3, 4, 5, 12} { // those that are to have a value
		if e := first[i].Error; e != nil {
			return fmt.Errorf("%s: ended with %s (%s: %s), wanted a value", sameSources()[i], e.Kind, clip(e.Name), clip(e.Message))
		}
	}
	for range 2 {
		again, err := s.sameRuns(ctx)
		if err != nil {
			return err
		}
		if err := s.wantSame(first, again); err != nil {
			return err
		}
	}
	return nil
}

func sameUnderLoad(ctx context.Context, s *subject) error {
	alone, err := s.sameRuns(ctx)
	if err != nil {
		return err
	}
	return together(8, func(int) error {
		beside, err := s.sameRuns(ctx)
		if err != nil {
			return err
		}
		return s.wantSame(alone, beside)
	})
}

func sameAfterUse(ctx context.Context, s *subject) error {
	first, err := s.sameRuns(ctx)
	if err != nil {
		return err
	}
	for i := range 20 { // with other seeds, clocks and ends
		other := func(c *spi.Config) {
			c.Seed, c.Now = uint64(i), c.Now.Add(time.Duration(i)*time.Hour)
			c.Limits.Timeout = s.allow(20 * time.Millisecond)
		}
		source := []string{"Math.random(); for (let i = 0; i < 1000; i++) ;", "for (;;) ;", "throw 1"}[i%3]
		if _, err := s.eval(ctx, source, "", other); err != nil {
			return err
		}
	}
	later, err := s.sameRuns(ctx)
	if err != nil {
		return err
	}
	return s.wantSame(first, later)
}

func sameElsewhere(ctx context.Context, s *subject) error {
	here, err := s.sameRuns(ctx)
	if err != nil {
		return err
	}
	b, err := s.another(ctx)
	if err != nil {
		return &unknownError{err}
	}
	defer b.Close()
	elsewhere := &subject{backend: b, descriptor: b.Describe(), slow: s.slow}
	defer elsewhere.cleanUp()
	if one, other := s.descriptor.Image, elsewhere.descriptor.Image; one != other {
		return fmt.Errorf("image is %s, and that of another backend %s", one, clip(other))
	}
	there, err := elsewhere.sameRuns(ctx)
	if err != nil {
		return err
	}
	return s.wantSame(here, there)
}

func sameSequence(ctx context.Context, s *subject) error {
	var rounds [2][]*spi.Outcome
	for i := range rounds {
		iso, err := s.isolate(ctx)
		if err != nil {
			return err
		}
		for _, source := range []string{
			"globalThis.list = [Math.random(), Date.now()]; list", "list.push(Math.random(), Date.now()); list",
			"throw new Error(String(Math.random()))", timers + "await new Promise((r) => later(r, 50)); [" + timeSource + ", " + randomSource + "]",
		} {
			out, err := s.evalIn(ctx, iso, source, "")
			if err != nil {
				return err
			}
			rounds[i] = append(rounds[i], out)
		}
	}
	for i := range rounds[0] {
		if err := s.same(rounds[0][i], rounds[1][i]); err != nil {
			return fmt.Errorf("eval %d: %w", i+1, err)
		}
	}
	return nil
}

func withSeed(seed uint64) func(*spi.Config) { return func(c *spi.Config) { c.Seed = seed } }

func otherSeeds(ctx context.Context, s *subject) error {
	drawn := map[string]uint64{}
	for _, draw := range []string{"Math.random()", "(" + randomSource + ").slice(2)"} {
		for _, seed := range []uint64{0, 1, 2, 3, 4, 5, 1 << 32, 1<<32 + 1, 1 << 63, 1<<64 - 1} {
			out, err := s.eval(ctx, draw, "", withSeed(seed))
			if err != nil {
				return err
			}
			if out.Error != nil {
				return fmt.Errorf("%s ended with %s", draw, out.Error.Kind)
			}
			if string(out.Value) == "[]" { // it has no crypto
				continue
			}
			if before, ok := drawn[string(out.Value)]; ok {
				return fmt.Errorf("%s gives %s with the seeds %d and %d", draw, clip(string(out.Value)), before, seed)
			}
			drawn[string(out.Value)] = seed
		}
	}
	return nil
}

func seedChangesOnlyRandom(ctx context.Context, s *subject) error {
	one, err := s.sameRuns(ctx, withSeed(1))
	if err != nil {
		return err
	}
	other, err := s.sameRuns(ctx, withSeed(2))
	if err != nil {
		return err
	}
	for _, i := range []int{1, 2, 3, 4, 6, 8, 9, 10, 12} { // those that draw none
		if err := s.same(one[i], other[i]); err != nil {
			return fmt.Errorf("%s: %w", clip(sameSources()[i]), err)
		}
	}
	return nil
}

func otherStart(ctx context.Context, s *subject) error {
	const source = timers + "const start = input; const t = [Date.now() - start]; for (let i = 0; i < 10000; i++) ; t.push(Date.now() - start); " +
		"await new Promise((r) => later(r, 500)); t.push(Date.now() - start, new Date().getTime() - start, typeof performance === 'object' && performance.now(), Math.random()); t"
	var outs []*spi.Outcome
	// Times with as many digits, since reading the input burns fuel as well.
	for _, now := range []time.Time{checkTime(), checkTime().Add(24 * time.Hour), checkTime().Add(-40 * 24 * time.Hour)} {
		out, err := s.eval(ctx, source, fmt.Sprint(now.UnixMilli()), func(c *spi.Config) { c.Now = now })
		if err != nil {
			return err
		}
		if out.Error != nil {
			return fmt.Errorf("ended with %s", out.Error.Kind)
		}
		outs = append(outs, out)
	}
	for _, out := range outs[1:] {
		if !bytes.Equal(out.Value, outs[0].Value) {
			return fmt.Errorf("times since the start are %s, and with another start %s", clip(string(outs[0].Value)), clip(string(out.Value)))
		}
	}
	return nil
}

func otherLimits(ctx context.Context, s *subject) error {
	one, err := s.sameRuns(ctx)
	if err != nil {
		return err
	}
	other, err := s.sameRuns(ctx, func(c *spi.Config) {
		c.Limits.Timeout *= 2
		c.Limits.OutputBytes *= 2
		c.Limits.LogBytes *= 2
		c.Limits.MemoryBytes = s.memory(96 << 20)
	})
	if err != nil {
		return err
	}
	return s.wantSame(one, other)
}
