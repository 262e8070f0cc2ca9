package conformance

import (
	"context"
	"fmt"
	"slices"

	"github.com/loom-sandbox/sandboxd/spi"
)

func leakChecks() []Check {
	return slices.Concat(leakedStateChecks(), leakedAfterChecks(), leakedBesideChecks())
}

// leakedStateChecks: what one script sets, a script in the next isolate asks for.
func leakedStateChecks() []Check {
	must := func(id, what, first, next, want string) Check {
		return Check{ID: id, Level: MUST, Rule: what + " cannot be seen in a later isolate.", body: script{
			source: first + "; 'set'", value: `"set"`, next: next, nextValue: want,
		}.body()}
	}
	return []Check{
		must("LEAK-001", "A global variable", "globalThis.secret = 'token'; var alsoSecret = 1; leaked = 2",
			"[typeof secret, typeof alsoSecret, typeof leaked]", `["undefined","undefined","undefined"]`),
		must("LEAK-002", "A lexical name of the top level", "const total = 10; let rows = [1]; class Box {} function f() {}",
			"const total = 20; let rows = [1, 2]; class Box {} [total, rows.length, typeof f]", `[20,2,"undefined"]`),
		must("LEAK-003", "A property added to a prototype", "Array.prototype.sneaky = 1; Object.prototype.sneaky = 2; Function.prototype.sneaky = 3; String.prototype.sneaky = 4",
			"[[].sneaky, ({}).sneaky, (() => 0).sneaky, ''.sneaky].map((v) => typeof v)", `["undefined","undefined","undefined","undefined"]`),
		must("LEAK-004", "A property added to a built-in function", "Date.leaked = 1; JSON.leaked = 1; Math.leaked = 1; console.leaked = 1",
			"[Date.leaked, JSON.leaked, Math.leaked, console.leaked].map((v) => typeof v)", `["undefined","undefined","undefined","undefined"]`),
		must("LEAK-005", "A frozen prototype", "for (const c of [Object, Array, Function, Promise]) Object.freeze(c.prototype); Object.preventExtensions(globalThis)",
			"Array.prototype.mine = 1; globalThis.own = 2; [[Object, Array, Function, Promise].some((c) => Object.isFrozen(c.prototype)), [].mine, own]", "[false,1,2]"),
		must("LEAK-006", "A replaced JSON.stringify or JSON.parse", "JSON.stringify = () => '\"forged\"'; JSON.parse = () => 'forged'",
			"[JSON.stringify({ a: 1 }), JSON.parse('[2]'), { b: 3 }]", `["{\"a\":1}",[2],{"b":3}]`),
		must("LEAK-007", "A replaced Promise.prototype.then", "Promise.prototype.then = () => { throw 1 }; Promise.resolve = null",
			"await Promise.resolve(3).then((x) => x + 1)", "4"),
		must("LEAK-008", "A replaced array method or iterator", "for (const k of ['push', 'map', 'sort', 'join']) Array.prototype[k] = () => 'mine'; Array.prototype[Symbol.iterator] = null",
			"const a = [3, 1]; a.push(2); [...a].sort().map((x) => x * 2).join()", `"2,4,6"`),
		must("LEAK-009", "A replaced Function.prototype.call", "Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => 'mine'",
			"const f = function () { return this.a }; [f.call({ a: 1 }), f.apply({ a: 2 }), f.bind({ a: 3 })()]", "[1,2,3]"),
		must("LEAK-010", "A toJSON method planted for all", "Object.prototype.toJSON = () => 'mine'; String.prototype.toJSON = () => 'mine'",
			"({ a: ['x'] })", `{"a":["x"]}`),
		must("LEAK-011", "A then planted for all", "Object.defineProperty(Object.prototype, 'then', { get() { return undefined }, configurable: true })",
			"'then' in {}", "false"),
		must("LEAK-012", "A setter planted for all", "Object.defineProperty(Object.prototype, 'planted', { set() {}, configurable: false }); Object.defineProperty(Array.prototype, '0', { set() {} })",
			"const o = { }; o.planted = 1; const a = []; a[0] = 2; [o.planted, a[0]]", "[1,2]"),
		must("LEAK-013", "A deleted built-in", "delete globalThis.JSON; delete globalThis.Map; delete Array.prototype.map; delete Object.keys",
			"[typeof JSON.stringify, typeof Map, typeof [].map, typeof Object.keys]", `["function","function","function","function"]`),
		must("LEAK-014", "An input that was changed", "globalThis.input = 'changed'",
			"input", "null"),
		must("LEAK-015", "What a regular expression matched last", "/(secret)-(\\d+)/.exec('a secret-42 b')",
			"[RegExp.$1, RegExp.lastMatch, RegExp['$&'], RegExp.input, RegExp.leftContext].filter((v) => v !== undefined && v !== '')", "[]"),
		must("LEAK-016", "A change to how errors show their stack", "Error.stackTraceLimit = 0; Error.prepareStackTrace = () => 'mine'",
			"[typeof Error.prepareStackTrace, new Error('x').stack === 'mine']", `["undefined",false]`),
		must("LEAK-017", "A timer that was still to run", timers+"later(() => { globalThis.late = 1 }, 1); globalThis.setInterval?.(() => { globalThis.late = 1 }, 1)",
			timers+"await new Promise((r) => later(r, 1000)); typeof late", `"undefined"`),
		must("LEAK-018", "A job that was still to run", timers+"let n = 0; const f = () => { globalThis.late = 1; if (n++ < 1000) Promise.resolve().then(f) }; later(f, 1); Promise.reject(new Error('unhandled'))",
			"for (let i = 0; i < 100; i++) await null; typeof late", `"undefined"`),
		must("LEAK-019", "The time that timers skipped", timers+"await new Promise((r) => later(r, 864e5))",
			"Date.now() - "+fmt.Sprint(checkTime().UnixMilli())+" < 36e5", "true"),
	}
}

// leakedAfterChecks compare all that can be reached with what it was before a
// script changed it, however that script ended.
func leakedAfterChecks() []Check {
	must := func(id, how, name string) Check {
		return Check{
			ID: id, Level: MUST, Rule: "An isolate is pristine beside and after one whose script changed all it could and " + how + ".",
			Watchdog: manyWatchdog, body: leavesNothing(name),
		}
	}
	return []Check{
		{
			ID: "LEAK-020", Level: MUST, Rule: "An isolate is as the first one of its backend, beside and after one whose script changed all it could.",
			Watchdog: manyWatchdog, own: true, body: leavesNothing("value"),
		},
		must("LEAK-021", "threw", "exception"),
		must("LEAK-022", "ran into its timeout", "timeout"),
		must("LEAK-023", "was cancelled", "cancelled"),
		must("LEAK-024", "was closed while it ran", "killed"),
		must("LEAK-025", "ran out of memory", "memory"),
		must("LEAK-026", "used up the stack", "stack"),
		must("LEAK-027", "threw while its result was written", "writing"),
		must("LEAK-028", "had a result that was too large", "too large"),
		must("LEAK-029", "waited in vain", "deadlock"),
		must("LEAK-030", "did not parse", "syntax"),
	}
}

// leakedBesideChecks are about isolates beside each other and many in a row.
func leakedBesideChecks() []Check {
	return []Check{
		{ID: "LEAK-031", Level: MUST, Rule: "Two isolates that are open at once do not see each other.", body: besideEachOther},
		{ID: "LEAK-032", Level: MUST, Rule: "Fifty isolates in a row each start from nothing.", Watchdog: manyWatchdog, body: manyInARow},
		{ID: "LEAK-033", Level: MUST, Rule: "Random numbers drawn in one isolate do not change those of the next.", Needs: []Need{NeedImage}, body: randomAnew},
		{ID: "LEAK-034", Level: MUST, Rule: "Memory that a script filled and let go cannot be read by a script in a later isolate.", body: memoryIsBlank},
		{ID: "LEAK-035", Level: MUST, Rule: "Lines that one script logs appear in no outcome but its own.", body: logsStayApart},
		{ID: "LEAK-036", Level: MUST, Rule: "Console methods that were replaced or removed log again in a later isolate.", body: consoleComesBack},
		{ID: "LEAK-037", Level: MUST, Rule: "Nothing that hangs on a registered symbol can be seen in a later isolate.", body: script{
			source: "const k = Symbol.for('shared'); Object.prototype[k] = 1; Symbol.prototype.left = 1; globalThis[k] = new WeakRef({}); 'set'", value: `"set"`,
			next: "const k = Symbol.for('shared'); [typeof ({})[k], typeof k.left, k in globalThis]", nextValue: `["undefined","undefined",false]`,
		}.body()},
	}
}

func besideEachOther(ctx context.Context, s *subject) error {
	var isolates [2]spi.Isolate
	for i := range isolates {
		var err error
		if isolates[i], err = s.isolate(ctx); err != nil {
			return err
		}
	}
	for round := range 3 {
		for i, iso := range isolates {
			out, err := s.evalIn(ctx, iso, "Object.prototype.n = (Object.prototype.n ?? 0) + 1; globalThis.list = [...(globalThis.list ?? []), input]; [({}).n, list.length, list.every((x) => x === input)]", fmt.Sprint(i))
			if err != nil {
				return err
			}
			if err := wantValue(out, fmt.Sprintf("[%d,%d,true]", round+1, round+1)); err != nil {
				return fmt.Errorf("isolate %d: %w", i+1, err)
			}
		}
	}
	return nil
}

func manyInARow(ctx context.Context, s *subject) error {
	for i := range 50 {
		out, err := s.eval(ctx, "globalThis.count = (globalThis.count ?? 0) + 1; Array.prototype.count = (Array.prototype.count ?? 0) + 1; "+
			"Math.count = (Math.count ?? 0) + 1; [count, [].count, Math.count, input]", fmt.Sprint(i))
		if err == nil {
			err = wantValue(out, fmt.Sprintf("[1,1,1,%d]", i))
		}
		if err != nil {
			return fmt.Errorf("isolate %d: %w", i+1, err)
		}
	}
	return nil
}

func randomAnew(ctx context.Context, s *subject) error {
	first, err := s.eval(ctx, randomSource, "")
	if err != nil {
		return err
	}
	if _, err := s.eval(ctx, "for (let i = 0; i < 1000; i++) Math.random(); "+randomSource, ""); err != nil {
		return err
	}
	later, err := s.eval(ctx, randomSource, "")
	if err != nil {
		return err
	}
	return wantValue(later, string(first.Value))
}

func memoryIsBlank(ctx context.Context, s *subject) error {
	half := fmt.Sprint(min(s.half(s.config()), 16<<20))
	fill := "(() => { const a = new Uint32Array(Math.floor(input / 4)); a.fill(0x5ec2e7aa) })(); 'filled'"
	look := "const a = new Uint32Array(Math.floor(input / 4)); a.indexOf(0x5ec2e7aa) + ' ' + a.subarray(0, 100000).findIndex((v) => v !== 0)"
	for range 2 {
		for _, step := range []struct{ source, want string }{{fill, `"filled"`}, {look, `"-1 -1"`}} {
			out, err := s.eval(ctx, step.source, half)
			if err == nil {
				err = wantValue(out, step.want)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func consoleComesBack(ctx context.Context, s *subject) error {
	spoiled, err := s.eval(ctx, "console.log = null; console.error = () => {}; delete console.warn; console = undefined; 'set'", "")
	if err != nil {
		return err
	}
	if err := wantValue(spoiled, `"set"`); err != nil {
		return err
	}
	c := script{source: "console.log('a'); console.error('b'); console.warn('c'); 1", value: "1", logs: []string{"a", "b", "c"}}
	return c.run(ctx, s)
}

func logsStayApart(ctx context.Context, s *subject) error {
	one, err := s.isolate(ctx)
	if err != nil {
		return err
	}
	for _, step := range []struct {
		source string
		want   []string
	}{
		{"console.log('first'); globalThis.setTimeout?.(() => console.log('never'), 1); 1", []string{"first"}},
		{"console.log('second'); 1", []string{"second"}},
		{"1", []string{}},
	} {
		out, err := s.evalIn(ctx, one, step.source, "")
		if err != nil {
			return err
		}
		if got := logTexts(out); !slices.Equal(got, step.want) {
			return fmt.Errorf("%s: logs are %q, wanted %q", step.source, got, step.want)
		}
		beside, err := s.eval(ctx, "1", "")
		if err != nil {
			return err
		}
		if len(beside.Logs) > 0 {
			return fmt.Errorf("a script that logs nothing has the lines %q", logTexts(beside))
		}
	}
	return nil
}
