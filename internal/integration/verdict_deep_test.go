package integration

import (
	"fmt"
	"strings"
	"testing"
)

// deepTrials nest calls and data in every way that is known, from what is
// harmless to what no stack holds. An engine's frames are larger or smaller than
// another's: the image's own guards must stop the guest before that shows.
func deepTrials(t *testing.T) []trial {
	t.Helper()
	var trials []trial
	uncaught := func(name, script string) { trials = append(trials, newTrial(name, script)) }
	caught := func(name, script string) {
		uncaught(name+" caught", "let r; try { r = (() => { "+script+" })() } catch (e) { r = [e?.name, e?.message, e?.stack] } typeof r === 'object' ? r : typeof r")
	}
	for what, script := range nestedScripts() {
		uncaught(what+" 4000", strings.ReplaceAll(script, "DEPTH", "4000"))
		caught(what+" 30000", strings.ReplaceAll(script, "DEPTH", "30000"))
	}
	for what, script := range nestedCalls() {
		uncaught("calls "+what, script)
		caught("calls "+what, script)
	}
	return trials
}

// nestedScripts have DEPTH where the depth goes.
func nestedScripts() map[string]string {
	scripts := map[string]string{}
	for what, script := range nestedData() {
		scripts["data "+what] = script
	}
	for open, end := range nestedSource() {
		middle, end, _ := strings.Cut(end, " ")
		scripts["source "+open] = fmt.Sprintf("return typeof (0, eval)(%q.repeat(DEPTH) + %q + %q.repeat(DEPTH))", open, middle, end)
	}
	for _, p := range nestedPatterns() {
		scripts["pattern "+p[0]+p[1]] = fmt.Sprintf("return new RegExp(%q.repeat(DEPTH) + 'a' + %q.repeat(DEPTH)).exec('aaaa')?.length", p[0], p[1])
	}
	return scripts
}

// nestedSource is what opens a level of code, and what is in the middle and
// closes a level.
func nestedSource() map[string]string {
	return map[string]string{
		"(":                   "1 )",
		"[":                   "1 ]",
		"!":                   "1 ",
		"- ":                  "1 ",
		"typeof ":             "1 ",
		"a=>":                 "1 ",
		"a=>{":                "1 }",
		"if(1)":               "1 ",
		"{":                   "1 }",
		"`${":                 "1 }`",
		"1?1:":                "1 ",
		"1**":                 "1 ",
		"x=":                  "1 ",
		"({a:":                "1 })",
		"(function(){":        "1 })",
		"(class{[":            "1 ]{}})",
		"new ":                "Object ",
		"for(;0;)":            "1 ",
		"[x=":                 "1 ]",
		"a?.[":                "1 ]",
		"1+(":                 "1 )",
		"try{":                "1 }finally{}",
		"switch(1){case 1:":   "1 }",
		"with({})":            "1 ",
		"async()=>":           "1 ",
		"while(0)":            "1 ",
		"a:{":                 "1 }",
		"var [":               "a ]=[]",
		"(function*(){yield ": "1 })",
		"f(":                  "1 )",
		"...[":                "1 ]",
		"1,(":                 "1 )",
		"class A extends (":   "Object ){}", "(a=": "1 )=>1", "{let a;": "1 }", "()=>({...": "{} })", "`": "1 `", "a??(": "1 )", "delete ": "a ",
	}
}

func nestedPatterns() [][2]string {
	return [][2]string{
		{"(", ")"},
		{"(?:", ")"},
		{"(?=", ")"},
		{"(?!", ")"},
		{"(?<=", ")"},
		{"(?:a|", ")"},
		{"(", ")*"},
		{"(?:", "){1,2}"},
		{"a?", ""},
		{"a|", ""},
		{"a*", ""},
		{"(a)?", ""},
		{"(?<n>", ")"},
		{"(?:a*)*", ""},
		{"[^b]", ""},
	}
}

// nestedData is built by a loop and then walked by the engine.
func nestedData() map[string]string {
	list := "let r = []; for (let i = 0; i < DEPTH; i++) r = [r]; "
	object := "let r = {}; for (let i = 0; i < DEPTH; i++) r = { r }; "
	proxy := "let r = {}; for (let i = 0; i < DEPTH; i++) r = new Proxy(r, {}); "
	function := "let r = () => 1; for (let i = 0; i < DEPTH; i++) r = new Proxy(r, {}); "
	bound := "let r = function () { return 1 }; for (let i = 0; i < DEPTH; i++) r = r.bind(null); "
	return map[string]string{
		"list as text":          list + "return String(r)",
		"list flattened":        list + "return r.flat(Infinity).length",
		"list as JSON":          list + "return JSON.stringify(r).length",
		"list cloned":           list + "structuredClone(r); return 1",
		"list logged":           list + "console.log(r); return 1",
		"list as result":        list + "return r",
		"list forgotten":        list + "r = null; return 1",
		"object as JSON":        object + "return JSON.stringify(r).length",
		"object cloned":         object + "structuredClone(r); return 1",
		"object as result":      object + "return r",
		"JSON lists":            "return typeof JSON.parse('['.repeat(DEPTH) + ']'.repeat(DEPTH))",
		"JSON objects":          `return typeof JSON.parse('{"a":'.repeat(DEPTH) + '1' + '}'.repeat(DEPTH))`,
		"JSON revived":          "return typeof JSON.parse('['.repeat(DEPTH) + ']'.repeat(DEPTH), (k, v) => v)",
		"proxy read":            proxy + "return r.x",
		"proxy written":         proxy + "r.x = 1; return 1",
		"proxy has":             proxy + "return 'x' in r",
		"proxy keys":            proxy + "return Object.keys(r).length",
		"proxy deleted":         proxy + "return delete r.x",
		"proxy defined":         proxy + "Object.defineProperty(r, 'x', { value: 1 }); return 1",
		"proxy prototype":       proxy + "return typeof Object.getPrototypeOf(r)",
		"proxy frozen":          proxy + "Object.freeze(r); return 1",
		"proxy instanceof":      proxy + "return r instanceof Object",
		"proxy is array":        "let r = []; for (let i = 0; i < DEPTH; i++) r = new Proxy(r, {}); return Array.isArray(r)",
		"proxy logged":          proxy + "console.log(r); return 1",
		"proxy as result":       proxy + "return r",
		"proxy called":          function + "return r()",
		"proxy constructed":     strings.Replace(function, "() => 1", "function () {}", 1) + "return typeof new r()",
		"bound called":          bound + "return r()",
		"bound constructed":     bound + "return typeof new r()",
		"bound instanceof":      bound + "return ({}) instanceof r",
		"prototypes":            "let r = { x: 1 }; for (let i = 0; i < DEPTH; i++) r = Object.create(r); return r.x",
		"proxies as prototypes": "let r = { x: 1 }; for (let i = 0; i < DEPTH; i++) r = Object.create(new Proxy(r, {})); return [r.x, 'y' in r, r.z = 1]",
		"classes":               "let r = Object; for (let i = 0; i < DEPTH; i++) r = class extends r {}; return typeof new r()",
		"causes":                "let r = new Error('x'); for (let i = 0; i < DEPTH; i++) r = new Error('y', { cause: r }); console.log(r); return r.stack.length",
		"causes thrown":         "let r = new Error('x'); for (let i = 0; i < DEPTH; i++) r = new Error('y', { cause: r }); throw r",
		"rope to the left":      "let r = 'ab'.repeat(300); for (let i = 0; i < DEPTH; i++) r = r + 'cdefgh'.repeat(9); return [r.length, r.charCodeAt(5)]",
		"rope to the right":     "let r = 'ab'.repeat(300); for (let i = 0; i < DEPTH; i++) r = 'cdefgh'.repeat(9) + r; return [r.length, r.charCodeAt(5)]",
		"closures":              "let r = () => 1; for (let i = 0; i < DEPTH; i++) { const q = r; r = () => q } r = null; return 1",
		"closures called":       "let r = () => 1; for (let i = 0; i < DEPTH; i++) { const q = r; r = () => q() } return r()",
		"iterators":             "let r = [1].values(); for (let i = 0; i < DEPTH; i++) r = r.map((x) => x); return [...r]",
		"iterators dropped":     "let r = [1].values(); for (let i = 0; i < DEPTH; i++) r = r.drop(0); return [...r]",
		"generators":            "let r = [1]; for (let i = 0; i < DEPTH; i++) r = (function* (q) { yield* q })(r); return [...r]",
		"promises":              "let r = Promise.resolve(1); for (let i = 0; i < DEPTH; i++) { const q = r; r = (async () => await q)() } return r",
		"promises of promises":  "let r = Promise.resolve(1); for (let i = 0; i < DEPTH; i++) { const q = r; r = new Promise((y) => y(q)) } return r",
		"thenables":             "let r = 1; for (let i = 0; i < DEPTH; i++) { const q = r; r = { then(y) { y(q) } } } return r",
		"maps":                  "let r = new Map(); for (let i = 0; i < DEPTH; i++) r = new Map([[r, r]]); console.log(r); return 1",
		"getters":               "let r = { get x() { return 1 } }; for (let i = 0; i < DEPTH; i++) { const q = r; r = { get x() { return q.x } } } return r.x",
		"toJSON":                "let n = DEPTH; const r = { toJSON() { return n-- > 0 ? [r] : 1 } }; return JSON.stringify(r).length",
		"arguments":             "return Math.max.apply(null, new Array(DEPTH).fill(1))",
		"spread":                "return Math.max(...new Array(DEPTH).fill(1))",
		"parameters":            "return new Function(Array.from({ length: DEPTH }, (_, i) => 'a' + i).join(), 'return a0')(1)",
		"weak":                  "let k = {}; const w = new WeakMap(); for (let i = 0; i < DEPTH; i++) { const q = {}; w.set(k, q); k = q } k = null; return 1",
		"cycle":                 "let first = {}, r = first; for (let i = 0; i < DEPTH; i++) r = { r }; first.r = r; first = r = null; new Array(3e5).fill({}); return 1",
	}
}

// nestedCalls never end by themselves.
func nestedCalls() map[string]string {
	return map[string]string{
		"plain":               "return (function f() { return f() })()",
		"arguments":           "return (function f(a, b, c, ...d) { return f(1, 2, 3, ...d) + 1 })(1)",
		"many locals":         "return (function f() { let a = 1, b = 2, c = 3, d = 4, e = 5, g = 6; return f() + a + b + c + d + e + g })()",
		"constructor":         "class A { constructor() { new A() } } return new A()",
		"subclass":            "class A { constructor() { new B() } } class B extends A {} return new B()",
		"getter":              "const o = { get a() { return this.a } }; return o.a",
		"setter":              "const o = { set a(v) { this.a = v } }; o.a = 1",
		"toString":            "const o = { toString() { return '' + o } }; return String(o)",
		"valueOf":             "const o = { valueOf() { return +o } }; return o * 2",
		"toPrimitive":         "const o = { [Symbol.toPrimitive]() { return `${o}` } }; return `${o}`",
		"proxy get":           "const p = new Proxy({}, { get(t, k, r) { return r[k] } }); return p.x",
		"proxy has":           "const p = new Proxy({}, { has(t, k) { return k in p } }); return 1 in p",
		"proxy apply":         "const p = new Proxy(() => 1, { apply() { return p() } }); return p()",
		"proxy construct":     "const p = new Proxy(class {}, { construct() { return new p() } }); return new p()",
		"proxy keys":          "const p = new Proxy({}, { ownKeys() { return Object.keys(p) } }); return Object.keys(p)",
		"proxy of itself":     "const t = {}; const p = new Proxy(t, {}); Object.setPrototypeOf(t, p); return p.x",
		"proxy has of itself": "const t = {}; const p = new Proxy(t, {}); Object.setPrototypeOf(t, p); return 'x' in p",
		"sort":                "return (function f() { [2, 1].sort(() => { f(); return 0 }) })()",
		"map":                 "return (function f() { [1].map(f) })()",
		"forEach":             "return (function f() { [1].forEach(f) })()",
		"reduce":              "return (function f() { [1, 2].reduce(f) })()",
		"replace":             "return (function f() { return 'a'.replace(/a/, f) })()",
		"replace text":        "return (function f() { return 'a'.replace('a', f) })()",
		"reviver":             "return (function f() { return JSON.parse('[1]', f) })()",
		"toJSON":              "const o = { toJSON() { return JSON.stringify(o) } }; return JSON.stringify(o)",
		"replacer":            "return (function f() { return JSON.stringify([1], f) })()",
		"iterator":            "const o = { [Symbol.iterator]() { return [...o] } }; return [...o]",
		"destructuring":       "return (function f([a] = [f()]) {})()",
		"default":             "return (function f(a = f()) {})()",
		"apply":               "return (function f() { Reflect.apply(f.bind(null), null, []) })()",
		"call":                "return (function f() { f.call() })()",
		"construct":           "return (function f() { Reflect.construct(f, []) })()",
		"hasInstance":         "class A { static [Symbol.hasInstance](v) { return v instanceof A } } return ({}) instanceof A",
		"eval":                "globalThis.f = () => (0, eval)('f()'); return f()",
		"direct eval":         "return (function f() { return eval('f()') })()",
		"Function":            "globalThis.f = () => new Function('return f()')(); return f()",
		"async":               "return (async function f() { await f() })()",
		"generator":           "const f = function* () { yield* f() }; return [...f()]",
		"generator next":      "const f = function* () { f().next() }; return f().next()",
		"tag":                 "return (function f() { return f`x` })()",
		"then":                "const o = { get then() { return o.then } }; return o.then",
		"species":             "class A extends Array { static get [Symbol.species]() { return new A(1, 2).map((x) => x).constructor } } return new A(1).map((x) => x)",
		"match":               "const r = /a/; r.exec = () => r.test('a'); return r.test('a')",
		"split":               "const r = { [Symbol.split]() { return 'a'.split(r) } }; return 'a'.split(r)",
		"static":              "class A { static get x() { return A.x } } return A.x",
		"private":             "class A { #x() { return this.#x() } go() { return this.#x() } } return new A().go()",
		"field":               "class A { x = new A() } return new A()",
		"accessors":           "const o = Object.defineProperty({}, 'x', { get() { return Reflect.get(o, 'x') } }); return o.x",
		"Array.from":          "return (function f() { return Array.from([1], f) })()",
		"groupBy":             "return (function f() { return Object.groupBy([1], f) })()",
		"Map":                 "return (function f() { new Map([[1, 1]]).forEach(f) })()",
		"typed":               "return (function f() { new Uint8Array(1).map(f) })()",
		"typed sort":          "return (function f() { new Uint8Array(2).sort(f) })()",
		"timer":               "return (function f() { structuredClone({ get a() { return f() } }) })()",
		"flatMap":             "return (function f() { [1].flatMap(f) })()",
		"concat":              "const a = []; Object.defineProperty(a, 0, { get() { return [].concat(a) } }); return [].concat(a)",
		"join":                "const a = [{ toString() { return a.concat().join() } }]; return a.join()",
		"prepareStackTrace":   "Error.prepareStackTrace = () => new Error('x').stack; return new Error('y').stack",
		"URL":                 "return (function f() { return new URLSearchParams({ [Symbol.iterator]: f }) })()",
		"console":             "const o = { get [Symbol.toStringTag]() { console.log(o); return 'x' } }; console.log(o)",
		"console.table":       "(function f() { console.table([{ get a() { f() } }]) })()",
		"Iterator":            "return (function f() { return [1].values().map(f).next() })()",
		"defineProperty":      "const p = new Proxy({}, { defineProperty() { p.x = 1; return true } }); p.x = 1",
	}
}
