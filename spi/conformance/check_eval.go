package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

func evalChecks() []Check {
	return slices.Concat(evalFormChecks(), evalInputChecks(), evalIsolateChecks(), evalLanguageChecks(), evalKeptChecks())
}

// evalFormChecks: what a script is, and which of its values is the result.
func evalFormChecks() []Check {
	tooLarge := []spi.Kind{spi.KindInputTooLarge}
	return []Check{
		{ID: "EVAL-001", Level: MUST, Rule: "The value of the last expression is the result.", body: scripts{
			{source: "const a = 20; a + 22", value: "42", typ: "number"},
			{source: "1;\n2;\n'three'\n", value: `"three"`, typ: "string"},
			{source: "({ a: [1, 'b'] })", value: `{"a":[1,"b"]}`, typ: "object"},
		}.body()},
		{ID: "EVAL-002", Level: MUST, Rule: "The result of a block, branch or loop is that of the last expression in it.", body: scripts{
			{source: "if (1 < 2) { 'yes' } else { 'no' }", value: `"yes"`},
			{source: "let sum = 0; for (const n of [1, 2, 3]) { sum += n }", value: "6"},
			{source: "let i = 0; do { i++ } while (i < 4)", value: "3"},
			{source: "try { null.x } catch (e) { e.name }", value: `"TypeError"`},
			{source: "try { 7 } finally { 8 }", value: "7"},
			{source: "switch (2) { case 1: 'one'; break; case 2: 'two' }", value: `"two"`},
			{source: "1; var later = 2", value: "1"},
		}.body()},
		{ID: "EVAL-003", Level: MUST, Rule: "A script without an expression has the result undefined.", body: scripts{
			{source: "const a = 1; let b; var c = 2", value: "null", typ: "undefined"},
			{source: "function f() { return 1 }\nclass A {}", value: "null", typ: "undefined"},
			{source: "// nothing but a comment", value: "null", typ: "undefined"},
			{source: " \n\t;\n", value: "null", typ: "undefined"},
		}.body()},
		{ID: "EVAL-004", Level: MUST, Rule: "A script may return at its top level, from any block.", body: scripts{
			{source: "const a = 6; return a * 7", value: "42", typ: "number"},
			{source: "for (const n of [1, 2, 3]) { if (n === 2) return n }\nreturn 'none'", value: "2"},
			{source: "try { return 'in' } finally { 'out' }", value: `"in"`},
			{source: "if (true) return; 5", value: "null", typ: "undefined"},
			{source: "if (false) return 1; 5", value: "null", typ: "undefined"},
		}.body()},
		{ID: "EVAL-005", Level: MUST, Rule: "A script may await at its top level, and its last expression is still the result.", body: scripts{
			{source: "const a = await Promise.resolve(20); a + 22", value: "42", typ: "number"},
			{source: "await 7", value: "7"},
			{source: "let sum = 0; for await (const n of [1, Promise.resolve(2)]) sum += n; sum", value: "3"},
			{source: "const f = async () => { await null; return 'late' }; await f()", value: `"late"`},
		}.body()},
		{ID: "EVAL-006", Level: MUST, Rule: "Top-level await and return go together.", body: scripts{
			{source: "const a = await Promise.resolve(20);\nif (a > 10) { return a + (await (async () => 22)()); }\nreturn 'unreached';", value: "42"},
			{source: "for (let i = 0; ; i++) { if (await Promise.resolve(i === 3)) return i }", value: "3"},
		}.body()},
		{ID: "EVAL-007", Level: MUST, Rule: "A promise as the result is awaited, and its value has that value's type.", body: scripts{
			{source: "Promise.resolve([7])", value: "[7]", typ: "array"},
			{source: "(async () => Promise.resolve('eight'))()", value: `"eight"`, typ: "string"},
			{source: "return new Promise((done) => Promise.resolve().then(() => done(9)))", value: "9", typ: "number"},
			{source: "async function main() { await null }\nmain()", value: "null", typ: "undefined"},
		}.body()},
		{ID: "EVAL-008", Level: MUST, Rule: "A promise that is rejected is as if the script had thrown.", body: scripts{
			{source: "Promise.reject(new TypeError('refused'))", kinds: exception(), name: "TypeError", message: "refused"},
			{source: "return (async () => { throw new RangeError('far') })()", kinds: exception(), name: "RangeError", message: "far"},
			{source: "await Promise.reject(new Error('here')); 5", kinds: exception(), message: "here"},
		}.body()},
		{ID: "EVAL-009", Level: SHOULD, Rule: "An object with a method then counts as a promise where it is returned or awaited.", body: scripts{
			{source: "return { then(done) { done('settled') } }", value: `"settled"`},
			{source: "await { then(done) { done('settled') } }", value: `"settled"`},
			{source: "return { then: 'no method' }", value: `{"then":"no method"}`},
		}.body()},
		{ID: "EVAL-010", Level: MUST, Rule: "A comment may end the script, with no line end behind it.", body: scripts{
			{source: "7 // seven", value: "7"},
			{source: "return 7 // seven", value: "7"},
			{source: "await 7 // seven", value: "7"},
			{source: "return await 7 /* seven */", value: "7"},
		}.body()},
		{ID: "EVAL-011", Level: MUST, Rule: "What is no program by itself is a syntax error, whatever it would close or open.", body: scripts{
			{source: "return 1 }); (async function () { return 2", kinds: syntax()},
			{source: "return 1\n}", kinds: syntax()},
			{source: "return 1;\n}\n{", kinds: syntax()},
			{source: "await 1 })(); (async () => { 2", kinds: syntax()},
			{source: "1 /*", kinds: syntax()},
			{source: "`${1", kinds: syntax()},
		}.body()},
		{ID: "EVAL-012", Level: MUST, Rule: "Nothing runs of a script that does not parse.", body: sequence{
			{source: "console.log('ran');\nglobalThis.ran = true;\nlet = = 1", kinds: syntax(), logs: []string{}},
			{source: "typeof ran", value: `"undefined"`},
		}.body()},
		{ID: "EVAL-013", Level: MUST, Rule: "Unicode in the source means what it means anywhere.", body: scripts{
			{source: "const größe = 'ß', 変数 = '值', \\u0061b = '😀'; [größe, 変数, ab, ab.length]", value: `["ß","值","😀",2]`},
			{source: "'a\u2028b\u2029c'.length", value: "5"},
			{source: "const a = 1\u2028const b = 2 // rest\u2029; a + b", value: "3"},
			{source: "/* \u202e */ '\u200d\ufeff'.length", value: "2"},
		}.body()},
		{ID: "EVAL-014", Level: MUST, Rule: "A source of 200 KiB runs, or is refused as too large.", body: scripts{
			{source: "let n = 0;\n" + strings.Repeat("n += 1; // one\n", 13_000) + "n", orValue: []string{"13000"}, kinds: tooLarge, roomy: true},
			{source: "'" + strings.Repeat("x", 200<<10) + "'.length", orValue: []string{"204800"}, kinds: tooLarge, roomy: true},
		}.body()},
		{ID: "EVAL-015", Level: MUST, Rule: "Array literals nested 150 deep are ordinary source.", body: script{
			source: "let v = " + strings.Repeat("[", 150) + "0" + strings.Repeat("]", 150) + "; let d = 0; while (Array.isArray(v)) { v = v[0]; d++ } return d",
			value:  "150",
		}.body()},
		{ID: "EVAL-016", Level: MUST, Rule: "A script may use any name that an earlier script declared.", body: scripts{
			{
				source: "const total = 10; let rows = [1]; class Box {} return total", value: "10",
				next: "const total = 20; let rows = [1, 2]; class Box {} return total + rows.length", nextValue: "22",
			},
			{
				source: "const total = 10; let rows = [1]; class Box {} total", value: "10",
				next: "const total = 20; let rows = [1, 2]; class Box {} total + rows.length", nextValue: "22",
			},
		}.body()},
		{ID: "EVAL-017", Level: SHOULD, Rule: "A script is sloppy unless it says 'use strict'.", body: scripts{
			{source: "counter = 5; counter", value: "5"},
			{source: "'use strict'; (function () { return this === undefined })()", value: "true"},
			{source: "'use strict'; return (function () { return this === undefined })()", value: "true"},
			{source: "(function () { return this === globalThis })()", value: "true"},
		}.body()},
		{ID: "EVAL-018", Level: MUST, Rule: "Waiting for what nothing can settle is a deadlock, at once.", body: scripts{
			{source: "await new Promise(() => {}); return 'never'", kinds: []spi.Kind{spi.KindDeadlock}},
			{source: "new Promise(() => {})", kinds: []spi.Kind{spi.KindDeadlock}},
			{source: "await { then() {} }", kinds: []spi.Kind{spi.KindDeadlock}},
		}.body()},
		{ID: "EVAL-019", Level: MUST, Rule: "A language that the descriptor does not list is not supported.", body: evalLanguage},
		{ID: "EVAL-020", Level: MUST, Rule: "Modules are refused in a way that ends or can be caught.", body: scripts{
			{source: "const { readFileSync } = require('fs');\nreturn readFileSync('/etc/hostname', 'utf8')", kinds: refused()},
			{source: "try { await import('fs'); return 'open' } catch { return 'refused' }", value: `"refused"`, kinds: refused(), orValue: []string{`"refused"`}},
			{source: "import fs from 'fs';\nfs.readFileSync('/etc/hostname')", kinds: []spi.Kind{spi.KindSyntax, spi.KindException, spi.KindDenied}},
		}.body()},
		{ID: "EVAL-021", Level: MUST, Rule: "A capability that was not granted is refused in a way that ends or can be caught.", body: script{
			source: "try {\n  const r = await fetch('http://127.0.0.1:9/');\n  return 'open ' + r.status;\n} catch { return 'refused' }",
			kinds:  []spi.Kind{spi.KindDenied}, orValue: []string{`"refused"`},
		}.body()},
	}
}

func exception() []spi.Kind { return []spi.Kind{spi.KindException} }
func syntax() []spi.Kind    { return []spi.Kind{spi.KindSyntax} }
func refused() []spi.Kind   { return []spi.Kind{spi.KindException, spi.KindDenied} }

func evalLanguage(ctx context.Context, s *subject) error {
	for _, language := range []spi.Language{"no-such-language", "JS", ""} {
		if s.descriptor.Speaks(language) {
			continue
		}
		iso, err := s.isolate(ctx)
		if err != nil {
			return err
		}
		out, err := iso.Eval(ctx, &spi.Request{Source: "1", Language: language, Input: json.RawMessage("null")})
		switch {
		case err == nil:
			return fmt.Errorf("language %q ran, with the outcome %+v", language, out)
		case !errors.Is(err, spi.ErrUnsupported):
			return fmt.Errorf("language %q gave an error that is not ErrUnsupported: %w", language, err)
		}
	}
	return nil
}
