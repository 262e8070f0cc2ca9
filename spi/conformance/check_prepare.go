package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/loom-sandbox/sandboxd/spi"
)

// prepareChecks: scripts that are parsed once and run many times, for backends
// that do that. All that can differ is the time.
func prepareChecks() []Check {
	must, own, should := optional(NeedPrepares)
	return []Check{
		must("PREP-001", "A backend that declares that it prepares is a Preparer.", prepares),
		{
			ID: "PREP-002", Level: MUST, Rule: "Preparing that is not declared is not offered, or refused with ErrUnsupported.",
			Needs: []Need{NeedNoPrepares}, body: preparesNothing,
		},
		must("PREP-003", "A prepared script has the same value, logs and error with its place as one that is not.", preparedAsPlain),
		must("PREP-004", "A prepared script has the same random numbers, times and order of things as one that is not.", preparedSame, NeedImage),
		must("PREP-005", "A prepared script burns the same fuel as one that is not, exactly that is enough, and one unit less is not.", preparedFuel, NeedExactFuel),
		must("PREP-006", "The memory's peak of a prepared script is the same as of one that is not.", preparedPeak, NeedImage),
		must("PREP-007", "A script that does not parse cannot be prepared: ErrNotPrepared.", notPrepared),
		must("PREP-008", "A script that takes more fuel to parse than there is cannot be prepared: ErrNotPrepared.", notPreparedForFuel, NeedExactFuel),
		must("PREP-009", "Preparing within little time or memory gives a script that runs as ever, or ErrNotPrepared, in time.", preparedTightly),
		must("PREP-010", "Preparing runs nothing of the script.", preparedNotRun),
		must("PREP-011", "A language that is not listed is refused by Prepare with ErrUnsupported.", preparedLanguage),
		must("PREP-012", "Each isolate of a prepared script has the input, the clock and the seed that it was given.", preparedInputs),
		must("PREP-013", "Each isolate of a prepared script is pristine, whatever ran in another one before.", preparedPristine),
		must("PREP-014", "Memory that one isolate of a prepared script has grown is not in the next one.", preparedShrinks),
		must("PREP-015", "Many isolates of one prepared script, open and running at once, each have their own heap.", preparedAtOnce),
		must("PREP-016", "Many goroutines may prepare the same and other scripts at once.", preparingAtOnce),
		must("PREP-017", "The first eval of an isolate must have the script that was prepared, and is ErrUnsupported otherwise.", preparedOther),
		must("PREP-018", "Later evals of an isolate may have any script, and find what the prepared one left.", preparedLater),
		must("PREP-019", "Every limit and every way to stop an eval holds for a prepared script.", preparedEndings),
		must("PREP-020", "After evals that were ended by force, a prepared script runs as before.", preparedWhole),
		must("PREP-021", "A prepared script has the same outcome as ever where memory is short.", preparedShortOfMemory),
		must("PREP-022", "The limits of the preparing do not bind the runs.", preparedUnbound),
		must("PREP-023", "A caller may change its limits and configuration when Prepare and Open have returned; they do not.", preparedKeeps),
		must("PREP-024", "The size of a prepared script is positive and stays the same.", preparedBytes),
		must("PREP-025", "Isolates of a prepared script go on when it is closed.", preparedClosedEarly),
		must("PREP-026", "Closing a prepared script again does nothing, and opening an isolate afterwards is ErrClosed.", preparedClosed),
		own("PREP-027", "Closing the backend ends what was opened from prepared scripts; preparing and opening are ErrClosed.", preparedBackendClosed),
		should("PREP-028", "Preparing, and opening from what was prepared, under a context that has ended returns the context's error.", preparedUnderEnded),
		must("PREP-029", "An eval of a prepared script whose context has ended runs nothing and says how that ended.", preparedEvalUnderEnded),
		should("PREP-030", "Scripts that were prepared, used and closed leave no goroutine behind.", preparedNoGoroutines),
	}
}

func prepares(ctx context.Context, s *subject) error {
	p, err := s.prepare(ctx, "1 + 1")
	if err != nil {
		return err
	}
	out, err := s.evalFrom(ctx, p, "1 + 1", "")
	if err != nil {
		return err
	}
	return wantValue(out, "2")
}

// preparesNothing lets a wrapper have the method whose inside may not.
func preparesNothing(ctx context.Context, s *subject) error {
	preparer, ok := s.backend.(spi.Preparer)
	if !ok {
		return nil
	}
	limits := s.config().Limits
	p, err := preparer.Prepare(ctx, &limits, "1 + 1", spi.JavaScript)
	if err == nil {
		if p != nil {
			_ = p.Close()
		}
		return errors.New("a script was prepared, and the descriptor does not say that the backend prepares")
	}
	return wantOneOf("Prepare, which is not declared", err, spi.ErrUnsupported)
}

// preparedSources are scripts of every form and ending that are the same each
// time on every backend.
func preparedSources() []string {
	return []string{
		"1 + 1", "input", "({ a: [1, 'two', null], b: input })", "return [1, input]", "await 5", "return await Promise.resolve([input])",
		"let s = 0; for (const x of [1, 2, 3]) s += x; s", "const f = (n) => (n < 2 ? n : f(n - 1) + f(n - 2)); f(10)", "function g() { return this === undefined } g()",
		"'use strict'; (function () { return this === undefined })()", "typeof this", "var v = 1; function v2() {} ; [typeof v, typeof v2, typeof globalThis.v]",
		"undefined", "// nothing but a comment", "(() => 1)", "Symbol('s')", "`a${1 + 1}b${input}`", "((t, ...v) => [t.raw.join('|'), v])`a\\n${1}b`",
		"class A { #n = 1; static s = 2; get n() { return this.#n } } [new A().n, A.s]", "[...(function* () { yield 1; yield* [2, 3] })()]",
		"for await (const x of (async function* () { yield 1 })()) console.log(x); 'done'", "/(?<y>\\d+)/.exec('a12').groups.y", "eval('var e = 3; e + 1')", "new Function('a', 'return a * 2')(4)",
		"({ get a() { return 'read' }, toJSON: undefined })", "2n ** 64n + ''", "label: for (;;) { break label } 'out'", "'é😀\\u2028'.length",
		"console.log('one', 1, { a: [2] }); console.warn('two'); console.error(new Error('three').message); console.debug(); console.info('%s', 'x'); 4",
		"\n\nthrow new TypeError('on line three')", "  null.x", "'😀'; undefinedName", "function a() {\n  b()\n}\nfunction b() {\n  throw new RangeError('deep')\n}\na()",
		"throw 'a string'", "throw { name: 'Odd', message: 'object' }", "await Promise.reject(new Error('rejected'))", "await null;\n  (() => { throw new Error('late') })()",
		"return x; let x = 1", "const c = 1; c = 2", "({ a: 1n })", "const o = {}; o.o = o; o", "await new Promise(() => {})",
		timers + "const order = []; later(() => order.push('t')); Promise.resolve().then(() => order.push('p')); await new Promise((r) => later(r, 5)); order",
		"console.log('before'); throw Object.assign(new Error('with cause', { cause: 1 }), { code: 7 })",
	}
}

func preparedAsPlain(ctx context.Context, s *subject) error {
	for _, source := range preparedSources() {
		p, err := s.prepare(ctx, source)
		if err != nil {
			return err
		}
		for _, input := range []string{sameInput, "7"} {
			if _, err := s.bothWays(ctx, p, source, input, s.withLeisure()); err != nil {
				return fmt.Errorf("%s: %w", clip(source), err)
			}
		}
	}
	return nil
}

func preparedSame(ctx context.Context, s *subject) error {
	later := func(c *spi.Config) { c.Now = c.Now.AddDate(1, 2, 3) }
	for _, source := range sameSources() {
		p, err := s.prepare(ctx, source)
		if errors.Is(err, spi.ErrNotPrepared) {
			plain, evalErr := s.eval(ctx, source, sameInput)
			if evalErr == nil && wantKind(plain, spi.KindSyntax) == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		for _, change := range []func(*spi.Config){withSeed(checkSeed), withSeed(1), later} {
			if _, err := s.bothWays(ctx, p, source, sameInput, s.withLeisure(), change); err != nil {
				return fmt.Errorf("%s: %w", clip(source), err)
			}
		}
	}
	return nil
}

// bulky is a script that takes some work and memory to parse.
func bulky() string {
	text := []byte("let sum = 0;\n")
	for i := range 3000 {
		text = fmt.Appendf(text, "sum += ((a, b) => a * %d + b)(%d, 'x%d'.length);\n", i%7, i, i)
	}
	return string(append(text, "sum"...))
}

func preparedFuel(ctx context.Context, s *subject) error {
	for _, source := range append(fuelScripts(), bulky()) {
		need, err := s.fuelOf(ctx, source)
		if err != nil {
			return err
		}
		p, err := s.prepare(ctx, source)
		if err != nil {
			return err
		}
		// From what does not do for parsing to what does for all.
		for _, fuel := range []int64{0, 1, 2, need / 50, need / 10, need / 3, need / 2, need - need/10, need - 1, need, need + 1, 10 * need} {
			plain, err := s.bothWays(ctx, p, source, "", withFuel(fuel))
			if err != nil {
				return fmt.Errorf("%s: with %d units of the %d that it burns: %w", clip(source), fuel, need, err)
			}
			if fuel >= need && plain.Usage.Fuel != need {
				return fmt.Errorf("%s: burns %d units and then %d", clip(source), need, plain.Usage.Fuel)
			}
		}
	}
	return nil
}

func preparedPeak(ctx context.Context, s *subject) error {
	sources := []string{"1 + 1", "'x'.repeat(1 << 20).length", "throw new Error('x')", bulky()}
	if !s.cramped() {
		sources = append(sources, "const held = []; for (let i = 0; i < 6; i++) held.push(new Uint8Array(1 << 20).fill(i)); held.length")
	}
	for _, source := range sources {
		p, err := s.prepare(ctx, source)
		if err != nil {
			return err
		}
		plain, err := s.eval(ctx, source, "")
		if err != nil {
			return err
		}
		for i := range 3 {
			out, err := s.evalFrom(ctx, p, source, "")
			if err != nil {
				return err
			}
			if got, want := out.Usage.MemoryPeakBytes, plain.Usage.MemoryPeakBytes; got != want {
				return fmt.Errorf("%s: the peak of isolate %d is %d bytes, and %d without preparing", clip(source), i+1, got, want)
			}
		}
	}
	return nil
}

func notPrepared(ctx context.Context, s *subject) error {
	for _, source := range []string{
		"let a = ;", "(", "let a; let a", "'use strict'; with ({}) ;", "/(/", "`${", "class { }", "return return", "\n\n  x y", "break", "await = 1; await 1", "import x from 'y'",
	} {
		plain, err := s.eval(ctx, source, "")
		if err != nil {
			return err
		}
		if wantKind(plain, spi.KindSyntax) != nil { // an engine may be lenient
			continue
		}
		if err := s.wantNotPrepared(ctx, source); err != nil {
			return err
		}
	}
	return firstError(
		func() error { return s.wantNotPrepared(ctx, "let a = ;") }, // not the first time alone
		func() error { return prepares(ctx, s) },
		func() error { return s.healthy(ctx) },
	)
}

func notPreparedForFuel(ctx context.Context, s *subject) error {
	source := bulky()
	need, err := s.fuelOf(ctx, "1")
	if err != nil {
		return err
	}
	return firstError(
		func() error { return s.wantNotPrepared(ctx, source, withFuel(1)) },
		func() error { return s.wantNotPrepared(ctx, source, withFuel(min(need, 1000))) },
		func() error { // and that is forgotten
			p, err := s.prepare(ctx, source)
			if err == nil {
				_, err = s.bothWays(ctx, p, source, "")
			}
			return err
		},
	)
}

func preparedLanguage(ctx context.Context, s *subject) error {
	preparer, err := s.preparer()
	if err != nil {
		return err
	}
	limits := s.config().Limits
	for _, language := range []spi.Language{"", "JS", "cobol", "js "} {
		if slices.Contains(s.descriptor.Languages, language) {
			continue
		}
		p, err := preparer.Prepare(ctx, &limits, "1", language)
		if err == nil {
			if p != nil {
				_ = p.Close()
			}
			return fmt.Errorf("a script in language %q was prepared", language)
		}
		if err := wantOneOf(fmt.Sprintf("Prepare with language %q", language), err, spi.ErrUnsupported); err != nil {
			return err
		}
	}
	return nil
}
