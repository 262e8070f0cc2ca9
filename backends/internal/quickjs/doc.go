// Package quickjs is everything the house knows about QuickJS: how a stock
// reactor build of quickjs-ng becomes a guest image in which no script can
// outrun its limits, and how one eval is driven in it. It knows no engine: what
// executes the image is an [Instance].
//
// # The image
//
// [Build] rewrites the module (guards, own stack, two host functions), boots it
// once on an engine, runs the prelude, and keeps the memory beside the module. An
// isolate is then an instance of both and nothing else. Code of ours inside the
// image, the driver, takes a parsed script to its written result.
//
// # Security
//
// Linear memory belongs to the guest, interpreter and script alike, and proves
// nothing. Every limit rests on what only the host or the rewritten code can
// write: the globals fuel, depth, stack pointer, and the flags for a refused
// growth, a low stack and a result being written; all are outside linear memory. Every pointer, length
// and text that comes from the guest is checked as hostile.
//
// # Concurrency
//
// An [Image] may be shared by any number of isolates. A [Host] and its Instance belong to one isolate and
// one goroutine at a time; [Host.Kill] may be called from any goroutine.
//
// # Errors
//
// [Build] names what a module lacks. An eval never fails with a Go error for
// what the guest did: see [spi.Outcome].
//
// # Limits
//
// The guest has [StackBytes] of shadow stack and [MaxCallDepth] nested calls
// inside the engine; clock and random numbers are virtual.
package quickjs
