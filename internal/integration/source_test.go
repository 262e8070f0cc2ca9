package integration

import (
	"testing"

	"github.com/loom-sandbox/sandboxd/spi"
)

const lineSeparator = "\u2028"

func TestAScriptRunsInWhateverFormItWasWritten(t *testing.T) {
	t.Parallel()
	checkRows(t, formRows())
}

func formRows() []row {
	return []row{
		{name: "last expression", script: "let a = 2;\na * 21", value: "42", typ: spi.TypeNumber},
		{name: "return", script: "return 42", value: "42"},
		{name: "return in a block", script: "let a = 1\n{ return a }", value: "1"},
		{name: "return in a condition", script: "if (true) { return 9 }\nreturn 1", value: "9"},
		{name: "return in a loop", script: "for (const i of [1, 2]) { if (i === 2) return i }", value: "2"},
		{name: "return through finally", script: "try { return 1 } finally { console.log('finally') }", value: "1", logs: []string{"finally"}},
		{name: "return in a string is none", script: "'return 1' + `return ${2}`", value: `"return 1return 2"`},
		{name: "return and await", script: "const a = await Promise.resolve(20); return a + await (async () => 22)()", value: "42"},
		{name: "await only", script: "const a = await Promise.resolve(20); a + 22", value: "42"},
		{name: "for await", script: "async function* g() { yield 1; yield 2 }\nconst r = []; for await (const x of g()) r.push(x); r", value: "[1,2]"},
		{name: "label out of a block", script: "done: { if (true) break done; }\n7", value: "7"},
		{name: "label over two loops", script: "next: for (const i of [1, 2, 3]) { for (;;) { continue next } }\n8", value: "8"},
		{name: "braces are a block", script: "{ a: 1 }", value: "1"},
		{name: "value of a condition", script: "if (1) { 'yes' } else { 'no' }", value: `"yes"`},
		{name: "value of a loop", script: "for (let i = 0; i < 3; i++) i * 2", value: "4"},
		{name: "declaration only", script: "let x = 5", value: "null", typ: spi.TypeUndefined},
		{name: "comment only", script: "// nothing", value: "null", typ: spi.TypeUndefined},
		{name: "semicolons only", script: "; ; ;", value: "null", typ: spi.TypeUndefined},
		{name: "comment at the end of a return", script: "return 7 // seven", value: "7"},
		{name: "html comment", script: "return 1 <!-- old", value: "1"},
		{name: "using belongs into a block or a function", script: "using x = null; 1", kind: spi.KindSyntax, line: 1},
		{name: "strict", script: "'use strict'; undeclared = 1", kind: spi.KindException, errorName: "ReferenceError", line: 1},
		{name: "strict with return", script: "'use strict'; return this === undefined", value: "true"},
		{name: "sloppy", script: "undeclared = 1; with ({ x: undeclared }) { x }", value: "1"},
		{name: "global this", script: "this === globalThis", value: "true"},
		{name: "shadowing what is there", script: "const console = { log() {} }; let setTimeout = 5; function fetch() { return setTimeout }; class URL {}; fetch()", value: "5"},
		{name: "shadowing the input", script: "const input = 3; input", input: "1", value: "3"},
		{name: "input", script: "input.a.b", input: `{"a": {"b": 12345}}`, value: "12345"},
		{name: "no input", script: "input", value: "null"},
		{name: "input with a key that is no data elsewhere", script: "[Object.keys(input), input.admin]", input: `{"__proto__": {"admin": true}}`, value: `[["__proto__"], null]`},

		{name: "byte-order mark", script: "\ufeffreturn 1", value: "1"},
		{name: "hashbang", script: "#!/usr/bin/env node\nreturn 1", value: "1"},
		{name: "byte-order mark and hashbang", script: "\ufeff#!/usr/bin/env node\nreturn 1", value: "1"},
		{name: "fence", script: "```js\nreturn `a`\n```\n", value: `"a"`},
		{name: "fence with CRLF", script: "```javascript\r\nconst a = 1;\r\na\r\n```\r\n", value: "1"},
		{name: "fence and byte-order mark", script: "\ufeff```\n5\n```", value: "5"},
		{name: "fence, byte-order mark and hashbang", script: "\ufeff```js\n#!/usr/bin/env node\nreturn 2\n```", value: "2"},
		{name: "hashbang, then no fence", script: "#!x\n`a`", value: `"a"`},
		{name: "tildes", script: "~~~~js\n4\n~~~~", value: "4"},
		{name: "line separators in a string", script: "'" + lineSeparator + "\u2029'.length", value: "2"},
		{name: "line separator between statements", script: "let a = 1" + lineSeparator + "a + 1", value: "2"},
		{name: "CRLF", script: "let a = 1;\r\nlet b = `x\r\ny`;\r\nreturn b.length + a", value: "4"},
		{name: "CR", script: "let a = 1;\ra + 1", value: "2"},

		{name: "import", script: "import fs from 'fs';\nfs.x", kind: spi.KindSyntax, errorName: "SyntaxError", line: 1},
		{name: "export", script: "export const a = 1", kind: spi.KindSyntax, line: 1},
		{name: "import.meta", script: "import.meta", kind: spi.KindSyntax},
		{name: "dynamic import", script: "await import('node:fs')", kind: spi.KindException, message: "node:fs"},
		{name: "dynamic import, caught", script: "import('./x.js').catch(() => 'refused')", value: `"refused"`},
		{name: "require", script: "require('fs')", kind: spi.KindException, errorName: "ReferenceError", message: "require"},
		{name: "eval", script: "eval('1 + 1')", value: "2"},
		{name: "Function", script: "new Function('a', 'return a + 1')(1)", value: "2"},
	}
}

func TestAnErrorNamesTheLineThatTheUserWrote(t *testing.T) {
	t.Parallel()
	checkRows(t, placeRows())
}

func placeRows() []row {
	exception := func(name, script string, line, col int) row {
		return row{name: name, script: script, kind: spi.KindException, line: line, col: col}
	}
	syntax := func(name, script string, line int) row {
		// A message that names a brace which the script has not got is no help.
		return row{name: name, script: script, kind: spi.KindSyntax, errorName: "SyntaxError", line: line}
	}
	unfinished := func(name, script string, line int, notMessage string) row {
		r := syntax(name, script, line)
		r.notMessage = notMessage
		return r
	}
	return []row{
		exception("script form", "let a = 1;\n\n  null.x\n", 3, 3),
		exception("return form", "let a = 1;\n\n  null.x\nreturn 1", 3, 3),
		exception("first line of the return form", "null.x; return 1", 1, 1),
		exception("last line of the return form", "let a\nif (!a) null.x; else return 1", 2, 9),
		exception("await form", "await 1;\nnull.x", 2, 1),
		exception("in a function", "function f() {\n  null.x\n}\nf()", 2, 3),
		exception("in a function of the return form", "function f() {\n  null.x\n}\nreturn f()", 2, 3),
		exception("fence", "```js\nfunction f() {\n  null.x\n}\nf()\n```", 3, 3),
		exception("fence, return form", "\n```js\nlet a\nif (!a) null.x\nreturn a\n```", 4, 9),
		exception("fence with CRLF", "```js\r\nlet a = 1;\r\nthrow new Error('x')\r\n```\r\n", 3, 0),
		exception("hashbang", "#!/usr/bin/env node\nnull.x", 2, 1),
		exception("byte-order mark", "\ufeffnull.x", 1, 1),
		exception("CRLF", "let a = 1;\r\nlet b = 2;\r\n null.x;\r\n", 3, 2),
		exception("CRLF, return form", "let a = 1;\r\nlet b = 2;\r\n null.x;\r\nreturn 1", 3, 2),
		exception("CR", "let a = 1;\rlet b = 2;\r null.x;\r", 3, 2),
		exception("line separator", "1"+lineSeparator+" null.x", 2, 2),
		exception("through eval", "let a\neval('null.x')", 2, 1),
		exception("in a timer", "await new Promise(() => {\nsetTimeout(() => {\n null.x })})", 3, 2),
		exception("in a rejected promise", "async function f() {\n await null\n  null.x\n}\nf()", 3, 3),
		exception("at a getter of the result", "({\n get a() { return null.x } })", 2, 0),
		{name: "a stack that was made up beyond the script", script: "const e = new Error('x'); e.stack = 'at script.js:70:1'; throw e", kind: spi.KindException, noPlace: true},
		{name: "no stack", script: "throw 5", kind: spi.KindException, noPlace: true},

		syntax("script form, first line", "let a = ;", 1),
		syntax("script form, later line", "let a = 1;\n\nlet b = ;\na", 3),
		syntax("return form, before the return", "let a = 1;\nlet b = ;\nreturn 1", 2),
		syntax("return form, after the return", "return 1;\nlet b = ;", 2),
		syntax("await form", "await 1;\nlet b = ;\nawait 2", 2),
		syntax("fence", "```js\nlet a;\nlet b = ;\n```", 3),
		syntax("CRLF", "let a = 1;\r\nlet b = ;\r\n", 2),
		syntax("declared twice", "let a = 1;\nlet a = 2;", 2),
		syntax("declared twice, return form", "let a = 1;\nlet a = 2;\nreturn a", 2),
		syntax("strict", "'use strict'\nwith ({}) {}", 2),
		syntax("type annotation of a variable", "let a = 1;\nlet x: number = 5;\nx", 2),
		syntax("type annotation of a parameter", "let a = 1;\nconst f = (a: string) => a;\nreturn f(a)", 2),
		syntax("return type", "function f(a): number { return 1 }\nf()", 1),
		syntax("interface", "const a = 1\ninterface A { x: number }\n1", 2),
		syntax("as", "const a = 1\nconst x = a as number;\nx", 2),
		syntax("enum", "1\nenum A { B }", 2),
		syntax("a brace too many", "let a = 1;\n}", 2),
		syntax("a brace too many after a return", "return 1;\n}", 2),
		syntax("closing what encloses it", "return 1\n}); (async function () {", 2),
		syntax("closing what encloses it, otherwise", "}\nasync function foo() {", 1),
		syntax("string over a line end", "1\n'open\n'", 2),
		unfinished("call", "1;\nfoo(", 2, "}"),
		unfinished("function", "1;\nfunction f() {", 2, ")"),
		unfinished("function after a return", "return 1;\nfunction f() {", 2, ")"),
		unfinished("template", "1;\n`open", 2, "}"),
		unfinished("comment", "1;\n/* open", 2, "}"),
		unfinished("comment after a return", "return /* open", 1, "}"),
		unfinished("array", "1;\n[1,", 2, "}"),
	}
}
