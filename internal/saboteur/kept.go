package saboteur

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/loom-sandbox/sandboxd/spi"
)

// keptDefects share with the caller what is the caller's alone.
func keptDefects() []Defect {
	return []Defect{
		{
			Name: "value-buffer-reused", Wrong: "The values of an isolate's evals lie in the same buffer.",
			CaughtBy: []string{"EVAL-074"}, Seen: "has changed",
			build: remembering(func(_ *isolate, buffer *[]byte, out *spi.Outcome) {
				if out.Error == nil {
					*buffer = append((*buffer)[:0], out.Value...)
					out.Value = *buffer
				}
			}),
		},
		{
			Name: "logs-reused", Wrong: "The logs of an isolate's evals lie in the same array.",
			CaughtBy: []string{"EVAL-074"}, Seen: "has changed",
			build: remembering(func(_ *isolate, lines *[]spi.LogLine, out *spi.Outcome) {
				*lines = append((*lines)[:0], out.Logs...)
				out.Logs = *lines
			}),
		},
		{
			Name: "error-reused", Wrong: "All errors of an isolate are one.",
			CaughtBy: []string{"EVAL-074"}, Seen: "has changed",
			build: remembering(func(_ *isolate, one *spi.ScriptError, out *spi.Outcome) {
				if out.Error != nil {
					*one = *out.Error
					out.Error = one
				}
			}),
		},
		{
			Name: "outcome-reused", Wrong: "All outcomes of an isolate are one.",
			CaughtBy: []string{"EVAL-074"}, Seen: "has changed",
			build: func() hooks {
				var all sync.Map
				return hooks{eval: func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
					out, err := run(ctx, i, req)
					if err != nil {
						return nil, err
					}
					one := memoryOf[spi.Outcome](&all, i)
					*one = *out
					return one, nil
				}}
			},
		},
		{
			Name: "values-cached", Wrong: "The value of a script that ran before is handed out again, and not a copy of it.",
			CaughtBy: []string{"EVAL-075"}, Seen: "written over",
			build: remembering(func(i *isolate, cache *map[string]json.RawMessage, out *spi.Outcome) {
				if *cache == nil {
					*cache = map[string]json.RawMessage{}
				}
				if value, ok := (*cache)[i.ran.Source]; ok && out.Error == nil {
					out.Value = value
				}
				(*cache)[i.ran.Source] = out.Value
			}),
		},
		{
			Name: "input-written", Wrong: "An eval clears its input when it has read it.", Meddles: true,
			CaughtBy: []string{"EVAL-076"}, Seen: "the request was",
			build: outcome(func(i *isolate, _ *spi.Outcome) { clear(i.ran.Input) }),
		},
		{
			Name: "value-is-the-input", Wrong: "A value that is the input is not copied.",
			CaughtBy: []string{"EVAL-076"}, Seen: "became",
			build: outcome(func(i *isolate, out *spi.Outcome) {
				if bytes.Equal(out.Value, i.ran.Input) {
					out.Value = i.ran.Input
				}
			}),
		},
		{
			Name: "config-written", Wrong: "Open writes its own limit into the configuration.", Meddles: true,
			CaughtBy: []string{"EVAL-077"}, Seen: "the configuration was",
			build: opening(func(ctx context.Context, b *Backend, cfg *spi.Config) (spi.Isolate, error) {
				iso, err := b.open(ctx, cfg)
				cfg.Limits.MemoryBytes &^= 1<<16 - 1
				cfg.Limits.LogBytes++
				return iso, err
			}),
		},
		{
			Name: "config-read-later", Wrong: "The limit of the output is read from the caller's configuration at each eval.",
			CaughtBy: []string{"EVAL-077"}, Seen: "after the caller changed",
			build: func() hooks {
				var all sync.Map
				return hooks{
					open: func(ctx context.Context, b *Backend, cfg *spi.Config) (spi.Isolate, error) {
						iso, err := b.open(ctx, cfg)
						if err == nil {
							all.Store(iso, cfg)
						}
						return iso, err
					},
					outcome: func(i *isolate, out *spi.Outcome) {
						cfg, ok := all.Load(i)
						if ok && int64(len(out.Value)) > cfg.(*spi.Config).Limits.OutputBytes {
							setError(i, out, spi.KindOutputTooLarge, spi.LimitOutput)
						}
					},
				}
			},
		},
	}
}

// remembering edits outcomes with something that it keeps for each isolate.
func remembering[T any](f func(i *isolate, memory *T, out *spi.Outcome)) func() hooks {
	return func() hooks {
		var all sync.Map
		return hooks{outcome: func(i *isolate, out *spi.Outcome) { f(i, memoryOf[T](&all, i), out) }}
	}
}

func memoryOf[T any](all *sync.Map, i *isolate) *T {
	memory, _ := all.LoadOrStore(i, new(T))
	return memory.(*T)
}
