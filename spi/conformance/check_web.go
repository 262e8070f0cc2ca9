package conformance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// webChecks: what scripts expect of a web or server engine and needs no
// capability. Only what the contract says of logs is binding.
func webChecks() []Check {
	return slices.Concat(webConsoleChecks(), webTimerChecks(), webTextChecks(), logVerbatimChecks())
}

func webConsoleChecks() []Check {
	return []Check{
		{ID: "WEB-001", Level: MUST, Rule: "Each call of the console is a line of its level, in order.", body: webLevels},
		{ID: "WEB-002", Level: MUST, Rule: "A script that only logs has the result undefined, and its lines.", body: script{
			source: "const rows = 2;\nconsole.log('answer ' + 42);\nconsole.error('warned')", value: "null", typ: spi.TypeUndefined, logs: []string{"answer 42", "warned"},
		}.body()},
		{ID: "WEB-003", Level: MUST, Rule: "The text of a line arrives as it was, whatever its characters.", body: script{
			source: `console.log('two\nlines\0 é😀\u2028'); console.log('half \ud800 pair'); console.log('{"level":"error"}')`, value: "null",
			logs: []string{"two\nlines\x00 é😀\u2028", "half \ufffd pair", `{"level":"error"}`},
		}.body()},
		{ID: "WEB-004", Level: MUST, Rule: "Values of any type can be logged and do no harm.", body: script{
			source: "const c = { n: 1 }; c.self = c; const r = Proxy.revocable({}, {}); r.revoke(); for (const v of [1n, Symbol('s'), null, undefined, c, r.proxy, Object.create(null), () => 1, new Proxy({}, { get() { throw 1 }, ownKeys() { throw 2 } }), { get a() { throw 3 } }, { toString() { throw 4 } }, new Map([[c, c]]), Object.assign(new Error('e'), { stack: 5 }), [, 1], new Uint8Array(2)]) console.log(v); 'done'",
			value:  `"done"`, also: func(out *spi.Outcome) error {
				if len(out.Logs) != 15 {
					return fmt.Errorf("there are %d lines, wanted 15", len(out.Logs))
				}
				return nil
			},
		}.body()},
		{ID: "WEB-005", Level: SHOULD, Rule: "Arguments of the console are joined by a blank, primitives as their text.", body: script{
			source: "console.log('a', 1, true, null, undefined, 1.5, 'b c'); console.log(); console.log('')", value: "null",
			logs: []string{"a 1 true null undefined 1.5 b c", "", ""},
		}.body()},
		{ID: "WEB-006", Level: SHOULD, Rule: "Objects, arrays, maps, sets and errors are logged so that one can read what is in them.", body: scripts{
			{source: "console.log('rows', [{ id: 1, name: 'Ann' }])", value: "null", also: logHas("rows", "id", "1", "name", "Ann")},
			{source: "console.log(new Map([['key', { deep: [42] }]]), new Set(['member']))", value: "null", also: logHas("key", "deep", "42", "member")},
			{source: "console.log(new TypeError('what went wrong'))", value: "null", also: logHas("TypeError", "what went wrong")},
			{source: "console.log({ s: Symbol('sym'), big: 12n, f: function named() {}, d: new Date(0), re: /ab+c/g })", value: "null", also: logHas("sym", "12", "named", "1970", "ab+c")},
		}.body()},
		{ID: "WEB-007", Level: SHOULD, Rule: "The console knows the directives %s, %d, %i, %f, %o, %O and %%.", body: script{
			source: "console.log('%s is %d, %i or %f', 'Bob', 42, 42.9, '1.5', 'more'); console.log('100%', 5); console.log('%s'); console.log('%d%% %o %O', 7, [1], { b: 2 })", value: "null",
			also: func(out *spi.Outcome) error {
				got := logTexts(out)
				if len(got) != 4 || !slices.Equal(got[:3], []string{"Bob is 42, 42 or 1.5 more", "100% 5", "%s"}) {
					return fmt.Errorf("logs are %q", got)
				}
				return containsAll(got[3], "7% ", "1", "b", "2")
			},
		}.body()},
		{ID: "WEB-008", Level: SHOULD, Rule: "The console has the methods that scripts call for more than a line.", body: script{
			source: "console.group('G'); console.log('inside'); console.groupEnd(); console.table([{ a: 'cell' }]); console.assert(false, 'claim'); console.assert(true, 'not shown'); console.count('c'); console.count('c'); console.dir({ x: 'dir' }); console.time('t'); console.timeEnd('t'); console.trace('here'); 'done'",
			value:  `"done"`, also: func(out *spi.Outcome) error {
				all := fmt.Sprintf("%q", logTexts(out))
				if err := lacks(all, "not shown"); err != nil {
					return err
				}
				return containsAll(all, "G", "inside", "cell", "claim", "c: 2", "dir", "here")
			},
		}.body()},
		{ID: "WEB-009", Level: SHOULD, Rule: "The methods of the console work when they are taken off it.", body: script{
			source: "const { log, error } = console; log('detached'); [1].forEach((x) => log('item', x)); Promise.resolve('then').then(console.log); await null; await null; 0", value: "0",
			logs: []string{"detached", "item 1", "then"},
		}.body()},
		{ID: "WEB-010", Level: MUST, Rule: "A console that a script replaced is whole again for the next.", body: script{
			source: "console.log = null; globalThis.console = undefined; 1", value: "1",
			next: "console.log('still here'); typeof console.log", nextValue: `"function"`,
		}.body()},
		{ID: "WEB-011", Level: SHOULD, Rule: "Built-ins that the script replaced do not write the logs.", body: script{
			source: "JSON.stringify = String.prototype.replace = Array.prototype.join = Array.prototype.map = Object.keys = () => 'forged'; Array.prototype[Symbol.iterator] = null; globalThis.String = () => 'forged'; console.log('a', 1); 2",
			value:  "2", logs: []string{"a 1"},
		}.body()},
	}
}

func webLevels(ctx context.Context, s *subject) error {
	out, err := s.eval(ctx, "console.log('1'); console.error('2'); console.info('3'); console.warn('4'); console.debug('5'); console.log('6'); 0", "")
	if err != nil {
		return err
	}
	want := []spi.LogLine{
		{Level: spi.LevelLog, Text: "1"}, {Level: spi.LevelError, Text: "2"}, {Level: spi.LevelInfo, Text: "3"},
		{Level: spi.LevelWarn, Text: "4"}, {Level: spi.LevelDebug, Text: "5"}, {Level: spi.LevelLog, Text: "6"},
	}
	if !slices.Equal(out.Logs, want) {
		return fmt.Errorf("logs are %v, wanted %v", out.Logs, want)
	}
	return wantValue(out, "0")
}

func webTimerChecks() []Check {
	return []Check{
		{ID: "WEB-020", Level: SHOULD, Rule: "Timers fire by their time, then in the order in which they were set.", body: script{
			source: "const o = []; setTimeout(() => o.push('20'), 20); setTimeout(() => o.push('0a')); setTimeout((a, b) => o.push('0b' + a + b), 0, 1, 2); setTimeout(() => o.push('10'), '10'); const gone = setTimeout(() => o.push('cleared'), 5); clearTimeout(gone); clearTimeout(undefined); await new Promise((r) => setTimeout(r, 30)); o",
			value:  `["0a","0b12","10","20"]`,
		}.body()},
		{ID: "WEB-021", Level: SHOULD, Rule: "An interval fires until it is cleared.", body: script{
			source: "let n = 0; const id = setInterval((by) => { n += by; if (n === 6) clearInterval(id) }, 10, 2); await new Promise((r) => setTimeout(r, 200)); n", value: "6",
		}.body()},
		{ID: "WEB-022", Level: SHOULD, Rule: "Microtasks run before timers and between them.", body: script{
			source: "const o = []; setTimeout(() => { o.push('t1'); queueMicrotask(() => o.push('m of t1')) }, 1); setTimeout(() => o.push('t2'), 1); queueMicrotask(() => o.push('m')); Promise.resolve().then(() => o.push('p')); o.push('sync'); await new Promise((r) => setTimeout(r, 2)); o",
			value:  `["sync","m","p","t1","m of t1","t2"]`,
		}.body()},
		{ID: "WEB-023", Level: SHOULD, Rule: "A timer moves the clock instead of waiting, so that an hour passes within the time limit.", body: script{
			source: "const d = Date.now(), p = performance.now(); await new Promise((r) => setTimeout(r, 3600e3)); [Date.now() - d >= 3600e3, performance.now() - p >= 3600e3, Date.now() - d < 3600e3 + input]", within: 100 * time.Second, value: "[true,true,true]",
		}.body()},
		{ID: "WEB-024", Level: SHOULD, Rule: "A timer's callback that throws does not end a script that goes on, or ends it as an exception.", body: script{
			source: "setTimeout(() => { throw new Error('in timer') }, 1); await new Promise((r) => setTimeout(r, 5)); 'went on'", kinds: exception(), orValue: []string{`"went on"`},
		}.body()},
		{ID: "WEB-025", Level: SHOULD, Rule: "performance.now counts milliseconds up from near zero.", body: script{
			source: "const a = performance.now(); let b; do b = performance.now(); while (b === a); [typeof a, a >= 0 && a < 10000, b > a]", value: `["number",true,true]`,
		}.body()},
	}
}

func webTextChecks() []Check {
	return []Check{
		{ID: "WEB-030", Level: SHOULD, Rule: "structuredClone copies deeply, cycles included, and refuses functions.", body: script{
			source: "const o = { d: new Date(0), m: new Map([[1, { a: 1 }]]), s: new Set([2]), u: new Uint8Array([3]), n: [1n, undefined] }; o.self = o; const c = structuredClone(o); let refused; try { structuredClone(() => 1) } catch (e) { refused = e.name }\n[c !== o, c.self === c, c.m !== o.m, c.m.get(1).a, c.s.has(2), c.u[0], c.d.getTime(), c.n[0] === 1n, 1 in c.n, refused]",
			value:  `[true,true,true,1,true,3,0,true,true,"DataCloneError"]`,
		}.body()},
		{ID: "WEB-031", Level: SHOULD, Rule: "TextEncoder and TextDecoder speak UTF-8, and mend or refuse what is not.", body: script{
			source: `const bytes = new TextEncoder().encode('é😀\ud800'); const d = new TextDecoder('utf-8', { fatal: true }); let fatal; try { d.decode(new Uint8Array([0xff])) } catch (e) { fatal = e.name }
[[...bytes], new TextDecoder().decode(bytes), fatal, new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 0x61, 0xc3])), new TextEncoder().encodeInto('ab', new Uint8Array(1)).read]`,
			value: `[[195,169,240,159,152,128,239,191,189],"é😀\ufffd","TypeError","a\ufffd",1]`,
		}.body()},
		{ID: "WEB-032", Level: SHOULD, Rule: "URL parses, resolves, normalises and refuses.", body: script{
			source: `const u = new URL('../b c?q=1&q=é#h', 'HTTPS://user:pw@EXAMPLE.com:443/x/y/z'); let bad; try { new URL('no url') } catch (e) { bad = e.name } u.searchParams.append('r', 'a b&c'); u.port = '8080';
[u.href, u.host, u.origin, u.pathname, u.hash, u.username, bad, new URL('http://bücher.example/').hostname, new URL('http://0x7f.1/').hostname, u.searchParams.getAll('q')]`,
			value: `["https://user:pw@example.com:8080/x/b%20c?q=1&q=%C3%A9&r=a+b%26c#h","example.com:8080","https://example.com:8080","/x/b%20c","#h","user","TypeError","xn--bcher-kva.example","127.0.0.1",["1","é"]]`,
		}.body()},
		{ID: "WEB-033", Level: SHOULD, Rule: "URLSearchParams reads and writes forms.", body: script{
			source: `const p = new URLSearchParams('?a=1&b=x+y&a=%C3%A9'); p.delete('b'); p.set('c', '&='); p.sort(); [p.getAll('a'), String(p), p.has('b'), [...new URLSearchParams({ k: 'v' })], new URLSearchParams([['x', '1']]).get('x')]`,
			value:  `[["1","é"],"a=1&a=%C3%A9&c=%26%3D",false,[["k","v"]],"1"]`,
		}.body()},
		{ID: "WEB-034", Level: SHOULD, Rule: "The functions btoa and atob convert bytes to base64 and back, and refuse what is neither.", body: script{
			source: `const name = (f) => { try { f(); return 'none' } catch (e) { return e.name } }; [btoa('h\u00e9\0'), atob(' aGk = '), atob('aGk'), name(() => btoa('€')), name(() => atob('a'))]`,
			value:  `["aOkA","hi","hi","InvalidCharacterError","InvalidCharacterError"]`,
		}.body()},
		{ID: "WEB-035", Level: SHOULD, Rule: "crypto gives random values and UUIDs of version 4.", body: script{
			source: `const a = new Uint32Array(64); const same = crypto.getRandomValues(a) === a; const id = crypto.randomUUID(); [same, new Set(a).size > 60, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id), id !== crypto.randomUUID()]`,
			value:  `[true,true,true,true]`,
		}.body()},
		{ID: "WEB-036", Level: SHOULD, Rule: "URI escapes and their opposites treat text as UTF-8.", body: script{
			source: `[encodeURIComponent('é /?&😀'), decodeURIComponent('%C3%A9%20'), encodeURI('http://a/é?x=1'), escape('é'), unescape('%E9')]`,
			value:  `["%C3%A9%20%2F%3F%26%F0%9F%98%80","é ","http://a/%C3%A9?x=1","%E9","é"]`,
		}.body()},
	}
}

func logHas(parts ...string) func(*spi.Outcome) error {
	return func(out *spi.Outcome) error {
		if len(out.Logs) != 1 {
			return fmt.Errorf("there are %d lines, wanted one", len(out.Logs))
		}
		if err := lacks(out.Logs[0].Text, "[object Object]"); err != nil {
			return err
		}
		return containsAll(out.Logs[0].Text, parts...)
	}
}
