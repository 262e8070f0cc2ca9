package saboteur

import (
	"context"

	"github.com/loom-sandbox/sandboxd/spi"
)

// callEndDefects break how scripts that wait go on and end, and what is told of them.
func callEndDefects() []Defect {
	return []Defect{
		{
			Name: "timers-beside-calls", Wrong: "Timers fire while a call has no reply.",
			CaughtBy: []string{"CALL-017"}, Seen: "a timer fired while a call had no reply",
			build: before("globalThis.setTimeout = (f) => { Promise.resolve().then(f) }"),
		},
		{
			Name: "clock-beside-calls", Wrong: "The guest's clock goes on while a call has no reply.",
			CaughtBy: []string{"CALL-017"}, Seen: "went on",
			build: before("const now = Date.now; let asked = 0; Date.now = () => now() + 300 * asked++"),
		},
		{
			Name: "deadlock-is-done", Wrong: "A script that waits for nothing after a call is reported as done.",
			CaughtBy: []string{"CALL-018"}, Seen: "ended with the value null",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if out.Error != nil && out.Error.Kind == spi.KindDeadlock && out.Usage.HostCalls > 0 {
					setValue(out, "null", spi.TypeUndefined)
				}
			}),
		},
		{
			Name: "no-eval-while-waiting", Wrong: "An isolate whose script waits takes no other.",
			CaughtBy: []string{"CALL-020"}, Seen: "Eval: spi: not supported",
			build: func() hooks {
				return hooks{
					eval: func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
						if i.noted.Load() {
							return nil, spi.ErrUnsupported
						}
						return run(ctx, i, req)
					},
					outcome: func(i *isolate, out *spi.Outcome) { i.noted.Store(out.Waits()) },
				}
			},
		},
		{
			Name: "continue-without-context", Wrong: "Continue does not look at its context.", Late: true,
			CaughtBy: []string{"CALL-029"}, Seen: "returned after",
			build: goingOn(func(ctx context.Context, i *isolate, replies []spi.Reply) (*spi.Outcome, error) {
				return goOn(context.WithoutCancel(ctx), i, replies)
			}),
		},
		{
			Name: "continue-after-context", Wrong: "A context that has ended before Continue does not end the script.",
			CaughtBy: []string{"CALL-030"}, Seen: "ended with the value 5",
			build: goingOn(func(ctx context.Context, i *isolate, replies []spi.Reply) (*spi.Outcome, error) {
				if ctx.Err() != nil {
					ctx = context.WithoutCancel(ctx)
				}
				return goOn(ctx, i, replies)
			}),
		},
		{
			Name: "continue-fails-with-context", Wrong: "Continue under a context that has ended is that context's error.",
			CaughtBy: []string{"CALL-030"}, Seen: "Continue: context canceled",
			build: goingOn(func(ctx context.Context, i *isolate, replies []spi.Reply) (*spi.Outcome, error) {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				return goOn(ctx, i, replies)
			}),
		},
		{
			Name: "closed-waits-for-nobody", Wrong: "Continue of a closed isolate says that nobody waits.",
			CaughtBy: []string{"CALL-031", "CALL-032"}, Seen: "Continue: error is spi: no script waits",
			build: insteadOfContinue(spi.ErrClosed, func(context.Context, *isolate, []spi.Reply) (*spi.Outcome, error) {
				return nil, spi.ErrNotWaiting
			}),
		},
		{
			Name: "spent-waits-for-nobody", Wrong: "Continue of a spent isolate says that nobody waits.",
			CaughtBy: []string{"CALL-029", "CALL-031"}, Seen: "Continue: error is spi: no script waits",
			build: insteadOfContinue(spi.ErrIsolateSpent, func(context.Context, *isolate, []spi.Reply) (*spi.Outcome, error) {
				return nil, spi.ErrNotWaiting
			}),
		},
		{
			Name: "waits-beyond-close", Wrong: "Closing the backend leaves scripts that wait alone.",
			CaughtBy: []string{"CALL-032"}, Seen: "Continue ended with the value",
			build: closingAll(func(*Backend) error { return nil }),
		},
		{
			Name: "logs-of-the-part", Wrong: "An outcome has the lines of its own part only.",
			CaughtBy: []string{"CALL-033"}, Seen: "logs are",
			build: outcome(func(i *isolate, out *spi.Outcome) {
				all := out.Logs
				setLogs(out, all[min(len(i.lines), len(all)):])
				i.lines = all
			}),
		},
		{
			Name: "observer-without-lines", Wrong: "An observer is told of events and not of lines.",
			CaughtBy: []string{"CALL-034"}, Seen: "the observer was told",
			build: observing(func(to spi.Observer, n spi.Notice) {
				if n.Event != nil {
					to.Notice(n)
				}
			}),
		},
		{
			Name: "events-told-twice", Wrong: "An observer is told of each event twice.",
			CaughtBy: []string{"CALL-034", "CALL-035"}, Seen: "the observer was told",
			build: observing(func(to spi.Observer, n spi.Notice) {
				to.Notice(n)
				if n.Event != nil {
					to.Notice(n)
				}
			}),
		},
		{
			Name: "drops-events-silently", Wrong: "An outcome does not say that events were dropped.",
			CaughtBy: []string{"CALL-035"}, Seen: "does not say that they are truncated",
			build: outcome(func(_ *isolate, out *spi.Outcome) { out.EventsTruncated = false }),
		},
		{
			Name: "prepared-without-functions", Wrong: "A prepared script is handed no functions.",
			CaughtBy: []string{"CALL-037"}, Seen: "prepared: has",
			build: evaluatingPrepared(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				changed := *req
				changed.Functions = nil
				return run(ctx, i, &changed)
			}),
		},
	}
}

// observing stands between the good backend and the observer.
func observing(f func(to spi.Observer, n spi.Notice)) func() hooks {
	return config(func(_ *Backend, cfg *spi.Config) {
		if cfg.Observer != nil {
			cfg.Observer = between{cfg.Observer, f}
		}
	})
}

type between struct {
	to spi.Observer
	f  func(to spi.Observer, n spi.Notice)
}

// Notice implements [spi.Observer].
func (b between) Notice(n spi.Notice) { b.f(b.to, n) }
