package qjs

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loom-sandbox/sandboxd/spi"
)

// scriptName is what the engine calls a script in its stacks.
const scriptName = "<evalScript>:"

// jobFailure is what a job threw that nobody awaits, as the library tells it.
func jobFailure(threw errThrew) *failure {
	message, stack, ok := strings.Cut(threw.text, "\n    at ")
	if ok {
		stack = "    at " + stack
	}
	return &failure{kind: spi.KindException, Message: message, Stack: stack}
}

// scriptError is the failure within the bounds of spi, with the place that its
// stack names, if that is one of the source's.
func (f *failure) scriptError(source string) *spi.ScriptError {
	stack, _, _ := strings.Cut(f.Stack, "    at evalScript (native)") // below is who called the script
	if above, _, ok := strings.Cut(stack, "(prelude:"); ok {
		stack = above[:strings.LastIndexByte(above, '\n')+1]
	}
	out := &spi.ScriptError{
		Kind:    f.kind,
		Name:    bounded(f.Name, spi.MaxErrorNameBytes),
		Message: bounded(f.Message, spi.MaxErrorMessageBytes),
		Stack:   bounded(stack, spi.MaxErrorStackBytes),
	}
	_, after, ok := strings.Cut(stack, scriptName)
	if !ok {
		return out
	}
	end := strings.IndexFunc(after, func(r rune) bool { return r != ':' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(after)
	}
	l, c, _ := strings.Cut(after[:end], ":")
	line, _ := strconv.Atoi(l)
	column, _ := strconv.Atoi(c)
	lines := strings.Split(source, "\n")
	if line < 1 || line > len(lines) {
		return out
	}
	out.Line = line
	if line == 1 {
		column -= f.Shift
	}
	// The engine counts bytes. Where a script does not parse it names the column of
	// something before.
	if f.kind != spi.KindSyntax && column >= 1 && column <= len(lines[line-1])+1 {
		out.Column = utf8.RuneCountInString(lines[line-1][:column-1]) + 1
	}
	return out
}
