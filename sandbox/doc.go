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
// # Tools
//
// A script reaches nothing but what it is handed, as [Request.Tools]: the tool
// "crm.lookup" is tools.crm.lookup in the script and gives a promise. Calls go on
// at the same time, up to [Limits.HostCallsAtOnce]; the script hears of them in
// the order in which they are done. Each call passes [Options.Policy], which may
// also let it wait for somebody.
//
//	res, err := sb.Eval(ctx, sandbox.Request{
//		Script: "const c = await tools.crm.lookup({id: 7}); return c.name",
//		Tools:  set,
//	})
//
// A script can catch that a call was refused (DeniedError) or failed (ToolError).
// If it does not, [Error.Tool] and [Error.Code] name the tool and the reason, in
// words of the host's. The function emit of [Request.Emit] is no call: it tells
// [Options.Observer], which also hears of each call and each log line.
//
// Handlers should return when their context ends: the eval does not wait for
// those that do not, but their goroutines are only gone when they return.
//
// # Labels
//
// What an eval says is labelled with the origins of all that it was given: the
// script itself ("sandbox"), the results of its tools ([tools.Tool.Origin]) and
// the labels inside of those, and the labels inside of [Request.Input]. The labels
// inside are taken off on the way in, so that the script sees plain values.
//
//	{"__loomTainted":{"origin":"sandbox, tool:crm.lookup"},"value":"Ada"}
//
// It is one label for the run as a whole and not one for each value: any byte that
// a script says may depend on any byte that it was told before, whatever the
// script looks like, and the host does not look into it. So the label may say too
// much and never too little. The script has no part in it and cannot take it off.
// A tool with [tools.Tool.DangerouslyTrustResults] adds nothing.
//
// # Suspending
//
// If all that a script waits for is a matter of somebody else, a person who has to
// agree or a client that runs the tool, the eval is suspended: its result has
// [StatusSuspended], the calls in [Result.Pending] and the whole script as bytes in
// [Result.Continuation]. No isolate is open then and nothing is kept here.
//
//	res, err = sb.Resume(ctx, sandbox.ResumeRequest{
//		Continuation: res.Continuation, Tools: set,
//		Replies:      []sandbox.Reply{{ID: res.Pending[0].ID, Allow: true}},
//	})
//
// The bytes are encrypted, cannot be changed, and can be resumed wherever the same
// [Continuations.Keys], the same audience and the same guest image are, until they
// expire and any number of times: see [Sandbox.Resume] for what that means.
//
// # Sessions
//
// Without a session nothing is kept: each eval starts in pristine state. A
// [Session] keeps the heap of the last eval that succeeded, as bytes, for the next
// one to go on from. An eval that fails leaves the session as it was, because its
// isolate is thrown away. The label of a session grows with all that was given to
// an eval of it that succeeded.
//
//	session, err := sb.NewSession(ctx, sandbox.SessionOptions{})
//	res, err := session.Eval(ctx, sandbox.Request{Script: "const rows = input; rows.length", Input: rows})
//	res, err = session.Eval(ctx, sandbox.Request{Script: "rows.filter(r => r.open)"})
//
// # Security
//
// A script can compute anything and reach nothing that it was not handed. What it
// returns, logs and throws is wrapped in [taint.Tainted], also when it fails;
// [taint.Unwrap] is the one way out and is meant to be found by grep. The label
// says where data came from; it does not make the data harmless. How strong the
// wall is depends on the backend: see [spi.Descriptor.Isolation]. Side channels are
// not covered; one is that a script which somebody prepared before takes less time.
//
// What a tool does is done with the host's rights: its schema and the policy are
// all that stands between a script and it. Whoever has a key of
// [Options.Continuations] can write to the memory of a guest and choose what a
// label says. A continuation is not used up by resuming it.
//
// # Concurrency
//
// All methods may be called from any number of goroutines. At most
// [Options.MaxConcurrent] scripts run or are prepared at once; the others wait in
// order until their context ends. Waiting does not count against a script's timeout.
// A script that waits for its tools has no turn, but keeps its isolate and the
// memory of that: how many evals there are at once is for the caller to bound.
//
// # Errors
//
// A script that fails is a [Result] with an [Error], not a Go error. A Go error
// is a [*RequestError] (the request is not valid), a [*BackendError] (the
// backend could not do its work), [ErrClosed], one of the ErrContinuation and
// ErrSession errors, or the context's error when it ended before the script
// started.
//
// # Limits
//
//	timeout        2 s        [DefaultTimeout]          wall time of parsing, running, writing the result
//	memory         64 MiB     [DefaultMemoryBytes]      the guest's whole memory
//	fuel           none                                 units of the backend
//	source         256 KiB    [DefaultSourceBytes]
//	input          4 MiB      [DefaultInputBytes]       JSON text, with the labels in it
//	output         1 MiB      [DefaultOutputBytes]      JSON text
//	logs           64 KiB     [DefaultLogBytes]         and as much of events
//	calls          256        [DefaultHostCalls]
//	at once        32         [DefaultHostCallsAtOnce]
//	arguments      4 MiB      [DefaultArgumentBytes]    of all calls together, JSON text
//	replies        16 MiB     [DefaultReplyBytes]       of all calls together, JSON text
//	total time     60 s       [DefaultTotalTime]        with all waiting, where there are tools
//	continuation   16 MiB     [DefaultContinuationBytes], for 24 h, [DefaultContinuationExpiry]
//	session        4 MiB      [DefaultSessionBytes]     compressed, for 30 min, [DefaultSessionIdle]
//
// Fixed by the backend are the guest's stack (enough for 5,000 plain calls), the
// nesting of a result (5,000 levels) and the number of log lines.
//
// A request may ask for less or, up to [Options.Ceilings], for more. For the parts
// of an eval that is suspended and resumed all of them count together.
package sandbox
