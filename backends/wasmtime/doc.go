// Package wasmtime runs scripts in QuickJS on wasmtime, an optimising WebAssembly
// engine: about one and a half times as fast as package wazero, for cgo and a
// binary that is 20 MB larger. The guest image, what it may do and what it answers are the same,
// to the byte and to the unit of fuel.
//
// It is part of builds with cgo for linux/amd64. In others the package compiles,
// links nothing of wasmtime, and [Unavailable] says why.
//
// # Security
//
// The wall is WebAssembly, compiled by Cranelift; see package wazero for what
// that means. The version that is linked no longer gets fixes from its authors.
// The module that it compiles is ours and fixed, and a script cannot bring code
// of its own to it; docs/THREATMODEL.md says what that bounds and what it does
// not. Proposals that the image does not use are off, wasmtime's own WASI is not
// linked, and no text of wasmtime leaves this package.
//
// # Concurrency
//
// See [spi.Backend]. One goroutine per isolate. A running guest occupies the
// thread of the goroutine that calls Eval, as any cgo call does.
//
// # Errors
//
// [New] fails with [ErrUnavailable] where this build or machine cannot run it,
// and otherwise as wazero.New does.
//
// # Limits
//
// Every limit of [spi.Limits] is enforced. Memory is exact to one WebAssembly
// page of 64 KiB and at most [MaxMemoryBytes]; each isolate also reserves some
// GiB of address space, which costs no memory. Fuel is exact to the unit; a
// timeout is noticed after one slice of fuel, about 0.4 ms, on a machine that
// is not overloaded. The threads of the process need stacks of at least
// [MinThreadStackBytes]: the limit of `ulimit -s` when the process starts. A
// thread that has too little left is not used. Isolates take two mappings each;
// Linux allows a process 65,530 of them.
package wasmtime
