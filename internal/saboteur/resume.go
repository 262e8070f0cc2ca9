package saboteur

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// resumeDefects break what a resumed isolate is, and what it is given.
func resumeDefects() []Defect {
	return []Defect{
		{
			Name: "resumed-without-timers", Wrong: "The timers of an isolate are lost when it is put away.",
			CaughtBy: []string{"SUSP-003"}, Seen: "ended with deadlock",
			build: evaluatingResumed(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				changed := *req
				changed.Source = prefixed("for (let i = 0; i < 50; i++) clearTimeout(i)", req.Source)
				return run(ctx, i, &changed)
			}),
		},
		{
			Name: "resumed-without-logs", Wrong: "The log lines from before a script was put away are lost.",
			CaughtBy: []string{"SUSP-005"}, Seen: "logs are",
			build: outcomeResumed(func(_ *isolate, out *spi.Outcome) {
				if len(out.Logs) > 0 {
					setLogs(out, out.Logs[1:])
				}
			}),
		},
		{
			Name: "resumed-calls-without-place", Wrong: "The calls of a script that was put away have no place.",
			CaughtBy: []string{"SUSP-005"}, Seen: "pending are",
			build: outcomeResumed(func(_ *isolate, out *spi.Outcome) {
				out.Pending = slices.Clone(out.Pending)
				for n := range out.Pending {
					out.Pending[n].Line, out.Pending[n].Column = 0, 0
				}
			}),
		},
		{
			Name: "resumed-reports-calls-anew", Wrong: "Usage has the calls from after a script was put away only.",
			CaughtBy: []string{"SUSP-005"}, Seen: "usage says",
			build: outcomeResumed(func(_ *isolate, out *spi.Outcome) { out.Usage.HostCalls-- }),
		},
		{
			Name: "resumed-peak-larger", Wrong: "The memory's peak of a script that was put away counts the bytes of its state.",
			CaughtBy: []string{"SUSP-006"}, Seen: "the peak is",
			build: outcomeResumed(func(i *isolate, out *spi.Outcome) { out.Usage.MemoryPeakBytes += int64(len(i.state.State)) }),
		},
		{
			Name: "resumed-random-anew", Wrong: "The random numbers of a resumed isolate begin again.",
			CaughtBy: []string{"SUSP-006", "SUSP-009"}, Seen: "value is",
			build: resumption(func(r *spi.Resumption) { reseed(r, 0) }),
		},
		{
			Name: "resumed-random-of-its-own", Wrong: "A resumed isolate draws random numbers of its own.",
			CaughtBy: []string{"SUSP-011"}, Seen: "random numbers of a resumed isolate are",
			build: resumption(func(r *spi.Resumption) { reseed(r, 77) }),
		},
		{
			Name: "resumed-ignores-seed", Wrong: "The seed that an isolate is resumed with is not used.",
			CaughtBy: []string{"SUSP-011"}, Seen: "of six rounds",
			build: resumption(func(r *spi.Resumption) { r.Seed = nil }),
		},
		{
			Name: "resumed-seed-drifts", Wrong: "The seed that an isolate is resumed with is added to those before.",
			CaughtBy: []string{"SUSP-011"}, Seen: "resumed twice with the same seed",
			build: func() hooks {
				var sum atomic.Uint64
				return resumption(func(r *spi.Resumption) {
					if r.Seed != nil {
						drifted := sum.Add(*r.Seed + 1)
						r.Seed = &drifted
					}
				})()
			},
		},
		{
			Name: "resumed-fuel-anew", Wrong: "Usage has the fuel from after a script was put away only.",
			CaughtBy: []string{"SUSP-007"}, Seen: "fuel is",
			build: outcomeResumed(func(_ *isolate, out *spi.Outcome) { out.Usage.Fuel /= 2 }),
		},
		{
			Name: "resumed-fuel-unit-more", Wrong: "A resumed script has one more unit of fuel.",
			CaughtBy: []string{"SUSP-007"}, Seen: "another outcome",
			build: resumption(func(r *spi.Resumption) {
				if r.Limits.Fuel > 0 {
					r.Limits.Fuel++
				}
			}),
		},
		{
			Name: "resumed-shares-heap", Wrong: "A state that is resumed again while an isolate of it is open gives that isolate.",
			CaughtBy: []string{"SUSP-009"}, Seen: "another outcome",
			build: func() hooks {
				var open sync.Map
				return hooks{resume: func(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error) {
					key := sha256.Sum256(r.State)
					if held, ok := open.Load(key); ok && held.(*isolate).closes.Load() == 0 {
						return held.(*isolate), nil
					}
					i, err := b.resume(ctx, r)
					if err != nil {
						return nil, err
					}
					open.Store(key, i)
					return i, nil
				}}
			},
		},
		{
			Name: "resumes-once", Wrong: "A state is good for one isolate.",
			CaughtBy: []string{"SUSP-009"}, Seen: "Resume: spi: not a state",
			build: func() hooks {
				var used sync.Map
				return hooks{resume: func(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error) {
					if _, again := used.LoadOrStore(sha256.Sum256(r.State), true); again {
						return nil, spi.ErrState
					}
					return orNone(b.resume(ctx, r))
				}}
			},
		},
		{
			Name: "resumed-clock-of-host", Wrong: "The clock of a resumed isolate begins where the host's stands.",
			CaughtBy: []string{"SUSP-010"}, Seen: "the time where it stood",
			build: resumption(func(r *spi.Resumption) {
				if r.Now.IsZero() {
					r.Now = time.Now()
				}
			}),
		},
		{
			Name: "resumed-clock-ignores-now", Wrong: "The time that an isolate is resumed with is not used.",
			CaughtBy: []string{"SUSP-010"}, Seen: "the time that it was given",
			build: resumption(func(r *spi.Resumption) { r.Now = time.Time{} }),
		},
		{
			Name: "resumed-at-once-mixed-up", Wrong: "Of two states that are resumed at once, both isolates are of the second.",
			CaughtBy: []string{"SUSP-023"}, Seen: "turn",
			build: func() hooks {
				var mu sync.Mutex
				var last []byte
				return hooks{resume: func(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error) {
					mu.Lock()
					last = r.State
					mu.Unlock()
					time.Sleep(5 * time.Millisecond)
					mixed := *r
					mu.Lock()
					mixed.State = last
					mu.Unlock()
					return orNone(b.resume(ctx, &mixed))
				}}
			},
		},
		{
			Name: "resumed-leaks-into-next", Wrong: "The isolate that is opened after one was resumed has the heap of that.",
			CaughtBy: []string{"SUSP-022"}, Seen: "in an isolate opened after",
			build: func() hooks {
				var last atomic.Pointer[spi.Resumption]
				return hooks{
					resume: func(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error) {
						i, err := b.resume(ctx, r)
						if err != nil {
							return nil, err
						}
						last.Store(i.state)
						return i, nil
					},
					open: func(ctx context.Context, b *Backend, cfg *spi.Config) (spi.Isolate, error) {
						left := last.Swap(nil)
						if left == nil {
							return b.open(ctx, cfg)
						}
						return orNone(b.resume(ctx, &spi.Resumption{State: left.State, Limits: cfg.Limits, Now: cfg.Now}))
					},
				}
			},
		},
		{
			Name: "resumed-calls-numbered-anew", Wrong: "The calls of the next script of a resumed isolate are counted from one.",
			CaughtBy: []string{"SUSP-025"}, Seen: "the next call is",
			build: evaluatingResumed(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				out, err := run(ctx, i, req)
				if err == nil {
					out.Pending = slices.Clone(out.Pending)
					for n := range out.Pending {
						out.Pending[n].ID = int64(n + 1)
					}
				}
				return out, err
			}),
		},
		{
			Name: "resumed-not-given-up", Wrong: "A resumed script that was given up is told that its reply is no good.",
			CaughtBy: []string{"SUSP-025"}, Seen: "given up: error is",
			build: func() hooks {
				return hooks{goOn: func(ctx context.Context, i *isolate, replies []spi.Reply) (*spi.Outcome, error) {
					out, err := goOn(ctx, i, replies)
					if i.state != nil && errors.Is(err, spi.ErrNotWaiting) {
						return nil, spi.ErrReply
					}
					return out, err
				}}
			},
		},
	}
}

// reseed gives random numbers of a seed where they are to go on.
func reseed(r *spi.Resumption, seed uint64) {
	if r.Seed == nil {
		r.Seed = &seed
	}
}
