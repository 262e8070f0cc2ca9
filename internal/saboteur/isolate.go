package saboteur

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/loom-sandbox/sandboxd/spi"
)

// isolateDefects break opening, and what an eval leaves for the next.
func isolateDefects() []Defect {
	return []Defect{
		{
			Name: "opens-nothing", Wrong: "Open returns no isolate and no error where the memory cap is too large.",
			CaughtBy: []string{"LIMIT-053"}, Seen: "accepted",
			build: refuseWith(spi.ErrUnsupported, nil),
		},
		{
			Name: "opens-with-plain-errors", Wrong: "Open refuses a limit with an error that wraps none of the contract's.",
			CaughtBy: []string{"LIMIT-053"}, Seen: "error is saboteur",
			build: refuseWith(spi.ErrUnsupported, errors.New("saboteur: too much memory")),
		},
		{
			Name: "opens-in-ended-context", Wrong: "Open does not look at its context.",
			CaughtBy: []string{"CLOSE-013"}, Seen: "gave an isolate",
			build: opening(func(ctx context.Context, b *Backend, cfg *spi.Config) (spi.Isolate, error) {
				return b.open(context.WithoutCancel(ctx), cfg)
			}),
		},
		{
			Name: "context-of-open-ends-isolate", Wrong: "An isolate is closed when the context of its opening ends.",
			CaughtBy: []string{"KILL-028"}, Seen: "spi: closed",
			build: opening(func(ctx context.Context, b *Backend, cfg *spi.Config) (spi.Isolate, error) {
				iso, err := b.open(ctx, cfg)
				if err == nil {
					context.AfterFunc(ctx, func() { _ = iso.Close() })
				}
				return iso, err
			}),
		},
		{
			Name: "one-eval", Wrong: "An isolate is spent after its first eval.",
			CaughtBy: []string{"EVAL-040"}, Seen: "spent",
			build: evaluating(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				if i.evals.Load() > 1 && i.closes.Load() == 0 {
					return nil, spi.ErrIsolateSpent
				}
				return run(ctx, i, req)
			}),
		},
		{
			Name: "spent-by-exception", Wrong: "An isolate is spent after an exception.",
			CaughtBy: []string{"EVAL-043"}, Seen: "spent",
			build: evaluating(spender(func(out *spi.Outcome) bool {
				return out.Error != nil && out.Error.Kind == spi.KindException
			})),
		},
		{
			Name: "forgets", Wrong: "Every eval of an isolate has a pristine heap.",
			CaughtBy: []string{"EVAL-040"}, Seen: "kept is not defined",
			build: evaluating(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				first := i.evals.Load() == 1
				nothing := &spi.Request{Source: "0", Language: spi.JavaScript, Input: []byte("null")}
				if _, err := i.whole().Eval(ctx, nothing); first || err != nil { // spent or closed it stays
					return run(ctx, i, req)
				}
				if err := i.renew(context.WithoutCancel(ctx)); err != nil {
					return nil, err
				}
				return run(ctx, i, req)
			}),
		},
		{
			Name: "goes-on-when-spent", Wrong: "After an eval that was ended by force, the next one runs.", Late: true,
			CaughtBy: []string{"LIMIT-001", "KILL-001"}, Seen: "ended with a value",
			build: afresh(func(*isolate) bool { return true }),
		},
		{
			Name: "goes-on-without-memory", Wrong: "After an eval that was refused memory, the next one runs.",
			CaughtBy: []string{"LIMIT-034", "LIMIT-047"}, Seen: "ended with a value",
			build: func() hooks {
				// Nothing but memory can have spent an isolate that was not ended.
				h := afresh(func(i *isolate) bool { return !i.noted.Load() })()
				h.outcome = func(i *isolate, out *spi.Outcome) { i.noted.Store(ended(out)) }
				return h
			},
		},
		{
			Name: "spent-as-closed", Wrong: "A spent isolate says that it is closed.",
			CaughtBy: []string{"LIMIT-001"}, Seen: "error is spi: closed",
			build: evaluating(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				out, err := run(ctx, i, req)
				if errors.Is(err, spi.ErrIsolateSpent) {
					return nil, spi.ErrClosed
				}
				return out, err
			}),
		},
		{
			Name: "sick-after-stack-overflow", Wrong: "After a stack overflow, the next isolate breaks.",
			CaughtBy: []string{"LEAK-026"}, Seen: "ended with backend",
			build: func() hooks { return sickAfter(spi.KindStackOverflow) },
		},
		{
			Name: "sick-after-memory", Wrong: "After an eval that ran out of memory, the next isolate breaks.",
			CaughtBy: []string{"LEAK-025"}, Seen: "ended with backend",
			build: func() hooks { return sickAfter(spi.KindMemory) },
		},
		{
			Name: "sick-after-timeout", Wrong: "After a timeout, the next isolate breaks.",
			CaughtBy: []string{"LEAK-022"}, Seen: "ended with backend",
			build: func() hooks { return sickAfter(spi.KindTimeout) },
		},
	}
}

// afresh goes on in a pristine heap where the isolate is spent.
func afresh(may func(i *isolate) bool) func() hooks {
	return evaluating(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
		out, err := run(ctx, i, req)
		if !errors.Is(err, spi.ErrIsolateSpent) || !may(i) {
			return out, err
		}
		if err := i.renew(context.WithoutCancel(ctx)); err != nil {
			return nil, err
		}
		return run(ctx, i, req)
	})
}

// spender is an eval after which an isolate is spent if what says so.
func spender(what func(out *spi.Outcome) bool) evalFunc {
	return func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
		if i.noted.Load() {
			return nil, spi.ErrIsolateSpent
		}
		out, err := run(ctx, i, req)
		i.noted.Store(err == nil && what(out))
		return out, err
	}
}

// sickAfter makes the isolate break that is used after one ended with a kind.
func sickAfter(kind spi.Kind) hooks {
	var last atomic.Pointer[isolate]
	return hooks{outcome: func(i *isolate, out *spi.Outcome) {
		before := last.Swap(nil)
		if out.Error != nil && out.Error.Kind == kind {
			last.Store(i)
		}
		if before != nil && before != i {
			setError(i, out, spi.KindBackend, "")
		}
	}}
}
