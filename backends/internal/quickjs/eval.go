package quickjs

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// scriptName is what error stacks call the script.
const scriptName = "script.js"

// How a step of an eval fails. What it means is decided in verdict.go.
var (
	errNotStarted     = errors.New("quickjs: stopped before it started")
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
	stack [InvokeWords]uint64
	// nativeStack: the engine ran out of its own stack before a guard fired.
	nativeStack bool
}

// call calls a function of the engine. Any error means that the guest must not
// run again.
func (e *eval) call(fn function, args ...uint64) (uint64, error) {
	e.stack[0] = uint64(fn)
	copy(e.stack[1:], args)
	if err := e.inst.Call(e.stack[:]); err != nil {
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
	p, err := e.compile(source)
	if err != nil {
		return err
	}
	hd := &e.img.handles
	value, err := e.try(fnEvalFunction, uint64(hd.Context), p.code)
	if err != nil {
		return err
	}
	switch p.form {
	case formAsync: // a promise of the value in a record
		record, err := e.drive(value)
		if err != nil {
			return err
		}
		if value, err = e.tryJS(hd.Completion, record); err != nil {
			return err
		}
	case formBody: // the wrapper's value is the function
		promise, err := e.tryJS(value)
		if err != nil {
			return err
		}
		if value, err = e.drive(promise); err != nil {
			return err
		}
		return e.finish(value) // return has adopted a thenable already
	}
	if tagOf(value) == tagObject {
		promise, err := e.tryJS(hd.Adopt, value)
		if err != nil {
			return err
		}
		if value, err = e.drive(promise); err != nil {
			return err
		}
	}
	return e.finish(value)
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
func (e *eval) try(fn function, args ...uint64) (jsValue, error) {
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
