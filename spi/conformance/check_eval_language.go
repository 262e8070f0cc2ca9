package conformance

import (
	"strconv"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// evalLanguageChecks: the language itself, as a script would use it. They do not
// replace the language's own tests; each would show an engine that is too old,
// cut down or patched wrongly.
func evalLanguageChecks() []Check {
	return []Check{
		{ID: "EVAL-050", Level: MUST, Rule: "Classes have private members, accessors, static blocks and inheritance.", body: script{
			source: `class A { #n = 1; static made = 0; static { A.made = 10 } get n() { return this.#n } set n(v) { this.#n = v } static #p() { return 'p' } static p() { return A.#p() } has(o) { return #n in o } }
class B extends A { constructor() { super(); B.made++ } get n() { return super.n * 2 } toString() { return 'B' } }
const b = new B(); [b.n, A.made, B.made, A.p(), b.has(b), b.has({}), b + '', b instanceof A]`,
			value: `[2,10,11,"p",true,false,"B",true]`,
		}.body()},
		{ID: "EVAL-051", Level: MUST, Rule: "Generators, async generators and iterators work, and are closed when left early.", body: script{
			source: `const seen = [];
function* count() { try { let i = 0; while (true) { const got = yield i++; if (got) seen.push(got) } } finally { seen.push('closed') } }
for (const n of count()) if (n === 3) break;
const it = count(); it.next(); it.next('sent'); it.return();
async function* later() { yield 1; yield Promise.resolve(2) }
for await (const n of later()) seen.push(n);
const own = { *[Symbol.iterator]() { yield* [7, 8] } };
[...own, ...seen]`,
			value: `[7,8,"closed","sent","closed",1,2]`,
		}.body()},
		{ID: "EVAL-052", Level: MUST, Rule: "Regular expressions have named groups, look-around, Unicode classes and all flags.", body: script{
			source: `const m = /(?<y>\d{4})-(?<m>\d\d)/u.exec('on 2031-03-14'); const sticky = /b/y; sticky.lastIndex = 1;
[m.groups.y, m.groups.m, m.index, 'a1b22'.match(/(?<=[a-z])\d+/g), 'price 5€'.replace(/\d(?=€)/, '7'), /^\p{Lu}/u.test('Ä'),
 [...'x1y2'.matchAll(/[a-z](\d)/g)].map((a) => a[1]), sticky.test('ab'), /a.c/s.test('a\nc'), /😀{2}/u.test('😀😀'), 'aBc'.replace(/b/i, (x) => x + x), /(a)?b\1/.test('b'), /x(?<!ax)y/.test('axy')]`,
			value: `["2031","03",3,["1","22"],"price 7€",true,["1","2"],true,true,true,"aBBc",true,false]`,
		}.body()},
		{ID: "EVAL-053", Level: MUST, Rule: "BigInt counts without bound and does not mix with numbers.", body: script{
			source: `let mixed; try { 1n + 1 } catch (e) { mixed = e.name }
[String(2n ** 100n), String(-7n / 2n), String(-7n % 2n), (255n).toString(16), String(BigInt.asUintN(8, 257n)), 2n > 1, 1n == 1, typeof 1n, mixed, String(BigInt('0xff')), Number(2n ** 53n), String(10n ** 40n / 3n)]`,
			value: `["1267650600228229401496703205376","-3","-1","ff","1",true,true,"bigint","TypeError","255",9007199254740992,"3333333333333333333333333333333333333333"]`,
		}.body()},
		{ID: "EVAL-054", Level: MUST, Rule: "Maps and sets keep their order and their keys of any type.", body: script{
			source: `const k = {}; const m = new Map([[k, 1], [NaN, 2], ['k', 3]]); m.delete('k'); m.set('k', 4); const w = new WeakMap([[k, 'weak']]);
[[...m.values()], m.get(NaN), m.has({}), m.size, [...new Set([3, 1, 3, -0, 0])], w.get(k), new WeakSet([k]).has(k), new WeakRef(k).deref() === k]`,
			value: `[[1,2,4],2,false,3,[3,1,0],"weak",true,true]`,
		}.body()},
		{ID: "EVAL-055", Level: MUST, Rule: "Proxies, Reflect and symbols work.", body: script{
			source: `const log = []; const p = new Proxy({ a: 1 }, { get(t, k, r) { log.push('get ' + String(k)); return Reflect.get(t, k, r) }, has(t, k) { return k === 'ghost' || k in t }, ownKeys() { return ['a', 'b'] }, getOwnPropertyDescriptor() { return { value: 1, enumerable: true, configurable: true } } });
const s = Symbol('s'); const o = { [s]: 1, [Symbol.toPrimitive]: (hint) => hint };
[p.a, 'ghost' in p, Object.keys(p), log, s.description, Symbol.for('x') === Symbol.for('x'), Object.getOwnPropertySymbols(o).length, String(o), Reflect.ownKeys({ b: 1, 2: 1, a: 1 }), Reflect.has({ z: 1 }, 'z')]`,
			value: `[1,true,["a","b"],["get a"],"s",true,2,"string",["2","b","a"],true]`,
		}.body()},
		{ID: "EVAL-056", Level: MUST, Rule: "Typed arrays and data views share their buffer, and wrap or clamp.", body: script{
			source: `const buf = new ArrayBuffer(16); const v = new DataView(buf); v.setUint16(0, 0x0102); v.setFloat64(8, 1.5, true);
const u8 = new Uint8Array(buf); const clamped = new Uint8ClampedArray([300, -5, 1.5]); const i8 = Int8Array.of(200, -129);
[u8[0], u8[1], new Float64Array(buf)[1], [...clamped], [...i8], u8.subarray(0, 2).byteLength, new Uint16Array([1, 2, 3]).map((x) => x * 2).join(), new BigInt64Array([-1n])[0] === -1n, buf.slice(8).byteLength, new Float32Array([0.1])[0] === Math.fround(0.1)]`,
			value: `[1,2,1.5,[255,0,2],[-56,127],2,"2,4,6",true,8,true]`,
		}.body()},
		{ID: "EVAL-057", Level: MUST, Rule: "Dates are computed and parsed in UTC.", body: script{
			source: `const d = new Date(2024, 6, 1, 12); const leap = new Date(Date.UTC(2024, 1, 29)); leap.setUTCFullYear(2025);
[d.getTimezoneOffset(), d.toISOString(), Date.parse('2024-07-01T00:00:00') - Date.UTC(2024, 6, 1), Date.parse('2024-07-01'), Date.parse('Mon, 01 Jul 2024 10:00:00 GMT'), Date.parse('2024-07-01T02:00:00+02:00'), leap.toISOString(), new Date('nonsense').getTime()]`,
			value: `[0,"2024-07-01T12:00:00.000Z",0,1719792000000,1719828000000,1719792000000,"2025-03-01T00:00:00.000Z",null]`,
		}.body()},
		{ID: "EVAL-058", Level: MUST, Rule: "The clock starts at the time that the isolate was opened with, in milliseconds.", body: script{
			source: "const start = " + strconv.FormatInt(checkTime().UnixMilli(), 10) + ", since = (t) => t >= start && t < start + input; " +
				"[since(Date.now()), since(Date.parse(new Date().toISOString())), Number.isInteger(Date.now())]",
			within: 10 * time.Second, value: "[true,true,true]",
		}.body()},
		{ID: "EVAL-059", Level: MUST, Rule: "The clock advances while a script computes, so that waiting for it ends.", body: script{
			source: "const t0 = Date.now(); let turns = 0; while (Date.now() - t0 < 25) turns++; [turns > 0, Date.now() - t0 < input]", within: 5 * time.Second, value: "[true,true]",
		}.body()},
		{ID: "EVAL-060", Level: MUST, Rule: "Math.random gives numbers from 0 to below 1 that differ.", body: script{
			source: "const r = Array.from({ length: 1000 }, Math.random); [r.every((x) => x >= 0 && x < 1), new Set(r).size > 990, r.some((x) => x < 0.2), r.some((x) => x > 0.8)]",
			value:  "[true,true,true,true]",
		}.body()},
		{ID: "EVAL-061", Level: MUST, Rule: "JSON is parsed and written by the standard's rules.", body: script{
			source: `const bad = ['{"a": tru', "{'a':1}", '[1,]', '01', '"\t"', '', 'NaN'].map((t) => { try { JSON.parse(t); return 'parsed' } catch (e) { return e.name } });
[new Set(bad).size, bad[0], JSON.stringify({ b: [undefined, NaN, -0, new Date(0)], a: undefined, c: '\u2028\ud800"\n' }), JSON.stringify([1, { a: 2 }], null, 2), JSON.stringify({ a: 1, b: 2 }, ['b']), JSON.parse('[1,{"a":2}]', (k, v) => (typeof v === 'number' ? v + 1 : v)), JSON.parse(' {"a":1,"a":2} ').a, JSON.stringify('\u007f\b')]`,
			value: `[1,"SyntaxError","{\"b\":[null,null,0,\"1970-01-01T00:00:00.000Z\"],\"c\":\"\u2028\\ud800\\\"\\n\"}","[\n  1,\n  {\n    \"a\": 2\n  }\n]","{\"b\":2}",[2,{"a":3}],2,"\"\u007f\\b\""]`,
		}.body()},
		{ID: "EVAL-062", Level: MUST, Rule: "Destructuring, spread, defaults, optional chaining and tagged templates work.", body: script{
			source: "const { a = 1, b: { c: [, d] = [] } = {}, ...rest } = { b: { c: [1, 2] }, e: 3, f: 4 }; const tag = (s, ...v) => s.raw.join('|') + v.join(); const o = { f() { return this.x }, x: 9, get g() { return 1 } }; let u = null; u ??= 5; u &&= 6;\n[a, d, rest, [...'hé', ...[1]], ((x, y = x * 2, ...z) => [x, y, z.length])(1, undefined, 3, 4), o?.f?.(), o.q?.r.s ?? 'none', tag`x\\n${1}y${2}`, u, 2 ** 3 ** 2, 1_000, `${`in${1}`}`]",
			value:  `[1,2,{"e":3,"f":4},["h","é",1],[1,2,2],9,"none","x\\n|y|1,2",6,512,1000,"in1"]`,
		}.body()},
		{ID: "EVAL-063", Level: MUST, Rule: "Scope, hoisting, closures and the temporal dead zone are those of the language.", body: script{
			source: `const fs = []; for (let i = 0; i < 3; i++) fs.push(() => i); let dead; try { late; let late } catch (e) { dead = e.name } let fixed; try { const c = 1; c = 2 } catch (e) { fixed = e.name }
outer: for (const i of [1, 2]) { for (const j of [1, 2]) { if (j === 2) continue outer; fs.push(() => i * 10 + j) } }
[fs.map((f) => f()), hoisted(), typeof v, dead, fixed, (() => { try { return 1 } finally { fs.length = 0 } })(), fs.length]; function hoisted() { return 'h' } var v`,
			value: `[[0,1,2,11,21],"h","undefined","ReferenceError","TypeError",1,0]`,
		}.body()},
		{ID: "EVAL-064", Level: MUST, Rule: "Promises and their combinators settle in the language's order.", body: script{
			source: `const order = []; const say = (x) => order.push(x); const p = Promise.resolve();
p.then(() => say('p1')).then(() => say('p2')).finally(() => say('f')); p.then(() => say('q1')); (async () => { say('a1'); await null; say('a2') })(); say('sync');
const all = await Promise.all([1, Promise.resolve(2)]); const settled = await Promise.allSettled([Promise.reject(3)]); const any = await Promise.any([Promise.reject(4), 5]); const race = await Promise.race([new Promise(() => {}), 6]);
[order.join(), all, settled[0].reason, any, race]`,
			value: `["a1,sync,p1,q1,a2,p2,f",[1,2],3,5,6]`,
		}.body()},
		{ID: "EVAL-065", Level: MUST, Rule: "The methods of ES2023 on arrays, strings and objects are there.", body: script{
			source: `const a = [3, 1, 2]; [a.toSorted(), a.toReversed(), a.with(0, 9), a.toSpliced(0, 1), a, a.findLast((x) => x > 1), a.at(-1), [[1, [2]]].flat(2), Object.fromEntries([['k', 1]]), Object.entries({ x: 1 }), 'a-b-c'.replaceAll('-', '+'), 'x'.padStart(3, '.'), ' t '.trim(), 'é'.normalize('NFD').length, Object.hasOwn({ h: 1 }, 'h'), 'abc'.at(-1), [1, 2, 3].includes(2), [3, 20, 100].sort().join(), Array.from('12', Number)]`,
			value:  `[[1,2,3],[2,1,3],[9,1,2],[1,2],[3,1,2],2,2,[1,2],{"k":1},[["x",1]],"a+b+c","..x","t",2,true,"c",true,"100,20,3",[1,2]]`,
		}.body()},
		{ID: "EVAL-066", Level: SHOULD, Rule: "The newer methods up to ES2025 are there.", body: script{
			source: `[Object.groupBy([1, 2, 3], (x) => (x % 2 ? 'odd' : 'even')), Map.groupBy([1], (x) => x).size, (await Array.fromAsync([Promise.resolve(1), 2])), typeof Promise.withResolvers().resolve, 'a\ud800'.isWellFormed(), 'a\ud800'.toWellFormed(), [...new Set([1, 2]).union(new Set([3]))], [...new Set([1, 2]).intersection(new Set([2]))], [1, 2, 3].values().map((x) => x * 2).filter((x) => x > 2).toArray(), /^[[a-z]&&[aeiou]]$/v.test('b'), typeof Promise.try, typeof RegExp.escape]`,
			value:  `[{"odd":[1,3],"even":[2]},1,[1,2],"function",false,"a�",[1,2,3],[2],[4,6],false,"function","function"]`,
		}.body()},
		{ID: "EVAL-067", Level: MUST, Rule: "Numbers are rounded, written and read as doubles.", body: script{
			source: `[Number(String(2 ** -24)) === 2 ** -24, Number(String(2 ** 89)) === 2 ** 89, (1.255).toFixed(2), (0.5).toFixed(0), (2.5).toFixed(0), (-1.5).toFixed(0), (25).toPrecision(1), (123.456).toExponential(2),
 String(1e21), String(123456789012345680000), String(1e-7), (255.5).toString(16), String(5e-324), 0.1 + 0.2 === 0.30000000000000004, parseInt('08'), parseFloat('1.5e3x'), Number(''), Number('0x1F'), 7 % -3, -7 % 3, 1 / -0, (-1) >>> 0, 1 << 31, Math.hypot(3, 4), Math.trunc(-1.5), Number.EPSILON > 0, isNaN('x')]`,
			value: `[true,true,"1.25","1","3","-2","3e+1","1.23e+2","1e+21","123456789012345680000","1e-7","ff.8","5e-324",true,8,1500,0,31,1,-1,null,4294967295,-2147483648,5,-1,true,true]`,
		}.body()},
		{ID: "EVAL-068", Level: MUST, Rule: "The locale methods that scripts call do not throw.", body: script{
			source: `const plain = (1234567.5).toLocaleString('en-US'); [plain === '1,234,567.5' || plain === '1234567.5', typeof new Date(0).toLocaleDateString('en-US', { timeZone: 'UTC' }), typeof new Date(0).toLocaleTimeString(), 'b'.localeCompare('a'), 'I'.toLocaleLowerCase()]`,
			value:  `[true,"string","string",1,"i"]`,
		}.body()},
		{ID: "EVAL-069", Level: SHOULD, Rule: "Code can be made from text, in the global scope.", body: scripts{
			{source: "globalThis.g = 2; const local = 3; [new Function('a', 'return a + g')(1), eval('1 + local'), (0, eval)('typeof local === \"number\" || g')]", value: "[3,4,true]"},
			{source: "try { eval('let = = 1') } catch (e) { e.name }", value: `"SyntaxError"`},
		}.body()},
		{ID: "EVAL-070", Level: MUST, Rule: "An array that its own sort callback changes keeps its items.", body: script{
			source: "const a = Array.from({ length: 64 }, (_, i) => (i * 37) % 64);\nlet calls = 0;\nconst r = a.sort(() => { if (++calls === 10) a.length = 0; return (calls % 3) - 1; });\nreturn [r === a, a.length, new Set(a).size, calls > 10]",
			value:  "[true,64,64,true]",
		}.body()},
		{ID: "EVAL-071", Level: MUST, Rule: "An async generator that is entered again while it settles does no harm.", body: script{
			source: "async function* src() { try { yield 1; yield 2; } finally { await null; } }\nconst it = src();\nlet entered = 0;\nObject.defineProperty(Object.prototype, 'then', { configurable: true, get() {\n  if (entered++ < 4) { it.return('r'); it.next(); }\n  return undefined;\n} });\ntry { await it.next(); await it.next(); } finally { delete Object.prototype.then; }\nreturn entered > 0",
			kinds:  []spi.Kind{spi.KindException, spi.KindDeadlock}, orValue: []string{"true"},
			next: "6 * 7", nextValue: "42",
		}.body()},
		{ID: "EVAL-072", Level: MUST, Rule: "Strings that were put together behave as any other in every built-in.", body: script{
			source: "const r = 'a'.repeat(9000) + 'b'.repeat(9000);\nconst esc = '[x]'.repeat(5000) + '[x]'.repeat(5000);\nreturn [r.indexOf('b'), r.at(-1), r.split('b').length, JSON.parse('\"' + r + '\"').length,\n  Symbol(r + r).description.length, encodeURIComponent(r + r).length,\n  new RegExp((r + r).slice(8990, 9010)).test(r), Number('0'.repeat(5000) + '7'.repeat(3)),\n  typeof RegExp.escape !== 'function' || RegExp.escape(esc + esc).length === 100000 || RegExp.escape(esc + esc).length]",
			value:  `[9000,"b",9001,18000,36000,36000,true,777,true]`,
		}.body()},
		{ID: "EVAL-073", Level: MUST, Rule: "A NUL in the source, within a literal or a comment, is a character like any other.", body: scripts{
			{source: "'a\x00b'.length", value: "3"},
			{source: "return ['a\x00b'.charCodeAt(1), `\x00${1}\x00`.length] // \x00", value: "[0,3]"},
			{source: "/* \x00 */ await 'a\x00'", value: `"a\u0000"`},
		}.body()},
	}
}
