const rows = [];
const err = (f) => { try { f(); return 'none'; } catch (e) { return e.name; } };
for (const name of ['SharedArrayBuffer', 'Atomics', 'WebAssembly', 'std', 'os', 'bjson', 'scriptArgs', 'print', 'navigator', 'gc', 'process', 'require', 'module', 'Worker', 'self', 'window', 'fetch', 'EventTarget', 'AbortController']) {
  rows.push(['absent: ' + name, name in globalThis, false]);
}
for (const name of ['console', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'clearImmediate', 'queueMicrotask', 'structuredClone', 'TextEncoder', 'TextDecoder', 'URL', 'URLSearchParams', 'atob', 'btoa', 'performance', 'crypto', 'DOMException', 'Proxy']) {
  const d = Object.getOwnPropertyDescriptor(globalThis, name);
  rows.push(['present: ' + name, [d?.writable, d?.configurable, d?.enumerable], [true, true, false]]);
}
rows.push(['functions are named', ['setTimeout', 'structuredClone', 'TextEncoder', 'TextDecoder', 'URL', 'URLSearchParams', 'Proxy', 'Crypto'].filter((n) => globalThis[n].name !== n), []]);
rows.push(['performance', [typeof performance.now(), typeof performance.timeOrigin], ['number', 'number']]);
if (RegExp.escape) {
  const rope = '[x]'.repeat(20000) + '[x]'.repeat(20000);
  rows.push(['RegExp.escape of concatenated text', [RegExp.escape(rope).length, RegExp.escape(rope) === '\\[x\\]'.repeat(40000)], [200000, true]]);
  let text = '';
  for (let i = 0; i < 3000; i++) text += '(' + i;
  rows.push(['RegExp.escape of text built piece by piece', RegExp.escape(text) === [...text].map((c) => (c === '(' ? '\\(' : c)).join(''), true]);
  rows.push(['RegExp.escape', [RegExp.escape('a-b.c'), RegExp.escape('\n '), RegExp.escape('\ud800'), RegExp.escape(''), RegExp.escape('é')], ['\\x61\\x2db\\.c', '\\n\\x20', '\\ud800', '', 'é']]);
  rows.push(['RegExp.escape refuses', [undefined, 1, {}, new String('a')].map((v) => err(() => RegExp.escape(v))).join(), 'TypeError,TypeError,TypeError,TypeError']);
  rows.push(['RegExp.escape shape', [RegExp.escape.name, RegExp.escape.length, err(() => new RegExp.escape('a')), Object.keys(RegExp).length], ['escape', 1, 'TypeError', 0]]);
}
rows.push(['Proxy', [typeof Proxy, Proxy.length, Proxy.prototype === undefined, err(() => Proxy({}, {})), err(() => new Proxy(1, {})), err(() => class extends Proxy {})], ['function', 2, true, 'TypeError', 'TypeError', 'TypeError']]);
{
  const p = new Proxy({ a: 1 }, { get: (t, k) => (k === 'b' ? 2 : t[k]) });
  const { proxy, revoke } = Proxy.revocable([1], {});
  const length = proxy.length;
  revoke();
  rows.push(['Proxy works', [p.a, p.b, length, err(() => proxy.length), Object.keys(Proxy).length, Proxy.revocable.name], [1, 2, 1, 'TypeError', 0, 'revocable']]);
  rows.push(['Reflect.construct', Reflect.construct(Proxy, [{ q: 1 }, {}]).q, 1]);
}
{
  let seen = 'never';
  Error.prepareStackTrace = (e, sites) => { seen = typeof sites; return 'formatted'; };
  const stack = new Error('x').stack;
  setTimeout(() => {}, { valueOf() { new Error('inside').stack; return 0; } });
  rows.push(['no call sites are handed out', [seen, typeof stack, stack !== 'formatted'], ['never', 'string', true]]);
}
rows.push(['shared memory has no back door', Object.getOwnPropertyNames(globalThis).filter((n) => /Shared|Atomics/.test(n)), []]);
rows.push(['no prelude names leak', ['host', 'emit', 'OP', 'apply', 'inspect', 'runNextTimer', 'defineGlobal', 'urlOf', 'primordials', 'logsFull'].filter((n) => n in globalThis), []]);
rows.push(['performance begins at 0', performance.now() >= 0, true]);
rows.push(['timeOrigin is where the clock started', performance.timeOrigin + Math.floor(performance.now()), Date.now()]);
rows.push(['timeOrigin stays', [performance.timeOrigin, performance.timeOrigin].every((t, _, a) => t === a[0] && Number.isInteger(t)), true]);
rows.push(['performance as text', String(performance), '[object Performance]']);
for (const [text, count] of [['', 5], ['a', 0], ['a', 1], ['ab', 31], ['ab', 32], ['ab', 33], ['é😀', 1000], ['x', 8191], ['x', 8193], ['abc', 20001]]) {
  const got = text.repeat(count);
  let ok = got.length === text.length * count;
  for (let i = 0; ok && i < got.length; i += text.length || 1) ok = got.slice(i, i + text.length) === text;
  rows.push([`repeat ${text.length} x ${count}`, ok, true]);
}
rows.push(['repeat coerces', ['ab'.repeat('2'), 'ab'.repeat(2.9), 'ab'.repeat(NaN), 'ab'.repeat(-0.5), 'ab'.repeat(null), 'ab'.repeat(undefined), String.prototype.repeat.call(12, 3)], ['abab', 'abab', '', '', '', '', '121212']]);
rows.push(['repeat refuses', [err(() => 'a'.repeat(-1)), err(() => 'a'.repeat(Infinity)), err(() => 'a'.repeat(1n)), err(() => 'a'.repeat(Symbol())), err(() => String.prototype.repeat.call(null, 1)), err(() => ''.repeat(-1))], ['RangeError', 'RangeError', 'TypeError', 'TypeError', 'TypeError', 'RangeError']]);
rows.push(['repeat looks native enough', ['a'.repeat.name, 'a'.repeat.length, err(() => new ('a'.repeat)(1)), Object.keys(String.prototype)], ['repeat', 1, 'TypeError', []]]);
rows.push(['a repeated text works everywhere', ['-'.repeat(20000).split('-').length, 'ab'.repeat(10000).indexOf('ba'), JSON.parse(JSON.stringify('"'.repeat(9000))).length, new RegExp('^' + 'a'.repeat(9000) + '$').test('a'.repeat(9000)), encodeURIComponent('é'.repeat(9000)).length, { ['k'.repeat(9000)]: 1 }['k'.repeat(9000)]], [20001, 1, 9000, true, 54000, 1]]);
return rows;
