// A script that overwrites what it can reach, then looks whether fetch still does what it did and asks it nothing.
const rows = [];
const { defineProperty, ownKeys, getOwnPropertyDescriptor, apply } = Reflect;
const put = (row) => defineProperty(rows, rows.length, { __proto__: null, value: row, enumerable: true, writable: true, configurable: true });
const NativePromise = Promise, fetch_ = fetch, Headers_ = Headers, Request_ = Request, Response_ = Response, C = console;
const url = 'https://example.test/', there = new URL(url + '?q=1'), params = new URLSearchParams('a=b'), bytes = new Uint8Array([0, 255]);
const H = { __proto__: null }, R = { __proto__: null };
for (const [to, from] of [[H, Headers.prototype], [R, Response.prototype]]) for (const k of ownKeys(from)) to[k] = getOwnPropertyDescriptor(from, k).value ?? getOwnPropertyDescriptor(from, k).get;
const next = new Headers().entries().next;
let calls = 0;
let strangers = 0;
const evil = function () { calls++; return 'evil'; };
function poison(object) {
  for (let keys = ownKeys(object), i = 0; i < keys.length; i++) {
    const d = getOwnPropertyDescriptor(object, keys[i]);
    if (!d.configurable || keys[i] === 'constructor') continue;
    if (typeof d.value === 'function' || d.get) {
      defineProperty(object, keys[i], d.get ? { __proto__: null, get: evil, set: evil, configurable: true } : { __proto__: null, value: evil, writable: true, configurable: true });
    }
  }
}
const proto = Object.getPrototypeOf;
const targets = [proto([][Symbol.iterator]()), proto(new Headers().entries()), proto(proto([][Symbol.iterator]())), Array, String, JSON, Number.prototype, Map.prototype, Set.prototype, WeakMap.prototype, Promise, Promise.prototype,
  TypeError.prototype, proto(Uint8Array), proto(Uint8Array).prototype, Uint8Array, Uint8Array.prototype, ArrayBuffer.prototype, DataView.prototype, Headers.prototype, Request.prototype, Response.prototype, Headers, Response, URL, URL.prototype,
  URLSearchParams.prototype, TextEncoder.prototype, TextDecoder.prototype, String.prototype, Array.prototype, Function.prototype, proto(async () => {}), Symbol, Reflect, Object];
const names = ['get', 'set', 'value', 'writable', 'enumerable', 'url', 'status', 'statusText', 'redirected', 'pairs', 'sorted', 'fixed', 'used', 'text', 'bytes', 'base64', 'bodyBase64', 'type', 'name', 'done', 'next', 'ignoreBOM', '0', '1', '2', '3', '4', '5', '-1'];
const { setPrototypeOf } = Object;
setPrototypeOf(targets, null);
setPrototypeOf(names, null);
for (let i = 0; i < targets.length; i++) poison(targets[i]);
for (let i = 0; i < names.length; i++) {
  defineProperty(Array.prototype, names[i], { __proto__: null, get: evil, set: evil, configurable: true });
  defineProperty(Object.prototype, names[i], { __proto__: null, get: evil, set: evil, configurable: true });
}
for (const planted = { __proto__: null, toJSON: { __proto__: null, value: evil, configurable: true } }, p = { __proto__: null, a: Object.prototype, b: Array.prototype, c: String.prototype }, k = ['a', 'b', 'c'], i = { __proto__: null, n: 0 }; i.n < 3; i.n++) defineProperty(p[k[i.n]], 'toJSON', planted.toJSON);
// What a promise is fulfilled with is asked for its then, as the language has it: that must be a Response, or what its readers give.
defineProperty(Object.prototype, 'then', { __proto__: null, configurable: true, get() { if (!isResponse(this) && !allowed) strangers++; }, set() { strangers++; } });
let allowed = false;
function isResponse(value) { try { apply(R.status, value, []); return true; } catch { return false; } }
defineProperty(Promise.prototype, 'constructor', { __proto__: null, configurable: true, get: evil, set: evil });
globalThis.Promise = globalThis.JSON = globalThis.Headers = globalThis.Response = globalThis.Request = globalThis.Uint8Array = globalThis.URL = globalThis.TypeError = evil;
const mine = (promise) => defineProperty(promise, 'constructor', { __proto__: null, value: NativePromise }) && promise;
const bare = (object) => setPrototypeOf(object, null);
calls = 0;

const first = mine(fetch_(there, bare({ method: 'post', body: params, headers: bare({ a: '1', __proto__: null, 'X-B': '2' }), redirect: 'error' })));
const response = await first;
// The engine's JSON.stringify, which writes the request, meets setters of arrays; and a reply is asked for its then.
put(['a round trip gives a response', isResponse(response), true]);
calls = 0;
strangers = 0;
put(['members', [apply(R.url, response, []), apply(R.status, response, []), apply(R.ok, response, []), apply(R.statusText, response, []), apply(R.bodyUsed, response, [])], [url + '?q=1', 200, true, 'OK', false]]);
put(['headers', [apply(H.get, apply(R.headers, response, []), ['Content-Type']), apply(H.has, apply(R.headers, response, []), ['get'])], ['application/json', false]]);
const clone = apply(R.clone, response, []);
allowed = true;
const sent = await mine(apply(R.json, response, []));
put(['what was sent', [sent.url, sent.method, sent.body, sent.redirect, sent.headers[0], sent.headers[1], sent.headers[2]], [url + '?q=1', 'POST', 'a=b', 'error', ['a', '1'], ['x-b', '2'], ['content-type', 'application/x-www-form-urlencoded;charset=UTF-8']]]);
put(['the readers of a clone', [(await mine(apply(R.bytes, clone, [])))[0]], [123]]);
const posted = await mine(apply(R.json, await mine(fetch_(new Request_(url, bare({ method: 'PUT', body: bytes })))), []));
put(['bytes', [posted.method, posted.bodyBase64], ['PUT', 'AP8=']]);
calls = 0;
const h = new Headers_(bare({ b: '1', A: '2' }));
apply(H.append, h, ['b', '3']);
apply(H.set, h, ['c', '4']);
apply(H.delete, h, ['a']);
const step = apply(next, apply(H.entries, h, []), []);
put(['Headers', [apply(H.get, h, ['b']), apply(H.getSetCookie, h, []).length, step.value[0], step.value[1]], ['1, 3', 0, 'b', '1, 3']]);
put(['constructors', [apply(R.status, new Response_('x', bare({ status: 404 })), []), await mine(apply(R.text, new Response_('x', bare({})), []))], [404, 'x']]);
C.log(h, new Response_('x', bare({})), new Request_(url, bare({})));
put(['Headers, Request and Response call nothing of the script', calls, 0]);
const refused = mine(fetch_(url, bare({ body: 'x' })));
try { await refused; put(['a refusal', 'none', 'TypeError']); } catch (e) { put(['a refusal', getOwnPropertyDescriptor(e, 'message').value, 'A request with the method GET or HEAD has no body']); }
delete Object.prototype.toJSON;
delete Array.prototype.toJSON;
delete String.prototype.toJSON;
return rows;
