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
	if errors.Is(err, errSyntax) && form == formAsync && !e.stoppedAtReturn() {
		// The word may be a name, which it is allowed to be in a script. The
		// first complaint stands if that does not help.
		complaint := e.h.sink.thrown
		if code, err = e.parse(source, 0, 1); err == nil {
			return program{code, formScript}, nil
		}
		if errors.Is(err, errSyntax) && !e.stoppedAtReturn() {
			e.h.sink.thrown = complaint
		}
	}
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

// compileBody makes a function of a script that returns. The wrapper is a method
// of an object, after which only a comma or a brace can follow. A text that
// closes it and opens another function parses too; it cannot do so in a wrapper
// after which a statement has to follow, so it has to parse in that one first.
func (e *eval) compileBody(source string) (jsValue, error) {
	checked, err := e.parse("\nasync function script(){\n"+source+"\n}", 0, -1)
	if err == nil {
		if _, err := e.call(fnFreeValue, uint64(e.img.handles.Context), checked); err != nil {
			return 0, err
		}
		return e.parseBody(source, "")
	}
	if !errors.Is(err, errSyntax) {
		return 0, err
	}
	t := &e.h.sink.thrown
	last := lineCount(source)
	if t.place().line <= last {
		return 0, errSyntax
	}
	complaint := *t
	complaint.line, complaint.stack = last, ""
	if !strings.Contains(t.message, "'}'") && !strings.Contains(t.message, "''") {
		*t = complaint // about the user's last token, noticed at the one behind it
		return 0, errSyntax
	}
	// The parser complains about the wrapper's end, which is not the user's. Are
	// there braces too many, or is something not closed?
	for extra := "{"; len(extra) <= 3; extra += "{" {
		_, err := e.parseBody(source, extra)
		if err == nil {
			end := strings.LastIndexByte(withoutComments(source), '}') // only blanks can follow
			*t = thrown{name: "SyntaxError", message: "a closing brace too many", line: lineCount(source[:end+1])}
			return 0, errSyntax
		}
		if !errors.Is(err, errSyntax) {
			return 0, err
		}
	}
	*t = thrown{name: "SyntaxError", message: "unexpected end of the script: something is not closed", line: last}
	return 0, errSyntax
}

func (e *eval) parseBody(source, extra string) (jsValue, error) {
	return e.parse("\n({async script(){"+extra+"\n"+source+"\n}}).script", 0, -1)
}

// parse compiles without running. errSyntax leaves the error in the sink.
func (e *eval) parse(source string, flags uint32, line int32) (jsValue, error) {
	at, err := e.put([]byte(source))
	if err != nil {
		return 0, err
	}
	v, err := e.eval2(at, len(source), e.img.handles.FileName, flags|evalCompileOnly, line)
	if err != nil {
		return 0, err
	}
	if err := e.take(at); err != nil {
		return 0, err
	}
	if isException(v) {
		return 0, e.throw(errSyntax)
	}
	return v, nil
}
