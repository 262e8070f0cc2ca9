package saboteur

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"sync"

	"github.com/loom-sandbox/sandboxd/spi"
)

// stateDefects break the bytes: their size, what is none, and whose they are.
func stateDefects() []Defect {
	return []Defect{
		{
			Name: "suspends-any-size", Wrong: "Suspend does not look at how many bytes are allowed.",
			CaughtBy: []string{"SUSP-014"}, Seen: "allowed were",
			build: suspending(func(ctx context.Context, i *isolate, _ int64) ([]byte, error) { return i.suspend(ctx, 1<<40) }),
		},
		{
			Name: "suspends-one-byte-more", Wrong: "A state may have one byte more than allowed.",
			CaughtBy: []string{"SUSP-014"}, Seen: "allowed were",
			build: suspending(func(ctx context.Context, i *isolate, maxBytes int64) ([]byte, error) {
				return i.suspend(ctx, maxBytes+1)
			}),
		},
		{
			Name: "suspends-one-byte-less", Wrong: "A state must have one byte less than allowed.",
			CaughtBy: []string{"SUSP-014"}, Seen: "state is too large",
			build: suspending(func(ctx context.Context, i *isolate, maxBytes int64) ([]byte, error) {
				return i.suspend(ctx, maxBytes-1)
			}),
		},
		{
			Name: "state-too-large-as-plain-error", Wrong: "A state that is too large is an error of its own.",
			CaughtBy: []string{"SUSP-014"}, Seen: "too few bytes: error is saboteur",
			build: suspendsFor(spi.ErrStateTooLarge, nil, errors.New("saboteur: too many bytes")),
		},
		{
			Name: "state-too-large-spends", Wrong: "An isolate whose state was too large is spent.",
			CaughtBy: []string{"SUSP-014"}, Seen: "spent",
			build: func() hooks {
				h := suspending(func(ctx context.Context, i *isolate, maxBytes int64) ([]byte, error) {
					state, err := i.suspend(ctx, maxBytes)
					if errors.Is(err, spi.ErrStateTooLarge) {
						i.noted.Store(true)
					}
					return state, err
				})()
				h.eval = func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
					if i.noted.Load() {
						return nil, spi.ErrIsolateSpent
					}
					return run(ctx, i, req)
				}
				return h
			},
		},
		{
			Name: "resumes-anything", Wrong: "What is no state is resumed as a pristine isolate.",
			CaughtBy: []string{"SUSP-015", "SUSP-016"}, Seen: "was resumed, wanted",
			build: notResumed(freshly),
		},
		{
			Name: "resumes-cut-states", Wrong: "The end of a state may be missing.",
			CaughtBy: []string{"SUSP-015"}, Seen: ", cut to",
			build: known(func(ctx context.Context, b *Backend, r *spi.Resumption, states [][]byte) (spi.Isolate, error) {
				for _, state := range states {
					if len(r.State) > 100 && bytes.HasPrefix(state, r.State) {
						return freshly(ctx, b, r)
					}
				}
				return nil, spi.ErrState
			}),
		},
		{
			Name: "resumes-too-much", Wrong: "After the end of a state there may be something else.",
			CaughtBy: []string{"SUSP-015"}, Seen: "the state of",
			build: known(func(ctx context.Context, b *Backend, r *spi.Resumption, states [][]byte) (spi.Isolate, error) {
				for _, state := range states {
					if bytes.HasPrefix(r.State, state) {
						return freshly(ctx, b, r)
					}
				}
				return nil, spi.ErrState
			}),
		},
		{
			Name: "state-errors-are-plain", Wrong: "What is no state is an error of its own.",
			CaughtBy: []string{"SUSP-015", "SUSP-016"}, Seen: "error is saboteur",
			build: notResumed(func(context.Context, *Backend, *spi.Resumption) (spi.Isolate, error) {
				return nil, errors.New("saboteur: unexpected end")
			}),
		},
		{
			Name: "cut-state-panics", Wrong: "Reading a state that was cut panics.",
			CaughtBy: []string{"SUSP-015"}, Seen: "panicked",
			build: notResumed(func(context.Context, *Backend, *spi.Resumption) (spi.Isolate, error) { panic("saboteur: out of range") }),
		},
		{
			Name: "changed-state-panics", Wrong: "Reading a state that was changed panics.",
			CaughtBy: []string{"SUSP-016"}, Seen: "panicked",
			build: known(func(_ context.Context, _ *Backend, r *spi.Resumption, states [][]byte) (spi.Isolate, error) {
				for _, state := range states {
					if len(state) == len(r.State) {
						panic("saboteur: out of range")
					}
				}
				return nil, spi.ErrState
			}),
		},
		{
			Name: "resumes-changed-beginnings", Wrong: "How a state begins is not looked at.",
			CaughtBy: []string{"SUSP-016"}, Seen: "with another beginning was resumed",
			build: known(func(ctx context.Context, b *Backend, r *spi.Resumption, states [][]byte) (spi.Isolate, error) {
				for _, state := range states {
					if len(state) == len(r.State) && bytes.Equal(state[64:], r.State[64:]) {
						whole := *r
						whole.State = state
						return orNone(b.resume(ctx, &whole))
					}
				}
				return nil, spi.ErrState
			}),
		},
		{
			Name: "resumes-its-own", Wrong: "A state is one for the backend that made it, and no other.",
			CaughtBy: []string{"SUSP-024"}, Seen: "elsewhere: Resume: spi: not a state",
			build: func() hooks {
				var made sync.Map
				return hooks{
					suspend: func(ctx context.Context, i *isolate, maxBytes int64) ([]byte, error) {
						state, err := i.suspend(ctx, maxBytes)
						made.Store(sha256.Sum256(state), true)
						return state, err
					},
					resume: func(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error) {
						if _, ok := made.Load(sha256.Sum256(r.State)); !ok {
							return nil, spi.ErrState
						}
						return orNone(b.resume(ctx, r))
					},
				}
			},
		},
		{
			Name: "state-read-later", Wrong: "A resumed isolate reads the state when it is first used.",
			CaughtBy: []string{"SUSP-020"}, Seen: "after the caller changed a state",
			build: func() hooks {
				var unread sync.Map
				return hooks{
					resume: func(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error) {
						i, err := b.resume(ctx, r)
						if err != nil {
							return nil, err
						}
						unread.Store(i, r.State)
						return i, nil
					},
					eval: func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
						if state, ok := unread.LoadAndDelete(i); ok {
							i.state.State = state.([]byte)
							if err := i.renew(ctx); err != nil {
								return nil, err
							}
						}
						return run(ctx, i, req)
					},
				}
			},
		},
		{
			Name: "resume-writes-state", Wrong: "Resume clears the state that it has read.", Meddles: true,
			CaughtBy: []string{"SUSP-020"}, Seen: "Resume changed what it was given",
			build: resuming(func(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error) {
				i, err := b.resume(ctx, r)
				clear(r.State)
				return orNone(i, err)
			}),
		},
		{
			Name: "large-states-have-a-hole", Wrong: "Of a large state a part in the middle is lost.",
			CaughtBy: []string{"SUSP-018"}, Seen: "MiB, resumed 1 times",
			build: suspending(func(ctx context.Context, i *isolate, maxBytes int64) ([]byte, error) {
				state, err := i.suspend(ctx, maxBytes)
				if n := len(state); n > 10<<20 {
					clear(state[n/2 : n/2+1<<20])
				}
				return state, err
			}),
		},
	}
}

// notResumed does something else with what is no state.
func notResumed(f resumeFunc) func() hooks {
	return resuming(func(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error) {
		i, err := b.resume(ctx, r)
		if errors.Is(err, spi.ErrState) {
			return f(ctx, b, r)
		}
		return orNone(i, err)
	})
}

// known is notResumed with the states that the backend has made.
func known(f func(ctx context.Context, b *Backend, r *spi.Resumption, states [][]byte) (spi.Isolate, error)) func() hooks {
	return func() hooks {
		var mu sync.Mutex
		var states [][]byte
		h := notResumed(func(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error) {
			mu.Lock()
			all := states[:len(states):len(states)]
			mu.Unlock()
			return f(ctx, b, r, all)
		})()
		h.suspend = func(ctx context.Context, i *isolate, maxBytes int64) ([]byte, error) {
			state, err := i.suspend(ctx, maxBytes)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				states = append(states, bytes.Clone(state))
			}
			return state, err
		}
		return h
	}
}
