package saboteur

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// resumeEndDefects break the limits of resumed isolates, and how they end.
func resumeEndDefects() []Defect {
	return []Defect{
		{
			Name: "resumed-calls-counted-anew", Wrong: "The calls from before a script was put away do not count.",
			CaughtBy: []string{"SUSP-012"}, Seen: "hostCalls tight",
			build: resumption(func(r *spi.Resumption) { r.Limits.HostCalls *= 2 }),
		},
		{
			Name: "resumed-call-bytes-counted-anew", Wrong: "The arguments from before a script was put away do not count.",
			CaughtBy: []string{"SUSP-012"}, Seen: "callBytes tight",
			build: resumption(func(r *spi.Resumption) { r.Limits.CallBytes *= 2 }),
		},
		{
			Name: "resumed-logs-counted-anew", Wrong: "The log lines from before a script was put away do not count.",
			CaughtBy: []string{"SUSP-012"}, Seen: "logBytes tight",
			build: resumption(func(r *spi.Resumption) { r.Limits.LogBytes *= 2 }),
		},
		{
			Name: "resumed-with-old-limits", Wrong: "A resumed isolate has the limits that it was opened with.",
			CaughtBy: []string{"SUSP-013"}, Seen: "resumed with others",
			build: func() hooks {
				var old sync.Map
				return hooks{
					suspend: func(ctx context.Context, i *isolate, maxBytes int64) ([]byte, error) {
						state, err := i.suspend(ctx, maxBytes)
						old.Store(sha256.Sum256(state), i.asked.Limits)
						return state, err
					},
					resume: func(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error) {
						changed := *r
						if limits, ok := old.Load(sha256.Sum256(r.State)); ok {
							changed.Limits = limits.(spi.Limits)
						}
						return orNone(b.resume(ctx, &changed))
					},
				}
			},
		},
		{
			Name: "resumed-memory-unbound", Wrong: "A resumed isolate may grow as far as any.",
			CaughtBy: []string{"SUSP-013"}, Seen: "bytes of memory: ended with the value",
			build: resuming(func(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error) {
				changed := *r
				if least := b.good.Describe().MinMemoryBytes; changed.Limits.MemoryBytes >= least {
					changed.Limits.MemoryBytes = max(changed.Limits.MemoryBytes, 64<<20)
				}
				return orNone(b.resume(ctx, &changed))
			}),
		},
		{
			Name: "resumes-within-no-limits", Wrong: "Limits that are not valid are replaced when an isolate is resumed.",
			CaughtBy: []string{"SUSP-017"}, Seen: "was resumed, wanted an error",
			build: resumption(func(r *spi.Resumption) {
				for _, limit := range []*int64{(*int64)(&r.Limits.Timeout), &r.Limits.OutputBytes} {
					if *limit <= 0 {
						*limit = int64(time.Second)
					}
				}
			}),
		},
		{
			Name: "resumes-within-less-memory", Wrong: "A state that needs more memory than allowed gets it.",
			CaughtBy: []string{"SUSP-017"}, Seen: "a state that has 8 MiB",
			build: resuming(func(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error) {
				i, err := b.resume(ctx, r)
				d := b.good.Describe()
				if n := r.Limits.MemoryBytes; errors.Is(err, spi.ErrUnsupported) && n >= d.MinMemoryBytes && n <= d.MaxMemoryBytes {
					changed := *r
					changed.Limits.MemoryBytes = d.MaxMemoryBytes
					i, err = b.resume(ctx, &changed)
				}
				return orNone(i, err)
			}),
		},
		{
			Name: "resumes-memory-errors-as-state", Wrong: "A memory cap that no isolate may have makes a state no state.",
			CaughtBy: []string{"SUSP-017"}, Seen: "error is spi: not a state",
			build: resuming(func(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error) {
				i, err := b.resume(ctx, r)
				if errors.Is(err, spi.ErrUnsupported) {
					err = spi.ErrState
				}
				return orNone(i, err)
			}),
		},
		{
			Name: "resumed-growth-stays", Wrong: "Isolates are as large as the largest that was resumed.",
			CaughtBy: []string{"SUSP-018"}, Seen: "a new isolate has a peak",
			build: func() hooks {
				var most atomic.Int64
				return outcome(func(i *isolate, out *spi.Outcome) {
					if i.state != nil {
						most.Store(max(most.Load(), out.Usage.MemoryPeakBytes))
					}
					out.Usage.MemoryPeakBytes = max(most.Load(), out.Usage.MemoryPeakBytes)
				})()
			},
		},
		{
			Name: "resumed-goes-on-when-spent", Wrong: "A resumed isolate that was ended by force goes back to its state.", Late: true,
			CaughtBy: []string{"SUSP-021"}, Seen: "ended with a value",
			build: evaluatingResumed(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				out, err := run(ctx, i, req)
				if !errors.Is(err, spi.ErrIsolateSpent) {
					return out, err
				}
				if err := i.renew(context.WithoutCancel(ctx)); err != nil {
					return nil, err
				}
				return run(ctx, i, req)
			}),
		},
		{
			Name: "resumed-spoilt-by-force", Wrong: "A resumed isolate that is ended by force spoils its state.", Late: true,
			CaughtBy: []string{"SUSP-021"}, Seen: "resumed again after",
			build: func() hooks {
				var spoilt atomic.Bool
				return hooks{
					resume: func(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error) {
						if spoilt.Load() {
							return nil, spi.ErrState
						}
						return orNone(b.resume(ctx, r))
					},
					outcome: func(i *isolate, out *spi.Outcome) {
						if i.state != nil && ended(out) {
							spoilt.Store(true)
						}
					},
				}
			},
		},
		{
			Name: "resumes-when-closed", Wrong: "Resume of a closed backend says that it is not supported.",
			CaughtBy: []string{"SUSP-027"}, Seen: "after the backend was closed,: error is",
			build: resuming(func(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error) {
				i, err := b.resume(ctx, r)
				if errors.Is(err, spi.ErrClosed) {
					err = spi.ErrUnsupported
				}
				return orNone(i, err)
			}),
		},
		{
			Name: "resumes-dead-isolates", Wrong: "Resume of a closed backend gives an isolate that is closed.",
			CaughtBy: []string{"SUSP-030"}, Seen: "after Close had returned",
			build: func() hooks {
				var last atomic.Pointer[isolate]
				return hooks{resume: func(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error) {
					i, err := b.resume(ctx, r)
					if held := last.Load(); errors.Is(err, spi.ErrClosed) && held != nil {
						return held, nil
					}
					if err == nil {
						last.Store(i)
					}
					return orNone(i, err)
				}}
			},
		},
		{
			Name: "resumed-spent-by-closing", Wrong: "Resumed isolates of a closed backend say that they are spent.",
			CaughtBy: []string{"SUSP-027"}, Seen: "the next eval of the isolate: error is",
			build: evaluatingResumed(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				out, err := run(ctx, i, req)
				if errors.Is(err, spi.ErrClosed) && i.backend.closes.Load() > 0 {
					err = spi.ErrIsolateSpent
				}
				return out, err
			}),
		},
		{
			Name: "resumes-in-ended-context", Wrong: "Resume does not look at its context.",
			CaughtBy: []string{"SUSP-028"}, Seen: "Resume gave an isolate",
			build: resuming(func(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error) {
				return orNone(b.resume(context.WithoutCancel(ctx), r))
			}),
		},
		{
			Name: "context-of-resume-ends-isolate", Wrong: "A resumed isolate is closed when the context of its resuming ends.",
			CaughtBy: []string{"SUSP-028"}, Seen: "spi: closed",
			build: resuming(func(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error) {
				i, err := b.resume(ctx, r)
				if err != nil {
					return nil, err
				}
				context.AfterFunc(ctx, func() { _ = i.Close() })
				return i, nil
			}),
		},
		{
			Name: "resumed-leaves-goroutines", Wrong: "Each resumed isolate has a goroutine that closing it does not end.", Alone: true,
			CaughtBy: []string{"SUSP-029"}, Seen: "goroutines before",
			build: resuming(func(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error) {
				i, err := b.resume(ctx, r)
				if err != nil {
					return nil, err
				}
				b.background.Go(b.hang)
				return i, nil
			}),
		},
	}
}
