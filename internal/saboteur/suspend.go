package saboteur

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"sync"

	"github.com/loom-sandbox/sandboxd/spi"
)

// suspendDefects break putting isolates away, and what is declared of it.
func suspendDefects() []Defect {
	return []Defect{
		{
			Name: "resumes-not-at-all", Wrong: "The descriptor says that the backend suspends, and Resume is not there yet.",
			CaughtBy: []string{"SUSP-001"}, Seen: "Resume: spi: not supported",
			build: resuming(func(context.Context, *Backend, *spi.Resumption) (spi.Isolate, error) { return nil, spi.ErrUnsupported }),
		},
		{
			Name: "resumes-nothing", Wrong: "Resume returns no isolate and no error.",
			CaughtBy: []string{"SUSP-001"}, Seen: "no isolate and no error",
			build: resuming(func(context.Context, *Backend, *spi.Resumption) (spi.Isolate, error) { return nil, nil }),
		},
		{
			Name: "suspends-fresh-isolates", Wrong: "A state is that of an isolate in which nothing ran.",
			CaughtBy: []string{"SUSP-001", "SUSP-009"}, Seen: "value is",
			build: suspending(func(ctx context.Context, i *isolate, maxBytes int64) ([]byte, error) {
				fresh, err := i.backend.good.Open(ctx, &i.asked)
				if err != nil {
					return nil, err
				}
				defer fresh.Close()
				return fresh.(spi.Suspender).Suspend(ctx, maxBytes)
			}),
		},
		{
			Name: "suspends-secretly", Wrong: "The backend suspends, and the descriptor does not say so.",
			CaughtBy: []string{"SUSP-002"}, Seen: "was suspended, and the descriptor does not say",
			build: describe(func(d *spi.Descriptor) { d.Suspends = false }),
		},
		{
			Name: "resumes-secretly", Wrong: "The descriptor says nothing of suspending, and Resume takes anything for a state.",
			CaughtBy: []string{"SUSP-002"}, Seen: "which is not declared, was resumed",
			build: func() hooks {
				return hooks{
					describe: func(d *spi.Descriptor) { d.Suspends = false },
					suspend:  func(context.Context, *isolate, int64) ([]byte, error) { return nil, spi.ErrUnsupported },
					resume:   freshly,
				}
			},
		},
		{
			Name: "declares-once", Wrong: "What an earlier script has declared cannot be declared again.",
			CaughtBy: []string{"SUSP-004"}, Seen: "ended with syntax",
			build: func() hooks {
				var declared sync.Map
				names := regexp.MustCompile(`^(?:let|const|class) (\w+)`)
				return hooks{eval: func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
					out, err := run(ctx, i, req)
					name := names.FindStringSubmatch(req.Source)
					if err != nil || name == nil {
						return out, err
					}
					if _, again := declared.LoadOrStore([2]any{i, name[1]}, true); again {
						setError(i, out, spi.KindSyntax, "")
					}
					return out, nil
				}}
			},
		},
		{
			Name: "suspending-spends", Wrong: "An isolate that was suspended is spent.",
			CaughtBy: []string{"SUSP-008"}, Seen: "spent",
			build: func() hooks {
				return hooks{
					suspend: func(ctx context.Context, i *isolate, maxBytes int64) ([]byte, error) {
						if i.noted.Load() {
							return nil, spi.ErrIsolateSpent
						}
						i.noted.Store(true)
						return i.suspend(ctx, maxBytes)
					},
					eval: func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
						if i.noted.Load() {
							return nil, spi.ErrIsolateSpent
						}
						return run(ctx, i, req)
					},
				}
			},
		},
		{
			Name: "suspending-draws", Wrong: "Suspending takes a random number from the isolate.",
			CaughtBy: []string{"SUSP-008"}, Seen: "never suspended",
			build: suspending(func(ctx context.Context, i *isolate, maxBytes int64) ([]byte, error) {
				state, err := i.suspend(ctx, maxBytes)
				if err == nil && i.evals.Load() > 1 {
					_, _ = i.whole().Eval(ctx, &spi.Request{Source: "Math.random()", Language: spi.JavaScript, Input: []byte("null")})
				}
				return state, err
			}),
		},
		{
			Name: "suspending-starts-waits-over", Wrong: "A script that was suspended while it waits waits for nothing any more.",
			CaughtBy: []string{"SUSP-008"}, Seen: "no script waits",
			build: func() hooks {
				return hooks{
					suspend: func(ctx context.Context, i *isolate, maxBytes int64) ([]byte, error) {
						i.noted.Store(true)
						return i.suspend(ctx, maxBytes)
					},
					goOn: func(ctx context.Context, i *isolate, replies []spi.Reply) (*spi.Outcome, error) {
						if i.noted.Load() {
							return nil, spi.ErrNotWaiting
						}
						return goOn(ctx, i, replies)
					},
				}
			},
		},
		{
			Name: "suspends-spent", Wrong: "An isolate that is spent gives a state.",
			CaughtBy: []string{"SUSP-019"}, Seen: "an isolate that is spent was suspended",
			build: suspendsFor(spi.ErrIsolateSpent, []byte("spent"), nil),
		},
		{
			Name: "suspends-closed", Wrong: "An isolate that was closed gives a state.",
			CaughtBy: []string{"SUSP-019", "SUSP-027"}, Seen: "was suspended",
			build: suspendsFor(spi.ErrClosed, []byte("closed"), nil),
		},
		{
			Name: "spent-suspends-as-closed", Wrong: "Suspend of a spent isolate says that it is closed.",
			CaughtBy: []string{"SUSP-019"}, Seen: "Suspend of an isolate that is spent: error is spi: closed",
			build: suspendsFor(spi.ErrIsolateSpent, nil, spi.ErrClosed),
		},
		{
			Name: "prepared-not-put-away", Wrong: "Isolates of prepared scripts cannot be suspended.",
			CaughtBy: []string{"SUSP-026"}, Seen: "Suspend: spi: not supported",
			build: suspending(func(ctx context.Context, i *isolate, maxBytes int64) ([]byte, error) {
				if i.from != nil {
					return nil, spi.ErrUnsupported
				}
				return i.suspend(ctx, maxBytes)
			}),
		},
		{
			Name: "suspends-in-ended-context", Wrong: "Suspend does not look at its context.",
			CaughtBy: []string{"SUSP-028"}, Seen: "Suspend gave a state",
			build: suspending(func(ctx context.Context, i *isolate, maxBytes int64) ([]byte, error) {
				return i.suspend(context.WithoutCancel(ctx), maxBytes)
			}),
		},
		{
			Name: "state-buffer-used-again", Wrong: "The next state of an isolate is written over the one before.",
			CaughtBy: []string{"SUSP-020"}, Seen: "a state changed as its isolate went on",
			build: func() hooks {
				var buffers sync.Map
				return hooks{suspend: func(ctx context.Context, i *isolate, maxBytes int64) ([]byte, error) {
					state, err := i.suspend(ctx, maxBytes)
					if err != nil {
						return nil, err
					}
					held, ok := buffers.Load(i)
					if !ok || cap(held.([]byte)) < len(state) {
						held = bytes.Clone(append(state, make([]byte, 2*len(state))...))
						buffers.Store(i, held)
					}
					return append(held.([]byte)[:0], state...), nil
				}}
			},
		},
	}
}

// freshly opens a pristine isolate for whatever is to be resumed.
func freshly(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error) {
	return b.open(ctx, &spi.Config{Limits: r.Limits, Now: r.Now, Observer: r.Observer})
}

// suspendsFor gives something else where Suspend of the good isolate is an error.
func suspendsFor(refused error, state []byte, err error) func() hooks {
	return suspending(func(ctx context.Context, i *isolate, maxBytes int64) ([]byte, error) {
		good, goodErr := i.suspend(ctx, maxBytes)
		if errors.Is(goodErr, refused) {
			return state, err
		}
		return good, goodErr
	})
}
