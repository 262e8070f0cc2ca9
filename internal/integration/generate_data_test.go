package integration

// listTemplates are arrays, with holes and with comparisons that contradict
// themselves.
func listTemplates() grammar {
	return grammar{
		"array": {
			"[]", "[1, 2, 3]", "a", "[@value, @value]", "[, @number, , ]", "[@number, @string, @value]", "[...@string]", "[...@array, ...@array]",
			"Array.from({ length: 9 }, (_, i) => (i * 7) % @small)", "new Array(@small)", "Array.of(@value, @value)", "Array(5).fill(@value)", "Array.from(@collection)",
			"@array.map(@function)", "@array.filter(@function)", "@array.concat(@value, @array)", "@array.slice(@small, @number)", "@array.splice(@small, @small, @value)",
			"@array.reverse()", "@array.flat(@small)", "@array.flatMap((x) => [x, [x]])", "@array.copyWithin(@small, @small, @small)",
			"@array.fill(@value, @small, @number)", "@array.with(0, @value)",
			"@array.sort()", "@array.sort(@comparison)", "@array.toSorted(@comparison)", "@array.toSpliced(@small, 1, @value)",
			"Array.from({ length: 40 }, (_, i) => (i * 7919) % 41).sort(@comparison)", "Array.from({ length: 12 }, () => Math.random()).sort(@comparison)",
			"Object.keys(@object)", "Object.entries(@object)", "Reflect.ownKeys(@object)", "[...a.entries()]", "[...@generator]", "@generator.take(5).toArray()",
			"(a.length = @small, a)", "(a[@small] = @value, a)", "(a[@digits] = @value, a)", "[a.push(@value), a.pop(), a.shift(), a.unshift(@value)]",
			"[a.at(@small), a.find(@function), a.findLastIndex(@function), a.includes(@value), a.lastIndexOf(@value)]", "(delete a[@small], a)", "Object.freeze(@array)",
			"(([x, , y = @value, ...z]) => [z, y, x])(@array)", "[...@typed]", "JSON.parse('[1,[2,{\"a\":3}],-0,1e400]', (k, v) => k === 'a' ? @value : v)",
			"Object.values(Object.groupBy(@array, (x) => typeof x))", "[@bigint, @bigint].sort()", "[[@number, @number], [@string]].toString().split('')",
		},
		"comparison": {
			"(x, y) => x - y", "(x, y) => y - x", "() => -1", "() => 1", "() => Math.random() - 0.5", "(x, y) => String(x).localeCompare(y)", "(x, y) => NaN",
			"(x, y) => x < y", "undefined", "(x) => x % 2 ? 1 : -1", "(x, y) => { a.length = 1; return x - y }",
		},
	}
}

// byteTemplates look at the bits of numbers.
func byteTemplates() grammar {
	return grammar{
		"typed": {
			"new Uint8Array(4)", "new @bytes(8)", "new @bytes([@number, @number, @number])", "@bytes.from(@array)",
			"new @bytes(new Float64Array([@number, @number]).buffer)", "new Uint8Array(new Float32Array([@number, @number]).buffer)", "@typed.map((x) => x)",
			"@typed.sort()", "@typed.subarray(@small, @number)", "@typed.fill(@number)", "@typed.copyWithin(@small, @small)", "@typed.toReversed()",
			"(() => { const t = new @bytes(6); t.set(@array, @small); return t })()", "new BigInt64Array([@bigint, @bigint])",
			"new Uint8Array(new BigUint64Array([@bigint]).buffer)",
			"(() => { const b = new ArrayBuffer(8, { maxByteLength: 64 }); const t = new Uint8Array(b); b.resize(16 * Math.abs(@small)); t[3] = 7; return t })()",
			"new TextEncoder().encode(@string)",
		},
		"bytes": {"Uint8Array", "Int8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array", "Uint32Array", "Float32Array", "Float64Array", "Float16Array"},
		"number": {
			"(() => { const d = new DataView(new ArrayBuffer(16)); d.set@view(@small, @number, @bool); return d.get@view(@small, @bool) })()",
			"(() => { const d = new DataView(new ArrayBuffer(8)); d.setFloat64(0, @number); return d.getUint32(@small) ^ d.getFloat32(0) })()",
			"new Float32Array(new Uint32Array([0x7fa00001, 0xffc12345, @number]).buffer)[@small]",
			"new Float64Array(new BigUint64Array([0x7ff0000000000001n, 0xfff8000000000123n]).buffer)[@small]",
		},
		"view": {"Float64", "Float32", "Int8", "Uint16", "Int32", "Uint32", "Float16"},
		"string": {
			"[...new Uint8Array(new Float64Array([@number, @number]).buffer)].join()", "[...new Uint32Array(new Float32Array([@number, - @number]).buffer)].join()",
			"[...new Uint8Array(@typed.buffer)].join()",
		},
	}
}

// collectionTemplates depend on the order in which things were put in, and on
// hashes that nobody sees.
func collectionTemplates() grammar {
	return grammar{
		"collection": {
			"new Set()", "new Map([[@value, @value], [@value, @value]])", "new Set(@array)", "new Set([NaN, -0, 0, @number, @value])",
			"(() => { const m = new Map(); for (const x of @array) m.set(x, m.size); m.delete(@value); m.set(@value, 'late'); return m })()",
			"new Set(@array).union(new Set(@array))", "new Set(@array).symmetricDifference(new Set(@array))",
			"(() => { const m = new Map([[1, 1], [2, 2], [3, 3]]); const r = []; for (const [k] of m) { r.push(k); if (k < 9) { m.delete(k); m.set(k + 3, k) } } return new Set(r) })()",
			"Map.groupBy(@array, @function)", "new URLSearchParams(@string)",
			"(() => { const w = new WeakMap(); w.set(o, @value); return [w.get(o), w.has({}), new WeakSet([o]).has(o)] })()",
		},
	}
}

// heavyTemplates need memory or stack, sometimes more than there is.
func heavyTemplates() grammar {
	return grammar{
		"statement": {
			"a = Array.from({ length: 20000 }, (_, i) => i); show(a.length)", "s = 'xyz'.repeat(30000); show(s.length, s.lastIndexOf('x'))",
			"{ const keep = []; for (let i = 0; i < 300; i++) keep.push(new Array(@digits).fill(i)); show(keep.length) }",
			"{ const keep = []; for (let i = 0; i < 60; i++) keep.push(new Uint8Array(40000).fill(i)); show(keep[7][9]) }",
			"{ const m = new Map(); for (let i = 0; i < 2000; i++) m.set('k' + i, { i }); show(m.size) }",
			"try { const keep = []; for (;;) keep.push(new Uint8Array(500000)) } catch (e) { show('caught', e?.name, e?.message) }",
			"{ let x = 'ab'; for (let i = 0; i < 22; i++) x += x; show(x.length) }", "{ let r = []; for (let i = 0; i < 3000; i++) r = [r]; show(r) }",
			"show(attempt(() => (function dive(i) { return dive(i + 1) + 1 })(0)))", "show((function dive(i) { return i ? dive(i - 1) + 1 : 0 })(@depth))",
			"try { (function dive() { [1].map(dive) })() } catch (e) { show(e.name, e.stack.length) }",
			"show(attempt(() => JSON.stringify(JSON.parse('['.repeat(@depth) + ']'.repeat(@depth))).length))",
			"show(attempt(() => eval('('.repeat(@depth) + '1' + ')'.repeat(@depth))))",
			"(function dive() { dive() })()", "{ const c = []; for (let i = 0; i < 3000; i++) { const x = { i }; x.self = x; c[i % 10] = x } show(c.length) }",
			"for (let i = 0; i < 30; i++) a = a.concat(a).slice(0, 5000)", "show(attempt(() => new RegExp('(a?){' + @depth + '}').test('a'.repeat(30))))",
			"show(/(a+)+$/.test('a'.repeat(16) + 'b'))", "for (;;) n++",
		},
		"depth": {"10", "100", "500", "1000", "3000", "20000"},
	}
}
