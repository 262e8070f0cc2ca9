package saboteur

import (
	"context"
	"errors"
	"sync"

	"github.com/loom-sandbox/sandboxd/spi"
)

// preparedEndDefects break how runs of a prepared script end, and how it is
// closed.
func preparedEndDefects() []Defect {
	return []Defect{
		{
			Name: "prepared-output-unlimited", Wrong: "The result of a prepared script may have any size.",
			CaughtBy: []string{"PREP-019"}, Seen: "output_too_large",
			build: configPrepared(func(_ *prepared, cfg *spi.Config) { cfg.Limits.OutputBytes *= 100 }),
		},
		{
			Name: "prepared-spoilt-by-force", Wrong: "An eval that is ended by force spoils the script that it was prepared from.",
			CaughtBy: []string{"PREP-020"}, Seen: "after an eval that ended with timeout",
			build: outcomePrepared(func(p *prepared, i *isolate, out *spi.Outcome) {
				if p.noted.Load() {
					setError(i, out, spi.KindBackend, "")
				} else if ended(out) {
					p.noted.Store(true)
				}
			}),
		},
		{
			Name: "prepared-memory-of-preparing", Wrong: "The runs of a prepared script have the memory that it was prepared within.",
			CaughtBy: []string{"PREP-021"}, Seen: "bytes of memory: ",
			build: configPrepared(func(p *prepared, cfg *spi.Config) { cfg.Limits.MemoryBytes = p.limits.MemoryBytes }),
		},
		{
			Name: "prepared-bound-by-preparing", Wrong: "The runs of a prepared script have no more fuel than it was prepared within.",
			CaughtBy: []string{"PREP-022"}, Seen: "another outcome",
			build: configPrepared(func(p *prepared, cfg *spi.Config) {
				if p.limits.Fuel > 0 && cfg.Limits.Fuel == 0 {
					cfg.Limits.Fuel = p.limits.Fuel
				}
			}),
		},
		{
			Name: "prepared-config-read-later", Wrong: "The logs of a prepared script have the limit that stands in the caller's configuration by then.",
			CaughtBy: []string{"PREP-023"}, Seen: "after the caller changed its configuration the logs are",
			build: func() hooks {
				var all sync.Map
				return hooks{
					openPrepared: func(ctx context.Context, p *prepared, cfg *spi.Config) (spi.Isolate, error) {
						i, err := p.isolate(ctx, cfg)
						if err != nil {
							return nil, err
						}
						all.Store(i, cfg)
						return i, nil
					},
					outcome: func(i *isolate, out *spi.Outcome) {
						if cfg, ok := all.Load(i); ok && cfg.(*spi.Config).Limits.LogBytes == 0 {
							out.LogsTruncated = len(out.Logs) > 0
							setLogs(out, nil)
						}
					},
				}
			},
		},
		{
			Name: "prepared-has-no-size", Wrong: "A prepared script says that it takes no memory.",
			CaughtBy: []string{"PREP-024"}, Seen: "is 0 bytes",
			build: func() hooks { return hooks{bytesPrepared: func(*prepared) int64 { return 0 }} },
		},
		{
			Name: "prepared-size-grows", Wrong: "The size of a prepared script counts the isolates that were opened from it.",
			CaughtBy: []string{"PREP-024"}, Seen: "and after an eval",
			build: func() hooks {
				return hooks{bytesPrepared: func(p *prepared) int64 { return p.good.Bytes() + p.opens.Load()<<16 }}
			},
		},
		{
			Name: "prepared-close-ends-isolates", Wrong: "Closing a prepared script closes the isolates that were opened from it.",
			CaughtBy: []string{"PREP-025"}, Seen: "an isolate after its script was closed",
			build: func() hooks {
				return hooks{
					openPrepared: func(ctx context.Context, p *prepared, cfg *spi.Config) (spi.Isolate, error) {
						i, err := p.isolate(ctx, cfg)
						if err != nil {
							return nil, err
						}
						p.mu.Lock()
						defer p.mu.Unlock()
						p.open = append(p.open, i)
						return i, nil
					},
					closePrepared: func(p *prepared) error {
						p.mu.Lock()
						defer p.mu.Unlock()
						for _, i := range p.open {
							_ = i.Close()
						}
						return p.good.Close()
					},
				}
			},
		},
		{
			Name: "prepared-opens-when-closed", Wrong: "A prepared script that was closed opens isolates.",
			CaughtBy: []string{"PREP-026"}, Seen: "opening from what was closed gave no error",
			build: openingPrepared(func(ctx context.Context, p *prepared, cfg *spi.Config) (spi.Isolate, error) {
				i, err := p.isolate(ctx, cfg)
				if errors.Is(err, spi.ErrClosed) {
					i, err = p.plainly(ctx, cfg)
				}
				return orNone(i, err)
			}),
		},
		{
			Name: "prepared-closes-once", Wrong: "Closing a prepared script again is an error.",
			CaughtBy: []string{"PREP-026"}, Seen: "closing what was prepared",
			build: func() hooks {
				return hooks{closePrepared: func(p *prepared) error {
					if p.closes.Load() > 1 {
						return errors.New("saboteur: closed already")
					}
					return p.good.Close()
				}}
			},
		},
		{
			Name: "prepared-shared-by-source", Wrong: "Scripts that are the same are prepared once, and closed by the first who closes.",
			CaughtBy: []string{"PREP-026"}, Seen: "the same script, prepared on its own",
			build: func() hooks {
				var mu sync.Mutex
				all := map[string]spi.Prepared{}
				return hooks{prepare: func(ctx context.Context, b *Backend, limits *spi.Limits, source string, language spi.Language) (spi.Prepared, error) {
					mu.Lock()
					defer mu.Unlock()
					if p, ok := all[source]; ok && p.(*prepared).closes.Load() == 0 {
						return p, nil
					}
					p, err := b.prepare(ctx, limits, source, language)
					if err == nil {
						all[source] = p
					}
					return p, err
				}}
			},
		},
		{
			Name: "prepared-outlives-backend", Wrong: "A prepared script whose backend was closed says that it is not supported.",
			CaughtBy: []string{"PREP-027"}, Seen: "opening from what was closed: error is",
			build: openingPrepared(func(ctx context.Context, p *prepared, cfg *spi.Config) (spi.Isolate, error) {
				i, err := p.isolate(ctx, cfg)
				if errors.Is(err, spi.ErrClosed) && p.closes.Load() == 0 {
					err = spi.ErrUnsupported
				}
				return orNone(i, err)
			}),
		},
		{
			Name: "prepared-opens-in-ended-context", Wrong: "Opening from a prepared script does not look at the context.",
			CaughtBy: []string{"PREP-028"}, Seen: "opening from what was prepared gave an isolate",
			build: openingPrepared(func(ctx context.Context, p *prepared, cfg *spi.Config) (spi.Isolate, error) {
				i, err := p.isolate(context.WithoutCancel(ctx), cfg)
				return orNone(i, err)
			}),
		},
		{
			Name: "prepared-leaves-goroutines", Wrong: "Each prepared script has a goroutine that closing it does not end.", Alone: true,
			CaughtBy: []string{"PREP-030"}, Seen: "goroutines before",
			build: preparing(func(ctx context.Context, b *Backend, limits *spi.Limits, source string, language spi.Language) (spi.Prepared, error) {
				p, err := b.prepare(ctx, limits, source, language)
				if err == nil {
					b.background.Go(b.hang)
				}
				return p, err
			}),
		},
		{
			Name: "prepared-runs-in-ended-context", Wrong: "A prepared script begins to run under a context that has ended.",
			CaughtBy: []string{"PREP-029"}, Seen: "ended with the value",
			build: evaluatingPrepared(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				if ctx.Err() != nil {
					ctx = context.WithoutCancel(ctx)
				}
				return run(ctx, i, req)
			}),
		},
	}
}
