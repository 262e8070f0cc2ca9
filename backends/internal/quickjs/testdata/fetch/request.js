// Without a body of the form {"url":…}, the host answers a call with what it was asked, as JSON.
const rows = [];
const err = (f) => { try { f(); return 'none'; } catch (e) { return e.name; } };
const fails = async (...args) => { try { await fetch(...args); return 'none'; } catch (e) { return e.name; } };
const sent = async (...args) => (await fetch(...args)).json();
const url = 'https://example.test/';
const post = (body, more) => sent(url, { method: 'POST', body, ...more });

rows.push(['the least', await sent(url), { url, method: 'GET', headers: [] }]);
rows.push(['the URL is normalised', (await sent('HTTPS://EXAMPLE.test:443/a/../b c?q=é#f')).url, 'https://example.test/b%20c?q=%C3%A9']);
rows.push(['lone surrogates in a URL', (await sent(url + '?q=\ud800')).url, url + '?q=%EF%BF%BD']);
rows.push(['a URL object', (await sent(new URL('/p?a=1#x', url))).url, url + 'p?a=1']);
rows.push(['a URL object with a replaced toString', (await sent(Object.assign(new URL(url), { toString: () => 'https://other.test/' }))).url, url]);
rows.push(['anything with a text', (await sent({ toString: () => url + 'x' })).url, url + 'x']);
rows.push(['URLs that are refused', (await Promise.all(['/relative', '', 'example.test', 'http://', 'https://a b/', undefined, null, {}, Symbol(), 'https://u@example.test/', 'https://u:p@example.test/', new URL('https://:p@example.test/')].map((u) => fails(u)))).join(), Array(12).fill('TypeError').join()]);
rows.push(['a toString that throws', await fails({ toString() { throw new RangeError('mine'); } }), 'RangeError']);
rows.push(['errors are rejections', [err(() => { fetch().catch(() => {}); }), await fails(), err(() => { fetch('/x').catch(() => {}); })], ['none', 'TypeError', 'none']]);

const methods = [];
for (const method of ['get', 'Delete', 'head', 'oPtions', 'post', 'put', 'patch', 'PATCH', 'Custom', undefined]) methods.push((await sent(url, { method })).method);
rows.push(['methods', methods.join(), 'GET,DELETE,HEAD,OPTIONS,POST,PUT,patch,PATCH,Custom,GET']);
rows.push(['methods that are refused', (await Promise.all(['', 'A B', 'é', 'CONNECT', 'trace', 'Track', 'GET\n', Symbol()].map((method) => fails(url, { method })))).join(), Array(8).fill('TypeError').join()]);

rows.push(['headers of a record', (await sent(url, { headers: { 'X-A': ' 1 ', 'x-b': 2 } })).headers, [['x-a', '1'], ['x-b', '2']]]);
rows.push(['headers of pairs keep their order and repeat', (await sent(url, { headers: [['b', '1'], ['a', '2'], ['B', '3']] })).headers, [['b', '1'], ['a', '2'], ['b', '3']]]);
rows.push(['Headers', (await sent(url, { headers: new Headers({ b: '1', a: '2' }) })).headers, [['a', '2'], ['b', '1']]]);
rows.push(['a __proto__ header', (await sent(url, { headers: JSON.parse('{"__proto__":"x"}') })).headers, [['__proto__', 'x']]]);
rows.push(['headers that are refused', (await Promise.all([null, 'a', { 'a b': 1 }, { a: 'x\ny' }, { a: '\u0100' }, [['a']]].map((headers) => fails(url, { headers })))).join(), Array(6).fill('TypeError').join()]);

const text = ['content-type', 'text/plain;charset=UTF-8'];
rows.push(['a text', await post('héllo'), { url, method: 'POST', headers: [text], body: 'héllo' }]);
rows.push(['an empty text is a body', await post(''), { url, method: 'POST', headers: [text], body: '' }]);
rows.push(['lone surrogates in a text', (await post('a\ud800b\udc00\ud83d\ude00')).body, 'a\ufffdb\ufffd\ud83d\ude00']);
rows.push(['no body', [await post(undefined), await post(null)], Array(2).fill({ url, method: 'POST', headers: [] })]);
rows.push(['a form', await post(new URLSearchParams([['a', 'b c'], ['é', '&']])), { url, method: 'POST', headers: [['content-type', 'application/x-www-form-urlencoded;charset=UTF-8']], body: 'a=b+c&%C3%A9=%26' }]);
rows.push(['a content type of its own', (await post('{}', { headers: { 'Content-Type': 'application/json' } })).headers, [['content-type', 'application/json']]]);
const bytes = new Uint8Array([0, 255, 65, 66]);
rows.push(['bytes', await post(bytes), { url, method: 'POST', headers: [], bodyBase64: 'AP9BQg==' }]);
rows.push(['other buffers', [(await post(bytes.buffer)).bodyBase64, (await post(bytes.subarray(2))).bodyBase64, (await post(new DataView(bytes.buffer, 1, 2))).bodyBase64, (await post(new Uint16Array(bytes.buffer))).bodyBase64, (await post(new ArrayBuffer(0))).bodyBase64], ['AP9BQg==', 'QUI=', '/0E=', 'AP9BQg==', '']]);
rows.push(['bytes that change later', await (async () => { const p = post(bytes); bytes[0] = 9; const r = await p; bytes[0] = 0; return r.bodyBase64; })(), 'AP9BQg==']);
rows.push(['everything else is a text', [(await post({ a: 1 })).body, (await post([1, 2])).body, (await post(7)).body, (await post(false)).body], ['[object Object]', '1,2', '7', 'false']]);
rows.push(['bodies that are refused', [await fails(url, { body: 'x' }), await fails(url, { body: '', method: 'head' }), await fails(url, { body: Symbol(), method: 'POST' }), await fails(url, { method: 'POST', body: { toString() { throw new RangeError('mine'); } } })].join(), 'TypeError,TypeError,TypeError,RangeError']);
rows.push(['a detached buffer', await (async () => { const b = new ArrayBuffer(4); b.transfer(); return fails(url, { method: 'POST', body: b }); })(), 'TypeError']);

rows.push(['redirect', [(await sent(url, { redirect: 'error' })).redirect, (await sent(url, { redirect: 'manual' })).redirect, (await sent(url, { redirect: 'follow' })).redirect], ['error', 'manual', null]]);
rows.push(['redirect that is refused', [await fails(url, { redirect: 'Follow' }), await fails(url, { redirect: null })].join(), 'TypeError,TypeError']);
rows.push(['other options are ignored', await sent(url, { signal: {}, mode: 'cors', credentials: 'include', cache: 'no-store', duplex: 'half', keepalive: true, get other() { throw 1; } }), { url, method: 'GET', headers: [] }]);
rows.push(['no options', [(await sent(url, null)).method, (await sent(url, undefined)).method, await fails(url, 1), await fails(url, 'GET')], ['GET', 'GET', 'TypeError', 'TypeError']]);
rows.push(['options may be inherited', (await sent(url, Object.create({ method: 'PUT' }))).method, 'PUT']);
rows.push(['options that throw', await fails(url, { get headers() { throw new RangeError('mine'); } }), 'RangeError']);
rows.push(['a long list of headers', (await sent(url, { headers: Array.from({ length: 2000 }, (_, i) => ['n' + i, 'v']) })).headers.length, 2000]);
rows.push(['a large text', (await post('é'.repeat(100000))).body.length, 100000]);

const r = new Request(url + 'r#here', { method: 'post', headers: { a: '1' }, body: 'text', redirect: 'manual' });
rows.push(['Request', [r.url, r.method, [...r.headers], r.redirect, r.body, r.bodyUsed], [url + 'r#here', 'POST', [['a', '1'], text], 'manual', null, false]]);
const copy = r.clone();
rows.push(['a Request is fetched', await sent(r), { url: url + 'r', method: 'POST', headers: [['a', '1'], text], body: 'text', redirect: 'manual' }]);
rows.push(['its body is gone then', [r.bodyUsed, await fails(r), err(() => r.clone()), copy.bodyUsed, await copy.text(), copy.bodyUsed], [true, 'TypeError', 'TypeError', false, 'text', true]]);
rows.push(['options come before a Request', await sent(new Request(url, { method: 'PUT', body: 'x', headers: { a: '1' } }), { method: 'POST', body: new Uint8Array([1]), headers: {} }), { url, method: 'POST', headers: [], bodyBase64: 'AQ==' }]);
rows.push(['a Request of a Request', await (async () => { const a = new Request(url, { method: 'PUT', body: 'x' }); const b = new Request(a); return [a.bodyUsed, b.method, await b.text()]; })(), [true, 'PUT', 'x']]);
rows.push(['a Request used up, with another body', await (async () => { const a = new Request(url, { method: 'PUT', body: 'x' }); await a.text(); return (await sent(a, { body: 'y' })).body; })(), 'y']);
rows.push(['a Request with a body stays no GET', await fails(new Request(url, { method: 'PUT', body: 'x' }), { method: 'GET' }), 'TypeError']);
rows.push(['headers of a Request can be changed', (() => { const a = new Request(url); a.headers.set('x', '1'); return a.headers.get('x'); })(), '1']);
rows.push(['Request refuses', [err(() => new Request()), err(() => new Request('/x')), err(() => Request(url)), err(() => Object.getOwnPropertyDescriptor(Request.prototype, 'url').get.call({}))].join(), Array(4).fill('TypeError').join()]);
rows.push(['shape', [fetch.name, fetch.length, err(() => new fetch(url)), Request.name, Request.length, Object.prototype.toString.call(r), Reflect.ownKeys(r)], ['fetch', 1, 'TypeError', 'Request', 1, '[object Request]', []]]);
rows.push(['globals', ['fetch', 'Headers', 'Request', 'Response'].map((n) => { const d = Object.getOwnPropertyDescriptor(globalThis, n); return [d.writable, d.enumerable, d.configurable]; }), Array(4).fill([true, false, true])]);
return rows;
