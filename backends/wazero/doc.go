// Package wazero runs scripts in QuickJS on wazero, a WebAssembly runtime in
// pure Go: no cgo, no other process.
//
// # Security
//
// The wall is WebAssembly: the guest reaches its linear memory and the host
// functions of its image, which deny everything but the time of a virtual
// clock. It shares the process and its address space with the host; a fault of
// wazero's compiler would be a fault of the wall.
//
// # Concurrency
//
// See [spi.Backend]. One goroutine per isolate; a guest runs on the goroutine
// that calls Eval.
//
// # Errors
//
// [New] fails with a text that names what is wrong with the engine image or the
// cache directory. A cache that cannot be trusted is ignored with a warning.
//
// # Limits
//
// Every limit of [spi.Limits] is enforced. Memory is exact to one WebAssembly
// page of 64 KiB and at most [MaxMemoryBytes]; fuel is exact to the unit; a
// timeout is noticed after one slice of fuel, 0.1 to 0.3 ms, and at the latest
// after 100 ms, when wazero is enlarging its native stack for a deep recursion.
package wazero
