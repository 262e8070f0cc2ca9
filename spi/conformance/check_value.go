package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

func valueChecks() []Check {
	return slices.Concat(valueTypeChecks(), valueTextChecks(), valueCodeChecks(), valueFormChecks(), valueVerbatimChecks())
}

func unserializable() []spi.Kind { return []spi.Kind{spi.KindUnserializable} }

// valueTypeChecks: what becomes of each type, as JSON.stringify would have it.
func valueTypeChecks() []Check {
	return []Check{
		{ID: "VALUE-001", Level: MUST, Rule: "The type of a result is that of the JavaScript value.", body: scripts{
			{source: "null", value: "null", typ: spi.TypeNull},
			{source: "true", value: "true", typ: spi.TypeBoolean},
			{source: "1.5", value: "1.5", typ: spi.TypeNumber},
			{source: "'s'", value: `"s"`, typ: spi.TypeString},
			{source: "[]", value: "[]", typ: spi.TypeArray},
			{source: "({})", value: "{}", typ: spi.TypeObject},
			{source: "new Map()", value: "{}", typ: spi.TypeObject},
			{source: "/x/", value: "{}", typ: spi.TypeObject},
		}.body()},
		{ID: "VALUE-002", Level: MUST, Rule: "Undefined, a function and a symbol come back as null with their type.", body: scripts{
			{source: "undefined", value: "null", typ: spi.TypeUndefined},
			{source: "(function f() {})", value: "null", typ: spi.TypeFunction},
			{source: "class A {}; return A", value: "null", typ: spi.TypeFunction},
			{source: "(async () => 1)", value: "null", typ: spi.TypeFunction},
			{source: "Symbol('s')", value: "null", typ: spi.TypeSymbol},
		}.body()},
		{ID: "VALUE-003", Level: MUST, Rule: "Within a result undefined, functions and symbols are left out of objects and null in arrays.", body: script{
			source: "({ u: undefined, f() {}, y: Symbol('q'), [Symbol('k')]: 1, list: [undefined, () => 1, Symbol('r'), , 4] })",
			value:  `{"list":[null,null,null,null,4]}`,
		}.body()},
		{ID: "VALUE-004", Level: MUST, Rule: "A number that JSON does not have is null, and keeps its type.", body: scripts{
			{source: "NaN", value: "null", typ: spi.TypeNumber},
			{source: "-Infinity", value: "null", typ: spi.TypeNumber},
			{source: "[NaN, Infinity, { n: -Infinity }]", value: `[null,null,{"n":null}]`},
		}.body()},
		{ID: "VALUE-005", Level: MUST, Rule: "Minus zero is written as zero.", body: scripts{
			{source: "-0", value: "0", typ: spi.TypeNumber},
			{source: "[-0, { z: -0 }]", value: `[0,{"z":0}]`},
		}.body()},
		{ID: "VALUE-006", Level: MUST, Rule: "Numbers come back to the last bit.", body: valueNumbers},
		{ID: "VALUE-007", Level: SHOULD, Rule: "Numbers are written as JavaScript writes them.", body: script{
			source:  "[1e21, 123456789012345680000, 1e-7, 4294967295, -1, 0.5, 0.000001, 1.5e300]",
			ordered: true, value: "[1e+21,123456789012345680000,1e-7,4294967295,-1,0.5,0.000001,1.5e+300]",
		}.body()},
		{ID: "VALUE-008", Level: MUST, Rule: "A BigInt anywhere in the result is unserializable.", body: scripts{
			{source: "5n", kinds: unserializable()},
			{source: "({ total: 2n ** 70n, parts: [1n, -2n] })", kinds: unserializable()},
			{source: "return [[{ a: Object(1n) }]]", kinds: unserializable()},
			{source: "({ toJSON() { return 1n } })", kinds: unserializable()},
		}.body()},
		{ID: "VALUE-009", Level: MUST, Rule: "A cycle anywhere in the result is unserializable.", body: scripts{
			{source: "const root = { name: 'root', kids: [] }; root.kids.push({ name: 'leaf', up: root }); return root", kinds: unserializable()},
			{source: "const a = []; a.push(a); a", kinds: unserializable()},
			{source: "const o = {}; o.next = { get back() { return o } }; o", kinds: unserializable()},
		}.body()},
		{ID: "VALUE-010", Level: SHOULD, Rule: "An error about an unserializable result says where in it.", body: scripts{
			{source: "({ rows: [0, { total: 1n }] })", kinds: unserializable(), message: "total"},
			{source: "const o = { inner: {} }; o.inner.back = o; o", kinds: unserializable(), message: "back"},
		}.body()},
		{ID: "VALUE-011", Level: MUST, Rule: "An object that comes up twice without a cycle is written twice.", body: script{
			source: "const shared = { a: 1 }; [shared, shared, { s: shared }]", value: `[{"a":1},{"a":1},{"s":{"a":1}}]`,
		}.body()},
		{ID: "VALUE-012", Level: MUST, Rule: "Dates are their ISO text, and null where they are invalid.", body: scripts{
			{source: "({ at: new Date(Date.UTC(2024, 1, 29, 12, 30)), bad: new Date(NaN) })", value: `{"at":"2024-02-29T12:30:00.000Z","bad":null}`},
			{source: "new Date(0)", value: `"1970-01-01T00:00:00.000Z"`, typ: spi.TypeObject},
		}.body()},
		{ID: "VALUE-013", Level: MUST, Rule: "Maps, sets, buffers and typed arrays are written as JSON.stringify writes them.", body: script{
			source: "({ m: new Map([['a', 1]]), s: new Set([1, 2]), u8: new Uint8Array([1, 2, 255]), buf: new Uint8Array([7]).buffer, re: /x/, e: new Error('x') })",
			value:  `{"m":{},"s":{},"u8":{"0":1,"1":2,"2":255},"buf":{},"re":{},"e":{}}`,
		}.body()},
		{ID: "VALUE-014", Level: MUST, Rule: "Boxed primitives are their primitives, and an object's own enumerable properties are what counts.", body: script{
			source: "class P { own = 1; #hidden = 2; get derived() { return 3 } } const o = Object.create({ inherited: 1 }, { shy: { value: 2 }, shown: { value: 3, enumerable: true } }); [new Number(1), new String('s'), new Boolean(false), new P(), o, Object.create(null), (function () { return arguments })(1, 2)]",
			value:  `[1,"s",false,{"own":1},{"shown":3},{},{"0":1,"1":2}]`,
		}.body()},
		{ID: "VALUE-015", Level: MUST, Rule: "Holes of an array are null.", body: script{
			source: "const sparse = [1, , 3]; sparse[5] = 6; sparse.extra = 'x'; sparse", value: "[1,null,3,null,null,6]", typ: spi.TypeArray,
		}.body()},
		{ID: "VALUE-016", Level: MUST, Rule: "A proxy is written as what it shows.", body: scripts{
			{source: "new Proxy({ a: 1 }, { get: (t, k) => k === 'toJSON' ? undefined : 'seen ' + String(k) })", value: `{"a":"seen a"}`, typ: spi.TypeObject},
			{source: "return new Proxy([1, 2], {})", value: "[1,2]", typ: spi.TypeArray},
		}.body()},
	}
}

// valueNumbers compares doubles and not digits.
func valueNumbers(ctx context.Context, s *subject) error {
	want := []float64{
		math.MaxFloat64, math.SmallestNonzeroFloat64, math.Pow(2, -24), math.Pow(2, 89), 0.1 + float64(0.2), 1 << 53, -(1 << 53), 1e21,
		123456789012345680000, 1e-7, 4294967295, 0.30000000000000004, 2.2250738585072014e-308, 1.0 / 3, math.Pi,
	}
	input, err := json.Marshal(want)
	if err != nil {
		return err
	}
	out, err := s.eval(ctx, "input.concat(0.1 + 0.2, 2 ** 53, 1 / 3)", string(input))
	if err != nil {
		return err
	}
	want = append(want, 0.30000000000000004, 1<<53, 1.0/3)
	var got []float64
	if out.Error != nil || json.Unmarshal(out.Value, &got) != nil || !slices.Equal(got, want) {
		return wantValue(out, fmt.Sprint(want))
	}
	return nil
}

// valueTextChecks: text and names, whatever is in them, and the shape of it all.
func valueTextChecks() []Check {
	return []Check{
		{ID: "VALUE-020", Level: MUST, Rule: "A NUL in a text or a name is a character like any other.", body: script{
			source: `({ s: 'a\0b', len: 'a\0b'.length, ['k\0ey']: 'v' })`, value: `{"s":"a\u0000b","len":3,"k\u0000ey":"v"}`,
		}.body()},
		{ID: "VALUE-021", Level: MUST, Rule: "Text comes back as it was, whatever its characters.", body: script{
			source: `const s = '"\\\b\f\n\r\t\x1b\x7f\u2028\u2029\ufeff\u200d</script>é😀\u{10ffff}%s'; [s, { [s]: 1 }]`,
			value: `["\"\\\b\f\n\r\t\u001b\u007f\u2028\u2029\ufeff\u200d</script>é😀\udbff\udfff%s",` +
				`{"\"\\\b\f\n\r\t\u001b\u007f\u2028\u2029\ufeff\u200d</script>é😀\udbff\udfff%s":1}]`,
		}.body()},
		{ID: "VALUE-022", Level: MUST, Rule: "Half a surrogate pair in a text or a name does no harm to what is around it.", body: scripts{
			{source: `['a\ud800b', '\udc00', '😀']`, value: `["a\ufffdb","\ufffd","😀"]`},
			{source: `({ 'k\ud800': 1, after: 2 })`, value: `{"k\ufffd":1,"after":2}`},
		}.body()},
		{ID: "VALUE-023", Level: MUST, Rule: "Names that mean something to objects come back as data.", body: script{
			source:  `JSON.parse('{"__proto__":{"admin":true},"constructor":{"prototype":{"x":1}},"hasOwnProperty":1,"plain":1}')`,
			ordered: true, value: `{"__proto__":{"admin":true},"constructor":{"prototype":{"x":1}},"hasOwnProperty":1,"plain":1}`,
		}.body()},
		{ID: "VALUE-024", Level: MUST, Rule: "Names keep the order that the object gives them.", body: script{
			source:  "({ z: 1, a: { y: 1, b: 2 }, 10: 'ten', 2: 'two', m: [] })",
			ordered: true, value: `{"2":"two","10":"ten","z":1,"a":{"y":1,"b":2},"m":[]}`,
		}.body()},
		{ID: "VALUE-025", Level: MUST, Rule: "A result nested 500 deep is a value.", body: script{
			source: "let r = 0; for (let i = 0; i < 500; i++) r = [r]; r",
			value:  strings.Repeat("[", 500) + "0" + strings.Repeat("]", 500),
		}.body()},
		{ID: "VALUE-026", Level: MUST, Rule: "A result of a hundred thousand items is a value.", body: script{
			roomy: true, source: "Array.from({ length: 1e5 }, (_, i) => i % 10)", value: "[" + strings.Repeat("0,1,2,3,4,5,6,7,8,9,", 9_999) + "0,1,2,3,4,5,6,7,8,9]",
		}.body()},
		{ID: "VALUE-027", Level: MUST, Rule: "What looks like an envelope, a label or a message of the host comes back as plain data.", body: scripts{
			{source: `({ __loomTainted: { origin: 'host' }, value: 'trusted' })`, value: `{"__loomTainted":{"origin":"host"},"value":"trusted"}`},
			{source: `({ kind: 'ok', status: 'ok', value: 1, error: null })`, value: `{"kind":"ok","status":"ok","value":1,"error":null}`},
			{source: `({ error: { kind: 'timeout', limit: 'timeoutMs' }, valueType: 'string' })`, value: `{"error":{"kind":"timeout","limit":"timeoutMs"},"valueType":"string"}`, typ: "object"},
			{source: `'{"forged":true}'`, value: `"{\"forged\":true}"`, typ: "string"},
		}.body()},
	}
}

// valueFormChecks: characters that look alike stay what they are.
func valueFormChecks() []Check {
	const apart, one, sign = "e\u0301", "\u00e9", "\u212b" // the last is the unit, not the letter
	return []Check{
		{ID: "VALUE-039", Level: MUST, Rule: "Text is not normalised, neither in the source nor as input, value, name or line of the logs.", body: scripts{
			{
				source: "[input, Object.keys(input).map((k) => k.length), Object.values(input).map((v) => v.length)]",
				input:  `{"` + apart + `":"` + apart + `","` + one + `":"` + one + `","` + sign + `":"` + sign + `"}`, ordered: true,
				value: `[{"` + apart + `":"` + apart + `","` + one + `":"` + one + `","` + sign + `":"` + sign + `"},[2,1,1],[2,1,1]]`,
			},
			{source: "['" + apart + "'.length, '" + one + "'.length, '" + sign + "'.codePointAt(0)]", value: "[2,1,8491]"},
			{
				source: `console.log('e\u0301', '\u00e9'); ({ 'e\u0301': 'e\u0301', '\u00e9': '\u00e9', '\u212b': '\u212b' })`, ordered: true,
				value: `{"` + apart + `":"` + apart + `","` + one + `":"` + one + `","` + sign + `":"` + sign + `"}`, logs: []string{apart + " " + one},
			},
		}.body()},
	}
}
