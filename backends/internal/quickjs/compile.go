package quickjs

import (
	"errors"
	"strings"
)

// form is how a script was compiled.
type form int

const (
	formScript form = iota // its value is that of its last expression
	formAsync              // the same, with top-level await
	formBody               // the body of an async function, with top-level return
)

// program is a compiled script.
type program struct {
	code jsValue
	form form
}

// compile parses the script. As a script it has a completion value but may not
// return at its top level, so a text that fails for its return becomes the body
// of a function. Line numbers are the user's in all forms.
func (e *eval) compile(source string) (program, error) {
	// Without top-level await the value comes directly and not in a record. The
	// word decides and not the parser, for which `await (x)` is a call, too.
	form, flags := formScript, uint32(0)
	if strings.Contains(source, "await") {
		form, flags = formAsync, evalAsync
	}
	code, err := e.parse(source, flags, 1)
	if errors.Is(err, errSyntax) && e.stoppedAtReturn() {
		form = formBody
		code, err = e.compileBody(source)
	}
	return program{code, form}, err
}

// stoppedAtReturn reports whether the parser's complaint is the one about a
// return outside a function. Nothing of the script has run, so the text is the
// engine's; how it puts it was learnt at boot.
func (e *eval) stoppedAtReturn() bool { return e.h.sink.thrown.message == e.img.handles.ReturnError }

func (e *eval) compileBody(source string) (jsValue, error) {
	code, err := e.parse("\n(async function(){\n"+source+"\n})", 0, -1)
	switch {
	case err == nil:
		// A text that closes the wrapper and opens another function parses too.
		// It cannot do so in a wrapper that is closed in another way.
		_, err = e.parse("\nasync function script(){\n"+source+"\n}", 0, -1)
		return code, err
	case errors.Is(err, errSyntax) && e.h.sink.thrown.place().line > lineCount(source):
		// The parser complains about the wrapper's end, which is not the user's.
		// Is there a brace too many, or is something not closed?
		_, err = e.parse("\n(async function(){{\n"+source+"\n})", 0, -1)
		if err == nil {
			last := strings.LastIndexByte(source, '}') // after it there can only be blanks
			e.h.sink.thrown = thrown{name: "SyntaxError", message: "a closing brace too many", line: lineCount(source[:last+1])}
		} else if errors.Is(err, errSyntax) {
			e.h.sink.thrown = thrown{name: "SyntaxError", message: "unexpected end of the script: something is not closed", line: lineCount(source)}
		} else {
			return 0, err
		}
		return 0, errSyntax
	}
	return 0, err
}

// parse compiles without running. errSyntax leaves the error in the sink.
func (e *eval) parse(source string, flags uint32, line int32) (jsValue, error) {
	at, err := e.write([]byte(source))
	if err != nil {
		return 0, err
	}
	v, err := e.eval2(at, len(source), e.img.handles.FileName, flags|evalCompileOnly, line)
	if err != nil {
		return 0, err
	}
	if isException(v) {
		return 0, e.throw(errSyntax)
	}
	_, err = e.call(fnFree, uint64(at))
	return v, err
}

// place is a position in the script; the zero value is "unknown".
type place struct{ line, column int }

// place reads where the script failed from the first frame of the stack that
// is the script's. The text is the guest's: numbers only, and within reason.
func (t *thrown) place() place {
	const most = 1 << 26
	if t.line > 0 {
		return place{line: t.line}
	}
	rest := t.stack
	for {
		_, after, ok := strings.Cut(rest, scriptName+":")
		if !ok {
			return place{}
		}
		rest = after
		line, n := number(after)
		if n == 0 || n >= len(after) || after[n] != ':' {
			continue
		}
		column, k := number(after[n+1:])
		if k == 0 || line < 1 || line > most || column < 1 || column > most {
			continue
		}
		return place{line, column}
	}
}

// number reads decimal digits, at most nine of them.
func number(s string) (v, length int) {
	for length < len(s) && length < 9 && s[length] >= '0' && s[length] <= '9' {
		v = v*10 + int(s[length]-'0')
		length++
	}
	return v, length
}

// lineEnd finds the first line end of JavaScript (ECMA-262, section 12.3):
// where it starts, and where the next line does. Both are len(s) if there is none.
func lineEnd(s string) (end, next int) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\n', c == '\r' && !strings.HasPrefix(s[i+1:], "\n"):
			return i, i + 1
		case c == '\r':
			return i, i + 2
		case c == 0xe2 && (strings.HasPrefix(s[i:], "\u2028") || strings.HasPrefix(s[i:], "\u2029")):
			return i, i + 3
		}
	}
	return len(s), len(s)
}

func lineCount(source string) int {
	n := 1
	for {
		end, next := lineEnd(source)
		if end == len(source) {
			return n
		}
		n++
		source = source[next:]
	}
}

// lineOf is the text of a line, counted from 1, or nothing.
func lineOf(source string, line int) string {
	for ; line > 1; line-- {
		end, next := lineEnd(source)
		if end == len(source) {
			return ""
		}
		source = source[next:]
	}
	end, _ := lineEnd(source)
	return source[:end]
}
