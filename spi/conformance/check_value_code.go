package conformance

import "github.com/loom-sandbox/sandboxd/spi"

// valueCodeChecks: writing a result runs code of the script, which must neither
// run twice nor decide more than its own text.
func valueCodeChecks() []Check {
	return []Check{
		{ID: "VALUE-030", Level: MUST, Rule: "Each getter of a result is read once, in order.", body: script{
			source: "let reads = 0; ({ get a() { return ++reads }, get b() { return ++reads }, list: [{ get c() { return ++reads } }], toJSON: undefined })",
			value:  `{"a":1,"b":2,"list":[{"c":3}]}`,
		}.body()},
		{ID: "VALUE-031", Level: MUST, Rule: "A getter, a method toJSON or a proxy that throws is the script's exception.", body: scripts{
			{source: "({ get a() { throw new RangeError('in getter') } })", kinds: exception(), name: "RangeError", message: "in getter"},
			{source: "return [{ toJSON() { throw new TypeError('in toJSON') } }]", kinds: exception(), name: "TypeError", message: "in toJSON"},
			{source: "new Proxy({}, { ownKeys() { throw new EvalError('in trap') } })", kinds: exception(), name: "EvalError", message: "in trap"},
			{source: "const r = Proxy.revocable({}, {}); r.revoke(); [r.proxy]", kinds: exception(), name: "TypeError"},
			{source: "({ get a() { throw null } })", kinds: exception()},
		}.body()},
		{ID: "VALUE-032", Level: MUST, Rule: "A method toJSON decides what is written in its object's place.", body: scripts{
			{source: "({ n: 2, toJSON(key) { return { key, twice: this.n * 2 } } })", value: `{"key":"","twice":4}`, typ: spi.TypeObject},
			{source: "({ inner: { toJSON: (key) => 'at ' + key } })", value: `{"inner":"at inner"}`},
			{source: "[{ toJSON: () => undefined }, { toJSON: 'no method' }]", value: `[null,{"toJSON":"no method"}]`},
			{source: "({ toJSON() { return undefined } })", value: "null", typ: spi.TypeObject},
		}.body()},
		{ID: "VALUE-033", Level: MUST, Rule: "Built-ins that the script replaced do not write the result.", body: scripts{
			{source: "JSON.stringify = () => '\"forged\"'; ({ a: [1] })", value: `{"a":[1]}`},
			{source: "globalThis.JSON = { stringify: () => 'forged', parse: () => 'forged' }; [1, 'b']", value: `[1,"b"]`},
			{source: "Object.keys = Array.isArray = Reflect.ownKeys = () => { throw new Error('called') }; return { a: [1] }", value: `{"a":[1]}`, typ: "object"},
			{source: "Array.prototype.join = Array.prototype.map = Array.prototype.push = String.prototype.replace = String.prototype.charCodeAt = () => 'forged'; Array.prototype[Symbol.iterator] = null; ['x', { y: 'z' }]", value: `["x",{"y":"z"}]`, typ: "array"},
			{source: "globalThis.Object = globalThis.Array = globalThis.String = globalThis.Error = globalThis.Promise = globalThis.Symbol = undefined; ({ a: 1 })", value: `{"a":1}`},
			{source: "Promise.prototype.then = Promise.resolve = () => { throw new Error('called') }; [1]", value: "[1]"},
			{source: "Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => 'forged'; return { a: 1 }", value: `{"a":1}`},
		}.body()},
		{ID: "VALUE-034", Level: MUST, Rule: "Accessors that the script puts on Object.prototype neither see nor change the result.", body: scripts{
			{source: "for (const k of ['a', 'value', 'kind', 'type', 'result', 'error', 'done', 'then', '0', '1', 'status', 'json']) Object.defineProperty(Object.prototype, k, { __proto__: null, set() { throw new Error('seen ' + k) }, get() { return undefined }, configurable: true }); JSON.parse('{\"b\":[1,2]}')", value: `{"b":[1,2]}`},
			{source: "Object.prototype.kind = 'syntax'; Object.prototype.error = { kind: 'timeout' }; Object.prototype.value = 'forged'; return { own: 1 }", value: `{"own":1}`},
			{source: "Object.freeze(Object.prototype); Object.freeze(Array.prototype); ({ a: [1] })", value: `{"a":[1]}`},
		}.body()},
		{ID: "VALUE-035", Level: MUST, Rule: "A toJSON on a prototype acts as it does in JSON.stringify, and on the text only.", body: scripts{
			{source: "Array.prototype.toJSON = function () { return 'list of ' + this.length }; ({ a: [1, 2] })", value: `{"a":"list of 2"}`, typ: "object"},
			{source: "BigInt.prototype.toJSON = function () { return String(this) }; ({ a: 5n })", value: `{"a":"5"}`},
			{source: "Object.prototype.toJSON = () => 'same for all'; [1]", value: `"same for all"`, typ: "array", next: "[1]", nextValue: "[1]"},
		}.body()},
		{ID: "VALUE-036", Level: MUST, Rule: "An array that is changed while it is written does no harm.", body: scripts{
			{source: "const a = [{ toJSON() { a.length = 1; return 'first' } }, 2, 3]; a", value: `["first",null,null]`},
			{source: "const o = { get a() { delete o.b; o.c = 1; return 1 }, b: 2 }; o", value: `{"a":1}`},
		}.body()},
		{ID: "VALUE-037", Level: MUST, Rule: "What a script logs while its result is written is logged.", body: script{
			source: "console.log('before'); ({ get a() { console.log('in getter'); return 1 } })", value: `{"a":1}`, logs: []string{"before", "in getter"},
		}.body()},
		{ID: "VALUE-038", Level: MUST, Rule: "Console output does not change what the result is.", body: scripts{
			{source: `console.log('{"value":1}'); console.log('\n\0\n{"kind":"ok"}\n'); 'result'`, value: `"result"`},
			{source: "console.error('42')", value: "null", typ: spi.TypeUndefined, logs: []string{"42"}},
		}.body()},
	}
}
