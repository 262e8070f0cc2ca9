// Package qjs runs scripts with github.com/fastschema/qjs, a Go library that wraps
// quickjs-ng. It is here to hold a library that was not made for this contract
// against it; it is not meant for scripts that nobody has read. What it does not
// do as the contract says is listed in known_failures.txt, see [KnownFailures].
//
// # Security
//
// The wall is WebAssembly's. What the library would grant is taken away where
// its options or a line of script can do so: the guest's root is no directory, so
// that no file is read, made or changed; standard output goes nowhere; `std`, `os`,
// timers and everything else beyond ECMAScript leave the global object. This does
// not protect against a script that sleeps or ends its guest, for which
// `import("qjs:os")` and `import("qjs:std")` still do. Clock and random numbers are
// the library's own: Config.Now and Config.Seed have no effect. Deep recursion
// overruns the guest's stack into its data, which can go unnoticed before it
// traps; what such a guest then says is not to be relied on.
//
// # Concurrency
//
// As [spi] says. The library keeps its compiled module, and the settings that it
// was compiled with, in variables of its own. Somebody else in this process who
// has it compile again can take away that a script can be stopped, and does not
// synchronise with those who open isolates.
//
// A guest that sleeps in the library cannot be woken: it is left alone, and its
// goroutine and memory stay until it wakes. The compiled module outlives Close,
// and so do the functions that the library makes for each guest: an isolate
// leaves some 50 KiB behind for the life of the process.
//
// # Errors
//
// [ErrLibrary] and those of [spi]. The library panics, and its texts hold Go
// stacks and paths of the host: none of them crosses.
//
// # Limits
//
// Time, memory, output and logs are enforced by this package, which also gives the
// guest its memory and refuses what is beyond the cap. While a guest grows, its old
// memory and its new one are held at once. Fuel cannot be counted and is refused by
// Open. The library's own MemoryLimit, MaxStackSize and MaxExecutionTime have no
// such effect in its build of the engine and are left alone.
package qjs
