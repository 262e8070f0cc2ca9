package integration

// objectTemplates are objects that answer for themselves.
func objectTemplates() grammar {
	return grammar{
		"object": {
			"({})", "({ x: 1 })", "o", "({ x: @value, [@key]: @value })", "({ ...@object, y: @value })",
			"({ get x() { show('get'); return @value }, set x(v) { show('set', v) } })", "Object.create(@object)", "Object.assign({}, @value, @object)",
			"Object.create(null, { x: { value: @value, enumerable: @bool } })", "Object.fromEntries([['b', 1], ['2', 2], ['a', @value], ['1', 4]])",
			"new Proxy(@object, {})",
			"new Proxy(@object, { get: (t, k, r) => typeof k === 'symbol' ? undefined : k + '!', ownKeys: () => ['p', 'q'], getOwnPropertyDescriptor: () => ({ value: 1, configurable: true, enumerable: true }) })",
			"new Proxy(@object, { has: () => @bool, deleteProperty: () => @bool, set: () => @bool })", "Object.freeze(@object)", "structuredClone(@value)",
			"JSON.parse(@string)", "JSON.parse(JSON.stringify(@value))",
			"new (class A { #p = @value; static s = @value; constructor(v) { this.v = v } get p() { return this.#p } has(x) { return #p in x } })(@value)",
			"new (class extends Array { constructor(...v) { super(...v) } })(@number, @value)", "new (class E extends TypeError { name = 'E' })(@string)",
			"({ toString: () => @string, valueOf: () => @number })", "({ [Symbol.toPrimitive]: (hint) => hint === 'number' ? @number : hint })",
			"({ toJSON: () => @value })", "(({ x = @value, ...rest }) => rest)(@object)", "Object.getOwnPropertyDescriptors(@object)",
			"Object.defineProperty(@object, @key, { value: @value, writable: @bool, configurable: @bool })", "new Error(@string, { cause: @value })",
			"new AggregateError([@value], @string)", "({ __proto__: @object, y: 2, super() { return super.x } })", "Reflect.construct(@class, [@value])", "this",
			"globalThis.Math",
		},
		"value": {
			"@object.x", "@object[@key]", "(o.x = @value)", "(o[@key] = @value)", "(delete o[@key])", "Reflect.get(@object, @key, @object)",
			"Reflect.set(@object, @key, @value)", "Object.getPrototypeOf(@object)", "(o.x ??= @value)", "({ x: o.y = @value } = @object)", "Object.isFrozen(@object)",
		},
	}
}

// webTemplates use what surrounds a script besides the language.
func webTemplates() grammar {
	return grammar{
		"value": {
			"crypto.randomUUID()", "[...crypto.getRandomValues(new Uint8Array(5))]", "structuredClone(new Map([[@value, @array]]))", "new URL(@url).href",
			"new URL(@string, @url)", "URL.canParse(@string)", "atob(btoa('x' + n))", "btoa(@string)", "new TextDecoder().decode(@typed)",
			"new TextDecoder('utf-8', { fatal: true }).decode(@typed)", "input", "Math.random().toString(36)", "globalThis[@key]",
		},
		"url": {
			"'http://a.b/c?d=1#e'", "'https://ex\\u00e4mple.com:443/a/../b%20c'", "'file:///c:/x'", "'http://[::1]:80/'", "'http://192.168.257/'", "'data:text/plain,x y'",
			"@string",
		},
		"string": {"new URLSearchParams([[@string, @string]]).toString()", "new URL(@url).hostname"},
	}
}

// functionTemplates make functions and ways to call them.
func functionTemplates() grammar {
	return grammar{
		"function": {
			"((x) => x)", "f", "(function (x) { return @value })", "((x) => @value)", "((x, y = @value) => [x, y])", "((...r) => r.length)",
			"(function g(x) { return x > 0 ? g(x - 1) : @value })", "Function('x', 'return ' + @codetext)", "(() => { let c = @number; return () => c++ })()",
			"f.bind(o, @value)", "((f) => (x) => f(f(x)))((x) => x + @value)", "Math.@unary", "String", "isNaN",
			"(function () { return arguments.length + [...arguments].join() })", "((x) => { throw @value })",
			"((x) => { try { return @value } finally { show('finally', x) } })", "(class { constructor() { this.z = new.target === undefined } })", "(async (x) => @value)",
			"(function* (x) { yield x; yield* [@value] })",
		},
		"codetext": {"'1'", "'n + 1'", "String(@number)", "'x +' + @number", "JSON.stringify(@value)", "'(' + @function + ')(1)'", "'{'"},
		"value": {
			"@function(@value)", "@function.call(@value, @value)", "new (@function)(@value)", "eval(@codetext)", "(0, eval)(@codetext)", "@function.name",
			"@function.length", "Reflect.apply(@function, @value, @array)", "a.reduce(@function)",
		},
		"generator": {
			"[1, 2][Symbol.iterator]()", "(function* () { for (let i = 0; i < @small; i++) yield i * @number })()",
			"(function* () { try { yield 1; yield @value } finally { show('closed') } })()", "@array.values().map(@function)",
			"new Map(@object === o ? [] : [[1, @value]]).entries()", "Iterator.from(@array).filter(@function)",
		},
	}
}

// asyncTemplates settle promises in some order.
func asyncTemplates() grammar {
	return grammar{
		"promise": {
			"Promise.resolve(@value)", "Promise.reject(@value)", "(async () => @value)()", "(async () => { await null; throw @value })()",
			"new Promise((r) => setTimeout(r, @number, @value))", "Promise.all([@promise, @value])", "Promise.race([@promise, @promise])",
			"Promise.allSettled([@promise, @promise])", "Promise.any([@promise, @promise])", "@promise.then(@function)", "@promise.catch((e) => [e])",
			"@promise.finally(() => show('f'))",
			"({ then(r) { r(@value) } })", "(async () => { for await (const x of [@promise, @value]) show(x); return @value })()", "new Promise(() => {})",
			"(async () => { const r = []; for await (const x of (async function* () { yield 1; yield* [@promise] })()) r.push(x); return r })()",
			"Promise.try(@function, @value)",
		},
		"value": {"@promise"},
		"statement": {
			"show(await @promise)", "try { show(await @promise) } catch (e) { show('rejected', e) }", "queueMicrotask(() => show('job', @value))",
			"setTimeout(() => show('timer', @value), @number)", "{ let k = 0; const i = setInterval(() => { show(k); if (++k > 2) clearInterval(i) }, 1) }", "await null",
			"await new Promise((r) => setTimeout(r, 10))", "@promise.then(show, (e) => show('no', e))", "for (const x of @array) await x",
			"{ const p = [1, 2, 3].map(async (x) => { await null; show(x); return x }); show(await Promise.all(p)) }",
		},
	}
}

// statementTemplates are what a program consists of.
func statementTemplates() grammar {
	return grammar{
		"top": {
			"try { show(@value) } catch (e) { show(e) }", "try { show(@value) } catch (e) { show(e) }", "try { show(@value, @value, @value) } catch (e) { show(e) }",
			"try { show(@number, bits(@number)) } catch (e) { show(e) }", "try { @statement } catch (e) { show(e) }", "try { @statement } catch (e) { show(e) }",
			"try { @statement } catch (e) { show(e) }", "try { @statement; @statement } catch (e) { show(e) }", "try { @statement } catch (e) { show(e) }",
			"try { @statement } catch (e) { show(String(e), e?.stack) } finally { show(n) }", "@statement",
		},
		"statement": {
			"show(@value)", "show(@value, @value)", "n = @number", "s = @string", "a = @array", "o = @object", "f = @function", "b = @bigint",
			"show(@number, bits(@number))", "show('%s %d %i %f %j %o %%', @value, @value, @value)", "console.@level(@value)",
			"for (let i = 0; i < @small; i++) { @statement }", "for (const x of @array) { show(x); if (n) break }", "for (const k in @object) show(k)",
			"for (let i = 0; i < 200; i++) n = n * 1.1 + Math.@unary(i)",
			"if (@bool) { @statement } else { @statement }",
			"outer: for (let i = 0; i < 3; i++) { for (let j = 0; j < 3; j++) { if (j === @small) continue outer; if (i === @small) break outer; show(i, j) } }",
			"switch (@value) { case @value: show(1); case @value: show(2); break; default: @statement }", "try { @statement } catch { show('c') } finally { @statement }",
			"throw @value", "throw new Error(@string)", "null.x", "undefinedName", "{ @statement; @statement }", "do { n-- } while (n > 0 && n < 50)",
			"{ let { x = @value, ...rest } = @object; show(x, rest) }", "var [p, q = @value, ...r] = @array; show(p, q, r)", "(function () { 'use strict'; @strict })()",
			"show(tag`a${@value}\\n${@value}`)",
			"{ class K { static { show('static') } get g() { return @value } static #q = 1; static q(x) { return #q in x } } show(K.q(K), new K().g) }",
			"label: { if (@bool) break label; show('on') }", "with (o) { show(typeof x) }", "console.table(@array)",
			"console.group(@string); show(@value); console.groupEnd()", "show(Object.getOwnPropertyNames(@value))",
			"a.forEach((x, i) => { if (i < 5) show(x) })", "for (let [k, v] of Object.entries(@object)) show(k, v)", "show(performance.now(), Date.now(), Math.random())",
			"show(@array.map(@function))", "f = (x) => { @statement }", "var fact = (k) => k < 2n ? 1n : k * fact(k - 1n); show(fact(@digits < 60 ? BigInt(@digits) : 5n))",
			"n = a.length; m = s.length", "Array.prototype.extra = @value", "Object.prototype.toJSON = () => 'mine'", "globalThis.g = @value", "show(attempt(() => @value))",
		},
		"level":  {"info", "warn", "error", "debug", "trace", "dir", "assert", "count"},
		"strict": {"show(this)", "undeclared = 1", "o.x = 1; Object.freeze(o).y = 2", "show(arguments.length)", "delete Object.prototype", "NaN = 1"},
		"ending": {
			"[n, s]", "[n, m, s, t, a, o]", "[n, m, s, t, a, o].map(String)", "console.log(n, m, s, t, a, o, f, b); [n, m].map(bits)", "({ n, s, list: a, o })",
			"return [n, s, a]", "o", "a", "return o", "@value", "await @promise", "String(o)", "s", "f", "b", "return @promise", "throw @value", "[n, m].map(bits)",
		},
	}
}
