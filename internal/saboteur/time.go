package saboteur

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// late is more than any check allows on a machine of usual speed.
const late = 4 * time.Second

// timeDefects break timeout, deadline and cancellation.
func timeDefects() []Defect {
	return []Defect{
		{
			Name: "ignores-timeout", Wrong: "A script runs on after its timeout.", Hangs: true,
			CaughtBy: []string{"LIMIT-001"}, Seen: "hung",
			build: config(func(_ *Backend, cfg *spi.Config) { cfg.Limits.Timeout = time.Hour }),
		},
		{
			Name: "ends-late", Wrong: "A script is ended some seconds after its timeout.", Late: true,
			CaughtBy: []string{"LIMIT-001"}, Seen: "returned after",
			build: config(func(_ *Backend, cfg *spi.Config) { cfg.Limits.Timeout += late }),
		},
		{
			Name: "ignores-deadline", Wrong: "The context's deadline does not end a script.", Hangs: true,
			CaughtBy: []string{"LIMIT-031"}, Seen: "hung",
			build: evaluating(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				deaf, cancel := context.WithCancel(context.WithoutCancel(ctx))
				defer cancel()
				defer context.AfterFunc(ctx, func() {
					if errors.Is(ctx.Err(), context.Canceled) {
						cancel()
					}
				})()
				return run(deaf, i, req)
			}),
		},
		{
			Name: "ignores-cancel", Wrong: "Cancelling the context does not end a script.", Hangs: true,
			CaughtBy: []string{"KILL-001"}, Seen: "hung",
			build: evaluating(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				deadline, ok := ctx.Deadline()
				ctx = context.WithoutCancel(ctx)
				if !ok {
					return run(ctx, i, req)
				}
				ctx, cancel := context.WithDeadline(ctx, deadline)
				defer cancel()
				return run(ctx, i, req)
			}),
		},
		{
			Name: "cancels-late", Wrong: "Cancelling the context ends a script some seconds later.", Late: true,
			CaughtBy: []string{"KILL-001"}, Seen: "returned after",
			build: evaluating(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				deaf, cancel := context.WithCancel(context.WithoutCancel(ctx))
				defer cancel()
				defer context.AfterFunc(ctx, func() {
					i.wait(deaf, late)
					cancel()
				})()
				return run(deaf, i, req)
			}),
		},
		{
			Name: "ended-context-as-go-error", Wrong: "A context that had ended before the eval is an error of the backend.",
			CaughtBy: []string{"KILL-024", "KILL-025"}, Seen: "Eval: context",
			build: evaluating(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				return run(ctx, i, req)
			}),
		},
		{
			Name: "ended-context-unnoticed", Wrong: "A context that had ended before the eval does not keep a script from running.",
			CaughtBy: []string{"KILL-024", "KILL-025"}, Seen: "ended with the value",
			build: evaluating(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				if ctx.Err() != nil {
					ctx = context.WithoutCancel(ctx)
				}
				return run(ctx, i, req)
			}),
		},
		{
			Name: "time-from-open", Wrong: "The timeout counts from the opening of the isolate.",
			CaughtBy: []string{"LIMIT-030"}, Seen: "ended with timeout",
			build: func() hooks {
				return hooks{
					config: func(_ *Backend, cfg *spi.Config) { cfg.Limits.Timeout = time.Hour },
					eval: func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
						return runUntil(ctx, i, req, i.opened.Add(i.asked.Limits.Timeout))
					},
				}
			},
		},
		{
			Name: "time-is-shared", Wrong: "All evals of an isolate share one timeout.",
			CaughtBy: []string{"LIMIT-085"}, Seen: "ended with timeout",
			build: func() hooks {
				return hooks{
					config: func(_ *Backend, cfg *spi.Config) { cfg.Limits.Timeout = time.Hour },
					eval: func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
						start := time.Now()
						out, err := runUntil(ctx, i, req, start.Add(i.asked.Limits.Timeout-time.Duration(i.sum)))
						i.sum += int64(time.Since(start))
						return out, err
					},
				}
			},
		},
		{
			Name: "deadlock-waits", Wrong: "A script that waits for nothing is ended by its timeout.", Late: true,
			CaughtBy: []string{"KILL-030"}, Seen: "returned after",
			build: func() hooks {
				return hooks{
					config: func(_ *Backend, cfg *spi.Config) { cfg.Limits.Timeout += late },
					eval: func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
						end := time.Now().Add(i.asked.Limits.Timeout)
						out, err := runUntil(ctx, i, req, end)
						if err == nil && out.Error != nil && out.Error.Kind == spi.KindDeadlock {
							i.wait(ctx, time.Until(end))
							setError(i, out, spi.KindTimeout, spi.LimitTimeout)
						}
						return out, err
					},
				}
			},
		},
		{
			Name: "timers-wait", Wrong: "A timer waits instead of moving the clock.", Hangs: true,
			CaughtBy: []string{"WEB-023"}, Seen: "hung",
			build: evaluating(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				out, err := run(ctx, i, req)
				if err == nil && strings.Contains(req.Source, "setTimeout") {
					i.wait(ctx, i.asked.Limits.Timeout)
					setError(i, out, spi.KindTimeout, spi.LimitTimeout)
				}
				return out, err
			}),
		},
		{
			Name: "ends-early", Wrong: "A script is ended after a tenth of its timeout.",
			CaughtBy: []string{"LIMIT-027"}, Seen: "ended after",
			build: config(func(_ *Backend, cfg *spi.Config) { cfg.Limits.Timeout /= 10 }),
		},
		{
			Name: "deadline-instead-of-timeout", Wrong: "Where the context has a deadline, the timeout does not end a script.", Hangs: true,
			CaughtBy: []string{"LIMIT-032"}, Seen: "hung",
			build: func() hooks {
				return hooks{
					config: func(_ *Backend, cfg *spi.Config) { cfg.Limits.Timeout = time.Hour },
					eval: func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
						if _, ok := ctx.Deadline(); ok {
							return run(ctx, i, req)
						}
						return runUntil(ctx, i, req, time.Now().Add(i.asked.Limits.Timeout))
					},
				}
			},
		},
		{
			Name: "cause-as-kind", Wrong: "A context that was cancelled with a cause is reported as a failure of the interpreter.",
			CaughtBy: []string{"KILL-015"}, Seen: "ended with backend",
			build: evaluating(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				out, err := run(ctx, i, req)
				if err == nil && ended(out) && ctx.Err() != nil && !errors.Is(context.Cause(ctx), ctx.Err()) {
					setError(i, out, spi.KindBackend, "")
				}
				return out, err
			}),
		},
		{
			Name: "cancel-after-the-end", Wrong: "Cancelling the context of an eval that has ended closes the isolate.",
			CaughtBy: []string{"KILL-026"}, Seen: "spi: closed",
			build: evaluating(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				context.AfterFunc(ctx, func() { _ = i.whole().Close() })
				return run(ctx, i, req)
			}),
		},
	}
}

// relabelDeadline reports the end of the context as its cancellation, whatever ended it.
func relabelDeadline() hooks {
	return hooks{eval: func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
		out, err := run(ctx, i, req)
		if err == nil && out.Error != nil && out.Error.Kind == spi.KindTimeout && ctx.Err() != nil {
			setError(i, out, spi.KindCancelled, "")
		}
		return out, err
	}}
}

// wait returns after a time, when the context ends or when the backend is released.
func (i *isolate) wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	case <-i.backend.release:
	}
}

// runUntil is a good eval whose time ends at some moment.
func runUntil(ctx context.Context, i *isolate, req *spi.Request, end time.Time) (*spi.Outcome, error) {
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	out, err := run(ctx, i, req)
	if err == nil && out.Error != nil && out.Error.Kind == spi.KindTimeout {
		setError(i, out, spi.KindTimeout, spi.LimitTimeout)
	}
	return out, err
}
