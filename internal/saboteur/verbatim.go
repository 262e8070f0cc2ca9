package saboteur

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/loom-sandbox/sandboxd/spi"
)

// verbatimDefects change what is only to be carried.
func verbatimDefects() []Defect {
	return []Defect{
		{
			Name: "logs-without-controls", Wrong: "Characters that a terminal obeys are taken out of log lines.",
			CaughtBy: []string{"WEB-037"}, Seen: "logs are",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				setTexts(out, func(text string) string {
					return strings.Map(func(r rune) rune {
						if r != '\n' && r != '\t' && unicode.IsControl(r) {
							return -1
						}
						return r
					}, text)
				})
			}),
		},
		{
			Name: "value-without-controls", Wrong: "Characters that a terminal obeys are taken out of results.",
			CaughtBy: []string{"VALUE-040"}, Seen: "value is",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if out.Error == nil {
					setValue(out, strings.NewReplacer(`\u001b`, "", "\x7f", "", "\u009b", "").Replace(string(out.Value)), out.ValueType)
				}
			}),
		},
		{
			Name: "type-of-the-json", Wrong: "The type of a result is read off its JSON, so that a boxed string is a string.",
			CaughtBy: []string{"VALUE-041"}, Seen: "has the type",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if out.ValueType == spi.TypeObject && out.Value[0] == '"' {
					out.ValueType = spi.TypeString
				}
			}),
		},
		{
			Name: "type-of-typed-arrays", Wrong: "A typed array has the type array.",
			CaughtBy: []string{"VALUE-041"}, Seen: "has the type",
			build: outcome(func(i *isolate, out *spi.Outcome) {
				if out.ValueType == spi.TypeObject && strings.Contains(i.ran.Source, "Uint8Array") {
					out.ValueType = spi.TypeArray
				}
			}),
		},
		{
			Name: "type-of-proxies", Wrong: "A proxy of an array has the type object.",
			CaughtBy: []string{"VALUE-042"}, Seen: "has the type",
			build: outcome(func(i *isolate, out *spi.Outcome) {
				if out.ValueType == spi.TypeArray && strings.Contains(i.ran.Source, "Proxy") {
					out.ValueType = spi.TypeObject
				}
			}),
		},
	}
}

// endingDefects break what comes with an end that the host brought about.
func endingDefects() []Defect {
	return []Defect{
		{
			Name: "engine-text-when-stopped", Wrong: "An eval that was stopped says what the engine said of it.",
			CaughtBy: []string{"ERROR-034"}, Seen: "wasm trap",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if ended(out) {
					out.Error.Message = "wasm trap: interrupted at 0xdeadbeef"
				}
			}),
		},
		{
			Name: "host-stack-without-memory", Wrong: "An eval that ran out of memory has the stack of the host.",
			CaughtBy: []string{"ERROR-034"}, Seen: `error has "`,
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if failed(out, spi.KindMemory) {
					out.Error.Stack = "goroutine 7 [running]:\nguest.grow(...)\n\tgrow.go:12"
				}
			}),
		},
		{
			Name: "logs-lost-without-room", Wrong: "The logs of an eval that ran out of memory or stack are lost.",
			CaughtBy: []string{"ERROR-035"}, Seen: "logs are []",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if failed(out, spi.KindMemory, spi.KindStackOverflow) {
					setLogs(out, nil)
				}
			}),
		},
		{
			Name: "logs-lost-unserializable", Wrong: "The levels of the logs are lost where the result cannot be written.",
			CaughtBy: []string{"ERROR-035"}, Seen: "{log two}",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				for n := range out.Logs {
					if failed(out, spi.KindUnserializable) {
						out.Logs[n].Level = spi.LevelLog
					}
				}
			}),
		},
		{
			Name: "stack-of-the-error-before", Wrong: "An error has the stack of the isolate's error before it.",
			CaughtBy: []string{"ERROR-036"}, Seen: "word0of",
			build: remembering(func(_ *isolate, before *string, out *spi.Outcome) {
				if out.Error != nil && *before != "" {
					out.Error.Stack, *before = *before, out.Error.Stack
				} else if out.Error != nil {
					*before = out.Error.Stack
				}
			}),
		},
		{
			Name: "seedless-without-image", Wrong: "No image is declared, and every isolate has the same random numbers.",
			CaughtBy: []string{"SAME-010"}, Seen: "with the seeds 1 and 2",
			build: func() hooks {
				return hooks{describe: withoutImage, config: func(_ *Backend, cfg *spi.Config) { cfg.Seed = 4 }}
			},
		},
		{
			Name: "random-without-image", Wrong: "No image is declared, and every isolate has random numbers of its own, whatever its seed.",
			CaughtBy: []string{"SAME-011"}, Seen: "random numbers of two isolates",
			build: func() hooks {
				var n atomic.Uint64
				return hooks{describe: withoutImage, config: func(_ *Backend, cfg *spi.Config) { cfg.Seed += n.Add(1) << 32 }}
			},
		},
		{
			Name: "opens-late", Wrong: "Open notices the end of its context some seconds later.", Late: true,
			CaughtBy: []string{"CLOSE-015"}, Seen: "returned after",
			build: openingUnderEnding(func(ctx context.Context, b *Backend) error {
				select {
				case <-time.After(late):
				case <-b.release:
				}
				return ctx.Err()
			}),
		},
		{
			Name: "opens-with-another-error", Wrong: "Open under a context that ends meanwhile returns an error that is not the context's.",
			CaughtBy: []string{"CLOSE-015"}, Seen: "error is saboteur",
			build: openingUnderEnding(func(context.Context, *Backend) error { return errors.New("saboteur: interrupted") }),
		},
	}
}

func withoutImage(d *spi.Descriptor) { d.Image = "" }

// openingUnderEnding is an Open that takes a while, with its own answer to a
// context that ends in it.
func openingUnderEnding(answer func(ctx context.Context, b *Backend) error) func() hooks {
	return opening(func(ctx context.Context, b *Backend, cfg *spi.Config) (spi.Isolate, error) {
		select {
		case <-ctx.Done():
			return nil, answer(ctx, b)
		case <-time.After(20 * time.Millisecond):
			return b.open(ctx, cfg)
		}
	})
}
