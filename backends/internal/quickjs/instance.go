package quickjs

import (
	"errors"
	"strings"
)

// ErrNativeStack is what [Instance.Call] returns where an engine's own call stack
// was used up, which the guards prevent on engines with enough of it.
var ErrNativeStack = errors.New("quickjs: engine's own stack is used up")

// Instance is one instantiated image, as an engine offers it. It belongs to one
// isolate and is used by one goroutine at a time.
type Instance interface {
	// Call calls the export [InvokeExport] with the words of stack, of which
	// there are [InvokeWords], and leaves its result in stack[0]. An error means
	// that the guest was stopped in the middle (a trap, or a host function that
	// returned an error) and must not run again; its text is not used.
	Call(stack []uint64) error

	// Memory is the guest's linear memory as it is now. The slice is valid until
	// the next Call.
	Memory() []byte

	// Global and SetGlobal read and write an exported global, also from within
	// a host function.
	Global(g Global) uint64
	SetGlobal(g Global, v uint64)
}

// InvokeExport is the one function that an image exports: the number of a
// function of the engine's C API and its arguments, 64 bits each. One export and
// not one for each function, since engines keep a native stack for each, which a
// deep recursion makes large.
const InvokeExport = "sandboxd.invoke"

// InvokeWords is how many words [Instance.Call] takes: a number and arguments.
const InvokeWords = 1 + maxArguments

const maxArguments = 6

// function is one of the engine's C API that the driver calls.
type function uint64

const (
	fnInitialize function = iota
	fnMalloc
	fnFree
	fnNewRuntime
	fnNewContext
	fnSetMaxStackSize
	fnUpdateStackTop
	fnRunGC
	fnNewObject
	fnNewCFunction2
	fnGetGlobalObject
	fnSetPropertyStr
	fnGetPropertyStr
	fnFreeValue
	fnEval2
	fnCall
	fnGetException
	fnRun // our own, from here on: see driver.go
	fnGrant
	fnContinue
	functionCount
)

// signature is a function's export name and its type in letters: i for i32, I
// for i64, parameters before and results after the colon. The types are checked
// when an image is built, so that a build with another ABI is refused by name.
type signature struct{ name, shape string }

func functionTable() [functionCount]signature {
	return [functionCount]signature{
		fnInitialize:      {"_initialize", ":"},
		fnMalloc:          {"malloc", "i:i"},
		fnFree:            {"free", "i:"},
		fnNewRuntime:      {"JS_NewRuntime", ":i"},
		fnNewContext:      {"JS_NewContext", "i:i"},
		fnSetMaxStackSize: {"JS_SetMaxStackSize", "ii:"},
		fnUpdateStackTop:  {"JS_UpdateStackTop", "i:"},
		fnRunGC:           {"JS_RunGC", "i:"},
		fnNewObject:       {"JS_NewObject", "i:I"},
		fnNewCFunction2:   {"JS_NewCFunction2", "iiiiii:I"},
		fnGetGlobalObject: {"JS_GetGlobalObject", "i:I"},
		fnSetPropertyStr:  {"JS_SetPropertyStr", "iIiI:i"},
		fnGetPropertyStr:  {"JS_GetPropertyStr", "iIi:I"},
		fnFreeValue:       {"JS_FreeValue", "iI:"},
		fnEval2:           {"JS_Eval2", "iiii:I"},
		fnCall:            {"JS_Call", "iIIii:I"},
		fnGetException:    {"JS_GetException", "i:I"},
		fnRun:             {runName, "Iiii:i"},
		fnGrant:           {grantName, "ii:i"},
		fnContinue:        {continueName, "ii:i"},
	}
}

// What stands for the driver's functions among the names of the C API.
const (
	ourPrefix    = "sandboxd."
	runName      = ourPrefix + "run"
	grantName    = ourPrefix + "grant"
	continueName = ourPrefix + "continue"
)

func (s signature) isOurs() bool { return strings.HasPrefix(s.name, ourPrefix) }

// usedInside are functions that only the image's own code calls.
func usedInside() []signature {
	return []signature{
		{"JS_ToCStringLen2", "iiIi:i"}, {"JS_FreeCString", "ii:"}, {"JS_FreeValue", "iI:"},
		{"JS_ParseJSON", "iiii:I"}, {"JS_EvalFunction", "iI:I"}, {"JS_Throw", "iI:I"},
		{"JS_ExecutePendingJob", "ii:i"}, {"JS_PromiseState", "iI:i"}, {"JS_PromiseResult", "iI:I"},
	}
}

// Global is a mutable global that the rewritten module exports.
type Global int

// The globals, outside the guest's memory.
const (
	// GlobalFuel (i64) counts down; below zero the guest calls tick.
	GlobalFuel Global = iota
	// GlobalDepth (i32) is the number of calls in progress.
	GlobalDepth
	// GlobalStackPointer (i32) is the shadow stack's.
	GlobalStackPointer
	// GlobalStackLow (i32) becomes 1 when the shadow stack has entered its last part.
	GlobalStackLow
	// GlobalGrowRefused (i32) becomes 1 when the memory could not grow.
	GlobalGrowRefused
	// GlobalFinishing (i32) is 1 while the driver has the result written.
	GlobalFinishing
	// GlobalWaiting (i32) is the number of host calls without a reply; the host sets it.
	GlobalWaiting
	// GlobalPromise (i64) is what a script waits for, and GlobalPhase (i32) what the
	// driver does then. Of a script that has ended it is the result.
	GlobalPromise
	GlobalPhase
	// GlobalCount is how many there are.
	GlobalCount
)

// Globals are the export names in the order of [Global].
func Globals() []string {
	return []string{
		GlobalFuel: "sandboxd.fuel", GlobalDepth: "sandboxd.depth", GlobalStackPointer: "sandboxd.stack_pointer",
		GlobalStackLow: "sandboxd.stack_low", GlobalGrowRefused: "sandboxd.grow_refused",
		GlobalFinishing: "sandboxd.finishing", GlobalWaiting: "sandboxd.waiting",
		GlobalPromise: "sandboxd.promise", GlobalPhase: "sandboxd.phase",
	}
}

// MemoryExport is the name under which the image exports its memory.
const MemoryExport = "memory"
