package saboteur

import (
	"context"
	"sync"

	"github.com/loom-sandbox/sandboxd/spi"
)

// preparedDefects break what a prepared script gives.
func preparedDefects() []Defect {
	return []Defect{
		{
			Name: "prepared-columns-shifted", Wrong: "An error of a prepared script is a column too far to the left.",
			CaughtBy: []string{"PREP-003"}, Seen: "another outcome: error is",
			build: outcomePrepared(func(_ *prepared, _ *isolate, out *spi.Outcome) {
				if out.Error != nil && out.Error.Column > 1 {
					out.Error.Column--
				}
			}),
		},
		{
			Name: "prepared-logs-lost", Wrong: "A prepared script that fails has no logs.",
			CaughtBy: []string{"PREP-003"}, Seen: "another outcome: logs are",
			build: outcomePrepared(func(_ *prepared, _ *isolate, out *spi.Outcome) {
				if out.Error != nil {
					setLogs(out, nil)
				}
			}),
		},
		{
			Name: "prepared-draws-first", Wrong: "Preparing draws from the random numbers of each isolate.",
			CaughtBy: []string{"PREP-004"}, Seen: "another outcome: value is",
			build: configPrepared(func(_ *prepared, cfg *spi.Config) { cfg.Seed ^= 1 << 40 }),
		},
		{
			Name: "prepared-parse-burns-nothing", Wrong: "What parsing burnt is not counted where a script was prepared.",
			CaughtBy: []string{"PREP-005"}, Seen: "another outcome: fuel is",
			build: outcomePrepared(func(_ *prepared, _ *isolate, out *spi.Outcome) {
				if out.Error == nil || out.Error.Kind != spi.KindFuel {
					out.Usage.Fuel = max(1, out.Usage.Fuel-50)
				}
			}),
		},
		{
			Name: "prepared-fuel-to-spare", Wrong: "What parsing burnt does not count against the fuel where a script was prepared.",
			CaughtBy: []string{"PREP-005"}, Seen: "another outcome",
			build: configPrepared(func(_ *prepared, cfg *spi.Config) {
				if cfg.Limits.Fuel > 1000 {
					cfg.Limits.Fuel += 50
				}
			}),
		},
		{
			Name: "prepared-peak-larger", Wrong: "The memory that the prepared state takes is counted twice.",
			CaughtBy: []string{"PREP-006"}, Seen: "the peak of isolate 1",
			build: outcomePrepared(func(_ *prepared, _ *isolate, out *spi.Outcome) { out.Usage.MemoryPeakBytes += 64 << 10 }),
		},
		{
			Name: "prepared-input-of-first", Wrong: "All isolates of a prepared script have the input of the first.",
			CaughtBy: []string{"PREP-012"}, Seen: "the input of isolate",
			build: evaluatingPrepared(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				i.from.mu.Lock()
				if i.from.input == nil {
					i.from.input = append([]byte{}, req.Input...)
				}
				req.Input = i.from.input
				i.from.mu.Unlock()
				return run(ctx, i, req)
			}),
		},
		{
			Name: "prepared-clock-of-first", Wrong: "The clocks of a prepared script's isolates start where the first one did.",
			CaughtBy: []string{"PREP-012"}, Seen: "the clock of isolate",
			build: configPrepared(func(p *prepared, cfg *spi.Config) { cfg.Now = p.firstConfig(cfg).Now }),
		},
		{
			Name: "prepared-seed-of-first", Wrong: "All isolates of a prepared script have the random numbers of the first.",
			CaughtBy: []string{"PREP-012"}, Seen: "give the same random number",
			build: configPrepared(func(p *prepared, cfg *spi.Config) { cfg.Seed = p.firstConfig(cfg).Seed }),
		},
		{
			Name: "prepared-globals-stay", Wrong: "A global of one isolate of a prepared script is there in the next.",
			CaughtBy: []string{"PREP-013"}, Seen: "another outcome: value is",
			build: openingPrepared(func(ctx context.Context, p *prepared, cfg *spi.Config) (spi.Isolate, error) {
				if p.opens.Load() == 1 {
					return orNone(p.isolate(ctx, cfg))
				}
				i, err := p.plainly(ctx, cfg)
				if err == nil {
					leave := &spi.Request{Source: "globalThis.left = 1; 0", Language: spi.JavaScript, Input: []byte("null")}
					_, err = i.whole().Eval(ctx, leave)
				}
				return orNone(i, err)
			}),
		},
		{
			Name: "prepared-memory-stays", Wrong: "What one isolate of a prepared script has grown, the next has from the start.",
			CaughtBy: []string{"PREP-014"}, Seen: "the peaks of isolates",
			build: outcomePrepared(func(p *prepared, _ *isolate, out *spi.Outcome) {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.peak = max(p.peak, out.Usage.MemoryPeakBytes)
				out.Usage.MemoryPeakBytes = p.peak
			}),
		},
		{
			Name: "prepared-one-heap", Wrong: "Isolates of a prepared script that are open at once have one heap.",
			CaughtBy: []string{"PREP-015"}, Seen: "value is",
			build: openingPrepared(func(ctx context.Context, p *prepared, cfg *spi.Config) (spi.Isolate, error) {
				p.mu.Lock()
				defer p.mu.Unlock()
				if len(p.open) == 0 {
					i, err := p.isolate(ctx, cfg)
					if err != nil {
						return nil, err
					}
					p.open = append(p.open, i)
				}
				return &sharedIsolate{p.open[0], &p.mu}, nil
			}),
		},
		{
			Name: "prepared-takes-any-script", Wrong: "The isolate of a prepared script runs another one first.",
			CaughtBy: []string{"PREP-017"}, Seen: "is not the script that was prepared",
			build: openingPrepared(func(ctx context.Context, p *prepared, cfg *spi.Config) (spi.Isolate, error) {
				return orNone(p.plainly(ctx, cfg))
			}),
		},
		{
			Name: "prepared-takes-any-script-without-fuel", Wrong: "The isolate of a prepared script runs another one first where fuel is short.",
			CaughtBy: []string{"PREP-017"}, Seen: "is not the script that was prepared",
			build: openingPrepared(func(ctx context.Context, p *prepared, cfg *spi.Config) (spi.Isolate, error) {
				if cfg.Limits.Fuel != 1 {
					return orNone(p.isolate(ctx, cfg))
				}
				return orNone(p.plainly(ctx, cfg))
			}),
		},
		{
			Name: "prepared-takes-no-other-script", Wrong: "The isolate of a prepared script runs no other one, later either.",
			CaughtBy: []string{"PREP-018"}, Seen: "not supported",
			build: evaluatingPrepared(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
				if req.Source != i.from.source {
					return nil, spi.ErrUnsupported
				}
				return run(ctx, i, req)
			}),
		},
	}
}

func (p *prepared) firstConfig(cfg *spi.Config) *spi.Config {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == nil {
		first := *cfg
		p.first = &first
	}
	return p.first
}

// sharedIsolate is one of several that are one.
type sharedIsolate struct {
	*isolate
	mu *sync.Mutex
}

// Eval implements [spi.Isolate].
func (i *sharedIsolate) Eval(ctx context.Context, req *spi.Request) (*spi.Outcome, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.isolate.Eval(ctx, req)
}
