package integration

import "testing"

// sweepStart draws bit patterns from all doubles and mixes results into a
// digest: one bit that differs somewhere is another digest.
const sweepStart = `let state = BigInt(input.seed), digest = 0xcbf29ce484222325n, seen = 0;
const mask = 2n ** 64n - 1n; // BigInt.asUintN is not right in every build of the guest
const draw = () => (state = state * 6364136223846793005n + 1442695040888963407n & mask);
const view = new DataView(new ArrayBuffer(8));
const edges = [0, -0, NaN, Infinity, -Infinity, 1, -1, 0.5, -0.5, 1.5, 2.5, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 2 ** 31, -(2 ** 31), 2 ** 32, 2 ** 53, 2 ** 63, -(2 ** 63), 2 ** 64, 4294967295.5, 2147483647.5, 1e21, 1e-7, Math.PI];
const any = () => { const r = draw(), way = Number(r >> 61n); if (way === 0) return edges[Number(r >> 33n) % edges.length]; if (way < 3) return Number(r >> 40n) / 1024 - 4096; if (way === 3) return Number(BigInt.asIntN(33, r)); view.setBigUint64(0, r); return view.getFloat64(0) };
const text = (t) => { for (let i = 0; i < t.length; i++) digest = (digest ^ BigInt(t.charCodeAt(i))) * 0x100000001b3n & mask; seen++ };
const number = (x) => { view.setFloat64(0, x); digest = (digest ^ view.getBigUint64(0)) * 0x100000001b3n & mask; seen++ };
`

// sweeps are what is done over and over with values drawn from all there are.
func sweeps() map[string]string {
	return map[string]string{
		"functions":  "const names = Object.getOwnPropertyNames(Math).filter((k) => Math[k].length === 1 && k !== 'sumPrecise'); for (let i = 0; i < 60; i++) { const x = any(); for (const k of names) number(Math[k](x)) }",
		"two":        "for (let i = 0; i < 300; i++) { const x = any(), y = any(); for (const z of [x + y, x - y, x * y, x / y, x % y, x ** y, Math.atan2(x, y), Math.min(x, y), Math.max(x, y), Math.hypot(x, y), Math.pow(x, y)]) number(z) }",
		"integers":   "for (let i = 0; i < 400; i++) { const x = any(), y = any(); for (const z of [x | y, x & y, x ^ y, x << y, x >> y, x >>> y, ~x, Math.imul(x, y), Math.clz32(x), x >>> 0, -x, +(x < y), +(x <= y), +(x == y)]) number(z) }",
		"decimal":    "for (let i = 0; i < 120; i++) { const x = any(); text(String(x)); text(x.toExponential()); text(x.toPrecision(1 + i % 21)); text(x.toExponential(i % 21)); if (Math.abs(x) < 1e21) text(x.toFixed(i % 30)); number(Number(x.toPrecision(17))); number(parseFloat(String(x) + 'z')) }",
		"radix":      "for (let i = 0; i < 60; i++) { const x = any(); text(x.toString(2 + i % 35)); number(parseInt(x.toString(2 + i % 35), 2 + i % 35)) }",
		"narrow":     "const to = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float16Array, Float32Array, Float64Array].map((T) => new T(2)); for (let i = 0; i < 300; i++) { const x = any(); for (const t of to) { t[0] = x; t[1] = t[0]; number(t[1]) } number(Math.fround(x)); number(Math.f16round(x)) }",
		"bits":       "const d = new DataView(new ArrayBuffer(16)); for (let i = 0; i < 200; i++) { d.setBigUint64(i % 9, draw(), i % 2 === 0); for (const k of ['Float16', 'Float32', 'Float64', 'Int8', 'Uint16', 'Int32', 'Uint32']) { const x = d['get' + k](i % 8, i % 3 === 0); number(x); d['set' + k]((i + 3) % 8, x, i % 2 === 0); number(d.getUint32(i % 12)) } }",
		"raw floats": "const a = new Float32Array(64), b = new Uint32Array(a.buffer); for (let i = 0; i < 64; i++) b[i] = Number(draw() >> 32n) | 0x7f800000; a.set(a.slice(8), 5); a.copyWithin(7, 1, 40); a.reverse(); a.sort(); const c = Float64Array.from(a), e = new Float32Array(c); for (const x of [...b, ...new Uint32Array(c.buffer), ...new Uint32Array(e.buffer)]) number(x)",
		"big":        "for (let i = 0; i < 150; i++) { const x = BigInt.asIntN(1 + i % 140, draw() * draw() * draw()), y = BigInt.asIntN(1 + i % 90, draw() * draw()) || 3n; for (const z of [x + y, x - y, x * y, x / y, x % y, x & y, x | y, x ^ y, ~x, x << BigInt(i % 70), x >> BigInt(i % 70)]) text(z.toString(2 + i % 35)); number(Number(x)); number(Number(x * y)); text(String(BigInt.asUintN(64, x))) }",
		"dates":      "for (let i = 0; i < 120; i++) { const t = Number(BigInt.asIntN(54, draw())); const d = new Date(t); number(d.getTime()); text(String(d)); d.setUTCMonth(i - 50, any()); number(+d); d.setHours(i, -i, any()); number(+d); number(Date.parse(new Date(t).toUTCString())); number(Date.UTC(i * 37, any() % 50, 3)) }",
		"letters":    "for (let i = 0; i < 900; i++) { const c = String.fromCodePoint(Number(draw() >> 44n) % 0x2ffff); text(c.toUpperCase() + c.toLowerCase()); if (i % 3 === 0) for (const f of ['NFC', 'NFD', 'NFKC', 'NFKD']) text((c + '\\u0301' + c).normalize(f)); number(/\\p{L}|\\p{N}/u.test(c) + 2 * /[^\\w\\s]/iu.test(c)); number(c.localeCompare('m')) }",
		"orders":     "for (let i = 0; i < 20; i++) { const a = Array.from({ length: 20 + i * 3 }, any); number(a.slice().sort((x, y) => x - y)[7]); text(a.slice().sort().join()); const r = () => Number(draw() >> 63n) * 2 - 1; text(a.map((x, j) => j).sort(r).join()); const f = new Float64Array(a).sort(); number(f[3]); number(f.indexOf(a[4])); number(a.includes(NaN)) }",
		"patterns":   "const parts = ['a', 'b*', '(a|b)', '(?:ab)+?', '[a-c]', '\\\\1', '(?=b)', '(?<!a)', '.', '\\\\b', '$', '(b?)', 'a{1,2}']; for (let i = 0; i < 120; i++) { let p = ''; for (let j = 0; j < 5; j++) p += parts[Number(draw() >> 40n) % parts.length]; let s = ''; for (let j = 0; j < 14; j++) s += 'abc '[Number(draw() >> 62n)]; let m; try { m = JSON.stringify([...s.matchAll(new RegExp(p, 'g'))]) } catch (e) { m = e.message } text(m) }",
		"records":    "const o = {}, m = new Map(), s = new Set(); for (let i = 0; i < 600; i++) { const x = any(), k = i % 3 ? String(x).slice(0, 3) : x; o[k] = i; m.set(k, i); s.add(x); if (i % 5 === 0) { delete o[k]; m.delete(k) } } text(Object.keys(o).join()); text([...m].join()); text([...s].join()); text(JSON.stringify(o)); [...s].forEach(number); text(JSON.stringify(JSON.parse(JSON.stringify([...m]))))",
	}
}

// sweepTrials compute much with little text: here an engine's code for numbers
// shows.
func sweepTrials(t *testing.T) []trial {
	t.Helper()
	var trials []trial
	for name, script := range sweeps() {
		for _, seed := range []string{"1", "2"} {
			tr := newTrial(name+" "+seed, sweepStart+script+"\nif (seen < 100) throw new Error('too few'); [seen, digest.toString(16)]")
			tr.requests[0].Input = []byte(`{"seed":` + seed + `}`)
			tr.ends = true
			trials = append(trials, tr)
		}
	}
	return trials
}
