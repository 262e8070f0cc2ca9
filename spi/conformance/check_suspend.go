package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

// suspendChecks: isolates that are put away as bytes and resumed from them, for
// backends that do that. All that can differ is the time.
func suspendChecks() []Check {
	must, own, should := optional(NeedSuspends)
	return []Check{
		must("SUSP-001", "A backend that declares that it suspends is a Resumer, and its isolates are Suspenders.", suspends),
		{
			ID: "SUSP-002", Level: MUST, Rule: "Suspending that is not declared is not offered, or refused with ErrUnsupported.",
			Needs: []Need{NeedNoSuspends}, body: suspendsNothing,
		},
		must("SUSP-003", "What scripts have left in an isolate is there when it is resumed: data, functions, classes, generators, timers.", resumedWhole),
		must("SUSP-004", "A later script of an isolate may declare again what an earlier one has declared, and all that use it see the new one.", declaredAgain),
		must("SUSP-005", "A script that is put away at every wait has the value, logs, calls and error of one that stays.", waitsAway, NeedHostCalls),
		must("SUSP-006", "A script that is put away at every wait has the random numbers, times and peak of one that stays.", waitsAwaySame, NeedHostCalls, NeedImage),
		must("SUSP-007", "A script that is put away at every wait burns the fuel of one that stays, exactly that is enough, and one unit less is not.", waitsAwayFuel, NeedHostCalls, NeedExactFuel),
		must("SUSP-008", "An isolate that was suspended stays as it is and goes on.", suspendedGoesOn),
		must("SUSP-009", "A state that is resumed several times gives as many isolates that do the same and know nothing of each other.", resumedTwice),
		must("SUSP-010", "The clock of a resumed isolate goes on from where it stood, or from the time that it is given.", resumedClock),
		must("SUSP-011", "The random numbers of a resumed isolate go on, or are those of the seed that it is given.", resumedRandom),
		must("SUSP-012", "What a script has logged and called before it was put away counts against the limits afterwards.", resumedCounts, NeedHostCalls),
		must("SUSP-013", "The limits of a resumed isolate are those that it is resumed with.", resumedLimits),
		must("SUSP-014", "A state of more bytes than allowed is ErrStateTooLarge, and the isolate goes on.", stateTooLarge),
		must("SUSP-015", "What is empty, anything else or a state that was cut is ErrState and never an isolate.", notAState),
		must("SUSP-016", "A state whose beginning was changed is ErrState, and no byte of it makes anything worse than an isolate.", changedState),
		must("SUSP-017", "Resuming within less memory than the state has, or limits that Open refuses, is refused.", resumedWithinBad),
		must("SUSP-018", "Memory that an isolate has grown is there when it is resumed, and not in the next isolate.", resumedGrown),
		must("SUSP-019", "Suspending an isolate that is spent is ErrIsolateSpent, and one that is closed ErrClosed.", suspendedDead),
		must("SUSP-020", "A state is the caller's own: it may change one that it has, or has resumed, and the isolates do not.", stateIsTheCallers),
		must("SUSP-021", "A resumed isolate that is ended by force says so and is spent, and its state is resumed as before.", resumedEnded),
		must("SUSP-022", "Isolates that were resumed leave nothing behind for those opened afterwards.", resumedLeavesNothing),
		must("SUSP-023", "Many isolates may be suspended and resumed at once, each with its own heap.", resumedAtOnce),
		must("SUSP-024", "A state is resumed by another backend that was made alike.", resumedElsewhere),
		must("SUSP-025", "A resumed script that waits is given up by the next eval, which finds what it has left.", resumedGivenUp, NeedHostCalls),
		must("SUSP-026", "An isolate of a prepared script that has run is put away as any other.", preparedPutAway, NeedPrepares),
		own("SUSP-027", "Closing the backend ends isolates that were resumed, and resuming afterwards is ErrClosed.", resumedBackendClosed),
		should("SUSP-028", "Suspending and resuming under a context that has ended return the context's error.", suspendUnderEnded),
		should("SUSP-029", "Isolates that were suspended, resumed and closed leave no goroutine behind.", suspendNoGoroutines),
		own("SUSP-030", "States may be resumed while the backend is closed: each gives an isolate or ErrClosed.", resumedWhileClosing),
	}
}

func suspends(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx)
	if err != nil {
		return err
	}
	for i := range 3 { // what is resumed may be suspended, and one in which nothing ran
		if iso, err = s.goesAway()(ctx, iso); err != nil {
			return err
		}
		out, err := s.evalIn(ctx, iso, "globalThis.n = (globalThis.n ?? 0) + 1", "")
		if err == nil {
			err = wantValue(out, fmt.Sprint(i+1))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// suspendsNothing lets a wrapper have the methods whose inside may not.
func suspendsNothing(ctx context.Context, s *subject) error {
	state := []byte("a state")
	if iso, err := s.isolate(ctx); err != nil {
		return err
	} else if sus, ok := iso.(spi.Suspender); ok {
		got, err := sus.Suspend(ctx, roomyState)
		if err == nil {
			return errors.New("an isolate was suspended, and the descriptor does not say that the backend suspends")
		}
		if err := wantOneOf("Suspend, which is not declared", err, spi.ErrUnsupported); err != nil {
			return err
		}
		state = append(state, got...)
	}
	if _, ok := s.backend.(spi.Resumer); !ok {
		return nil
	}
	return s.wantNotResumed(ctx, "something, which is not declared,", s.resumption(state), spi.ErrUnsupported)
}

// step is a script in an isolate, and the value that it must have.
type step struct{ source, value string }

// walk runs steps in an isolate, which is moved after each.
func (s *subject) walk(ctx context.Context, iso spi.Isolate, move mover, steps ...step) error {
	for _, c := range steps {
		out, err := s.evalIn(ctx, iso, c.source, "")
		if err == nil {
			err = wantValue(out, c.value)
		}
		if err == nil {
			iso, err = move(ctx, iso)
		}
		if err != nil {
			return fmt.Errorf("of %q: %w", clip(c.source), err)
		}
	}
	return nil
}

// legacies are what a script leaves and a later one finds.
func legacies() map[string][]step {
	return map[string][]step{
		"globals":   {{"globalThis.g = { a: [1, 'é😀'] }; g.self = g; 0", "0"}, {"g.a.push(g.self === g); g.a", `[1,"é😀",true]`}, {"g.a.length", "3"}},
		"variables": {{"var v = 1; let l = 2; const c = { n: 3 }; [v, l, c.n]", "[1,2,3]"}, {"v++; l++; c.n++; [v, l, c.n]", "[2,3,4]"}, {"[v, l, c.n]", "[2,3,4]"}},
		"functions": {{"function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) } f(5)", "5"}, {"f.calls = 7; f(10)", "55"}, {"[f.calls, f.toString().length > 10]", "[7,true]"}},
		"classes": {
			{"class A { #n = 1; static made = 0; constructor() { A.made++ } bump() { return ++this.#n } } class B extends A { bump() { return super.bump() * 10 } } globalThis.b = new B(); b.bump()", "20"},
			{"b.bump()", "30"}, {"[new B().bump(), A.made, b instanceof A]", "[20,2,true]"},
		},
		"closures":   {{"globalThis.count = (() => { let n = 0; return () => ++n })(); count()", "1"}, {"count()", "2"}, {"count()", "3"}},
		"generators": {{"globalThis.gen = (function* () { for (let i = 1; ; i++) yield i })(); gen.next().value", "1"}, {"gen.next().value", "2"}, {"gen.return(9).value", "9"}, {"gen.next().done", "true"}},
		"async":      {{"globalThis.open = null; globalThis.p = (async () => 'got ' + await new Promise((r) => { open = r }))(); 0", "0"}, {"open('it'); 0", "0"}, {"await p", `"got it"`}},
		"maps": {
			{"globalThis.k = Symbol('k'); globalThis.m = new Map([[k, 1], ['x', new Set([1, 2])]]); globalThis.w = new WeakMap([[m, 'weak']]); m.size", "2"},
			{"m.set(NaN, 'nan').get(k)", "1"}, {"[m.get(NaN), [...m.get('x')], w.get(m), m.size]", `["nan",[1,2],"weak",3]`},
		},
		"typed arrays": {
			{"globalThis.buf = new ArrayBuffer(100000); globalThis.bytes = new Uint8Array(buf).map((_, i) => i); bytes = new Uint8Array(bytes.buffer); globalThis.f64 = new Float64Array([0.1, -0, NaN]); bytes[300]", "44"},
			{"bytes[99999] = 7; bytes.reduce((a, b) => (a * 31 + b) >>> 0, 7)", "2063963839"}, {"[bytes[99999], f64[0], Object.is(f64[1], -0), Number.isNaN(f64[2])]", "[7,0.1,true,true]"},
		},
		"timers": {
			{timers + "globalThis.order = []; later(() => order.push('late'), 90); later(() => order.push('soon'), 30); globalThis.fired = new Promise((r) => later(r, 120)).then(() => order.length); 0", "0"},
			{"0", "0"}, {"await fired", "2"}, {"order.sort()", `["late","soon"]`},
		},
		"regular expressions": {{"globalThis.r = /(?<a>a+)(b)?/g; r.exec('aab aaab')[0]", `"aab"`}, {"r.exec('aab aaab').groups.a", `"aaa"`}, {"r.lastIndex", "8"}},
		"proxies":             {{"globalThis.p = new Proxy({}, { get: (t, k) => k + '!', has: () => true }); p.x", `"x!"`}, {"['q' in p, p.q]", `[true,"q!"]`}},
		"symbols, numbers":    {{"globalThis.s = Symbol.for('q'); globalThis.big = 2n ** 100n; globalThis.d = new Date(5); 0", "0"}, {"[s === Symbol.for('q'), String(big), d.getTime()]", `[true,"1267650600228229401496703205376",5]`}},
		"errors":              {{"globalThis.e = new RangeError('kept', { cause: 4 }); 0", "0"}, {"[e.name, e.message, e.cause, e instanceof RangeError]", `["RangeError","kept",4,true]`}},
		"what was changed":    {{"Array.prototype.last = function () { return this[this.length - 1] }; Object.freeze(Math); delete globalThis.escape; 0", "0"}, {"[[1, 2].last(), Object.isFrozen(Math), typeof escape]", `[2,true,"undefined"]`}},
		"after errors":        {{"globalThis.n = 1; 0", "0"}, {"try { (function f() { f() })() } catch { n++ } n", "2"}, {"n", "2"}},
	}
}

func resumedWhole(ctx context.Context, s *subject) error {
	for name, steps := range legacies() {
		for _, move := range []mover{stays, s.goesAway()} { // what the steps say is the language's
			iso, err := s.isolate(ctx, s.withLeisure())
			if err == nil {
				err = s.walk(ctx, iso, move, steps...)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

func declaredAgain(ctx context.Context, s *subject) error {
	for _, move := range []mover{stays, s.goesAway()} {
		for _, steps := range [][]step{
			{
				{"let x = 1; const c = { n: 2 }; class K { m() { return x } } function f() { return [x, c.n, new K().m()] } f()", "[1,2,1]"},
				{"let x = 10; const c = { n: 20 }; f()", "[10,20,10]"},
				{"class K { m() { return 'new' } } f()", `[10,20,"new"]`},
				{"x++; c.n++; f()", `[11,21,"new"]`},
				{"const x = 'constant'; let c = { n: 3 }; f()", `["constant",3,"new"]`},
				{"let K = class { m() { return 'a let' } }; f()", `["constant",3,"a let"]`},
				{"function f() { return 'another' } f()", `"another"`},
			},
			{{"let x; x = 5; const f = () => x; f()", "5"}, {"let x; typeof f()", `"undefined"`}, {"const f = () => [x]; x = 2; f()", "[2]"}},
			{{"const r = await (async () => 7)(); r", "7"}, {"const r = await (async () => 8)(); r", "8"}, {"const r = r2(); function r2() { return 9 } r", "9"}},
			{{"'use strict'; let { a, b: [c] } = { a: 1, b: [2] }; [a, c]", "[1,2]"}, {"const [a, c] = [3, 4]; [a, c]", "[3,4]"}},
			{{"let x = 1; try { null.y } catch { x }", "1"}, {"let x = 2; { let x = 3 } x", "2"}, {"typeof x", `"number"`}},
		} {
			iso, err := s.isolate(ctx, s.withLeisure())
			if err == nil {
				err = s.walk(ctx, iso, move, steps...)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// waitingSources make calls, in all the ways of waiting that there are, and are
// the same each time on every backend.
func waitingSources() []string {
	return []string{
		"await tools.echo(1)", "tools.echo('not awaited'); 'done'", "const p = tools.echo('x'); p", "return tools.echo('y').then((v) => [v, input])",
		"let s = 0; for (let i = 0; i < 4; i++) s += (await tools.echo(i))[0]; s",
		"(await Promise.all([1, 2, 3].map((n) => tools.echo(n)))).flat()", "await Promise.race([tools.echo('a'), tools.echo('b')])",
		"const out = []; for (const n of ['fail', 'deny', 'ok']) try { out.push(await tools.echo(n)) } catch (e) { out.push([e.name, e.message, e instanceof Error]) } out",
		"\n  await tools.echo('fail')", "console.log('before'); await tools.echo(1); await tools.echo('deny')", "await tools.echo(1);\nnull.x",
		"console.log('one'); await tools.echo(1); console.warn('two', { a: [1] }); await tools.echo(2); console.error('three'); 3",
		"async function* g() { for (let i = 0; i < 3; i++) yield await tools.echo(i) } const out = []; for await (const v of g()) out.push(v); out",
		"class A { #n = 1; async bump() { this.#n += (await tools.echo(2))[0]; return this.#n } } const a = new A(); await a.bump(); await a.bump()",
		"const deep = (n) => (n === 0 ? 0 : 1 + deep(n - 1)); const a = deep(100); await tools.echo(1); [a, deep(100)]",
		"const b = new Uint8Array(200000).map((_, i) => i); await tools.echo(1); b.reduce((a, x) => (a * 31 + x) >>> 0, 7)",
		"const v = { toJSON() { return 'late' } }; await tools.echo(1); v", "await tools.echo(1); ({ a: 1n })", "await tools.echo(1); await new Promise(() => {})",
		"try { await tools.echo('fail') } finally { await tools.echo('finally'); console.log('cleaned up') }",
		"globalThis.order = []; const say = (x) => order.push(x); Promise.resolve().then(() => say('job')); await Promise.all([tools.echo(1).then(() => say('one')), tools.echo(2).then(() => say('two'))]); order",
	}
}

func waitsAway(ctx context.Context, s *subject) error { return s.bothParts(ctx, waitingSources()) }

// bothParts runs sources that stay and that are put away at every wait, and
// demands the same.
func (s *subject) bothParts(ctx context.Context, sources []string, changes ...func(*spi.Config)) error {
	waits := 0
	for _, source := range sources {
		stayed, err := s.waitingParts(ctx, source, stays, changes...)
		if err != nil {
			return fmt.Errorf("%s: %w", clip(source), err)
		}
		away, err := s.waitingParts(ctx, source, s.goesAway(), changes...)
		if err == nil {
			err = s.sameAway(stayed, away)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", clip(source), err)
		}
		waits += len(stayed) - 1
	}
	if waits < len(sources) {
		return fmt.Errorf("%d scripts that make calls wait %d times", len(sources), waits)
	}
	return nil
}

func waitsAwaySame(ctx context.Context, s *subject) error {
	const wait = "await tools.echo(1); "
	return s.bothParts(ctx, []string{
		"const o = []; for (let i = 0; i < 3; i++) { o.push(" + randomSource + ", " + timeSource + "); " + wait + "} o",
		timers + "const o = [], done = new Promise((r) => later(r, 100)); later(() => o.push('t'), 1); o.push(" + timeSource + "); " + wait + "await done; o.push(" + timeSource + "); " + wait + "o.push(" + timeSource + "); o",
		"for (let i = 0; i < 50000; i++) ; const t = " + timeSource + "; " + wait + "for (let i = 0; i < 50000; i++) ; [t, " + timeSource + "]",
		"let held = 'x'.repeat(1 << 20) + 1; " + wait + "held = null; " + wait + "held = 'y'.repeat(1 << 20) + 2; held.length",
		strings.Repeat(wait, 5) + randomSource,
	})
}
