package saboteur

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// againDefects hold the first eval of an isolate to its limits and not the later ones.
func againDefects() []Defect {
	return []Defect{
		{
			Name: "timeout-once", Wrong: "Only the first eval of an isolate has a timeout.", Hangs: true,
			CaughtBy: []string{"KILL-035"}, Seen: "hung",
			build: func() hooks {
				return hooks{
					config: func(_ *Backend, cfg *spi.Config) { cfg.Limits.Timeout = time.Hour },
					eval: func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
						if i.later() {
							return run(ctx, i, req)
						}
						return runUntil(ctx, i, req, time.Now().Add(i.asked.Limits.Timeout))
					},
				}
			},
		},
		{
			Name: "timeout-later-as-backend", Wrong: "A later eval that ran into its timeout is reported as an interpreter that broke.",
			CaughtBy: []string{"KILL-035"}, Seen: "ended with backend",
			build: relabelLater(spi.KindTimeout, spi.KindBackend),
		},
		{
			Name: "cancel-once", Wrong: "Only the first eval of an isolate can be cancelled.", Hangs: true,
			CaughtBy: []string{"KILL-036"}, Seen: "hung",
			build: deafWhere(func(_ context.Context, i *isolate) bool { return i.later() }),
		},
		{
			Name: "killed-later-as-cancelled", Wrong: "Closing an isolate in a later eval is reported as the cancelled context.",
			CaughtBy: []string{"KILL-037"}, Seen: "ended with cancelled",
			build: relabelLater(spi.KindKilled, spi.KindCancelled),
		},
		{
			Name: "deadlock-waits-later", Wrong: "A later eval that waits for nothing is noticed after some seconds.", Late: true,
			CaughtBy: []string{"KILL-038"}, Seen: "returned after",
			build: evaluating(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				out, err := run(ctx, i, req)
				if err == nil && i.later() && out.Error != nil && out.Error.Kind == spi.KindDeadlock {
					i.wait(ctx, late)
				}
				return out, err
			}),
		},
		{
			Name: "memory-later-as-exception", Wrong: "The end of the memory in a later eval is reported as an exception.",
			CaughtBy: []string{"KILL-039"}, Seen: "ended with exception",
			build: relabelLater(spi.KindMemory, spi.KindException),
		},
		{
			Name: "output-limited-once", Wrong: "Only the first eval of an isolate has a limit of the output.",
			CaughtBy: []string{"KILL-040"}, Seen: "ended with the value",
			build: func() hooks {
				return hooks{
					config: func(_ *Backend, cfg *spi.Config) { cfg.Limits.OutputBytes = 1 << 40 },
					outcome: func(i *isolate, out *spi.Outcome) {
						if !i.later() && int64(len(out.Value)) > i.asked.Limits.OutputBytes {
							setError(i, out, spi.KindOutputTooLarge, spi.LimitOutput)
						}
					},
				}
			},
		},
		{
			Name: "stack-later-as-backend", Wrong: "The end of the call stack in a later eval is reported as an interpreter that broke.",
			CaughtBy: []string{"KILL-041"}, Seen: "ended with backend",
			build: relabelLater(spi.KindStackOverflow, spi.KindBackend),
		},
		{
			Name: "fuel-later-names-no-limit", Wrong: "A later eval that burnt its fuel does not say which limit it was.",
			CaughtBy: []string{"KILL-042"}, Seen: "names no limit",
			build: failure(func(i *isolate, e *spi.ScriptError) {
				if i.later() && e.Kind == spi.KindFuel {
					e.Limit = nil
				}
			}),
		},
		{
			Name: "logs-lost-later", Wrong: "The logs of a later eval are lost where the host ended it.",
			CaughtBy: []string{"KILL-038", "KILL-040"}, Seen: "logs are []",
			build: outcome(func(i *isolate, out *spi.Outcome) {
				if i.later() && out.Error != nil && out.Error.Kind != spi.KindException {
					setLogs(out, nil)
				}
			}),
		},
		{
			Name: "levels-lost-later", Wrong: "In later evals every line of the logs has the level log.",
			CaughtBy: []string{"KILL-040"}, Seen: "{log two}",
			build: outcome(func(i *isolate, out *spi.Outcome) {
				for n := range out.Logs {
					if i.later() {
						out.Logs[n].Level = spi.LevelLog
					}
				}
			}),
		},
		{
			Name: "deadline-once", Wrong: "Only the first eval of an isolate is ended by the context's deadline.", Hangs: true,
			CaughtBy: []string{"KILL-043"}, Seen: "hung",
			build: deafWhere(func(_ context.Context, i *isolate) bool { return i.later() }),
		},
		{
			Name: "deadline-instead-of-cancel", Wrong: "A context with a deadline cannot be cancelled before it.", Hangs: true,
			CaughtBy: []string{"KILL-044"}, Seen: "hung",
			build: deafWhere(func(ctx context.Context, _ *isolate) bool { _, ok := ctx.Deadline(); return ok }),
		},
		{
			Name: "spent-for-a-while", Wrong: "A spent isolate runs scripts again when it has refused a few.",
			CaughtBy: []string{"KILL-045"}, Seen: "ended with a value",
			build: func() hooks {
				var mu sync.Mutex
				refused := map[*isolate]int{}
				return hooks{eval: func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
					out, err := run(ctx, i, req)
					if !errors.Is(err, spi.ErrIsolateSpent) {
						return out, err
					}
					mu.Lock()
					defer mu.Unlock()
					if refused[i]++; refused[i] < 5 {
						return nil, err
					}
					out = &spi.Outcome{}
					setValue(out, "1", spi.TypeNumber)
					return out, nil
				}}
			},
		},
	}
}

// later reports whether the eval is not the isolate's first.
func (i *isolate) later() bool { return i.evals.Load() > 1 }

// relabelLater is relabel for all evals but the first.
func relabelLater(from, to spi.Kind) func() hooks {
	return failure(func(i *isolate, e *spi.ScriptError) {
		if i.later() && e.Kind == from {
			e.Kind, e.Limit = to, nil
		}
	})
}

// deafWhere does not look at some contexts.
func deafWhere(what func(ctx context.Context, i *isolate) bool) func() hooks {
	return evaluating(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
		if ctx.Err() == nil && what(ctx, i) {
			ctx = context.WithoutCancel(ctx)
		}
		return run(ctx, i, req)
	})
}
