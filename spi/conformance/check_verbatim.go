package conformance

import "github.com/loom-sandbox/sandboxd/spi"

// controls are what a terminal obeys, as a script and as Go write it.
const (
	controlsSource = `'a\u001b[31mb\u001b]0;t\u0007c\rd\be\u007ff\u009b1mg\u000bh\fi'`
	controlsText   = "a\x1b[31mb\x1b]0;t\x07c\rd\be\x7ff\u009b1mg\vh\fi"
)

// logVerbatimChecks: who shows a line has to make it harmless, and not who carries it.
func logVerbatimChecks() []Check {
	return []Check{
		{ID: "WEB-037", Level: MUST, Rule: "Characters that a terminal obeys arrive in a line of the logs as they were.", body: script{
			source: "console.log(" + controlsSource + "); console.error(" + controlsSource + ")", value: "null", logs: []string{controlsText, controlsText},
		}.body()},
	}
}

// valueVerbatimChecks are those of results, and the types of what is no plain object.
func valueVerbatimChecks() []Check {
	object := func(source, value string) script { return script{source: source, value: value, typ: spi.TypeObject} }
	array := func(source, value string) script { return script{source: source, value: value, typ: spi.TypeArray} }
	const escaped = `"a\u001b[31mb\u001b]0;t\u0007c\rd\be` + "\x7ff\u009b1mg" + `\u000bh\fi"`
	return []Check{
		{ID: "VALUE-040", Level: MUST, Rule: "Characters that a terminal obeys arrive in a result, in names and in errors as they were.", body: scripts{
			{source: controlsSource, value: escaped},
			{source: "({ [" + controlsSource + "]: [" + controlsSource + "] })", value: "{" + escaped + ":[" + escaped + "]}"},
			{source: "throw new Error(" + controlsSource + ")", kinds: exception(), message: controlsText},
		}.body()},
		{ID: "VALUE-041", Level: MUST, Rule: "A boxed primitive and every other object that is no array and no function has the type object.", body: scripts{
			object("new String('s')", `"s"`),
			object("Object(5)", "5"),
			object("new Boolean(false)", "false"),
			object("new Date(0)", `"1970-01-01T00:00:00.000Z"`),
			object("/x/g", "{}"),
			object("new Map([[1, 2]])", "{}"),
			object("new Set([1])", "{}"),
			object("new Uint8Array([1, 2])", `{"0":1,"1":2}`),
			object("new ArrayBuffer(2)", "{}"),
			object("new Error('e')", "{}"),
			object("class A { n = 1 }; new A()", `{"n":1}`),
			object("(function* () {})()", "{}"),
			object("[1][Symbol.iterator]()", "{}"),
			object("(function () { return arguments })(1, 2)", `{"0":1,"1":2}`),
			object("Object.create(null)", "{}"),
			object("({ length: 1, 0: 'x' })", `{"0":"x","length":1}`),
			object("new Proxy({ a: 1 }, {})", `{"a":1}`),
			object("Object.create(Array.prototype)", "{}"),
			object("({ toJSON: () => 'text' })", `"text"`),
			object("({ toJSON: () => [1] })", "[1]"),
		}.body()},
		{ID: "VALUE-042", Level: MUST, Rule: "An array has the type array, whatever its prototype, and so has a proxy of one.", body: scripts{
			array("new Proxy([1, 2], {})", "[1,2]"),
			array("class L extends Array {}; L.of(1, 2)", "[1,2]"),
			array("Object.setPrototypeOf([1], null)", "[1]"),
			array("'a b'.match(/(a) (b)/)", `["a b","a","b"]`),
			array("Object.freeze([1])", "[1]"),
			array("Object.assign([1], { toJSON: () => 'text' })", `"text"`),
		}.body()},
	}
}
