package integration

import (
	"strings"
	"testing"

	"github.com/loom-sandbox/sandboxd/spi"
)

func TestAResultIsWhatStringifyWrites(t *testing.T) {
	t.Parallel()
	checkRows(t, resultRows())
}

func resultRows() []row {
	plain := func(name, script, value string, typ spi.ValueType) row {
		return row{name: name, script: script, value: value, typ: typ}
	}
	unserializable := func(name, script, path string) row {
		return row{name: name, script: script, kind: spi.KindUnserializable, message: path, noPlace: true}
	}
	return []row{
		plain("undefined", "undefined", "null", spi.TypeUndefined),
		plain("null", "null", "null", spi.TypeNull),
		plain("function", "() => 1", "null", spi.TypeFunction),
		plain("class", "class A {}; A", "null", spi.TypeFunction),
		plain("symbol", "Symbol('x')", "null", spi.TypeSymbol),
		plain("NaN", "NaN", "null", spi.TypeNumber),
		plain("infinite", "-Infinity", "null", spi.TypeNumber),
		plain("minus zero", "-0", "0", spi.TypeNumber),
		plain("numbers", "[0.1 + 0.2, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 9007199254740993]", "[0.30000000000000004,1e21,1e-7,5e-324,1.7976931348623157e308,9007199254740992]", spi.TypeArray),
		plain("empty string", "''", `""`, spi.TypeString),
		plain("boolean", "true", "true", spi.TypeBoolean),
		plain("boxed number", "new Number(5)", "5", spi.TypeObject),
		plain("boxed string", "new String('x')", `"x"`, spi.TypeObject),
		plain("holes", "[, 1, undefined, () => 1, Symbol()]", "[null,1,null,null,null]", spi.TypeArray),
		plain("left out", "({ a: undefined, b() {}, c: Symbol(), [Symbol('d')]: 1, e: 1 })", `{"e":1}`, spi.TypeObject),
		plain("order of names", "Object.keys(JSON.parse(JSON.stringify({ b: 1, 1: 2, a: 3, 0: 4 }))).join()", `"0,1,b,a"`, spi.TypeString),
		plain("not enumerable", "Object.defineProperty({}, 'hidden', { value: 1 })", "{}", spi.TypeObject),
		plain("no prototype", "Object.assign(Object.create(null), { a: 1 })", `{"a":1}`, spi.TypeObject),
		plain("class instance", "class A { constructor() { this.x = 1 } get y() { return 2 } #z = 3 }; new A()", `{"x":1}`, spi.TypeObject),
		plain("class with toJSON", "class A { toJSON() { return 'A!' } }; [new A()]", `["A!"]`, spi.TypeArray),
		plain("toJSON to undefined", "({ toJSON() {} })", "null", spi.TypeObject),
		plain("map", "new Map([[1, 2]])", "{}", spi.TypeObject),
		plain("set", "new Set([1])", "{}", spi.TypeObject),
		plain("bytes", "new Uint8Array([1, 2])", `{"0":1,"1":2}`, spi.TypeObject),
		plain("date", "new Date(0)", `"1970-01-01T00:00:00.000Z"`, spi.TypeObject),
		plain("invalid date", "new Date(NaN)", "null", spi.TypeObject),
		plain("expression", "/x/g", "{}", spi.TypeObject),
		plain("error as value", "new Error('x')", "{}", spi.TypeObject),
		plain("generator", "(function* () { yield 1 })()", "{}", spi.TypeObject),
		plain("the global object", "globalThis", `{"input":null}`, spi.TypeObject),
		plain("proxy of an array", "new Proxy([1, 2], {})", "[1,2]", spi.TypeArray),
		plain("promise", "Promise.resolve(Promise.resolve(1))", "1", spi.TypeNumber),
		plain("returned promise", "return (async () => { await null; return (async () => 1)() })()", "1", spi.TypeNumber),
		plain("thenable", "({ then(r) { r(42) } })", "42", spi.TypeNumber),
		plain("returned thenable", "return { then(r) { r(42) } }", "42", spi.TypeNumber),
		plain("thenable of a thenable", "({ then(r) { r({ then(q) { q(1) } }) } })", "1", spi.TypeNumber),
		plain("promise inside is an object", "({ a: Promise.resolve(1) })", `{"a":{}}`, spi.TypeObject),
		plain("raw JSON", "JSON.rawJSON('12345678901234567890')", "12345678901234567890", spi.TypeObject),
		plain("BigInt that the script gave a JSON", "BigInt.prototype.toJSON = function () { return 'b' + this }; return { a: 1n }", `{"a":"b1"}`, spi.TypeObject),
		plain("half a surrogate pair", `['\ud800', '\udc00x', '😀'.split('')]`, `["�","�x",["�","�"]]`, spi.TypeArray),
		plain("half a surrogate pair in a name", `({ ['\ud800']: 1 })`, `{"�":1}`, spi.TypeObject),
		plain("NUL", `({ 'a\u0000b': 'c\u0000' })`, `{"a\u0000b":"c\u0000"}`, spi.TypeObject),
		plain("markup and separators", `'<script>&\u2028\u2029\u007f\ufeff'`, `"<script>&\u2028\u2029\u007f\ufeff"`, spi.TypeString),
		plain("label made by the script", "({ __loomTainted: { origin: 'host' }, value: 1 })", `{"__loomTainted":{"origin":"host"},"value":1}`, spi.TypeObject),
		plain("getters are read in order and once", "let n = 0; ({ get a() { return ++n }, b: { get c() { return ++n } }, get d() { return ++n } })", `{"a":1,"b":{"c":2},"d":3}`, spi.TypeObject),
		plain("5,000 levels of arrays", "let r = []; for (let i = 1; i < 5000; i++) r = [r]; r", nested(5000), spi.TypeArray),

		unserializable("5,001 levels of arrays", "let r = []; for (let i = 1; i < 5001; i++) r = [r]; r", "5000 levels"),
		unserializable("5,001 levels of objects", "let r = 1; for (let i = 0; i < 5001; i++) r = { r }; r", "5000 levels"),
		unserializable("BigInt", "1n", "$"),
		unserializable("boxed BigInt", "Object(1n)", "$"),
		unserializable("BigInt inside", "({ x: [0, { 'a b': 1n }] })", `$.x[1]["a b"]`),
		unserializable("cycle", "const a = { b: [] }; a.b.push(a); a", "$.b[0]"),
		unserializable("names that repair makes the same", `({ ['\ud800']: 1, ['\ufffd']: 2 })`, "names"),
		{name: "toJSON that throws", script: "({ toJSON() { throw new TypeError('mine') } })", kind: spi.KindException, errorName: "TypeError", message: "mine"},
		{name: "getter that throws", script: "return { get a() { throw new Error('mine') } }", kind: spi.KindException, message: "mine"},
		{name: "then that throws", script: "({ get then() { throw new Error('mine') } })", kind: spi.KindException, message: "mine"},
		{name: "thenable that rejects", script: "({ then(_, no) { no(new Error('mine')) } })", kind: spi.KindException, message: "mine"},
		{name: "thenable that does nothing", script: "({ then() {} })", kind: spi.KindDeadlock},
		{name: "promise that rejects later", script: "return new Promise((_, no) => setTimeout(() => no(new TypeError('mine')), 10))", kind: spi.KindException, errorName: "TypeError", message: "mine"},
		{name: "revoked proxy", script: "const p = Proxy.revocable({}, {}); p.revoke(); return p.proxy", kind: spi.KindException, errorName: "TypeError"},
	}
}

func nested(levels int) string {
	return strings.Repeat("[", levels) + strings.Repeat("]", levels)
}

func TestALogLineShowsAnyValueAndRunsNothing(t *testing.T) {
	t.Parallel()
	checkRows(t, logRows())
}

func logRows() []row {
	line := func(name, script, text string) row {
		return row{name: name, script: script + "; 'done'", value: `"done"`, logs: []string{text}}
	}
	return []row{
		line("BigInt", "console.log(1n, { a: 2n }, [3n])", "1n { a: 2n } [ 3n ]"),
		line("symbol, minus zero, hole", "console.log(Symbol('q'), -0, [, 1])", "Symbol(q) -0 [ <1 empty item>, 1 ]"),
		line("collections", "console.log(new Map([[1, { a: 1 }]]), new Set(['x']))", "Map(1) { 1 => { a: 1 } } Set(1) { 'x' }"),
		line("cycle", "const o = {}; o.o = o; console.log(o)", "{ o: [Circular] }"),
		line("format", "console.log('%s %d %o %%', 'a', 1.5, { x: 1 }, 'rest')", "a 1.5 { x: 1 } % rest"),
		line("getter", "console.log({ get x() { throw 1 } })", "{ x: [Getter] }"),
		line("proxy with traps", "console.log(new Proxy({}, { get() { throw 1 }, ownKeys() { throw 2 }, getPrototypeOf() { throw 3 } }))", "{}"),
		line("proxy that never answers", "console.log(new Proxy({}, { get() { for (;;) ; }, ownKeys() { for (;;) ; } }))", "{}"),
		line("half a surrogate pair", `console.log('\ud800 x \udc00')`, "� x �"),
		line("deep", "let r = []; for (let i = 0; i < 20000; i++) r = [r]; console.log(r)", "[ [ [ [ [ [Array] ] ] ] ] ]"),
		{
			name: "levels", script: "console.log('a'); console.info('b'); console.warn('c'); console.error('d'); console.debug('e')",
			value: "null", logs: []string{"a", "b", "c", "d", "e"},
		},
		{
			name: "coercions that throw", script: "console.log({ toString() { throw 1 }, [Symbol.toPrimitive]() { throw 2 }, valueOf() { throw 3 }, toJSON() { throw 4 } }); 1",
			value: "1",
		},
		{name: "logs of a script that fails", script: "console.log('before'); null.x", kind: spi.KindException, logs: []string{"before"}},
		{name: "logs of a script that waits for ever", script: "console.log('before'); await new Promise(() => {})", kind: spi.KindDeadlock, logs: []string{"before"}},
		{name: "logs of a script that does not parse", script: "console.log('before'); let a = ;", kind: spi.KindSyntax, logs: []string{}},
		{name: "log while the result is written", script: "({ toJSON() { console.log('in toJSON'); return 1 } })", value: "1", logs: []string{"in toJSON"}},
	}
}
