//go:build cgo && linux && amd64

package wasmtime

// The guest is called through this file and not through wasmtime-go's Func.Call,
// which leaves a C object to Go's finalizers at each call. Neither Go's collector
// nor its memory limit sees that memory: a script that awaits in a loop made the
// process grow by gigabytes. It is also where the stack is looked at, since a
// guest that runs out of a thread's stack takes the process down.

/*
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Of wasmtime's C API, version 39, which wasmtime-go links: func.h, val.h, trap.h
// and error.h. Its objects are opaque here.
typedef struct { uint64_t store; void *item; } function_t;
typedef union { uint64_t i64; uint8_t v128[16]; } raw_t;
extern void *wasmtime_func_call_unchecked(void *context, const function_t *function, raw_t *values, size_t count, void **trap);
extern bool wasmtime_trap_code(const void *trap, uint8_t *code);
extern void wasmtime_error_delete(void *error);
extern void wasm_trap_delete(void *trap);

enum { most = 8, trap_stack_overflow = 0 };
enum { returned, trapped, overflowed, cramped };

static __thread char *lowest; // address of this thread's stack

// room is how much of this thread's stack is left, in bytes.
static size_t room(void) {
	char here;
	if (lowest == NULL) {
		pthread_attr_t attributes;
		void *address;
		size_t size;
		if (pthread_getattr_np(pthread_self(), &attributes) != 0)
			return 0;
		int failed = pthread_attr_getstack(&attributes, &address, &size);
		pthread_attr_destroy(&attributes);
		if (failed)
			return 0;
		lowest = address;
	}
	return &here > lowest ? (size_t)(&here - lowest) : 0;
}

// call calls a function of count words, and leaves its result in the first.
static int call(void *context, function_t function, uint64_t *words, size_t count, size_t need) {
	raw_t values[most];
	void *trap = NULL;
	if (count > most || room() < need)
		return cramped;
	for (size_t i = 0; i < count; i++)
		values[i].i64 = words[i];
	void *error = wasmtime_func_call_unchecked(context, &function, values, count, &trap);
	if (error != NULL) {
		wasmtime_error_delete(error);
		return trapped;
	}
	if (trap != NULL) {
		uint8_t code;
		int how = wasmtime_trap_code(trap, &code) && code == trap_stack_overflow ? overflowed : trapped;
		wasm_trap_delete(trap);
		return how;
	}
	words[0] = values[0].i64;
	return returned;
}
*/
import "C"

import (
	"runtime"
	"unsafe"

	wt "github.com/bytecodealliance/wasmtime-go/v39"
)

// ending is how a call ended.
type ending int

const (
	endReturned   = ending(C.returned)
	endTrapped    = ending(C.trapped)
	endOverflowed = ending(C.overflowed)
	endCramped    = ending(C.cramped) // nothing was called: this thread's stack is too small
)

// maxWords is how many words a function may take.
const maxWords = C.most

// function is a guest function. It belongs to the store that it came from.
type function struct{ handle C.function_t }

// functionOf takes the handle out of what wasmtime-go keeps.
func functionOf(f *wt.Func) function {
	// struct wasmtime_extern: one byte that says what it is, then, at the next
	// multiple of eight, struct wasmtime_func.
	e := f.AsExtern()
	return function{*(*C.function_t)(unsafe.Add(unsafe.Pointer(&e), 8))}
}

// call calls the function on this thread, if that has needBytes of stack left.
// The words are arguments, and the first is the result afterwards.
func (f function) call(store *wt.Store, words []uint64, needBytes int) ending {
	how := C.call(unsafe.Pointer(store.Context()), f.handle, (*C.uint64_t)(unsafe.SliceData(words)), C.size_t(len(words)), C.size_t(needBytes))
	runtime.KeepAlive(store)
	return ending(how)
}

// threadRoom is how much stack is left on this thread, in bytes.
func threadRoom() int { return int(C.room()) }
