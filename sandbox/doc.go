// Package sandbox runs scripts that nobody has to trust and returns their
// results labelled as untrusted.
//
// A [Sandbox] is made once from a backend and shared:
//
//	backend, err := wazero.New(ctx, nil)
//	sb, err := sandbox.New(backend, nil)
//	res, err := sb.Eval(ctx, sandbox.Request{Script: "input.map(x => x * x)", Input: json.RawMessage("[1,2,3]")})
//	// res.Value is a taint.Tainted; it marshals as {"__loomTainted":{"origin":"sandbox"},"value":[1,4,9]}
//
// # Prepared scripts
//
// A script that runs many times can be parsed once, with [Sandbox.Prepare] or,
// for all scripts, [Options.PrepareRepeated]. Each run starts from the state
// after parsing and its result is the same as without.
//
//	double, err := sb.Prepare(ctx, sandbox.PrepareRequest{Script: "input * 2"})
//	res, err := double.Eval(ctx, sandbox.RunRequest{Input: json.RawMessage("21")})
//
// # Security
//
// A script can compute anything and reach nothing. What it returns, logs and
// throws is wrapped in [taint.Tainted], also when it fails; [taint.Unwrap] is
// the one way out and is meant to be found by grep. The label says where data
// came from; it does not make the data harmless. How strong the wall is depends
// on the backend: see [spi.Descriptor.Isolation]. Side channels are not covered;
// one is that a script which somebody prepared before takes less time.
//
// # Concurrency
//
// All methods may be called from any number of goroutines. At most
// [Options.MaxConcurrent] scripts run or are prepared at once; the others wait in
// order until their context ends. Waiting does not count against a script's timeout.
//
// # Errors
//
// A script that fails is a [Result] with an [Error], not a Go error. A Go error
// is a [*RequestError] (the request is not valid), a [*BackendError] (the
// backend could not do its work), [ErrClosed], or the context's error when it
// ended before the script started.
//
// # Limits
//
//	timeout   2 s        [DefaultTimeout]      wall time of parsing, running, writing the result
//	memory    64 MiB     [DefaultMemoryBytes]  the guest's whole memory
//	fuel      none                             units of the backend
//	source    256 KiB    [DefaultSourceBytes]
//	input     4 MiB      [DefaultInputBytes]   JSON text
//	output    1 MiB      [DefaultOutputBytes]  JSON text
//	logs      64 KiB     [DefaultLogBytes]
//
// Fixed by the backend are the guest's stack (enough for 5,000 plain calls), the
// nesting of a result (5,000 levels) and the number of log lines.
//
// A request may ask for less or, up to [Options.Ceilings], for more.
package sandbox
