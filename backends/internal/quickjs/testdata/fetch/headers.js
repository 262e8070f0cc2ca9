const rows = [];
const err = (f) => { try { f(); return 'none'; } catch (e) { return e.name; } };
const list = (headers) => [...headers];
{
  const h = new Headers({ 'Content-Type': 'text/html', 'X-B': ' \t two\r\n', 'x-a': 1 });
  rows.push(['a record', list(h), [['content-type', 'text/html'], ['x-a', '1'], ['x-b', 'two']]]);
  rows.push(['names have no case', [h.get('CONTENT-TYPE'), h.has('X-a'), h.get('x-none'), h.has('x-none')], ['text/html', true, null, false]]);
  h.append('X-A', '2');
  h.append('x-c', '');
  rows.push(['append joins', [h.get('x-a'), h.get('x-c')], ['1, 2', '']]);
  h.set('x-A', '3');
  h.set('x-d', '4');
  rows.push(['set replaces all', list(h), [['content-type', 'text/html'], ['x-a', '3'], ['x-b', 'two'], ['x-c', ''], ['x-d', '4']]]);
  h.delete('X-B');
  h.delete('x-none');
  rows.push(['delete', [...h.keys()], ['content-type', 'x-a', 'x-c', 'x-d']]);
  rows.push(['values', [...h.values()], ['text/html', '3', '', '4']]);
  const seen = [];
  h.forEach(function (value, name, headers) { seen.push([this.t, value, name, headers === h]); }, { t: 7 });
  rows.push(['forEach', seen[0], [7, 'text/html', 'content-type', true]]);
}
{
  const h = new Headers([['b', '1'], ['Set-Cookie', 'x=1'], ['a', '2'], ['set-cookie', 'y=2'], ['B', '3']]);
  rows.push(['sorted and joined, cookies apart', list(h), [['a', '2'], ['b', '1, 3'], ['set-cookie', 'x=1'], ['set-cookie', 'y=2']]]);
  rows.push(['cookies', [h.getSetCookie(), h.get('set-cookie'), new Headers().getSetCookie()], [['x=1', 'y=2'], 'x=1, y=2', []]]);
  rows.push(['a copy', [list(new Headers(h)), new Headers(h).getSetCookie()], [list(h), ['x=1', 'y=2']]]);
  const copy = new Headers(h);
  copy.delete('set-cookie');
  rows.push(['a copy is one', h.getSetCookie().length, 2]);
}
rows.push(['other iterables', [list(new Headers(new Map([['k', 'v']]))), list(new Headers(new Set([new Set(['n', 'm'])]))), list(new Headers(new URLSearchParams('q=1')))], [[['k', 'v']], [['n', 'm']], [['q', '1']]]]);
rows.push(['__proto__ is a name like any other', [list(new Headers(JSON.parse('{"__proto__":"x","constructor":"y"}'))), new Headers().get('__proto__'), new Headers().has('constructor')], [[['__proto__', 'x'], ['constructor', 'y']], null, false]]);
rows.push(['bad names', ['', ' a', 'a b', 'a:', 'a\n', 'a\0', 'é', '"', '(', '\ud800', '\u0130'].map((n) => err(() => new Headers([[n, 'v']]))).join(), Array(11).fill('TypeError').join()]);
rows.push(['bad names everywhere', ['append', 'set', 'get', 'has', 'delete'].map((m) => err(() => new Headers()[m]('a b', 'v'))).join(), Array(5).fill('TypeError').join()]);
rows.push(['every mark of a token', err(() => new Headers([["!#$%&'*+-.^_`|~09azAZ", 'v']])), 'none']);
rows.push(['bad values', ['a\nb', 'a\rb', 'a\0b', '\0', 'ā', '\ud83d\ude00', '\ud800'].map((v) => err(() => new Headers([['n', v]]))).join(), Array(7).fill('TypeError').join()]);
rows.push(['values that are allowed', ['é', 'a\tb', '\x01', '\x7f', ' '].map((v) => new Headers({ n: v }).get('n')), ['é', 'a\tb', '\x01', '\x7f', '']]);
rows.push(['bad lists', [null, 1, 'a', [['a']], [['a', 'b', 'c']], ['ab'], [1], [[]], { a: Symbol() }, { [Symbol('s')]: 'x' }].map((v) => err(() => new Headers(v))).join(), Array(10).fill('TypeError').join()]);
rows.push(['only own and enumerable', list(new Headers(Object.create({ inherited: 1 }, { a: { value: 1, enumerable: true }, b: { value: 2 } }))), [['a', '1']]]);
rows.push(['conversions of the script run', list(new Headers([[{ toString: () => 'N' }, { toString: () => 'V' }]])), [['n', 'V']]]);
rows.push(['getters that throw', err(() => new Headers({ get a() { throw new RangeError('mine'); } })), 'RangeError']);
rows.push(['missing arguments', [err(() => new Headers().append('a')), err(() => new Headers().set('a')), err(() => new Headers().get()), err(() => new Headers().forEach()), err(() => new Headers().forEach(1))].join(), Array(5).fill('TypeError').join()]);
{
  const h = new Headers({ b: '1' });
  const it = h.entries();
  const first = it.next().value;
  h.append('a', '0');
  h.append('c', '2');
  rows.push(['iterating is live', [first, it.next().value, it.next().value, it.next()], [['b', '1'], ['b', '1'], ['c', '2'], { done: true }]]);
  const seen = [];
  h.forEach((value, name) => { seen.push(name); if (seen.length < 3) h.delete('c'); });
  rows.push(['forEach is live', seen, ['a', 'b']]);
  rows.push(['iterators', [Object.prototype.toString.call(it), it[Symbol.iterator]() === it, Object.hasOwn(Object.getPrototypeOf(it), 'constructor'), err(() => it.next.call({}))], ['[object Headers Iterator]', true, false, 'TypeError']]);
}
{
  const many = new Headers();
  for (let i = 0; i < 5000; i++) many.append('n' + (i % 2500), i);
  let n = 0;
  for (const [name] of many) n += name.length > 1 ? 1 : 0;
  rows.push(['many', [n, many.get('n7'), new Headers(many).get('n2499')], [2500, '7, 2507', '2499, 4999']]);
}
{
  const d = (o, k) => { const p = Object.getOwnPropertyDescriptor(o, k); return [p.enumerable, p.configurable, p.writable]; };
  rows.push(['shape', [Headers.name, Headers.length, Object.prototype.toString.call(new Headers()), Headers.prototype[Symbol.iterator] === Headers.prototype.entries, Object.keys(new Headers()), Reflect.ownKeys(new Headers())], ['Headers', 0, '[object Headers]', true, [], []]]);
  rows.push(['members', [d(Headers.prototype, 'get'), d(Headers.prototype, Symbol.iterator), d(globalThis, 'Headers')], [[true, true, true], [false, true, true], [false, true, true]]]);
  rows.push(['needs new and a Headers', [err(() => Headers()), err(() => Headers.prototype.get.call({}, 'a')), err(() => Headers.prototype.get.call(new Proxy(new Headers(), {}), 'a')), err(() => Headers.prototype.entries.call(null))].join(), Array(4).fill('TypeError').join()]);
  class Mine extends Headers { twice(n) { return this.get(n).repeat(2); } }
  rows.push(['subclasses', [new Mine({ a: 'b' }).twice('a'), new Mine() instanceof Headers], ['bb', true]]);
  rows.push(['structuredClone refuses', err(() => structuredClone(new Headers())), 'DataCloneError']);
}
return rows;
