package quickjs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// scriptName is what error stacks call the script.
const scriptName = "script.js"

// How a step of an eval fails. What it means is decided in verdict.go.
var (
	errTrapped        = errors.New("quickjs: guest stopped in the middle")
	errNoMemory       = errors.New("quickjs: guest has no memory left")
	errThrown         = errors.New("quickjs: script threw")
	errSyntax         = errors.New("quickjs: script does not parse")
	errDeadlock       = errors.New("quickjs: script waits and nothing is pending")
	errUnserializable = errors.New("quickjs: result is not JSON")
	errTooLarge       = errors.New("quickjs: result is too large")
	errCorrupt        = errors.New("quickjs: guest answers nonsense")
)

// eval drives one script in one instance.
type eval struct {
	img   *Image
	inst  Instance
	h     *Host
	stack [8]uint64
	// nativeStack: the engine ran out of its own stack before a guard fired.
	nativeStack bool
}

// call calls an export. Any error means that the guest must not run again.
func (e *eval) call(fn Function, args ...uint64) (uint64, error) {
	e.stack[0] = 0
	copy(e.stack[:], args)
	if err := e.inst.Call(fn, e.stack[:]); err != nil {
		if errors.Is(err, ErrNativeStack) {
			e.nativeStack = true
		}
		return 0, fmt.Errorf("%w in %s", errTrapped, functionTable()[fn].name)
	}
	return e.stack[0], nil
}

// write copies bytes and a zero byte into fresh memory of the guest.
func (e *eval) write(data []byte) (uint32, error) {
	at, err := e.call(fnMalloc, uint64(len(data))+1)
	if err != nil {
		return 0, err
	}
	if uint32(at) == 0 {
		return 0, errNoMemory
	}
	to, ok := window(e.inst.Memory(), uint32(at), uint32(len(data))+1)
	if !ok {
		return 0, errCorrupt
	}
	to[copy(to, data)] = 0
	return uint32(at), nil
}

// scratch is a part of the argument block.
func (e *eval) scratch(at, length uint32) ([]byte, error) {
	b, ok := window(e.inst.Memory(), e.img.handles.Scratch+at, length)
	if !ok {
		return nil, errCorrupt
	}
	return b, nil
}

// callJS calls a function value with up to four arguments and `this` undefined.
func (e *eval) callJS(f jsValue, args ...jsValue) (jsValue, error) {
	argv, err := e.scratch(scratchArgs, 8*4)
	if err != nil {
		return 0, err
	}
	for i, a := range args {
		binary.LittleEndian.PutUint64(argv[8*i:], a)
	}
	hd := &e.img.handles
	return e.call(fnCall, uint64(hd.Context), f, jsUndefined, uint64(len(args)), uint64(hd.Scratch+scratchArgs))
}

func (e *eval) eval2(at uint32, length int, file, flags uint32, line int32) (jsValue, error) {
	options, err := e.scratch(scratchOptions, evalOptionsBytes)
	if err != nil {
		return 0, err
	}
	binary.LittleEndian.PutUint32(options, evalOptionsVersion)
	binary.LittleEndian.PutUint32(options[4:], flags)
	binary.LittleEndian.PutUint32(options[8:], file)
	binary.LittleEndian.PutUint32(options[12:], uint32(line))
	hd := &e.img.handles
	return e.call(fnEval2, uint64(hd.Context), uint64(at), uint64(length), uint64(hd.Scratch+scratchOptions))
}

// run takes a script from text to an emitted result.
func (e *eval) run(source string, input []byte) error {
	if err := e.setInput(input); err != nil {
		return err
	}
	f, wrapped, err := e.compile(source)
	if err != nil {
		return err
	}
	hd := &e.img.handles
	started, err := e.try(fnEvalFunction, uint64(hd.Context), f)
	if err != nil {
		return err
	}
	if wrapped { // evaluating the wrapper gave the function
		if started, err = e.tryJS(started); err != nil {
			return err
		}
	}
	settled, err := e.drive(started)
	if err != nil {
		return err
	}
	if !wrapped {
		value, err := e.try(fnGetPropertyStr, uint64(hd.Context), settled, uint64(hd.ValueName))
		if err != nil {
			return err
		}
		if tagOf(value) == tagObject {
			adopted, err := e.tryJS(hd.Adopt, value)
			if err != nil {
				return err
			}
			if value, err = e.drive(adopted); err != nil {
				return err
			}
		}
		settled = value
	}
	return e.finish(settled)
}

// finish has the prelude write the result and checks that it did.
func (e *eval) finish(value jsValue) error {
	s := &e.h.sink
	s.accept = true
	_, err := e.tryJS(e.img.handles.Finish, value)
	s.accept = false
	switch {
	case err != nil:
		return err
	case s.unserial:
		return errUnserializable
	case !s.completed:
		return errCorrupt
	case s.tooLarge:
		return errTooLarge
	}
	return nil
}

// setInput makes the caller's JSON the global `input`.
func (e *eval) setInput(input []byte) error {
	at, err := e.write(input)
	if err != nil {
		return err
	}
	hd := &e.img.handles
	value, err := e.try(fnParseJSON, uint64(hd.Context), uint64(at), uint64(len(input)), uint64(hd.InputName))
	if err != nil {
		return err
	}
	if _, err := e.call(fnFree, uint64(at)); err != nil {
		return err
	}
	set, err := e.call(fnSetPropertyStr, uint64(hd.Context), hd.Global, uint64(hd.InputName), value)
	if err == nil && int32(set) < 0 {
		return e.throw(errThrown)
	}
	return err
}

// compile parses the script in one of two forms. As a script it may use
// top-level await, and its value is that of its last expression; that form
// refuses top-level return, so a script that has one becomes the body of an
// async function. Line numbers are the user's in both.
func (e *eval) compile(source string) (f jsValue, wrapped bool, err error) {
	if f, err = e.parse(source, evalAsync, 1); err == nil || !errors.Is(err, errSyntax) {
		return f, false, err
	}
	asScript := e.h.sink.thrown
	f, err = e.parse("\n(async function(){\n"+source+"\n})", 0, -1)
	if errors.Is(err, errSyntax) {
		if asBody := e.h.sink.thrown; !asBody.beyond(asScript, source) {
			e.h.sink.thrown = asScript
		}
		return 0, false, err
	}
	if err != nil {
		return 0, false, err
	}
	// A text that closes the wrapper and opens another function parses too. It
	// cannot do so in a second wrapper that is closed in another way.
	if _, err = e.parse("\nasync function script(){\n"+source+"\n}", 0, -1); err != nil {
		return 0, false, err
	}
	return f, true, nil
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

// drive runs jobs and timers until a promise is settled, and no further.
func (e *eval) drive(promise jsValue) (jsValue, error) {
	hd := &e.img.handles
	for {
		state, err := e.call(fnPromiseState, uint64(hd.Context), promise)
		if err != nil {
			return 0, err
		}
		switch int32(state) {
		case promiseFulfilled:
			return e.call(fnPromiseResult, uint64(hd.Context), promise)
		case promiseRejected:
			reason, err := e.call(fnPromiseResult, uint64(hd.Context), promise)
			if err != nil {
				return 0, err
			}
			return 0, e.tell(reason, errThrown)
		case promisePending:
		default:
			return 0, errCorrupt
		}
		ran, err := e.call(fnExecutePendingJob, uint64(hd.Runtime), uint64(hd.Scratch+scratchOut))
		if err != nil {
			return 0, err
		}
		if int32(ran) < 0 {
			return 0, e.throw(errThrown)
		}
		if int32(ran) > 0 {
			continue
		}
		fired, err := e.tryJS(hd.Timer)
		if err != nil {
			return 0, err
		}
		if !isTrue(fired) {
			return 0, errDeadlock
		}
	}
}

// try calls a function that returns a JavaScript value and reports a throw.
func (e *eval) try(fn Function, args ...uint64) (jsValue, error) {
	v, err := e.call(fn, args...)
	if err == nil && isException(v) {
		return 0, e.throw(errThrown)
	}
	return v, err
}

func (e *eval) tryJS(f jsValue, args ...jsValue) (jsValue, error) {
	v, err := e.callJS(f, args...)
	if err == nil && isException(v) {
		return 0, e.throw(errThrown)
	}
	return v, err
}

// throw takes the pending exception and has it described.
func (e *eval) throw(as error) error {
	reason, err := e.call(fnGetException, uint64(e.img.handles.Context))
	if err != nil {
		return err
	}
	return e.tell(reason, as)
}

// tell has the prelude describe what was thrown. A description that fails is an
// empty one; only being stopped is worse than the throw itself.
func (e *eval) tell(reason jsValue, as error) error {
	e.h.sink.thrown = thrown{}
	v, err := e.callJS(e.img.handles.Fail, reason)
	if err != nil {
		return err
	}
	if isException(v) {
		if _, err := e.call(fnGetException, uint64(e.img.handles.Context)); err != nil {
			return err
		}
	}
	return as
}

// place is a position in the script; the zero value is "unknown".
type place struct{ line, column int }

// beyond reports whether a function body's syntax error is the one to report
// rather than the same text's as a script. Where they differ, the script form
// stopped at a return; but at the very end it is the wrapper that complains.
func (t *thrown) beyond(asScript thrown, source string) bool {
	body, script := t.place().line, asScript.place().line
	if body > lineCount(source) {
		return false
	}
	return body > script || body == script && t.message != asScript.message
}

func lineCount(source string) int { return strings.Count(source, "\n") + 1 }

// place reads where the script failed from the first frame of the stack that
// is the script's. The text is the guest's: numbers only, and within reason.
func (t *thrown) place() place {
	const most = 1 << 26
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
