package saboteur

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// comingBy is long enough for another eval to come by.
const comingBy = 5 * time.Millisecond

// concurrencyDefects show when isolates run at once.
func concurrencyDefects() []Defect {
	return []Defect{
		{
			Name: "answers-of-another", Wrong: "Of two evals at once, one is answered with the other's result.",
			CaughtBy: []string{"CONC-001"}, Seen: "value is",
			build: func() hooks {
				var slot atomic.Pointer[spi.Outcome]
				return hooks{eval: func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
					out, err := run(ctx, i, req)
					if err != nil {
						return nil, err
					}
					slot.Store(out)
					i.wait(ctx, comingBy)
					other := *slot.Load()
					return &other, nil
				}}
			},
		},
		{
			Name: "inputs-of-another", Wrong: "Of two evals at once, one sees the other's input.",
			CaughtBy: []string{"CONC-001"}, Seen: "value is",
			build: func() hooks {
				var slot atomic.Pointer[json.RawMessage]
				return hooks{request: func(_ *isolate, req *spi.Request) {
					own := req.Input
					slot.Store(&own)
					time.Sleep(comingBy)
					req.Input = *slot.Load()
				}}
			},
		},
		{
			Name: "one-at-a-time", Wrong: "An eval waits until no other runs.", Hangs: true,
			CaughtBy: []string{"CONC-005"}, Seen: "hung",
			build: func() hooks {
				turn := make(chan struct{}, 1)
				return hooks{eval: func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
					select {
					case turn <- struct{}{}:
						defer func() { <-turn }()
					case <-i.backend.release:
					}
					return run(ctx, i, req)
				}}
			},
		},
		{
			Name: "one-isolate", Wrong: "Open waits until the isolate that was opened before is closed.", Hangs: true,
			CaughtBy: []string{"LEAK-031"}, Seen: "hung",
			build: func() hooks {
				turn := make(chan struct{}, 1)
				return hooks{
					open: func(ctx context.Context, b *Backend, cfg *spi.Config) (spi.Isolate, error) {
						select {
						case turn <- struct{}{}:
						case <-b.release:
							return nil, spi.ErrClosed
						}
						iso, err := b.open(ctx, cfg)
						if err != nil {
							<-turn
						}
						return iso, err
					},
					close: func(i *isolate) error {
						if i.closes.Load() == 1 {
							<-turn
						}
						return i.whole().Close()
					},
				}
			},
		},
		{
			Name: "ends-the-others", Wrong: "When one eval is ended by force, all others are.",
			CaughtBy: []string{"KILL-029"}, Seen: "the other isolate ended",
			build: func() hooks {
				var all register
				return hooks{
					open: all.open,
					outcome: func(i *isolate, out *spi.Outcome) {
						if ended(out) {
							all.closeBut(i)
						}
					},
				}
			},
		},
		{
			Name: "leaves-a-goroutine", Wrong: "Every isolate leaves a goroutine behind.", Late: true, Alone: true,
			CaughtBy: []string{"CLOSE-014"}, Seen: "goroutines",
			build: opening(func(ctx context.Context, b *Backend, cfg *spi.Config) (spi.Isolate, error) {
				b.background.Go(b.hang)
				return b.open(ctx, cfg)
			}),
		},
		{
			Name: "few-isolates", Wrong: "Only eight isolates can be open at once.",
			CaughtBy: series("CONC", 1, 4), Seen: "too many isolates",
			build: func() hooks {
				var open atomic.Int64
				return hooks{
					open: func(ctx context.Context, b *Backend, cfg *spi.Config) (spi.Isolate, error) {
						if open.Add(1) > 8 {
							open.Add(-1)
							return nil, errors.New("saboteur: too many isolates")
						}
						return b.open(ctx, cfg)
					},
					close: func(i *isolate) error {
						if i.closes.Load() == 1 {
							open.Add(-1)
						}
						return i.whole().Close()
					},
				}
			},
		},
	}
}

// register remembers the isolates that were opened.
type register struct {
	mu  sync.Mutex
	all []*isolate // guarded by mu
}

func (r *register) open(ctx context.Context, b *Backend, cfg *spi.Config) (spi.Isolate, error) {
	iso, err := b.open(ctx, cfg)
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all = append(r.all, iso.(*isolate))
	}
	return iso, err
}

// closeBut closes the good isolates of all but one, nil for none.
func (r *register) closeBut(one *isolate) {
	r.mu.Lock()
	all := r.all
	r.mu.Unlock()
	for _, i := range all {
		if i != one {
			_ = i.whole().Close()
		}
	}
}
