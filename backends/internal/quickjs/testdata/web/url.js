const rows = [];
const err = (f) => { try { f(); return 'none'; } catch (e) { return e.name; } };
const u = new URL('https://us%20er:p%40ss@Example.COM:8443/a/./b/../c;d?x=1&y=é#frag ment');
rows.push(['parts', ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'].map((k) => u[k]),
  ['https://us%20er:p%40ss@example.com:8443/a/c;d?x=1&y=%C3%A9#frag%20ment', 'https://example.com:8443', 'https:', 'us%20er', 'p%40ss', 'example.com:8443', 'example.com', '8443', '/a/c;d', '?x=1&y=%C3%A9', '#frag%20ment']]);
rows.push(['text', [String(u) === u.href, JSON.stringify({ u: new URL('http://a') }), u.toJSON() === u.href], [true, '{"u":"http://a/"}', true]]);
rows.push(['origins', ['http://a:80', 'ftp://a', 'file:///x', 'non://a', 'data:x', 'blob:https://a:8/x', 'blob:non:x', 'blob:/x'].map((x) => new URL(x).origin).join(), 'http://a,ftp://a,null,null,null,https://a:8,null,null']);
rows.push(['canParse and parse', [URL.canParse('a'), URL.canParse('a', 'http://b'), URL.canParse('a', 'b'), URL.parse('a', 'http://b/c').href, URL.parse('a')], [false, true, false, 'http://b/a', null]]);
rows.push(['conversions', [new URL({ toString: () => 'http://o' }).href, new URL('x', new URL('http://b/')).href, new URL(new URL('http://c')).href, URL.canParse(undefined), new URL('u', undefined ?? 'http://h').href], ['http://o/', 'http://b/x', 'http://c/', false, 'http://h/u']]);
try { new URL('nope'); } catch (e) { rows.push(['the error', [e instanceof TypeError, e.message, e.code], [true, 'Invalid URL', 'ERR_INVALID_URL']]); }
rows.push(['errors', [err(() => new URL()), err(() => URL('http://a')), err(() => URL.canParse()), err(() => new URL('/x', 'mailto:a')), err(() => new URL(Symbol())), err(() => { u.href = 'bad'; }), u.host], ['TypeError', 'TypeError', 'TypeError', 'TypeError', 'TypeError', 'TypeError', 'example.com:8443']]);
const get = (k) => Object.getOwnPropertyDescriptor(URL.prototype, k).get;
rows.push(['brand', [err(() => get('href').call({})), err(() => URL.prototype.href), err(() => URL.prototype.toString.call(Object.create(URL.prototype))), String(Object.prototype.toString.call(u))], ['TypeError', 'TypeError', 'TypeError', '[object URL]']]);
rows.push(['enumerable members', Object.keys(URL.prototype).sort().join(), 'hash,host,hostname,href,origin,password,pathname,port,protocol,search,searchParams,toJSON,toString,username']);
{
  const v = new URL('http://h/?a=1');
  const p = v.searchParams;
  p.append('b c', 'd&e');
  const one = v.href;
  v.search = '?z=9&z=8';
  const two = [...p].join('|');
  p.delete('z');
  const three = v.href;
  v.href = 'http://k/?q=%20';
  rows.push(['searchParams and URL follow each other', [one, two, three, p.get('q'), v.searchParams === p, (p.set('q', 'ü'), v.search)], ['http://h/?a=1&b+c=d%26e', 'z,9|z,8', 'http://h/', ' ', true, '?q=%C3%BC']]);
  v.searchParams = 'x';
  rows.push(['searchParams cannot be set', v.search, '?q=%C3%BC']);
}
{
  class Sub extends URL { get twice() { return this.href + this.href; } }
  rows.push(['subclass', [new Sub('http://a').twice, new Sub('http://a') instanceof URL], ['http://a/http://a/', true]]);
}
const P = URLSearchParams;
const text = (init) => new P(init).toString();
rows.push(['from', [text(), text('?a=1&b=2'), text('??a'), text({ a: 1, b: [2, 3] }), text([['a', 'b'], ['a', 'c']]), text(new Map([['m', 1]])), text(new P('x=1&x=2')), text(null), text('a+b=%zz&&=&é')],
  ['', 'a=1&b=2', '%3Fa=', 'a=1&b=2%2C3', 'a=b&a=c', 'm=1', 'x=1&x=2', 'null=', 'a+b=%25zz&=&%C3%A9=']]);
rows.push(['bad pairs', [err(() => new P([['a']])), err(() => new P([['a', 'b', 'c']])), err(() => new P([1])), err(() => new P({ [Symbol('s')]: 1 })), err(() => P('a'))], ['TypeError', 'TypeError', 'TypeError', 'TypeError', 'TypeError']]);
rows.push(['strings of two are pairs', text([new String('ab')]), 'a=b']);
rows.push(['escapes', text([['a b~!*()\'-._', 'é\ud800💩\0\n']]), 'a+b%7E%21*%28%29%27-._=%C3%A9%EF%BF%BD%F0%9F%92%A9%00%0A']);
{
  const p = new P('b=2&a=1&b=3&c=&a=0');
  rows.push(['reading', [p.get('b'), p.getAll('b'), p.get('no'), p.getAll('no'), p.has('c'), p.has('b', '3'), p.has('b', '4'), p.has('b', undefined), p.size], ['2', ['2', '3'], null, [], true, true, false, true, 5]]);
  p.sort();
  const sorted = p.toString();
  p.set('b', 'x');
  const set = p.toString();
  p.set('n', 1);
  p.delete('a', '0');
  p.delete('c');
  rows.push(['writing', [sorted, set, p.toString()], ['a=1&a=0&b=2&b=3&c=', 'a=1&a=0&b=x&c=', 'a=1&b=x&n=1']]);
  const seen = [];
  p.forEach(function (v, k, q) { seen.push(this.t + k + v + (q === p)); }, { t: '.' });
  rows.push(['iteration', [[...p].join('|'), [...p.keys()].join(), [...p.values()].join(), seen.join(), p[Symbol.iterator] === p.entries], ['a,1|b,x|n,1', 'a,b,n', '1,x,1', '.a1true,.bxtrue,.n1true', true]]);
  const it = p.entries();
  rows.push(['iterator', [String(it), it[Symbol.iterator]() === it, it.next().value, typeof it.map, err(() => it.next.call({}))], ['[object URLSearchParams Iterator]', true, ['a', '1'], 'function', 'TypeError']]);
  const live = [];
  for (const [k] of p) { live.push(k); if (k === 'a') p.append('late', 1); }
  rows.push(['iteration is live', live.join(), 'a,b,n,late']);
}
rows.push(['sort is stable and by code unit', (() => { const p = new P('z=1&ﬃ=2&💩=3&a=4&z=0'); p.sort(); return [...p].join('|'); })(), 'a,4|z,1|z,0|💩,3|ﬃ,2']);
rows.push(['arguments are needed', ['append', 'set'].map((m) => err(() => new P()[m]('a'))).concat(['get', 'getAll', 'has', 'delete', 'forEach'].map((m) => err(() => new P()[m]()))).join(), Array(7).fill('TypeError').join()]);
rows.push(['brands', [err(() => P.prototype.get.call({}, 'a')), err(() => P.prototype.size), err(() => P.prototype.toString.call(u))], ['TypeError', 'TypeError', 'TypeError']]);
return rows;
