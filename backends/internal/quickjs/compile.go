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
// of an object, after which only a comma or a brace can follow.
func (e *eval) compileBody(source string) (jsValue, error) {
	code, err := e.parse("\n({async script(){\n"+source+"\n}}).script", 0, -1)
	switch {
	case err == nil:
		// A text that closes the wrapper and opens another function parses too.
		// It cannot do so in a wrapper after which a statement has to follow.
		_, err = e.parse("\nasync function script(){\n"+source+"\n}", 0, -1)
		return code, err
	case errors.Is(err, errSyntax) && e.h.sink.thrown.place().line > lineCount(source):
		// The parser complains about the wrapper's end, which is not the user's.
		// Is there a brace too many, or is something not closed?
		_, err = e.parse("\n({async script(){{\n"+source+"\n}}).script", 0, -1)
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
