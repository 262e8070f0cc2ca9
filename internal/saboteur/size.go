package saboteur

import (
	"math"
	"time"
	"unicode/utf8"

	"github.com/loom-sandbox/sandboxd/spi"
)

// sizeDefects break the limit of the output.
func sizeDefects() []Defect {
	return []Defect{
		{
			Name: "output-unbounded", Wrong: "The limit of the output is not enforced.",
			CaughtBy: []string{"LIMIT-055", "LIMIT-058"}, Seen: "ended with the value",
			build: config(func(_ *Backend, cfg *spi.Config) { cfg.Limits.OutputBytes = 1 << 40 }),
		},
		{
			Name: "output-in-characters", Wrong: "The limit of the output counts characters and not bytes.",
			CaughtBy: []string{"LIMIT-056"}, Seen: "one byte less",
			build: limitOutput(func(value []byte) int { return utf8.RuneCount(value) }),
		},
		{
			Name: "output-before-encoding", Wrong: "The limit of the output counts a string without its quotes.",
			CaughtBy: []string{"LIMIT-055"}, Seen: "one byte less",
			build: limitOutput(func(value []byte) int { return len(value) - 2 }),
		},
		{
			Name: "output-one-less", Wrong: "An output that is exactly as long as allowed is refused.",
			CaughtBy: []string{"LIMIT-055"}, Seen: "just its size",
			build: config(func(_ *Backend, cfg *spi.Config) { cfg.Limits.OutputBytes = max(1, cfg.Limits.OutputBytes-1) }),
		},
		{
			Name: "output-cut", Wrong: "An output that is too large is replaced by null.",
			CaughtBy: []string{"LIMIT-055"}, Seen: "ended with the value null",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if out.Error != nil && out.Error.Kind == spi.KindOutputTooLarge {
					setValue(out, "null", spi.TypeString)
				}
			}),
		},
		{
			Name: "limits-in-32-bits", Wrong: "Limits of sizes are cut to 32 bits.",
			CaughtBy: []string{"LIMIT-083"}, Seen: "output_too_large",
			build: config(func(_ *Backend, cfg *spi.Config) {
				l := &cfg.Limits
				l.OutputBytes, l.LogBytes, l.Fuel = max(1, l.OutputBytes&math.MaxInt32), l.LogBytes&math.MaxInt32, l.Fuel&math.MaxUint32
				if l.OutputBytes == math.MaxInt32 {
					l.OutputBytes = 1 // as a sum that went over
				}
			}),
		},
		{
			Name: "accepts-no-limits", Wrong: "Limits that are not valid are replaced by defaults.",
			CaughtBy: []string{"LIMIT-084"}, Seen: "accepted a timeout",
			build: config(func(b *Backend, cfg *spi.Config) {
				if cfg.Validate() != nil {
					cfg.Limits = spi.Limits{Timeout: time.Second, MemoryBytes: b.good.Describe().MinMemoryBytes * 2, OutputBytes: 1 << 20}
				}
			}),
		},
	}
}

// limitOutput enforces the limit by another measure.
func limitOutput(size func(value []byte) int) func() hooks {
	return func() hooks {
		return hooks{
			config: func(_ *Backend, cfg *spi.Config) { cfg.Limits.OutputBytes = 1 << 40 },
			outcome: func(i *isolate, out *spi.Outcome) {
				if out.Error == nil && int64(size(out.Value)) > i.asked.Limits.OutputBytes {
					setError(i, out, spi.KindOutputTooLarge, spi.LimitOutput)
				}
			},
		}
	}
}
