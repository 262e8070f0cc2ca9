// Package spi is the contract between sandboxd and the layer that runs a
// script: an engine in this process, a child process, a container, a micro-VM.
//
// An author implements two interfaces of at most three methods, [Backend] and
// [Isolate], and describes what they promise in a [Descriptor]. Everything a
// caller may rely on is data in that descriptor; nobody branches on a name.
//
// # Words
//
// A backend is a way of running scripts. An isolate is one guest heap with
// nothing granted, pristine when it is opened. An eval is one script run in an
// isolate. The guest is the script together with the interpreter that runs it;
// the host is everything else. An outcome is what the host saw of an eval.
//
// # Lifecycle
//
// A backend is constructed by its own package, described, opened any number of
// times, and closed once its isolates are closed:
//
//	b.Describe()                          // constant, before anything starts
//	iso, err := b.Open(ctx, cfg)          // pristine, or a typed error
//	out, err := iso.Eval(ctx, req)        // out: whatever the script did; err: the backend is at fault
//	iso.Close()
//	b.Close()
//
// An eval that was ended by force (deadline, fuel, cancellation, kill, a trap) or
// that was refused memory leaves an isolate that answers every later Eval with
// [ErrIsolateSpent].
//
// A backend may also be a [Preparer], which parses a script once for many
// isolates; its isolates may be [Caller]s, whose scripts call functions of the
// host, and [Suspender]s, which are put away as bytes. All else in this text holds
// for those as well.
//
// # Scripts
//
// A script is ECMAScript (ES2023 or later) and not a module. It may use `await`
// and `return` at its top level. Without `return` the value of its last
// expression is the result; a promise is awaited, and nothing is that settles
// later. `input` is a global with [Request.Input]. The methods log, info, warn,
// error and debug of a global `console` write one line of [Outcome.Logs] each.
// The result is what JSON.stringify writes, with each getter read once, written
// within the limits and by code that the script cannot exchange.
//
// Beside the language nothing needs to be there. What grants nothing may be:
// timers and clocks that run on the guest's time, URL, TextEncoder and the like.
// What reaches outside the guest must not: files, network, environment,
// processes, modules, the host's clock, real randomness.
//
// # Host calls
//
// A function that a script is handed ([Request.Functions]) gives a promise. The
// script runs until nothing moves any more; then Eval returns, the outcome names
// the calls without a reply, and the script rests until [Caller.Continue]. So no
// goroutine, no stack and no connection waits inside a backend, and whoever called
// Eval decides who answers, how many at once and for how long. A script that waits
// is all in its isolate: [Suspender.Suspend] makes bytes of it, which
// [Resumer.Resume] takes on any machine.
//
// # Security
//
// Everything that the guest could have written is data of unknown origin:
// [Outcome.Value], [Outcome.Logs], [HostCall], [Event] and the texts of [ScriptError]. The caller
// labels it; a backend must not interpret it. [Kind] comes from what the host
// observed (the tick that fired, the growth that was refused), never from a
// text that the guest can choose.
//
// # Concurrency
//
// Describe, Open and Close of a Backend may be called from any number of
// goroutines. An Isolate is used by one goroutine at a time, except that Close
// may be called while Eval runs, and ends it.
//
// # Errors
//
// A script that fails is an [Outcome] with a [ScriptError], not a Go error. A
// Go error means that the backend could not do its work; it is or wraps
// [ErrUnsupported], [ErrClosed], [ErrIsolateSpent], [ErrReply], [ErrNotWaiting],
// [ErrState], [ErrStateTooLarge], from Open, Resume and Suspend the context's
// error, or a failure of the backend itself. [KindBackend] is something else: the
// guest's interpreter broke, which a script can bring about. No type or text of an engine crosses.
//
// # Limits
//
// [Limits] lists them with their units. Those of script and input are the
// caller's to check; those of stack and call depth are fixed by the backend and
// only reported. A limit that a backend cannot
// enforce is refused by Open with [ErrUnsupported]; it is never ignored.
package spi
