package quickjs

import "github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"

// The driver inside the image: code of ours that takes a parsed script to its
// written result in one crossing from the host. It is wasm that the host wrote,
// and what it calls stands in globals that nothing can change, so that it is as
// trustworthy as the host itself, whatever a script does to the guest's memory.

// How a run ended, as the driver says it.
const (
	ranWhole    = 0 // the result was written
	ranThrew    = 1 // an exception is pending
	ranDeadlock = 2
	ranNonsense = 3 // a promise that is none
	ranWaits    = 4 // for replies to host calls
)

// What the driver does once a promise is fulfilled: after a script of some form,
// or after what it ended with was adopted.
const phaseAdopted = int32(formBody) + 1

// Constants of an image that its driver uses: immutable globals, which boot
// learns and [setConstants] fills in.
const (
	constContext = iota
	constRuntime
	constGlobal
	constInputName
	constScratch
	constAdopt
	constCompletion
	constFinish
	constTimer
	constGrant
	constAnswer
	constantCount
)

// constants are the values of a booted image by their index.
func (hd *handles) constants() [constantCount]wasmbin.ConstExpr {
	i32 := func(v uint32) wasmbin.ConstExpr { return wasmbin.I32ConstExpr(int32(v)) }
	i64 := func(v jsValue) wasmbin.ConstExpr { return wasmbin.I64ConstExpr(int64(v)) }
	return [constantCount]wasmbin.ConstExpr{
		constContext: i32(hd.Context), constRuntime: i32(hd.Runtime), constGlobal: i64(hd.Global),
		constInputName: i32(hd.InputName), constScratch: i32(hd.Scratch), constAdopt: i64(hd.Adopt),
		constCompletion: i64(hd.Completion), constFinish: i64(hd.Finish), constTimer: i64(hd.Timer),
		constGrant: i64(hd.Grant), constAnswer: i64(hd.Answer),
	}
}

// addConstants declares the driver's constants, with zeros for now, and returns
// the index of the first.
func addConstants(m *wasmbin.Module) (first uint32, err error) {
	for i, zero := range (&handles{}).constants() {
		t := wasmbin.I32
		switch i {
		case constGlobal, constAdopt, constCompletion, constFinish, constTimer, constGrant, constAnswer:
			t = wasmbin.I64
		}
		index, err := m.AddGlobal(wasmbin.Global{Type: t, Init: zero})
		if err != nil {
			return 0, err
		}
		if i == 0 {
			first = index
		}
	}
	return first, nil
}

// setConstants fills in what boot has learnt.
func setConstants(m *wasmbin.Module, first uint32, hd *handles) error {
	for i, v := range hd.constants() {
		if err := m.SetGlobalInit(first+uint32(i), v); err != nil {
			return err
		}
	}
	return nil
}

// driverGlobals are indexes of mutable globals.
type driverGlobals struct{ finishing, waiting, promise, phase uint32 }

// addDriverGlobals declares them.
func addDriverGlobals(m *wasmbin.Module) (g driverGlobals, err error) {
	err = addMutable(m,
		newGlobal{&g.finishing, wasmbin.I32, wasmbin.I32ConstExpr(0)},
		newGlobal{&g.waiting, wasmbin.I32, wasmbin.I32ConstExpr(0)},
		newGlobal{&g.promise, wasmbin.I64, wasmbin.I64ConstExpr(0)},
		newGlobal{&g.phase, wasmbin.I32, wasmbin.I32ConstExpr(0)},
	)
	return g, err
}

// driver writes the driver's functions.
type driver struct {
	m         *wasmbin.Module
	constants uint32 // index of the first
	globals   driverGlobals
	a         wasmbin.Assembler
	call1     uint32
	settle    uint32
	proceed   uint32
	tell      uint32
}

// addDriver defines the driver and returns its functions that the host calls.
func addDriver(m *wasmbin.Module, constants uint32, globals driverGlobals) map[string]uint32 {
	d := &driver{m: m, constants: constants, globals: globals}
	d.addCall1()
	d.addSettle()
	d.addProceed()
	d.addTell()
	return map[string]uint32{runName: d.addRun(), grantName: d.addGrant(), continueName: d.addContinue()}
}

func (d *driver) constant(c uint32) *wasmbin.Assembler { return d.a.GlobalGet(d.constants + c) }

// engine calls a function of the engine's C API, whose presence was checked.
func (d *driver) engine(name string) *wasmbin.Assembler {
	index, _ := d.m.ExportedFunction(name)
	return d.a.Call(index)
}

// tag leaves the tag of the value on the stack.
func (d *driver) tag() *wasmbin.Assembler {
	return d.a.I64Const(32).Op(wasmbin.OpI64ShrU).Op(wasmbin.OpI32WrapI64)
}

// endIf ends the function with a status where the i32 on the stack is true.
func (d *driver) endIf(status int32) {
	d.a.If(wasmbin.BlockEmpty).I32Const(status).Return().End()
}

// endIfThrown does so where the value in a local is an exception.
func (d *driver) endIfThrown(local uint32) {
	d.a.LocalGet(local)
	d.tag().I32Const(tagException).Op(wasmbin.OpI32Eq)
	d.endIf(ranThrew)
}

// addCall1 defines call1(f, argument) -> value: a call with `this` undefined,
// whose argument lies on the shadow stack.
func (d *driver) addCall1() {
	const f, argument = 0, 1
	code := wasmbin.Code{}
	argv := code.AddLocal(2, wasmbin.I32)
	d.a.Reset()
	d.a.GlobalGet(0).I32Const(16).Op(wasmbin.OpI32Sub).LocalTee(argv).GlobalSet(0)
	d.a.LocalGet(argv).LocalGet(argument).Store(wasmbin.OpI64Store, 3, 0)
	d.constant(constContext).LocalGet(f).I64Const(int64(jsUndefined)).I32Const(1).LocalGet(argv)
	d.engine("JS_Call")
	d.a.LocalGet(argv).I32Const(16).Op(wasmbin.OpI32Add).GlobalSet(0).End()
	code.Body = clone(&d.a)
	d.call1 = d.m.AddFunction(funcType("II:I"), code)
}

// free gives up a value in a local.
func (d *driver) free(local uint32) {
	d.constant(constContext).LocalGet(local)
	d.engine("JS_FreeValue")
}

// addSettle defines settle(promise) -> status: it runs jobs and timers until
// the promise is fulfilled, and no further. Calls of the host come before timers:
// with nothing else to run and one without a reply, it stops.
func (d *driver) addSettle() {
	const promise = 0
	code := wasmbin.Code{}
	state := code.AddLocal(1, wasmbin.I32)
	value := code.AddLocal(1, wasmbin.I64)
	d.a.Reset()
	d.a.Loop(wasmbin.BlockEmpty)
	d.constant(constContext).LocalGet(promise)
	d.engine("JS_PromiseState").LocalTee(state).I32Const(promiseFulfilled).Op(wasmbin.OpI32Eq)
	d.endIf(ranWhole)
	d.a.LocalGet(state).I32Const(promiseRejected).Op(wasmbin.OpI32Eq).If(wasmbin.BlockEmpty)
	d.constant(constContext)
	d.constant(constContext).LocalGet(promise)
	d.engine("JS_PromiseResult")
	d.engine("JS_Throw").Op(wasmbin.OpDrop).I32Const(ranThrew).Return().End()
	d.a.LocalGet(state).I32Const(promisePending).Op(wasmbin.OpI32Ne)
	d.endIf(ranNonsense)
	d.constant(constRuntime)
	d.constant(constScratch).I32Const(scratchOut).Op(wasmbin.OpI32Add)
	d.engine("JS_ExecutePendingJob").LocalTee(state).I32Const(0).Op(wasmbin.OpI32LtS)
	d.endIf(ranThrew)
	d.a.LocalGet(state).BrIf(0) // a job ran: look again
	d.a.GlobalGet(d.globals.waiting)
	d.endIf(ranWaits)
	d.constant(constContext)
	d.constant(constTimer).I64Const(int64(jsUndefined)).I32Const(0).I32Const(0)
	d.engine("JS_Call").LocalSet(value)
	d.endIfThrown(value)
	d.a.LocalGet(value).I64Const(int64(jsTrue)).Op(wasmbin.OpI64Eq).BrIf(0) // a timer ran
	d.a.End().I32Const(ranDeadlock).End()
	code.Body = clone(&d.a)
	d.settle = d.m.AddFunction(funcType("I:i"), code)
}

// addProceed defines proceed(value, phase) -> status: it awaits what a script of a
// form gave, where that is a promise, and writes what that ends with. Where it has
// to wait, it notes what for.
func (d *driver) addProceed() {
	const value, phase = 0, 1
	code := wasmbin.Code{}
	next := code.AddLocal(2, wasmbin.I64)
	status := code.AddLocal(2, wasmbin.I32)
	d.proceed = d.m.AddFunction(funcType("Ii:i"), code) // it calls itself
	call1 := func(f uint32) {
		d.constant(f).LocalGet(value).Call(d.call1).LocalSet(next)
		d.endIfThrown(next)
	}
	moveOn := func() {
		d.free(value)
		d.a.LocalGet(next).LocalSet(value)
	}
	d.a.Reset()
	d.a.LocalGet(phase).I32Const(int32(formScript)).Op(wasmbin.OpI32Ne).If(wasmbin.BlockEmpty) // the value is a promise
	d.a.LocalGet(value).Call(d.settle).LocalTee(status).If(wasmbin.BlockEmpty)
	d.a.LocalGet(value).GlobalSet(d.globals.promise)
	d.a.LocalGet(phase).GlobalSet(d.globals.phase)
	d.a.LocalGet(status).Return().End()
	d.constant(constContext).LocalGet(value)
	d.engine("JS_PromiseResult").LocalSet(next)
	moveOn()
	d.a.End()

	d.a.LocalGet(phase).I32Const(int32(formAsync)).Op(wasmbin.OpI32Eq).If(wasmbin.BlockEmpty) // in a record
	call1(constCompletion)
	moveOn()
	d.a.End()

	// A function's return has adopted a thenable already.
	d.a.LocalGet(phase).I32Const(int32(formBody)).Op(wasmbin.OpI32LtS).LocalGet(value)
	d.tag().I32Const(tagObject).Op(wasmbin.OpI32Eq).Op(wasmbin.OpI32And).If(wasmbin.BlockEmpty)
	call1(constAdopt)
	d.a.LocalGet(value).LocalGet(next).Op(wasmbin.OpI64Ne).LocalSet(status)
	moveOn()
	d.a.LocalGet(status).If(wasmbin.BlockEmpty)
	d.a.LocalGet(value).I32Const(phaseAdopted).Call(d.proceed).Return().End()
	d.a.End()

	d.a.I32Const(1).GlobalSet(d.globals.finishing)
	call1(constFinish)
	d.a.I32Const(0).GlobalSet(d.globals.finishing)
	d.a.LocalGet(value).GlobalSet(d.globals.promise) // for who wants it freed
	d.a.I32Const(ranWhole).End()
	code.Body = clone(&d.a)
	d.m.Codes[int(d.proceed)-len(d.m.Imports)] = code
}

// addRun defines run(code, input, length, form) -> status: the input becomes a
// global, the script runs, what it ends with is awaited and written. An input of
// length zero is the null that the image has.
func (d *driver) addRun() uint32 {
	const script, input, length, shape = 0, 1, 2, 3
	code := wasmbin.Code{}
	value := code.AddLocal(4, wasmbin.I64)
	function := code.AddLocal(4, wasmbin.I64)
	d.a.Reset()
	d.a.LocalGet(length).If(wasmbin.BlockEmpty)
	d.constant(constContext).LocalGet(input).LocalGet(length)
	d.constant(constInputName)
	d.engine("JS_ParseJSON").LocalSet(value)
	d.endIfThrown(value)
	d.constant(constContext)
	d.constant(constGlobal)
	d.constant(constInputName).LocalGet(value)
	d.engine("JS_SetPropertyStr").I32Const(0).Op(wasmbin.OpI32LtS)
	d.endIf(ranThrew)
	d.a.End()

	d.constant(constContext).LocalGet(script)
	d.engine("JS_EvalFunction").LocalSet(value)
	d.endIfThrown(value)

	d.a.LocalGet(shape).I32Const(int32(formBody)).Op(wasmbin.OpI32Eq).If(wasmbin.BlockEmpty) // the value is the function
	d.a.LocalGet(value).LocalSet(function)
	d.constant(constContext).LocalGet(function).I64Const(int64(jsUndefined)).I32Const(0).I32Const(0)
	d.engine("JS_Call").LocalSet(value)
	d.free(function)
	d.endIfThrown(value)
	d.a.End()
	d.a.LocalGet(value).LocalGet(shape).Call(d.proceed).End()
	code.Body = clone(&d.a)
	return d.m.AddFunction(funcType("Iiii:i"), code)
}

// addTell defines tell(f, text, length) -> status: it calls a function with what
// JSON text means.
func (d *driver) addTell() {
	const f, text, length = 0, 1, 2
	code := wasmbin.Code{}
	value := code.AddLocal(3, wasmbin.I64)
	result := code.AddLocal(3, wasmbin.I64)
	d.a.Reset()
	d.constant(constContext).LocalGet(text).LocalGet(length)
	d.constant(constInputName)
	d.engine("JS_ParseJSON").LocalSet(value)
	d.endIfThrown(value)
	d.a.LocalGet(f).LocalGet(value).Call(d.call1).LocalSet(result)
	d.free(value)
	d.endIfThrown(result)
	d.a.I32Const(ranWhole).End()
	code.Body = clone(&d.a)
	d.tell = d.m.AddFunction(funcType("Iii:i"), code)
}

// addGrant defines grant(text, length) -> status: the prelude hands out the
// functions of a list.
func (d *driver) addGrant() uint32 {
	const text, length = 0, 1
	d.a.Reset()
	d.constant(constGrant).LocalGet(text).LocalGet(length).Call(d.tell).End()
	return d.m.AddFunction(funcType("ii:i"), wasmbin.Code{Body: clone(&d.a)})
}

// addContinue defines continue(text, length) -> status: the prelude settles calls
// with the replies of a list, and the script goes on from where it waits.
func (d *driver) addContinue() uint32 {
	const text, length = 0, 1
	code := wasmbin.Code{}
	status := code.AddLocal(2, wasmbin.I32)
	d.a.Reset()
	d.a.LocalGet(length).If(wasmbin.BlockEmpty)
	d.constant(constAnswer).LocalGet(text).LocalGet(length).Call(d.tell).LocalTee(status).If(wasmbin.BlockEmpty)
	d.a.LocalGet(status).Return().End().End()
	d.a.GlobalGet(d.globals.promise).GlobalGet(d.globals.phase).Call(d.proceed).End()
	code.Body = clone(&d.a)
	return d.m.AddFunction(funcType("ii:i"), code)
}
