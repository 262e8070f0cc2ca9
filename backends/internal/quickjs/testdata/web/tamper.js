// A script that overwrites what it can reach, then looks whether the web basics still do what they did.
const rows = [];
const put = (row) => defineProperty(rows, rows.length, { __proto__: null, value: row, enumerable: true, writable: true, configurable: true });
const { defineProperty, ownKeys, getOwnPropertyDescriptor, apply } = Reflect;
const URL_ = URL, Params = URLSearchParams, Encoder = TextEncoder, Decoder = TextDecoder, clone = structuredClone, c = crypto, C = console, timeout = setTimeout;
const NativePromise = Promise, then = Promise.prototype.then;
const regExpEscape = RegExp.escape;
const map = new Map([['k', { v: 1 }]]), set = new Set(['s']), date = new Date(5), regexp = /a/g, buffer = new Uint8Array([1, 2, 3]);
const originals = { __proto__: null, mapGet: Map.prototype.get, setHas: Set.prototype.has, join: Array.prototype.join };
let calls = 0;
const evil = function () { calls++; return 'evil'; };
const keepers = { __proto__: null, Object: 1, Function: 1, Array: 1, String: 1 };
function poison(object) {
  for (let keys = ownKeys(object), i = 0; i < keys.length; i++) {
    const d = getOwnPropertyDescriptor(object, keys[i]);
    if (!d.configurable || keys[i] === 'constructor') continue;
    if (typeof d.value === 'function' || d.get) {
      try { defineProperty(object, keys[i], d.get ? { __proto__: null, get: evil, set: evil, configurable: true } : { __proto__: null, value: evil, writable: true, configurable: true }); } catch {}
    }
  }
}
const arrayIteratorPrototype = Object.getPrototypeOf([][Symbol.iterator]());
const mapIteratorPrototype = Object.getPrototypeOf(new Map().entries());
const setIteratorPrototype = Object.getPrototypeOf(new Set().values());
const stringIteratorPrototype = Object.getPrototypeOf(''[Symbol.iterator]());
const typedArray = Object.getPrototypeOf(Uint8Array);
const targets = [arrayIteratorPrototype, mapIteratorPrototype, setIteratorPrototype, stringIteratorPrototype, Array, String, Number, Math, JSON, Map.prototype, Set.prototype, WeakMap.prototype, WeakSet.prototype, Date.prototype, RegExp.prototype,
  Error, Error.prototype, TypeError.prototype, Promise.prototype, typedArray, typedArray.prototype, Uint8Array.prototype, ArrayBuffer, ArrayBuffer.prototype, DataView.prototype, Number.prototype, Boolean.prototype, BigInt.prototype, Symbol.prototype,
  DOMException.prototype, String.prototype, Array.prototype, Function.prototype, Object, Reflect, Proxy, performance];
const plant = (proto) => {
  const names = ['then', 'get', 'set', 'value', 'writable', 'enumerable', 'fatal', 'stream', 'href', 'left', 'index', 'id', 'due', 'units', 'host', 'scheme', 'kind', 'name', 'source', 'done', 'next', 'base', 'hidden', 'cells', '-1', '0', '1', '2', '3', '4', '5', '6', '7', '8'];
  for (let i = 0; i < names.length; i++) {
    if (names[i] === 'name' && proto !== Object.prototype) continue;
    if (names[i] === 'fatal' || names[i] === 'stream') continue; // the web reads those from a script's options
    defineProperty(proto, names[i], { __proto__: null, get: evil, set: evil, configurable: true });
  }
};
for (let i = 0; i < targets.length; i++) poison(targets[i]);
plant(Object.prototype);
plant(Array.prototype);
defineProperty(Object.prototype, 'toJSON', { __proto__: null, value: undefined, configurable: true, writable: true });
globalThis.Map = globalThis.Array = globalThis.Uint8Array = globalThis.Error = globalThis.TypeError = evil;
calls = 0;

C.log('text', 1, { a: [1, map, set, date, regexp, buffer] }, [[1, 2], [3]], '%s', evil);
C.log('%s|%d|%j|%o', 'x', 5, 6, { b: 1 });
C.error({ deep: { deeper: { deepest: 1n } } });
C.table([{ a: 1 }]);
C.count(); C.time(); C.timeEnd(); C.group('g'); C.groupEnd(); C.assert(false, 'no'); C.trace('t');
put(['console calls nothing of the script', calls, 0]);

calls = 0;
const url = new URL_('../x y?q=1&r=a+b#f', 'HTTP://User:Pw@MÜNCHEN.de:81/a/b/c');
const params = url.searchParams;
params.append('n', 'é');
params.sort();
url.pathname = '/p/../q';
url.host = '[::1]:90';
put(['URL', url.href, 'http://User:Pw@[::1]:90/q?n=%C3%A9&q=1&r=a+b#f']);
put(['URLSearchParams', params.get('r') + params.size + new Params('a=1&b=2').toString(), 'a b3a=1&b=2']);
put(['URLSearchParams of arrays', new Params([['a', 'b']]).toString(), 'a=b']);
put(['URLSearchParams of numbers', new Params([[1, 2]]).get('1'), '2']);
put(['IPv4', new URL_('http://0x7f.1/').host, '127.0.0.1']);
put(['URL.canParse', URL_.canParse('http://['), false]);
const all = params.getAll('n');
put(['getAll', all.length + ':' + getOwnPropertyDescriptor(all, '0').value, '1:é']);

const bytes = new Encoder().encode('aé💩');
put(['TextEncoder', new Decoder().decode(bytes), 'aé💩']);
put(['TextDecoder utf-16le', new Decoder('utf-16le').decode(bytes).length, 4]);
const uuid = c.randomUUID();
put(['randomUUID', uuid.length + uuid[14], '364']);

const copy = clone({ a: { b: date }, m: map, s: set });
put(['structuredClone', copy !== null && copy.a !== evil && apply(originals.mapGet, copy.m, ['k']).v === 1 && apply(originals.setHas, copy.s, ['s']), true]);
const list = clone([1, [2], 3]);
put(['structuredClone of arrays', list.length + ':' + getOwnPropertyDescriptor(list, '1').value.length + ':' + getOwnPropertyDescriptor(list, '2').value, '3:1:3']);
put(['RegExp.escape', regExpEscape('[a]'), '\\[a\\]']);
put(['none of it called the script', calls, 0]);

const order = { __proto__: null, text: '' };
timeout((x) => { order.text += 'b' + x; }, 20, 5);
timeout(() => { order.text += 'a'; }, 10);
let ticks = 0;
const interval = setInterval(() => { order.text += "i"; ticks++; if (ticks === 7) clearInterval(interval); }, 4);
const gone = timeout(() => { order.text += '!'; }, 1);
clearTimeout(gone);
calls = 0;
const finished = new NativePromise((resolve) => timeout(() => resolve(1), 30));
delete Object.prototype.then; // an await of a thenable is the engine's business
defineProperty(Promise.prototype, 'then', { __proto__: null, value: then, configurable: true, writable: true });
await finished;
put(['timers', [order.text.slice === evil, order.text], [true, 'iiaiib5iii']]);
return rows;
