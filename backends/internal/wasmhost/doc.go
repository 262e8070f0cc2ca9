// Package wasmhost is a backend over any WebAssembly engine: it boots or loads
// the guest image, keeps it and its compiled code on disk, and opens isolates.
// An engine brings three small interfaces, [Engine], [Module] and [Instance]; what it knows of
// QuickJS it gets from package quickjs, and it adds nothing to it.
//
// # Security
//
// The cache holds code that will be executed; see package codecache. What is
// found there is used only as it was sealed, and made again otherwise.
//
// # Concurrency
//
// A [Backend] may be used by any number of goroutines.
package wasmhost
