package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

func stackChecks() []Check {
	return slices.Concat(recursionChecks(), nestingChecks(), stackBoundChecks())
}

// deep is a body as data: statements that nest calls or data far too deeply.
type deep struct {
	source string
	// kinds that will do besides stack_overflow, memory (what is nested has to be
	// held) and a value.
	kinds []spi.Kind
}

func (d deep) body() body { return d.run }

// run demands an orderly end: the statements finish, the script catches what the
// engine throws when its stack is used up, or the host says so.
func (d deep) run(ctx context.Context, s *subject) error {
	source := "let ending = 'finished'; try { " + d.source + " } catch (e) { ending = e instanceof Error ? e.name : String(e) } ending"
	out, err := s.eval(ctx, source, "")
	if err != nil {
		return err
	}
	if out.Error == nil {
		// A parser may say in its own way that something is nested too deeply, and
		// who has no memory left for an error throws null.
		if caught := string(out.Value); !slices.Contains([]string{`"finished"`, `"RangeError"`, `"InternalError"`, `"SyntaxError"`, `"null"`}, caught) {
			return fmt.Errorf("the script caught %s, wanted a RangeError", clip(caught))
		}
	} else if err := wantKind(out, append([]spi.Kind{spi.KindStackOverflow, spi.KindMemory}, d.kinds...)...); err != nil {
		return err
	}
	return s.healthy(ctx)
}

// recursionChecks are functions that call themselves, straight or through the engine.
func recursionChecks() []Check {
	must := func(id, way, source string) Check {
		return Check{
			ID: id, Level: MUST, Rule: "Endless recursion " + way + " is a RangeError that can be caught or stack_overflow, and harms nothing else.",
			body: deep{source: source}.body(),
		}
	}
	return []Check{
		must("STACK-001", "of a plain function", "(function f() { f() })()"),
		must("STACK-002", "with spread and rest arguments", "(function f(a, b, c, ...r) { return f(a + 1, b, c, ...r) + 1 })(1, 2, 3, 4, 5, 6)"),
		must("STACK-003", "of constructors", "class A { constructor() { new A() } } new A()"),
		must("STACK-004", "of async functions", "await (async function f() { await f() })()"),
		must("STACK-005", "of generators", "const f = function* () { yield* f() }; [...f()]"),
		must("STACK-006", "of getters", "const o = { get a() { return this.a } }; o.a"),
		must("STACK-007", "of setters", "const o = { set a(v) { this.a = v } }; o.a = 1"),
		must("STACK-008", "of toString", "const o = { toString() { return '' + o } }; String(o)"),
		must("STACK-009", "of valueOf", "const o = { valueOf() { return +o } }; o * 2"),
		must("STACK-010", "of template literals", "const o = { toString() { return `${o}` } }; `${o}`"),
		must("STACK-011", "of proxy traps", "const p = new Proxy({}, { get(t, k, r) { return r[k] } }); p.x"),
		must("STACK-012", "of sort comparisons", "(function f() { [2, 1].sort(() => { f(); return 0 }) })()"),
		must("STACK-013", "of array callbacks", "(function f() { [1].map(f) })()"),
		must("STACK-014", "of replace callbacks", "(function f() { return 'a'.replace(/a/, f) })()"),
		must("STACK-015", "of JSON revivers", "(function f() { return JSON.parse('[1]', f) })()"),
		must("STACK-016", "of toJSON", "const o = { toJSON() { return JSON.stringify(o) } }; JSON.stringify(o)"),
		must("STACK-017", "of iterators", "const o = { [Symbol.iterator]() { return [...o] } }; [...o]"),
		must("STACK-018", "of apply, call and bound functions", "(function f() { Reflect.apply(f.bind(null), null, []); f.call() })()"),
		must("STACK-019", "of instanceof checks", "class A { static [Symbol.hasInstance](v) { return v instanceof A } } ({}) instanceof A"),
		must("STACK-020", "of eval", "(function f() { (0, eval)('1'); new Function('f', 'f()')(f) })()"),
	}
}

// nestingChecks are data and source nested further than any stack is deep.
func nestingChecks() []Check {
	must := func(id, rule string, d deep) Check { return Check{ID: id, Level: MUST, Rule: rule, body: d.body()} }
	slow := []spi.Kind{spi.KindTimeout}
	// parse is source code that a script nests and compiles.
	parse := func(id, what, open, middle, end string) Check {
		return must(id, what+" nested 100,000 deep in source code end in an orderly way.", deep{
			source: fmt.Sprintf("const k = 100000; eval(%q.repeat(k) + %q + %q.repeat(k))", open, middle, end), kinds: slow,
		})
	}
	return []Check{
		must("STACK-021", "JSON arrays nested 150,000 deep are parsed or end in an orderly way.", deep{source: "JSON.parse('['.repeat(150000) + '1' + ']'.repeat(150000))"}),
		must("STACK-022", "JSON objects nested 150,000 deep are parsed or end in an orderly way.", deep{source: "JSON.parse('{\"a\":'.repeat(150000) + '1' + '}'.repeat(150000))"}),
		parse("STACK-023", "Array literals", "[", "1", "]"),
		parse("STACK-024", "Parentheses", "(", "1", ")"),
		parse("STACK-025", "Arrow functions", "a=>", "1", ""),
		parse("STACK-026", "Conditions", "if(1)", ";", ""),
		parse("STACK-027", "Blocks", "{", "", "}"),
		parse("STACK-028", "Prefix operators", "!", "1", ""),
		parse("STACK-029", "Template literals", "`${", "1", "}`"),
		must("STACK-030", "Groups nested 100,000 deep in a regular expression end in an orderly way.", deep{
			source: "new RegExp('('.repeat(100000) + 'a' + ')'.repeat(100000)).test('a')", kinds: slow,
		}),
		must("STACK-031", "Look-aheads nested 20,000 deep in a regular expression end in an orderly way.", deep{
			source: "new RegExp('(?='.repeat(20000) + 'a' + ')'.repeat(20000)).test('a')", kinds: slow,
		}),
		must("STACK-032", "A regular expression that keeps a million ways back ends in an orderly way.", deep{
			source: "/^(?:(a)|b)*$/.test('a'.repeat(1000000))", kinds: slow,
		}),
		must("STACK-033", "A property read through 50,000 proxies ends in an orderly way.", deep{
			source: "let p = {}; for (let i = 0; i < 50000; i++) p = new Proxy(p, {}); p.x",
		}),
		must("STACK-034", "Listing the keys of 50,000 proxies around each other ends in an orderly way.", deep{
			source: "let p = {}; for (let i = 0; i < 50000; i++) p = new Proxy(p, {}); Object.keys(p)",
		}),
		must("STACK-035", "A call through 100,000 bound functions ends in an orderly way.", deep{
			source: "let p = () => 1; for (let i = 0; i < 100000; i++) p = p.bind(null); p()",
		}),
		must("STACK-036", "50,000 iterator helpers around each other end in an orderly way.", deep{
			source: "let it = [1].values(); for (let i = 0; i < 50000; i++) it = it.map ? it.map((x) => x) : (function* (o) { yield* o })(it); [...it]",
		}),
		must("STACK-037", "Writing objects nested 6,000 deep as JSON ends in an orderly way.", deep{
			source: "let r = 0; for (let i = 0; i < 6000; i++) r = { r }; JSON.stringify(r)", kinds: slow,
		}),
		must("STACK-038", "An array nested 100,000 deep as text ends in an orderly way.", deep{
			source: "let r = [1]; for (let i = 0; i < 100000; i++) r = [r]; String(r)", kinds: slow,
		}),
		must("STACK-039", "Flattening an array nested 100,000 deep ends in an orderly way.", deep{
			source: "let r = [1]; for (let i = 0; i < 100000; i++) r = [r]; r.flat(Infinity)", kinds: slow,
		}),
		must("STACK-040", "A text put together from 100,000 pieces is read in an orderly way.", deep{
			source: "let r = 'a'; for (let i = 0; i < 100000; i++) r = r + 'b'.repeat(20); r.indexOf('c')", kinds: slow,
		}),
		must("STACK-041", "A chain of 100,000 prototypes ends in an orderly way.", deep{
			source: "let o = {}; for (let i = 0; i < 100000; i++) o = Object.create(o); o.missing", kinds: slow,
		}),
		must("STACK-042", "A promise that is resolved with promises 20,000 deep ends in an orderly way.", deep{
			source: "let p = Promise.resolve(1); for (let i = 0; i < 20000; i++) { const q = p; p = new Promise((r) => r(q)) } await p", kinds: slow,
		}),
		must("STACK-043", "Logging a value nested 100,000 deep ends in an orderly way.", deep{
			source: "let r = [1]; for (let i = 0; i < 100000; i++) r = [r]; console.log(r)", kinds: slow,
		}),
		must("STACK-044", "An error with a chain of 20,000 causes is thrown and logged in an orderly way.", deep{
			source: "let e = new RangeError('first'); for (let i = 0; i < 20000; i++) e = new RangeError('next', { cause: e }); console.log(e); throw e", kinds: slow,
		}),
		{ID: "STACK-045", Level: MUST, Rule: "A result nested 200,000 deep has no value that breaks its reader, and harms nothing else.", body: script{
			source: "let r = 0; for (let i = 0; i < 200000; i++) r = [r]; r",
			kinds: []spi.Kind{
				spi.KindStackOverflow, spi.KindUnserializable, spi.KindOutputTooLarge, spi.KindTimeout, spi.KindMemory, spi.KindException,
			},
			next: "'alive'", nextValue: `"alive"`,
		}.body()},
	}
}

// stackBoundChecks are how deep a script may go, and what is said when it went too far.
func stackBoundChecks() []Check {
	const levels = "let d = 0; while (Array.isArray(v)) { v = v[0]; d++ } d"
	stack := []Need{NeedStack}
	return []Check{
		{ID: "STACK-046", Level: MUST, Rule: "Array literals nested 150 deep work: generated code has them.", body: script{
			source: "let v = " + strings.Repeat("[", 150) + "0" + strings.Repeat("]", 150) + "; " + levels, value: "150",
		}.body()},
		{ID: "STACK-047", Level: MUST, Rule: "JSON nested 150 deep comes in, is parsed, is written and comes out.", body: script{
			source: "JSON.parse(JSON.stringify(input))", input: strings.Repeat("[", 150) + "0" + strings.Repeat("]", 150),
			value: strings.Repeat("[", 150) + "0" + strings.Repeat("]", 150),
		}.body()},
		{ID: "STACK-048", Level: MUST, Rule: "A script may call itself 200 deep: ordinary programs do.", body: script{
			source: "(function f(n) { return n ? f(n - 1) + 1 : 0 })(200)", value: "200",
		}.body()},
		{ID: "STACK-049", Level: SHOULD, Rule: "Callbacks of built-in functions may be nested 100 deep.", body: script{
			source: "(function f(n) { return n ? [n].map(() => f(n - 1) + 1)[0] : 0 })(100)", value: "100",
		}.body()},
		{ID: "STACK-050", Level: SHOULD, Rule: "A script may call itself 5,000 deep.", body: script{
			source: "(function f(n) { return n ? f(n - 1) + 1 : 0 })(5000)", value: "5000",
		}.body()},
		{ID: "STACK-051", Level: MUST, Rule: "Endless recursion that nobody catches is stack_overflow, or the RangeError that it is.", body: script{
			source: "const down = (n) => down(n + 1) + 1; down(0)", kinds: []spi.Kind{spi.KindStackOverflow, spi.KindException}, name: "RangeError",
			next: "[1, 2, 3].map((x) => x * 2)", nextValue: "[2,4,6]",
		}.body()},
		{ID: "STACK-052", Level: MUST, Rule: "Endless recursion that nobody catches has the kind stack_overflow and names the limit, where one is declared.", Needs: stack, body: overflowNamesLimit},
		{ID: "STACK-053", Level: MUST, Rule: "An error that only looks like a used-up stack is an exception.", body: script{
			source: "try { (function f() { f() })() } catch {} throw new RangeError('Maximum call stack size exceeded')",
			// Where recursion cannot be caught the throw is never reached.
			kinds: []spi.Kind{spi.KindException, spi.KindStackOverflow}, name: "RangeError",
		}.body()},
		{ID: "STACK-054", Level: MUST, Rule: "An isolate whose script used up the stack works as before or is spent.", body: overflowedIsolate},
		{ID: "STACK-055", Level: MUST, Rule: "The same recursion goes equally deep each time, where the limit is exact.", Needs: []Need{NeedExactStack}, body: sameDepth},
	}
}

func overflowNamesLimit(ctx context.Context, s *subject) error {
	for _, source := range []string{"(function f() { f() })()", "try { (function f() { f() })() } catch (e) { throw e }", "const f = () => [1].map(f); f()"} {
		out, err := s.eval(ctx, source, "")
		if err != nil {
			return err
		}
		if err := wantKind(out, spi.KindStackOverflow); err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
		l := out.Error.Limit
		if l == nil || l.Name != spi.LimitStack && l.Name != spi.LimitCallDepth || l.Value <= 0 {
			return fmt.Errorf("%s: stack_overflow names the limit %+v, wanted %s or %s and its value", source, l, spi.LimitStack, spi.LimitCallDepth)
		}
		if _, declared := s.descriptor.EnforcementOf(l.Name); !declared {
			return fmt.Errorf("%s: stack_overflow names %s, which is not declared", source, l.Name)
		}
	}
	return nil
}

func overflowedIsolate(ctx context.Context, s *subject) error {
	for _, source := range []string{"(function f() { f() })()", "try { (function f() { f() })() } catch {}", "JSON.parse('['.repeat(150000))"} {
		iso, err := s.isolate(ctx)
		if err != nil {
			return err
		}
		if _, err := s.evalIn(ctx, iso, source, ""); err != nil {
			return err
		}
		for range 3 {
			out, err := iso.Eval(ctx, request("[1, 2, 3].map((x) => x * 2).concat(JSON.parse('[' + input + ']'))", "4"))
			if errors.Is(err, spi.ErrIsolateSpent) {
				break
			}
			if err != nil {
				return fmt.Errorf("%s: the next eval: %w", source, err)
			}
			if err := wantValue(out, "[2,4,6,4]"); err != nil {
				return fmt.Errorf("%s: the next eval: %w", source, err)
			}
		}
	}
	return nil
}

func sameDepth(ctx context.Context, s *subject) error {
	var depths []string
	for range 3 {
		out, err := s.eval(ctx, "let d = 0; try { (function f() { d++; f() })() } catch {} d", "")
		if err != nil {
			return err
		}
		depth := string(out.Value)
		if out.Error != nil { // it cannot be caught: what is compared is where it ended
			depth = fmt.Sprintf("%s with %d units of fuel", out.Error.Kind, out.Usage.Fuel)
		}
		depths = append(depths, depth)
	}
	if depths[0] != depths[1] || depths[0] != depths[2] {
		return fmt.Errorf("the same recursion went to %v", depths)
	}
	return nil
}
