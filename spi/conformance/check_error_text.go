package conformance

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loom-sandbox/sandboxd/spi"
)

// errorTextChecks: the texts are the guest's, whole and harmless.
func errorTextChecks() []Check {
	return []Check{
		{ID: "ERROR-020", Level: MUST, Rule: "A message with formatting directives, quotes and line ends arrives as it was.", body: scripts{
			{source: "throw new Error('100% of %s rows, %n left, %d%%: %x%!v(MISSING) {{.}} ${x} end')", kinds: exception(), message: "100% of %s rows, %n left, %d%%: %x%!v(MISSING) {{.}} ${x} end"},
			{source: `throw new Error('a "quoted" \\ text\r\n\tin lines\n\n<b>')`, kinds: exception(), message: "a \"quoted\" \\ text\r\n\tin lines\n\n<b>"},
			{source: "throw new Error('é 😀 \\u2028 \\u202e')", kinds: exception(), message: "é 😀 \u2028 \u202e"},
		}.body()},
		{ID: "ERROR-021", Level: MUST, Rule: "A NUL does not cut a message, nor what is no character.", body: scripts{
			{source: `throw new Error('before\0after')`, kinds: exception(), also: messageHas("before", "after")},
			{source: `throw new Error('before\ud800after')`, kinds: exception(), also: messageHas("before", "after")},
			{source: `const e = new Error('m'); e.name = 'N\0\udc00M'; throw e`, kinds: exception(), message: "m", also: func(out *spi.Outcome) error {
				if n := out.Error.Name; !strings.HasPrefix(n, "N") || !strings.HasSuffix(n, "M") {
					return fmt.Errorf("error has the name %q, wanted it from N to M", clip(n))
				}
				return nil
			}},
		}.body()},
		{ID: "ERROR-022", Level: MUST, Rule: "A text that is too long is cut at a character and ends with an ellipsis.", body: scripts{
			{source: "throw new Error('é'.repeat(100000))", kinds: exception(), also: messageCut, roomy: true},
			{source: "throw new Error('x' + '😀'.repeat(100000))", kinds: exception(), also: messageCut, roomy: true},
			{source: "const e = new Error('m'); e.name = 'N' + 'ß'.repeat(1000); throw e", kinds: exception(), also: func(out *spi.Outcome) error {
				return cutText("name", out.Error.Name, spi.MaxErrorNameBytes)
			}},
			{source: "const e = new Error('m'); e.stack = 'at ' + 'ß'.repeat(1e5); throw e", kinds: exception(), message: "m", roomy: true},
		}.body()},
		{ID: "ERROR-023", Level: SHOULD, Rule: "What is thrown and is no error is shown as text.", body: scripts{
			{source: "throw 'plain text'", kinds: exception(), message: "plain text"},
			{source: "throw 12.5", kinds: exception(), message: "12.5"},
			{source: "throw null", kinds: exception(), message: "null"},
			{source: "throw undefined", kinds: exception(), message: "undefined"},
			{source: "throw Symbol('why')", kinds: exception(), message: "why"},
			{source: "throw { code: 'E_FAIL', detail: 7 }", kinds: exception(), message: "E_FAIL"},
		}.body()},
		{ID: "ERROR-024", Level: SHOULD, Rule: "An error of a class of the script's own has the name that the script gave it.", body: scripts{
			{source: "class QueryError extends Error { constructor(m) { super(m); this.name = 'QueryError' } } throw new QueryError('no rows')", kinds: exception(), name: "QueryError", message: "no rows"},
			{source: "class QueryError extends Error { get name() { return 'QueryError' } } throw new QueryError('no rows')", kinds: exception(), name: "QueryError", message: "no rows"},
			{source: "throw new AggregateError([new Error('a'), new TypeError('b')], 'both')", kinds: exception(), name: "AggregateError", message: "both"},
			{source: "await Promise.any([Promise.reject(new Error('a'))])", kinds: exception(), name: "AggregateError"},
			{source: "throw new Error('top', { cause: new Error('below') })", kinds: exception(), name: "Error", message: "top"},
		}.body()},
		{ID: "ERROR-025", Level: MUST, Rule: "Nothing of the host's files and programs is in an error.", body: scripts{
			{source: "function f() { null.x }\nf()", kinds: exception(), also: noHostText},
			{source: "let x = ;", kinds: syntax(), also: noHostText},
			{source: "return [1].map((x) => JSON.parse('{'))", kinds: exception(), also: noHostText},
			{source: "structuredClone(() => 1)", kinds: exception(), also: noHostText},
			{source: "({ get a() { throw new Error('x') } })", kinds: exception(), also: noHostText},
			{source: "1n", kinds: unserializable(), also: noHostText},
			{source: "await new Promise(() => {})", kinds: []spi.Kind{spi.KindDeadlock}, also: noHostText},
			{source: "const text = String(new Error('probe').stack); return new RegExp(input).test(text)", input: strconv.Quote(hostTextPattern), value: "false"},
		}.body()},
		{ID: "ERROR-026", Level: SHOULD, Rule: "A stack names the functions that the error came through.", body: script{
			source: "function inner() { throw new Error('x') }\nfunction outer() { inner() }\nouter()", kinds: exception(), also: func(out *spi.Outcome) error {
				if st := out.Error.Stack; !strings.Contains(st, "inner") || !strings.Contains(st, "outer") {
					return fmt.Errorf("stack is %q, wanted inner and outer in it", clip(st))
				}
				return nil
			},
		}.body()},
	}
}

// errorPlaceChecks: where in the source it was.
func errorPlaceChecks() []Check {
	return []Check{
		{ID: "ERROR-030", Level: SHOULD, Rule: "A syntax error has the line of the source that does not parse.", body: scripts{
			{source: "const a = 1;\nconst b = 2;\nlet x = ;\n", kinds: syntax(), line: 3},
			{source: "const a = 1;\n\nlet x = ;\nreturn a", kinds: syntax(), line: 3},
			{source: "await null;\nlet x = ;\n1", kinds: syntax(), line: 2},
			{source: "let x = ;", kinds: syntax(), line: 1},
		}.body()},
		{ID: "ERROR-031", Level: SHOULD, Rule: "An exception has the line of the source where it was thrown.", body: scripts{
			{source: "const o = {};\n\nconst p = o.a.b;\np", kinds: exception(), line: 3},
			{source: "const o = {};\nreturn o.a.b;", kinds: exception(), line: 2},
			{source: "const o = await {};\n// and\n// so\nthrow new Error('x')", kinds: exception(), line: 4},
			{source: "const f = async () => {\n  const r = null;\n  return r.data;\n};\nawait f()", kinds: exception(), line: 3},
			{source: "function f() {\n  throw new Error('x') }\nf()", kinds: exception(), line: 2},
			{source: "missing", kinds: exception(), line: 1},
		}.body()},
		{ID: "ERROR-032", Level: MUST, Rule: "The place of an error is within the source, whatever stack the script makes up.", body: errorPlaceForged},
		{ID: "ERROR-033", Level: SHOULD, Rule: "A column counts characters, of which a pair of surrogates is one.", body: errorColumn},
	}
}

// hostTextPattern is what only a host writes, in the syntax of Go and JavaScript.
const hostTextPattern = `/(root|home|usr|work|tmp|var|proc)/|\.(go|rs|cc?|cpp)\b|node:internal|wasm-function|goroutine |0x[0-9a-f]{6}`

func noHostText(out *spi.Outcome) error {
	e := out.Error
	for _, text := range []string{e.Name, e.Message, e.Stack} {
		if found := regexp.MustCompile(hostTextPattern).FindString(text); found != "" {
			return fmt.Errorf("error has %q in %q", found, clip(text))
		}
	}
	return nil
}

// messageHas demands both ends of a message with something between them.
func messageHas(start, end string) func(*spi.Outcome) error {
	return func(out *spi.Outcome) error {
		m := out.Error.Message
		if !strings.HasPrefix(m, start) || !strings.HasSuffix(m, end) || len(m) <= len(start)+len(end) {
			return fmt.Errorf("error says %q, wanted %q, something for the character between, and %q", clip(m), start, end)
		}
		return nil
	}
}

func messageCut(out *spi.Outcome) error {
	return cutText("message", out.Error.Message, spi.MaxErrorMessageBytes)
}

// cutText demands a text that was cut and not more than it had to be.
func cutText(what, text string, most int) error {
	switch {
	case !strings.HasSuffix(text, "…"):
		return fmt.Errorf("error's %s of %d bytes does not end with an ellipsis: %q", what, len(text), clip(text[max(0, len(text)-20):]))
	case len(text) < most-2*utf8.UTFMax:
		return fmt.Errorf("error's %s was cut to %d bytes, and %d are allowed", what, len(text), most)
	case strings.Contains(text, "\uFFFD"):
		return fmt.Errorf("error's %s was cut within a character", what)
	}
	return nil
}

func errorPlaceForged(ctx context.Context, s *subject) error {
	// The numbers of a stack are lines and columns in turn; empty leaves one alone.
	const source = `const e = new Error('x'); let n = 0;
try { e.stack = String(e.stack).replace(/\d+/g, (d) => input[n++ % 2] || d) } catch {}
throw e`
	lines := strings.Split(source, "\n")
	for _, numbers := range []string{
		`["0","0"]`, `["4","1"]`, `["99999","99999"]`, `["-7","-7"]`, `["18446744073709551617","1"]`, `["1e3","0x2"]`,
		`["","99999"]`, `["","0"]`, `["2","4294967297"]`,
	} {
		out, err := s.eval(ctx, source, numbers)
		if err != nil {
			return err
		}
		if err := wantKind(out, spi.KindException); err != nil {
			return err
		}
		switch e := out.Error; {
		case e.Line > len(lines):
			return fmt.Errorf("with the numbers %s: error is at line %d of %d", numbers, e.Line, len(lines))
		case e.Line > 0 && e.Column > len(lines[e.Line-1])+1:
			return fmt.Errorf("with the numbers %s: error is at column %d of line %d, which has %d", numbers, e.Column, e.Line, len(lines[e.Line-1]))
		}
	}
	return nil
}

func errorColumn(ctx context.Context, s *subject) error {
	var columns []int
	for _, source := range []string{"const s = 'a'; throw new Error('x')", "const s = '😀'; throw new Error('x')", "const s = 'é'; throw new Error('x')"} {
		out, err := s.eval(ctx, source, "")
		if err != nil {
			return err
		}
		if err := wantKind(out, spi.KindException); err != nil {
			return err
		}
		columns = append(columns, out.Error.Column)
	}
	if columns[0] == 0 || columns[0] != columns[1] || columns[0] != columns[2] {
		return fmt.Errorf("columns after 'a', an emoji and an accented letter are %d, wanted the same", columns)
	}
	return nil
}
