const rows = [];
const err = (f) => { try { f(); return 'none'; } catch (e) { return e.name; } };
const same = (v) => JSON.stringify(structuredClone(v)) === JSON.stringify(v);
for (const v of [1, 'a', true, null, { a: { b: [1, 2, { c: 3 }] } }, [], {}, [[[]]], 'x'.repeat(100)]) rows.push(['json-like ' + JSON.stringify(v).slice(0, 30), same(v), true]);
rows.push(['primitives', [undefined, NaN, -0, 10n].map((v) => Object.is(structuredClone(v), v)), [true, true, true, true]]);
const kinds = [new Number(3), new String('ab'), new Boolean(false), Object(5n), new Date(5), /a\/b/giu, new Map(), new Set(), new ArrayBuffer(3), new Uint8Array(2), new DataView(new ArrayBuffer(4)), new RangeError('r'), [1], {}];
rows.push(['kinds', kinds.map((v) => Object.prototype.toString.call(structuredClone(v)).slice(8, -1)).join(),
  'Number,String,Boolean,BigInt,Date,RegExp,Map,Set,ArrayBuffer,Uint8Array,DataView,Error,Array,Object']);
rows.push(['boxed', [structuredClone(new Number(3)) + 1, structuredClone(new String('ab')).length, structuredClone(Object(5n)) === 5n, structuredClone(new Boolean(false)).valueOf()], [4, 2, false, false]]);
{
  const d = structuredClone(new Date(NaN));
  const r = /x(?<n>y)/dgimsuy;
  r.lastIndex = 3;
  const c = structuredClone(r);
  rows.push(['date and regexp', [Number.isNaN(d.getTime()), c.source, c.flags, c.lastIndex], [true, 'x(?<n>y)', 'dgimsuy', 0]]);
}
{
  const a = { n: 1 };
  a.self = a;
  const shared = { s: 1 };
  const c = structuredClone({ a, x: shared, y: [shared], m: new Map([[shared, a]]), st: new Set([shared]) });
  rows.push(['cycles and shared references', [c.a.self === c.a, c.a !== a, c.x === c.y[0], c.m.get(c.x) === c.a, c.st.has(c.x)], [true, true, true, true, true]]);
}
{
  const holes = [1, , 3, , ];
  holes.extra = 'e';
  const c = structuredClone(holes);
  rows.push(['holes and extra properties', [c.length, 1 in c, c[2], c.extra, Object.keys(c).join()], [4, false, 3, 'e', '0,2,extra']]);
}
{
  const buffer = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]).buffer;
  const c = structuredClone({ a: new Uint16Array(buffer, 2, 2), b: new DataView(buffer, 4, 2), buffer, f: new Float64Array([1.5]) });
  rows.push(['views share their copy', [c.a.buffer === c.buffer, c.b.buffer === c.buffer, c.a[0], c.b.getUint8(1), c.a.byteOffset, c.buffer !== buffer, c.f[0]], [true, true, 0x0403, 6, 2, true, 1.5]]);
}
{
  const e = new TypeError('bad', { cause: { code: 5 } });
  e.extra = 1;
  const c = structuredClone(e);
  const odd = structuredClone(Object.assign(new Error('m'), { name: 'Odd' }));
  rows.push(['errors', [c instanceof TypeError, c.name, c.message, c.cause.code, 'extra' in c, typeof c.stack, odd.name, odd instanceof Error], [true, 'TypeError', 'bad', 5, false, 'string', 'Error', true]]);
}
class P { x = 1; #y = 2; get z() { return 3; } }
rows.push(['class instances become plain', [Object.getPrototypeOf(structuredClone(new P())) === Object.prototype, JSON.stringify(structuredClone(new P()))], [true, '{"x":1}']]);
rows.push(['getters run, symbols are left out', JSON.stringify(structuredClone({ get a() { return 1; }, [Symbol('s')]: 2, b: undefined })), '{"a":1}']);
rows.push(['__proto__ as own key', Object.getPrototypeOf(structuredClone(JSON.parse('{"__proto__":{"x":1}}'))) === Object.prototype, true]);
rows.push(['null prototype', Object.getPrototypeOf(structuredClone(Object.create(null))) === Object.prototype, true]);
rows.push(['not cloneable', [() => 1, Symbol('s'), { a() {} }, Object(Symbol('s')), new WeakMap(), Promise.resolve(), new WeakRef({}), new Proxy({}, {}), new Map([[1, () => {}]])].map((v) => err(() => structuredClone(v))).join(),
  Array(9).fill('DataCloneError').join()]);
try { structuredClone(() => 1); } catch (e) { rows.push(['DataCloneError', [e instanceof DOMException, e.code], [true, 25]]); }
rows.push(['getter errors come through', err(() => structuredClone({ get a() { throw new RangeError(); } })), 'RangeError']);
{
  const buffer = new Uint8Array([1, 2, 3]).buffer;
  const view = new Uint8Array(buffer);
  const c = structuredClone({ view, n: 1 }, { transfer: [buffer] });
  rows.push(['transfer', [c.view[2], buffer.byteLength, view.length, c.view.buffer.byteLength], [3, 0, 0, 3]]);
  rows.push(['transfer twice', err(() => structuredClone(1, { transfer: [buffer] })), 'DataCloneError']);
  const other = new ArrayBuffer(2);
  rows.push(['transfer faults', [err(() => structuredClone(1, { transfer: [other, other] })), err(() => structuredClone(() => 1, { transfer: [other] })), other.byteLength, err(() => structuredClone(1, { transfer: [{}] })), err(() => structuredClone(1, { transfer: 5 }))],
    ['DataCloneError', 'DataCloneError', 2, 'DataCloneError', 'TypeError']]);
}
{
  let deep = {};
  for (let i = 0; i < 50000; i++) deep = { deep };
  let c;
  let name = 'none';
  try { c = structuredClone(deep); } catch (e) { name = e.name; }
  let n = 0;
  for (; c?.deep; c = c.deep) n++;
  rows.push(['deep nesting is copied whole or refused', n === 50000 || name === 'RangeError', true]);
}
{
  const sparse = [];
  sparse[4000000000] = 1;
  rows.push(['a sparse array stays sparse', structuredClone(sparse).length, 4000000001]);
}
rows.push(['no argument', err(() => structuredClone()), 'TypeError']);
rows.push(['shape', [structuredClone.name, structuredClone.length, Object.keys(globalThis).includes('structuredClone')], ['structuredClone', 1, false]]);
return rows;
