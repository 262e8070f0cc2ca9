package quickjs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// freeHeap is what boot leaves free in the image in one piece, so that ordinary
// scripts do not grow the memory. Where the prelude's text was are 100 KiB more.
const freeHeap = 320 << 10

// boot runs a rewritten module up to the point where a script would start, and
// returns its memory. What the driver relies on is checked here, by behaviour.
func (img *Image) boot(ctx context.Context, wasm []byte, instantiate Instantiate) ([]byte, error) {
	h := NewHost(&spi.Config{Limits: bootLimits(), Now: time.Unix(0, 0)})
	h.frozen = true // the guest's time begins when an isolate does
	inst, closeInstance, err := instantiate(ctx, wasm, img.Imports, h)
	if err != nil {
		return nil, fmt.Errorf("instantiate: %w", err)
	}
	defer closeInstance()
	h.inst = inst
	h.begin(0)
	defer h.watch(ctx)()
	b := &boot{eval: eval{img: img, inst: inst, h: h}, l: &img.layout}
	if err := b.run(); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("boot was stopped: %w", ctx.Err())
		}
		if h.cause != "" {
			return nil, fmt.Errorf("boot was stopped: %s", h.cause)
		}
		return nil, err
	}
	memory := append([]byte(nil), inst.Memory()...)
	// Below the stack pointer the stack is dead; what lies there is of no use.
	sp := uint32(inst.Global(GlobalStackPointer))
	if sp != b.l.StackTop {
		return nil, fmt.Errorf("stack pointer is not at its top after boot")
	}
	clear(memory[b.l.StackLow:b.l.StackTop])
	return memory, nil
}

type boot struct {
	eval
	l           *layout
	stackFields uint32 // address of size, top and limit in the runtime
}

func (b *boot) run() error {
	hd := &b.img.handles
	if _, err := b.call(fnInitialize); err != nil {
		return fmt.Errorf("_initialize: %w", err)
	}
	rt, err := b.pointer(fnNewRuntime)
	if err != nil {
		return err
	}
	hd.Runtime = rt
	if _, err := b.call(fnUpdateStackTop, uint64(rt)); err != nil {
		return err
	}
	if err := b.limitStack(); err != nil {
		return err
	}
	if hd.Context, err = b.pointer(fnNewContext, uint64(rt)); err != nil {
		return err
	}
	if hd.Scratch, err = b.pointer(fnMalloc, scratchBytes); err != nil {
		return err
	}
	if hd.Inbox, err = b.pointer(fnMalloc, inboxBytes); err != nil {
		return err
	}
	for _, s := range []struct {
		to   *uint32
		text string
	}{{&hd.FileName, scriptName}, {&hd.InputName, "input"}} {
		if *s.to, err = b.cString(s.text); err != nil {
			return err
		}
	}
	if hd.Global, err = b.value(fnGetGlobalObject, uint64(hd.Context)); err != nil {
		return err
	}
	if err := b.loadPrelude(); err != nil {
		return fmt.Errorf("prelude: %w", err)
	}
	const null = jsValue(tagNull) << 32
	if _, err := b.call(fnSetPropertyStr, uint64(hd.Context), hd.Global, uint64(hd.InputName), null); err != nil {
		return err
	}
	if err := b.learnReturnError(); err != nil {
		return err
	}
	if err := b.findRandomState(); err != nil {
		return err
	}
	if err := b.findLexical(); err != nil {
		return err
	}
	if err := b.checkStack(); err != nil {
		return err
	}
	free, err := b.pointer(fnMalloc, freeHeap)
	if err != nil {
		return err
	}
	if free < b.l.StackTop && free+freeHeap > b.l.StackLow {
		return errors.New("the allocator hands out the stack's region")
	}
	if _, err := b.call(fnFree, uint64(free)); err != nil {
		return err
	}
	_, err = b.call(fnRunGC, uint64(rt))
	return err
}

// stackSentinel is a size that nothing else in a fresh runtime equals.
const stackSentinel = 0x3ABCDE01

// limitStack sets QuickJS's own stack limit, which it takes for "none" on WASI.
// The fields are found by setting the size: size, top and limit are neighbours.
func (b *boot) limitStack() error {
	rt := b.img.handles.Runtime
	if _, err := b.call(fnSetMaxStackSize, uint64(rt), stackSentinel); err != nil {
		return err
	}
	const most = 4096
	fields, ok := window(b.inst.Memory(), rt, most)
	if !ok {
		return errors.New("the runtime is at the end of memory")
	}
	for at := 0; at+12 <= most; at += 4 {
		if binary.LittleEndian.Uint32(fields[at:]) != stackSentinel {
			continue
		}
		top := binary.LittleEndian.Uint32(fields[at+4:])
		limit := binary.LittleEndian.Uint32(fields[at+8:])
		if top <= b.l.StackTop-4096 || top > b.l.StackTop || limit != 0 {
			return fmt.Errorf("the runtime's stack fields do not look right: top %d, limit %d", top, limit)
		}
		b.stackFields = rt + uint32(at)
		b.setStack(probeBytes)
		return nil
	}
	return errors.New("JS_SetMaxStackSize does not store the size in the runtime")
}

// loadPrelude runs our JavaScript with the host object and keeps what it returns.
func (b *boot) loadPrelude() error {
	hd := &b.img.handles
	emitName, err := b.cString("emit")
	if err != nil {
		return err
	}
	// JS_CFUNC_generic is 0.
	emit, err := b.value(fnNewCFunction2, uint64(hd.Context), uint64(b.l.EmitEntry), uint64(emitName), 2, 0, 0)
	if err != nil {
		return err
	}
	host, err := b.value(fnNewObject, uint64(hd.Context))
	if err != nil {
		return err
	}
	if _, err := b.call(fnSetPropertyStr, uint64(hd.Context), host, uint64(emitName), emit); err != nil {
		return err
	}
	source, err := preludeSource()
	if err != nil {
		return err
	}
	f, err := b.evalText(source, preludeName, 0, 1)
	if err != nil {
		return err
	}
	made, err := b.callValue(f, host)
	if err != nil {
		return err
	}
	for _, p := range []struct {
		to   *jsValue
		name string
	}{
		{&hd.Adopt, "adopt"}, {&hd.Completion, "completion"}, {&hd.Finish, "finish"}, {&hd.Fail, "fail"}, {&hd.Timer, "runNextTimer"},
		{&hd.Grant, "grant"}, {&hd.Answer, "answer"}, {&hd.Loosen, "loosen"},
	} {
		name, err := b.cString(p.name)
		if err != nil {
			return err
		}
		if *p.to, err = b.value(fnGetPropertyStr, uint64(hd.Context), made, uint64(name)); err != nil {
			return err
		}
		if tagOf(*p.to) != tagObject {
			return fmt.Errorf("does not return %s", p.name)
		}
	}
	return nil
}

// setStack gives QuickJS the upper part of the stack region.
func (b *boot) setStack(size uint32) {
	fields, _ := window(b.inst.Memory(), b.stackFields, 12) // was there a moment ago
	binary.LittleEndian.PutUint32(fields, size)
	binary.LittleEndian.PutUint32(fields[8:], b.l.StackTop-size)
}

// The probe of the stack runs in a part of it, so that an interpreter with few
// frames of its own can boot an image.
const (
	probeBytes = 384 << 10
	probeCalls = 5000 // what the whole stack must hold
)

// checkStack proves the stack limit by using a stack up: deep recursion must end
// in a RangeError that a script can catch. Then it sets the limit for good.
func (b *boot) checkStack() error {
	const probe = `(function () { let deepest = 0; function dive(n) { deepest = n; dive(n + 1); }
		try { dive(1); } catch (e) { return e instanceof RangeError ? deepest : -1; } })()`
	const usable = StackBytes - stackReserve
	v, err := b.evalText(probe, preludeName, 0, 1)
	if err != nil {
		return fmt.Errorf("deep recursion: %w", err)
	}
	if calls := int64(int32(v)) * usable / probeBytes; tagOf(v) != tagInt || calls < probeCalls {
		return fmt.Errorf("the stack holds %d calls before a RangeError; needed are %d", calls, probeCalls)
	}
	b.setStack(usable)
	return nil
}

// pointer calls a function that returns an address, which must not be null.
func (b *boot) pointer(fn function, args ...uint64) (uint32, error) {
	v, err := b.call(fn, args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", functionTable()[fn].name, err)
	}
	if uint32(v) == 0 {
		return 0, fmt.Errorf("%s returned null", functionTable()[fn].name)
	}
	return uint32(v), nil
}

// value calls a function that returns a JavaScript value.
func (b *boot) value(fn function, args ...uint64) (jsValue, error) {
	v, err := b.call(fn, args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", functionTable()[fn].name, err)
	}
	if isException(v) {
		return 0, b.thrown()
	}
	return v, nil
}

// cString copies a constant into the guest for good.
func (b *boot) cString(s string) (uint32, error) { return b.write([]byte(s)) }

// evalText evaluates a script of ours and returns its value.
func (b *boot) evalText(source, name string, flags uint32, line int32) (jsValue, error) {
	at, err := b.write([]byte(source))
	if err != nil {
		return 0, err
	}
	file, err := b.cString(name)
	if err != nil {
		return 0, err
	}
	v, err := b.eval2(at, len(source), file, flags, line)
	if err != nil {
		return 0, err
	}
	if isException(v) {
		return 0, b.thrown()
	}
	// What is free in the image is zero, where it can be: it is stored and compared.
	text, ok := window(b.inst.Memory(), at, uint32(len(source)))
	if !ok {
		return 0, errCorrupt
	}
	clear(text)
	if _, err := b.call(fnFree, uint64(at)); err != nil {
		return 0, fmt.Errorf("%s: %w", functionTable()[fnFree].name, err)
	}
	return v, nil
}

func (b *boot) callValue(f jsValue, args ...jsValue) (jsValue, error) {
	v, err := b.callJS(f, args...)
	if err != nil {
		return 0, err
	}
	if isException(v) {
		return 0, b.thrown()
	}
	return v, nil
}

// thrown describes the pending exception. Before the prelude is there, nothing
// can render it.
func (b *boot) thrown() error {
	v, err := b.call(fnGetException, uint64(b.img.handles.Context))
	if err != nil || b.img.handles.Fail == 0 {
		return errors.New("an exception was thrown")
	}
	b.h.sink.thrown = thrown{}
	if _, err := b.callJS(b.img.handles.Fail, v); err != nil {
		return err
	}
	return fmt.Errorf("%s: %s", b.h.sink.thrown.name, b.h.sink.thrown.message)
}
