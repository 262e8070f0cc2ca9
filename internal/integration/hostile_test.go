package integration

import (
	"testing"
	"time"

	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
)

func TestAScriptThatReplacesBuiltinsOnlyFoolsItself(t *testing.T) {
	t.Parallel()
	checkRows(t, tamperRows())
}

func tamperRows() []row {
	return []row{
		{name: "JSON.stringify", script: `JSON.stringify = () => '"forged"'; ({ a: 1 })`, value: `{"a":1}`},
		{name: "JSON is gone", script: "delete globalThis.JSON; delete globalThis.Promise; delete globalThis.Array; [1]", value: "[1]"},
		{name: "toJSON for all", script: "Object.prototype.toJSON = () => 'mine'; ({ a: 1 })", value: `"mine"`},
		{name: "toJSON of numbers is never asked", script: "Object.defineProperty(Number.prototype, 'toJSON', { get() { throw 1 } }); [1]", value: "[1]"},
		{name: "Promise.prototype.then", script: "Promise.prototype.then = () => { throw 1 }; await Promise.resolve(4)", value: "4"},
		{name: "Promise.prototype.then with return", script: "Promise.prototype.then = () => { throw 1 }; return await Promise.resolve(4)", value: "4"},
		{name: "Symbol.species of Promise", script: "Object.defineProperty(Promise, Symbol.species, { get() { throw 1 } }); await Promise.resolve(4)", value: "4"},
		{name: "Symbol.species of a subclass", script: "class P extends Promise { static get [Symbol.species]() { throw new Error('mine') } }; await new P((r) => r(3))", kind: spi.KindException, message: "mine"},
		{name: "Promise.prototype.constructor", script: "Promise.prototype.constructor = null; return 5", value: "5"},
		{name: "Array.prototype[Symbol.iterator]", script: "Array.prototype[Symbol.iterator] = function* () { throw 1 }; console.log([1, 2]); [1, 2]", value: "[1,2]", logs: []string{"[ 1, 2 ]"}},
		{name: "iterators before a throw", script: "Array.prototype[Symbol.iterator] = null; String.prototype[Symbol.iterator] = null; throw new Error('mine')", kind: spi.KindException, message: "mine"},
		{name: "index setter for all", script: "Object.defineProperty(Object.prototype, '0', { set() { throw 1 }, get() { return 'zero' } }); console.log('a', 'b'); return [[1], [2]]", value: "[[1],[2]]", logs: []string{"a b"}},
		{name: "descriptor fields for all", script: "Object.prototype.get = () => 666; Object.prototype.set = 1; Object.prototype.writable = false; console.log({ a: 1 }); setTimeout(() => {}, 1); return new URL('http://x/y').href", value: `"http://x/y"`, logs: []string{"{ a: 1 }"}},
		{name: "setter of value for all", script: "Object.defineProperty(Object.prototype, 'value', { set() { throw new Error('mine') } }); ({ a: 1 })", orderly: true},
		{name: "then for all", script: "Object.prototype.then = (r) => r('mine'); ({ a: 1 })", orderly: true},
		{name: "then for all, in the return form", script: "Object.prototype.then = (r) => r('mine'); return { a: 1 }", value: `"mine"`},
		{name: "all prototypes frozen", script: "for (const c of [Object, Array, Promise, Function, Error, Map]) Object.freeze(c.prototype); console.log([1]); await 0; ({ a: [1] })", value: `{"a":[1]}`, logs: []string{"[ 1 ]"}},
		{name: "frozen globals", script: "Object.freeze(globalThis); setTimeout(() => {}, 1); console.log('x'); 1", value: "1"},
		{name: "globals without prototype", script: "Object.setPrototypeOf(globalThis, null); 1", value: "1"},
		{name: "no globals", script: "const g = globalThis; for (const k of Reflect.ownKeys(g)) delete g[k]; [1].map((x) => x + 1)", value: "[2]"},
		{name: "no prototypes", script: "for (const c of [Promise, Map, WeakMap, String, Array]) for (const k of Reflect.ownKeys(c.prototype)) delete c.prototype[k]; console.log(new Map([[1, 2]])); ({ a: 'b' })", orderly: true},
		{name: "Function.prototype.call", script: "Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => 'mine'; console.log('a'); [1]", value: "[1]", logs: []string{"a"}},
		{name: "Reflect.apply", script: "Reflect.apply = () => 'mine'; console.log('a'); await new Promise((r) => setTimeout(r, 1)); [1]", value: "[1]", logs: []string{"a"}},
		{name: "Math.random and Date", script: "Math.random = () => 4; Date.now = () => 5; Date.prototype.toISOString = () => 'mine'; [Math.random(), Date.now(), new Date(0)]", value: `[4,5,"mine"]`},
		{name: "Proxy", script: "Proxy = null; WeakMap.prototype.get = null; console.log({}); 1", value: "1", logs: []string{"{}"}},
		{name: "getter on a prelude name", script: "Object.defineProperty(Object.prototype, 'callback', { get() { throw 1 } }); await new Promise((r) => setTimeout(r, 1)); 1", value: "1"},
	}
}

func TestWhateverIsThrownIsReportedWithoutRunningIt(t *testing.T) {
	t.Parallel()
	checkRows(t, thrownRows())
}

func thrownRows() []row {
	thrown := func(name, script, errorName, message string) row {
		return row{name: name, script: script, kind: spi.KindException, errorName: errorName, message: message}
	}
	return []row{
		thrown("undefined", "throw undefined", "", "undefined"),
		thrown("null", "throw null", "", "null"),
		thrown("number", "throw 5", "", "5"),
		thrown("text", "throw 'text'", "", "text"),
		thrown("BigInt", "throw 5n", "", "5n"),
		thrown("symbol", "throw Symbol('s')", "", "Symbol(s)"),
		thrown("object", "throw { a: 1 }", "", "{ a: 1 }"),
		thrown("function", "throw function f() {}", "", "[Function: f]"),
		thrown("object with getters that throw", "throw { get message() { throw 1 }, get name() { throw 2 } }", "", "[Getter]"),
		thrown("proxy with traps that throw", "throw new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 2 } })", "", "{}"),
		thrown("proxy of an error, endless", "throw new Proxy(new Error('inner'), { get() { for (;;) ; }, getPrototypeOf() { for (;;) ; } })", "", "inner"),
		thrown("revoked proxy", "const p = Proxy.revocable({}, {}); p.revoke(); throw p.proxy", "", "Revoked"),
		thrown("message that throws", "const e = new Error('m'); Object.defineProperty(e, 'message', { get() { throw new Error('again') } }); throw e", "Error", ""),
		thrown("subclass", "throw new (class MyError extends TypeError { name = 'MyError' })('mine')", "MyError", "mine"),
		thrown("renamed", "throw Object.assign(new Error('mine'), { name: 'Custom' })", "Custom", "mine"),
		thrown("aggregate", "throw new AggregateError([new Error('a')], 'mine')", "AggregateError", "mine"),
		thrown("half a surrogate pair", `throw new Error('\udfff mine')`, "Error", "� mine"),
		thrown("Error.prepareStackTrace that throws", "Error.prepareStackTrace = () => { throw 1 }; throw new Error('mine')", "Error", "mine"),
		thrown("SyntaxError at run time", "throw new SyntaxError('mine')", "SyntaxError", "mine"),
		thrown("in a rejected promise", "(async () => { throw new TypeError('mine') })()", "TypeError", "mine"),
		thrown("in an async generator", "for await (const x of (async function* () { yield 1; throw new Error('mine') })()) ;", "Error", "mine"),

		// A kind comes from what the host saw: none of these is what it says.
		thrown("looks like memory", "throw Object.assign(new Error('out of memory'), { name: 'InternalError' })", "InternalError", "out of memory"),
		thrown("looks like a timeout", "throw Object.assign(new Error('the script ran longer than timeoutMs of 2000'), { name: 'TimeoutError' })", "TimeoutError", ""),
		thrown("looks like recursion", "throw new RangeError('Maximum call stack size exceeded')", "RangeError", ""),
		thrown("after a recursion that was caught", "try { (function f() { f() })() } catch {} throw new Error('mine')", "Error", "mine"),
		thrown("impossible length", "new ArrayBuffer(3e9)", "RangeError", ""),
		{name: "recursion", script: "(function f() { f() })()", kind: spi.KindStackOverflow, limit: spi.LimitStack},
		{name: "recursion, thrown on", script: "try { (function f() { f() })() } catch (e) { throw e }", kind: spi.KindStackOverflow, limit: spi.LimitStack},
		{name: "recursion inside the engine", script: "JSON.parse('['.repeat(1e5))", kind: spi.KindStackOverflow, limit: spi.LimitCallDepth},
		{name: "5,000 calls", script: "(function f(n) { return n ? f(n - 1) + 1 : 0 })(5000)", value: "5000"},
		{name: "memory", script: "const a = []; for (;;) a.push(new Uint8Array(1e6))", kind: spi.KindMemory, limit: spi.LimitMemory},
		{name: "memory that the script did without", script: "const a = []; try { for (;;) a.push(new Uint8Array(1e6)) } catch { a.length = 0; 'survived' }", value: `"survived"`},
		{name: "text that doubles", script: "let s = 'x'; for (;;) s += s", orderly: true},
		{name: "promises without end", script: "const a = []; for (;;) a.push(new Promise(() => {}))", kind: spi.KindMemory, limit: spi.LimitMemory},
		{name: "deadlock", script: "await new Promise(() => {})", kind: spi.KindDeadlock, noPlace: true},
		{name: "deadlock in a loop", script: "for await (const x of [new Promise(() => {})]) ;", kind: spi.KindDeadlock},
		{name: "denied by absence", script: "fetch('http://127.0.0.1')", kind: spi.KindException, errorName: "ReferenceError", message: "fetch"},
	}
}

func TestEverythingEndsAtItsTimeLimit(t *testing.T) {
	t.Parallel()
	checkRows(t, endlessRows())
}

func endlessRows() []row {
	endless := func(name, script string) row {
		return row{
			name: name, script: script, kind: spi.KindTimeout, limit: spi.LimitTimeout, noPlace: true,
			limits: sandbox.Limits{Timeout: 100 * time.Millisecond},
		}
	}
	return []row{
		endless("loop", "for (;;) ;"),
		endless("loop in the return form", "for (;;) ; return 1"),
		endless("catch", "for (;;) { try { null.x } catch {} }"),
		endless("finally", "for (;;) { try { null.x } finally { continue } }"),
		endless("jobs", "while (true) await 0"),
		endless("jobs that nobody awaits", "const f = () => { queueMicrotask(f); queueMicrotask(f) }; f(); await new Promise(() => {})"),
		endless("interval", "setInterval(() => {}, 1); await new Promise(() => {})"),
		endless("interval of an age", "setInterval(() => {}, 1e9); await new Promise(() => {})"),
		endless("timer that sets a timer", "const f = () => setTimeout(f, 0); f(); await new Promise(() => {})"),
		endless("toJSON", "({ toJSON() { for (;;) ; } })"),
		endless("getter of the result", "({ get a() { for (;;) ; } })"),
		endless("ownKeys of the result", "new Proxy({}, { ownKeys() { for (;;) ; } })"),
		endless("length of the result", "new Proxy([], { get: (_, k) => (k === 'length' ? 1e9 : 1) })"),
		endless("then of the result", "({ get then() { for (;;) ; } })"),
		endless("name of an error", "const e = new Error(''); Object.defineProperty(e, 'name', { get() { for (;;) ; } }); throw e"),
		endless("holes", "new Array(1e9) + ''"),
		endless("concat", "[].concat(new Array(2 ** 32 - 1))"),
		endless("expression", "/(a+)+$/.test('a'.repeat(40) + 'b')"),
		endless("sort", "const a = Array.from({ length: 1e5 }, (_, i) => -i); for (;;) a.sort(() => Math.random() - 0.5)"),
		endless("bulk moves", "const u = new Uint8Array(16 << 20); for (;;) u.copyWithin(1, 0)"),
		endless("recursion that is caught", "for (;;) { try { (function f() { f() })() } catch {} }"),
		endless("generator", "for (const x of (function* () { for (;;) yield 1 })()) ;"),
	}
}

func TestTimersRunOnAClockThatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	checkRows(t, timerRows())
}

func timerRows() []row {
	return []row{
		{name: "order", script: "const o = []; setTimeout(() => o.push(2), 2); setTimeout(() => o.push(1), 1); setTimeout(() => o.push(0), 0); setTimeout(() => o.push(1.5), 1); await new Promise((r) => setTimeout(r, 5)); o", value: "[0,1,1.5,2]"},
		{name: "jobs first", script: "const o = []; setTimeout(() => o.push('timer'), 0); queueMicrotask(() => o.push('job')); Promise.resolve().then(() => o.push('then')); await new Promise((r) => setTimeout(r, 5)); o", value: `["job","then","timer"]`},
		{name: "a million seconds", script: "const t = Date.now(); await new Promise((r) => setTimeout(r, 1e9)); Date.now() - t >= 1e9", value: "true"},
		{name: "unclosed timer", script: "setTimeout(() => console.log('late'), 1000); 5", value: "5", logs: []string{}},
		{name: "unclosed interval", script: "setInterval(() => console.log('late'), 1000); 5", value: "5", logs: []string{}},
		{name: "interval until cleared", script: "let n = 0; await new Promise((r) => { const t = setInterval(() => { if (++n === 3) { clearInterval(t); r() } }, 10) }); n", value: "3"},
		{name: "cleared", script: "const t = setTimeout(() => { throw 1 }, 1); clearTimeout(t); await new Promise((r) => setTimeout(r, 5)); 1", value: "1"},
		{name: "error in a timer", script: "setTimeout(() => { throw new Error('mine') }, 0); await new Promise((r) => setTimeout(r, 10)); 5", kind: spi.KindException, message: "mine", line: 1},
		{name: "error in a timer after the end", script: "setTimeout(() => { throw new Error('mine') }, 0); 5", value: "5"},
		{name: "error in a job", script: "queueMicrotask(() => { throw new Error('mine') }); await new Promise((r) => setTimeout(r, 10)); 5", kind: spi.KindException, message: "mine"},
		{name: "rejection that nobody handles", script: "Promise.reject(new Error('mine')); await new Promise((r) => setTimeout(r, 10)); 7", value: "7"},
		{name: "main that nobody awaits", script: "async function main() { await new Promise((r) => setTimeout(r, 50)); console.log('ran'); return 3 }\nmain();", value: "3", logs: []string{"ran"}},
		{name: "main with handlers", script: "async function main() { await null; throw new Error('mine') }\nmain().catch((e) => console.log(e.message))", value: "null", logs: []string{"mine"}},
		{name: "text for code", script: "setTimeout('code', 1)", kind: spi.KindException, errorName: "TypeError"},
		{name: "time zone", script: "[new Date().getTimezoneOffset(), new Date(2026, 2, 29, 2, 30).toISOString(), new Date().toISOString().slice(0, 16)]", value: `[0,"2026-03-29T02:30:00.000Z","2026-03-29T12:00"]`},
		{name: "busy wait", script: "const t = Date.now(); while (Date.now() - t < 25) ; 1", value: "1"},
		{name: "the clock does not go back", script: "let last = 0; for (let i = 0; i < 1000; i++) { const n = performance.now(); if (n < last) throw 1; last = n } 1", value: "1"},
		{name: "clock before any work", script: "Math.abs(Date.now() - Date.UTC(2026, 2, 29, 12)) < 5", value: "true"},
	}
}
