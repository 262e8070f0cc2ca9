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
	errWaits          = errors.New("quickjs: script waits for replies")
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

// put copies a text for one call, with a zero byte behind it: into the inbox if
// it fits, which costs no crossing, and else into fresh memory that take frees.
func (e *eval) put(data []byte) (uint32, error) {
	if len(data) >= inboxBytes {
		return e.write(data)
	}
	to, ok := window(e.inst.Memory(), e.img.handles.Inbox, uint32(len(data))+1)
	if !ok {
		return 0, errCorrupt
	}
	to[copy(to, data)] = 0
	return e.img.handles.Inbox, nil
}

// take gives back what put has given.
func (e *eval) take(at uint32) error {
	if at == e.img.handles.Inbox {
		return nil
	}
	_, err := e.call(fnFree, uint64(at))
	return err
}

// run takes a parsed script to an emitted result, in one crossing, unless it has
// to wait. No input means what the global holds already.
func (e *eval) run(p program, input []byte) error {
	at, err := e.put(input)
	if err != nil {
		return err
	}
	status, err := e.call(fnRun, p.code, uint64(at), uint64(len(input)), uint64(p.form))
	if err != nil {
		return err
	}
	return e.ended(status, at)
}

// grant has the prelude hand out host functions.
func (e *eval) grant(functions []string) error {
	text := grantText(functions)
	at, err := e.put(text)
	if err != nil {
		return err
	}
	status, err := e.call(fnGrant, uint64(at), uint64(len(text)))
	switch {
	case err != nil:
		return err
	case uint32(status) != ranWhole:
		return e.throw(errThrown)
	}
	return e.take(at)
}

// goOn gives replies to a script that waits, and takes it as far as it goes.
func (e *eval) goOn(replies []byte) error {
	at, err := e.put(replies)
	if err != nil {
		return err
	}
	status, err := e.call(fnContinue, uint64(at), uint64(len(replies)))
	if err != nil {
		return err
	}
	return e.ended(status, at)
}

// ended says how the driver ended, and gives back what it was handed at an address.
func (e *eval) ended(status uint64, at uint32) error {
	s := &e.h.sink
	switch uint32(status) {
	case ranWhole, ranWaits:
		if err := e.take(at); err != nil {
			return err
		}
	case ranThrew:
		return e.throw(errThrown)
	case ranDeadlock:
		return errDeadlock
	default:
		return errCorrupt
	}
	switch {
	case uint32(status) == ranWaits:
		return errWaits
	case s.unserial:
		return errUnserializable
	case !s.completed:
		return errCorrupt
	case s.tooLarge:
		return errTooLarge
	}
	return nil
}

// throw takes the pending exception and has it described.
func (e *eval) throw(as error) error {
	reason, err := e.call(fnGetException, uint64(e.img.handles.Context))
	if err != nil {
		return err
	}
	told := e.tell(reason, as)
	if !errors.Is(told, as) { // it was stopped meanwhile
		return told
	}
	if _, err := e.call(fnFreeValue, uint64(e.img.handles.Context), reason); err != nil {
		return err
	}
	return told
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
