// Package subprocess is an example of a backend: each isolate is a child process
// of the same binary, which runs package wazero inside. It stands for a
// container or a micro-VM; docs/WRITING_A_BACKEND.md builds it step by step.
//
// A program that uses it calls [RunChild] first of all.
//
// # Security
//
// The wall is WebAssembly in the child; the process adds that a fault of the
// engine does not share the host's memory. A child has the rights of its host
// but not its environment. The host holds everything that a child says to the
// form and the limits, and keeps the time itself.
//
// Ending a child ends its process group, too. Not covered is a child that was
// taken over: what it starts in a group of its own outlives it, and it may
// outlive a host that was killed. A container or a machine covers both. A host
// that was killed also leaves an empty directory, sandboxd-subprocess-*, where
// temporary files are.
//
// # Concurrency
//
// See [spi.Backend].
//
// # Errors
//
// A child that dies, hangs or contradicts itself ends the eval with
// [spi.KindBackend], since a script may be the cause; the isolate is spent. Close
// fails where the system does not let go of a child that was killed.
//
// # Limits
//
// Those of package wazero, but a timeout may be overrun by half a second where
// a child has to be killed.
package subprocess
