package saboteur

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/loom-sandbox/sandboxd/spi"
)

// closeDefects break the end of an isolate or of the backend.
func closeDefects() []Defect {
	return []Defect{
		{
			Name: "close-hangs", Wrong: "Closing an isolate does not return.", Hangs: true,
			CaughtBy: []string{"CLOSE-001"}, Seen: "hung",
			build: closing(func(i *isolate) error { i.backend.hang(); return nil }),
		},
		{
			Name: "close-waits-for-the-script", Wrong: "Closing an isolate waits for the script and does not end it.", Hangs: true,
			CaughtBy: []string{"KILL-016"}, Seen: "hung",
			build: func() hooks {
				return hooks{eval: runHeld, close: func(i *isolate) error {
					i.running.Lock()
					defer i.running.Unlock()
					return i.whole().Close()
				}}
			},
		},
		{
			Name: "close-leaves-the-script", Wrong: "Closing an isolate returns and leaves the script running.", Hangs: true,
			CaughtBy: []string{"KILL-016"}, Seen: "hung",
			build: func() hooks {
				return hooks{eval: runHeld, close: func(i *isolate) error {
					i.backend.background.Go(func() {
						i.running.Lock()
						defer i.running.Unlock()
						_ = i.whole().Close()
					})
					return nil
				}}
			},
		},
		{
			Name: "close-does-not-wait", Wrong: "Closing an isolate returns before the eval does.", Late: true,
			CaughtBy: []string{"KILL-022"}, Seen: "still running",
			build: evaluating(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				out, err := run(ctx, i, req)
				if err == nil && out.Error != nil && out.Error.Kind == spi.KindKilled {
					i.wait(context.WithoutCancel(ctx), late)
				}
				return out, err
			}),
		},
		{
			Name: "close-twice-errs", Wrong: "Closing an isolate again is an error.",
			CaughtBy: []string{"CLOSE-001"}, Seen: "Close number 2",
			build: closing(func(i *isolate) error {
				if i.closes.Load() > 1 {
					return spi.ErrClosed
				}
				return i.whole().Close()
			}),
		},
		{
			Name: "close-twice-panics", Wrong: "Closing an isolate again panics.",
			CaughtBy: []string{"CLOSE-001"}, Seen: "panicked",
			build: closing(func(i *isolate) error {
				if i.closes.Load() == 2 {
					panic("close of closed channel")
				}
				return i.whole().Close()
			}),
		},
		{
			Name: "close-twice-hangs", Wrong: "Closing an isolate again does not return.", Hangs: true,
			CaughtBy: []string{"CLOSE-001"}, Seen: "hung",
			build: closing(func(i *isolate) error {
				if i.closes.Load() > 1 {
					i.backend.hang()
				}
				return i.whole().Close()
			}),
		},
		{
			Name: "close-of-spent-errs", Wrong: "Closing an isolate whose eval was ended by force is an error.",
			CaughtBy: []string{"CLOSE-003"}, Seen: "status 137",
			build: func() hooks {
				return hooks{
					outcome: func(i *isolate, out *spi.Outcome) { i.noted.Store(ended(out)) },
					close: func(i *isolate) error {
						if err := i.whole().Close(); err != nil || !i.noted.Load() {
							return err
						}
						return errors.New("saboteur: the guest exited with status 137")
					},
				}
			},
		},
		{
			Name: "killed-as-go-error", Wrong: "Closing an isolate while it runs is an error of the backend.", Late: true,
			CaughtBy: []string{"KILL-016"}, Seen: "Eval: spi: closed",
			build: asError([]spi.Kind{spi.KindKilled}, spi.ErrClosed),
		},
		{
			Name: "eval-after-close-works", Wrong: "A closed isolate runs a script.",
			CaughtBy: []string{"CLOSE-002"}, Seen: "ended with a value",
			build: afterClose(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				if err := i.renew(ctx); err != nil {
					return nil, err
				}
				return run(ctx, i, req)
			}),
		},
		{
			Name: "eval-after-close-hangs", Wrong: "A closed isolate does not answer.", Hangs: true,
			CaughtBy: []string{"CLOSE-002"}, Seen: "hung",
			build: afterClose(func(_ context.Context, i *isolate, _ *spi.Request) (*spi.Outcome, error) {
				i.backend.hang()
				return nil, spi.ErrClosed
			}),
		},
		{
			Name: "eval-after-close-panics", Wrong: "A closed isolate panics.",
			CaughtBy: []string{"CLOSE-002"}, Seen: "panicked",
			build: afterClose(func(context.Context, *isolate, *spi.Request) (*spi.Outcome, error) {
				panic("invalid memory address")
			}),
		},
		{
			Name: "eval-after-close-is-killed", Wrong: "A closed isolate answers that it was killed, and with no error of the contract.",
			CaughtBy: []string{"CLOSE-002"}, Seen: "ended with killed",
			build: afterClose(func(_ context.Context, i *isolate, _ *spi.Request) (*spi.Outcome, error) {
				out := &spi.Outcome{}
				setError(i, out, spi.KindKilled, "")
				return out, nil
			}),
		},
		{
			Name: "eval-after-close-is-spent", Wrong: "A closed isolate says that it is spent.",
			CaughtBy: []string{"CLOSE-002"}, Seen: "error is spi: isolate is spent",
			build: afterClose(func(context.Context, *isolate, *spi.Request) (*spi.Outcome, error) {
				return nil, spi.ErrIsolateSpent
			}),
		},
		{
			Name: "backend-close-hangs", Wrong: "Closing a backend that was used does not return.", Hangs: true,
			CaughtBy: []string{"CLOSE-010"}, Seen: "hung",
			build: closingAll(func(b *Backend) error {
				if b.opened.Load() > 0 {
					b.hang()
				}
				return b.good.Close()
			}),
		},
		{
			Name: "backend-close-twice-errs", Wrong: "Closing a backend again is an error.",
			CaughtBy: []string{"CLOSE-007"}, Seen: "Close number 2",
			build: closingAll(func(b *Backend) error {
				if b.closes.Load() > 1 {
					return spi.ErrClosed
				}
				return b.good.Close()
			}),
		},
		{
			Name: "backend-close-twice-panics", Wrong: "Closing a backend again panics.",
			CaughtBy: []string{"CLOSE-007"}, Seen: "panicked",
			build: closingAll(func(b *Backend) error {
				if b.closes.Load() == 2 {
					panic("close of closed channel")
				}
				return b.good.Close()
			}),
		},
		{
			Name: "backend-close-leaves-isolates", Wrong: "Closing a backend leaves its isolates running.", Hangs: true,
			CaughtBy: []string{"CLOSE-011"}, Seen: "hung",
			build: closingAll(func(*Backend) error { return nil }),
		},
		{
			Name: "backend-close-refuses", Wrong: "A backend with an open isolate is not closed.",
			CaughtBy: []string{"CLOSE-010"}, Seen: "isolates are open",
			build: func() hooks {
				var open atomic.Int64
				return hooks{
					open: func(ctx context.Context, b *Backend, cfg *spi.Config) (spi.Isolate, error) {
						iso, err := b.open(ctx, cfg)
						if err == nil {
							open.Add(1)
						}
						return iso, err
					},
					close: func(i *isolate) error {
						if i.closes.Load() == 1 {
							open.Add(-1)
						}
						return i.whole().Close()
					},
					closeAll: func(b *Backend) error {
						if open.Load() > 0 {
							return errors.New("saboteur: isolates are open")
						}
						return b.good.Close()
					},
				}
			},
		},
		{
			Name: "opens-after-close", Wrong: "A closed backend opens isolates.",
			CaughtBy: []string{"CLOSE-008"}, Seen: "gave no error",
			build: func() hooks {
				var all register
				return hooks{open: all.open, closeAll: func(*Backend) error { all.closeBut(nil); return nil }}
			},
		},
		{
			Name: "opens-after-close-with-plain-errors", Wrong: "A closed backend refuses with an error that is not ErrClosed.",
			CaughtBy: []string{"CLOSE-008"}, Seen: "error is saboteur",
			build: refuseWith(spi.ErrClosed, errors.New("saboteur: use of a closed engine")),
		},
		{
			Name: "close-closes-all", Wrong: "Closing an isolate closes the others.",
			CaughtBy: []string{"CLOSE-005"}, Seen: "after another was closed",
			build: func() hooks {
				var all register
				return hooks{open: all.open, close: func(*isolate) error { all.closeBut(nil); return nil }}
			},
		},
		{
			Name: "backend-close-unused-errs", Wrong: "Closing a backend that opened nothing is an error.",
			CaughtBy: []string{"CLOSE-012"}, Seen: "never started",
			build: closingAll(func(b *Backend) error {
				if err := b.good.Close(); err != nil || b.opened.Load() > 0 {
					return err
				}
				return errors.New("saboteur: never started")
			}),
		},
	}
}

// afterClose answers what an isolate is asked after it was closed.
func afterClose(eval evalFunc) func() hooks {
	return func() hooks {
		return hooks{eval: func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
			if i.closes.Load() > 0 {
				return eval(ctx, i, req)
			}
			return run(ctx, i, req)
		}}
	}
}

// runHeld is a good eval that can be waited for.
func runHeld(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
	i.running.Lock()
	defer i.running.Unlock()
	return run(ctx, i, req)
}
