package integration

import (
	"slices"
	"strings"
	"testing"
)

// reentry is a way back into a script from within the engine, and expressions
// that take it. The object o runs the same expression again, without end.
type reentry struct {
	name string
	// object declares o; EXPR stands for the expression.
	object      string
	expressions []string
}

// reentryTrials recurse through one built-in each: it is their frames on the
// engine's own stack that count, and some are large.
func reentryTrials(t *testing.T) []trial {
	t.Helper()
	var trials []trial
	for _, r := range reentries() {
		for _, e := range r.expressions {
			trials = append(trials, newTrial(r.name+" "+e, strings.ReplaceAll(r.object, "EXPR", e)+"; return "+e))
		}
	}
	return trials
}

func reentries() []reentry {
	return slices.Concat(plainReentries(), proxyReentries())
}

func plainReentries() []reentry {
	return []reentry{
		{"array", "const a = [], o = a; Object.defineProperty(a, 0, { configurable: true, enumerable: true, get: () => EXPR })", []string{
			"[].concat(o)", "a.concat(o)", "[].concat(1,o,2)", "o.slice()", "o.splice(0,1)", "o.flat()", "o.flat(9)", "[[o]].flat(9)", "o.flatMap(x=>x)",
			"o.reverse()", "o.copyWithin(1,0)", "o.includes(7)", "o.indexOf(7)", "o.lastIndexOf(7)", "o.join()", "o.toString()", "String(o)", "o.toLocaleString()",
			"o.toSorted()", "o.sort()", "o.with(0,1)", "o.toSpliced(0,0)", "o.at(0)", "o.pop()", "o.shift()", "o.find(x=>x)", "o.map(x=>x)",
			"o.reduce((x,y)=>x,1)", "o.some(x=>x)", "[...o]", "Math.max(...o)", "Math.max.apply(null,o)", "Reflect.apply(Math.max,null,o)",
			"Reflect.construct(Object,o)", "new Object(...o)", "Array.from(o)", "Object.entries(o)", "Object.values(o)", "Object.assign([],o)",
			"Object.assign({},o)", "({...o})", "Object.fromEntries([o])", "Object.groupBy(o,x=>x)", "new Map([o])", "new Set(o)", "new Uint8Array(o)",
			"Uint8Array.from(o)", "new Uint8Array(1).set(o)", "JSON.stringify(o)", "structuredClone(o)", "Promise.all(o)", "String.raw({raw:o})",
			"[].concat(...o)", "new Array(...o)", "Array.of(...o)", "o.entries().toArray()", "o.values().map(x=>x).toArray()", "Iterator.from(o).toArray()",
			"o.values().flatMap(x=>[x]).toArray()", "new AggregateError(o)", "`${o}`", "console.table(o)", "JSON.stringify({o})", "JSON.stringify([o],null,2)",
			"(([x])=>x)(o)", "(([...x])=>x)(o)", "o[0]", "o[0].x", "Reflect.get(o,0)", "eval('1')&&o[0]", "new URLSearchParams(o)", "o.toReversed()",
			"Object.getOwnPropertyDescriptors(o)[0].get()", "[o].concat(o,o)", "Array.prototype.concat.call(o,o)", "Array.prototype.concat.apply([],o)",
			"Array.fromAsync(o)",
		}},
		{"valueOf", "const o = { valueOf: () => EXPR }", []string{
			"+o", "o*2", "o+1", "o<1", "o==1", "2**o", "Math.max(o)", "Math.max(1,o)", "Math.pow(o,o)", "Math.hypot(o,o)", "Math.imul(o,o)", "Date.UTC(o,o)",
			"new Date(o)", "new Date(1,o)", "isNaN(o)", "(5).toFixed(o)", "(5).toString(o)", "(5).toPrecision(o)", "'a'.repeat(o)", "'a'.padStart(o)",
			"'a'.charAt(o)", "'a'.slice(o)", "'a'.substring(o,o)", "String.fromCharCode(o)", "String.fromCodePoint(o)", "BigInt.asIntN(o,1n)", "BigInt(o)",
			"new Uint8Array(o)", "new ArrayBuffer(o)", "new DataView(new ArrayBuffer(9)).getInt8(o)", "new DataView(new ArrayBuffer(9)).setFloat64(0,o)",
			"new Uint8Array(1).fill(o)", "new Uint8Array([o])", "[].at(o)", "[1].slice(o)", "[1].splice(o)", "[1].fill(0,o)", "[1].indexOf(1,o)", "[1].with(o,1)",
			"[1].flat(o)", "setTimeout(()=>1,o)", "~o", "o>>>0", "parseInt('1',o)", "new Date(0).setHours(o)", "'a'.at(o)", "Math.atan2(o,1)", "Math.round(o)",
			"new Uint8Array(2).subarray(o)", "Atomics.add(new Int32Array(1),o,1)",
		}},
		{"toString", "const o = { toString: () => EXPR }", []string{
			"''+o", "String(o)", "`${o}`", "parseInt(o)", "parseFloat(o)", "Number(o)", "'a'.concat(o)", "'a'.indexOf(o)", "'a'.replace(o,'')",
			"'a'.replaceAll('a',o)", "'a'.split(o)", "'a'.padEnd(9,o)", "'a'.localeCompare(o)", "'a'.normalize(o)", "new RegExp(o)", "new RegExp('a',o)",
			"/a/.test(o)", "/a/.exec(o)", "'a'.match(o)", "'a'.replace(/a/,o)", "new Error(o)", "new Error('x',{cause:1,message:o})", "Symbol(o)", "Symbol.for(o)",
			"JSON.parse(o)", "new Function(o)", "Function(o,'1')", "eval(String(o))", "Date.parse(o)", "new Date(o)", "encodeURIComponent(o)", "escape(o)",
			"({})[o]", "o in {}", "[o].join()", "[o,o].sort()", "Object.defineProperty({},o,{})", "({}).hasOwnProperty(o)", "Reflect.has({},o)",
			"Symbol.prototype.toString.call(Object(Symbol(o)))", "new URL(o)", "atob(o)", "new TextEncoder().encode(o)", "BigInt(o)", "'a'.startsWith(o)",
			"String.raw({raw:[o,o]},o)", "new (class extends Error{})(o)", "JSON.stringify({[o]:1})", "JSON.stringify([1],null,o)", "'x'.anchor(o)",
		}},
		{"getter", "const o = { get x() { return EXPR } }; Object.defineProperty(o, 'length', { get: () => EXPR })", []string{
			"o.x", "({...o})", "Object.assign({},o)", "Object.values(o)", "Object.entries(o)", "JSON.stringify(o)", "structuredClone(o)", "(({x})=>x)(o)",
			"(({...x})=>x)(o)", "Array.from(o)", "Array.prototype.slice.call(o)", "Array.prototype.join.call(o)", "Array.prototype.map.call(o,x=>x)",
			"Array.prototype.sort.call(o)", "Array.prototype.concat.call(o)", "Array.prototype.push.call(o)", "Math.max.apply(null,o)", "Reflect.get(o,'x')",
			"o?.x", "o.x++", "o.x+=1", "Object.groupBy([1],()=>o.x)", "new Proxy(o,{}).x", "Object.create(o).x", "new Uint8Array(o)", "String.raw({raw:o})",
			"new Map([[o.x,1]])", "JSON.parse('[1]',()=>o.x)", "[1].map(()=>o.x)", "'a'.replace(/a/,()=>o.x)", "[2,1].sort(()=>o.x)",
			"Function.prototype.apply.call(()=>1,null,o)", "Object.defineProperty({},'y',o)", "Object.defineProperties({},o)", "Object.create({},o)",
		}},
		{"iterator", "const o = { [Symbol.iterator]: () => EXPR }", []string{
			"[...o]", "Array.from(o)", "new Set(o)", "new Map(o)", "Math.max(...o)", "(([a])=>a)(o)", "Promise.all(o)", "new Uint8Array(o)",
			"Object.fromEntries(o)", "new WeakSet(o)", "Iterator.from(o)", "new AggregateError(o)", "Object.groupBy(o,x=>x)", "Array.fromAsync(o)",
			"new URLSearchParams(o)",
		}},
	}
}

func proxyReentries() []reentry {
	var list []reentry
	for _, trap := range []struct {
		name        string
		expressions []string
	}{
		{"get", []string{
			"o.x", "[].concat(o)", "JSON.stringify(o)", "o.slice()", "'a'.replace(o)", "[...o]", "String(o)", "o instanceof o", "Array.from(o)",
			"new Uint8Array(o)", "Promise.resolve(o)", "`${o}`", "o+1",
		}},
		{"has", []string{
			"'x' in o", "[].concat.call(o)", "Array.prototype.reverse.call(o)", "Array.prototype.sort.call(o)", "Array.prototype.indexOf.call(o,1)",
			"Array.prototype.splice.call(o,0)", "Array.prototype.forEach.call(o,x=>x)", "[].concat(o)",
		}},
		{"ownKeys", []string{
			"Object.keys(o)", "Reflect.ownKeys(o)", "({...o})", "Object.assign({},o)", "JSON.stringify({__proto__:o})", "Object.freeze(o)", "Object.entries(o)",
			"structuredClone(o)",
		}},
		{"getOwnPropertyDescriptor", []string{
			"Object.getOwnPropertyDescriptor(o,'x')", "o.hasOwnProperty('x')", "Object.keys(o)", "Object.getOwnPropertyDescriptors(o)", "({...o})",
		}},
		{"getPrototypeOf", []string{
			"Object.getPrototypeOf(o)", "o instanceof Object", "Object.prototype.isPrototypeOf.call({},o)", "o.__proto__",
		}},
		{"set", []string{
			"o.x=1", "Reflect.set(o,1,1)", "[].push.call(o,1)", "Object.assign(o,{a:1})", "o.fill(1)", "o.reverse()",
		}},
		{"deleteProperty", []string{
			"delete o.x", "Reflect.deleteProperty(o,1)", "Array.prototype.pop.call(o)",
		}},
		{"isExtensible", []string{
			"Object.isExtensible(o)", "Object.isFrozen(o)",
		}},
		{"preventExtensions", []string{
			"Object.preventExtensions(o)", "Object.seal(o)",
		}},
		{"defineProperty", []string{
			"Object.defineProperty(o,'x',{})", "o.x=1", "Object.defineProperties(o,{x:{}})",
		}},
	} {
		list = append(list, reentry{"proxy " + trap.name, "const o = new Proxy([1], { " + trap.name + ": () => EXPR })", trap.expressions})
	}
	return list
}
