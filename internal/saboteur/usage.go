package saboteur

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// usageDefects report what another eval consumed, or nothing.
func usageDefects() []Defect {
	return []Defect{
		{
			Name: "fuel-lost-when-stopped", Wrong: "The usage of an eval that was stopped has no fuel.",
			CaughtBy: []string{"LIMIT-095"}, Seen: "0 units of fuel",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if ended(out) {
					out.Usage.Fuel = 0
				}
			}),
		},
		{
			Name: "wall-lost-without-room", Wrong: "The usage of an eval that had no room for its memory, stack or output has no wall time.",
			CaughtBy: []string{"LIMIT-095"}, Seen: "0s of wall time",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if failed(out, spi.KindMemory, spi.KindStackOverflow, spi.KindOutputTooLarge) {
					out.Usage.Wall = 0
				}
			}),
		},
		{
			Name: "wall-is-timeout", Wrong: "The wall time of an eval is its timeout, however long it took.",
			CaughtBy: []string{"LIMIT-096"}, Seen: "and the call took",
			build: outcome(func(i *isolate, out *spi.Outcome) { out.Usage.Wall = i.asked.Limits.Timeout }),
		},
		{
			Name: "wall-of-all", Wrong: "The wall time of an eval is that of all evals of the isolate.",
			CaughtBy: []string{"LIMIT-096"}, Seen: "and the call took",
			build: remembering(func(_ *isolate, sum *time.Duration, out *spi.Outcome) {
				*sum += out.Usage.Wall
				out.Usage.Wall = *sum
			}),
		},
		{
			Name: "wall-of-nothing", Wrong: "The wall time of an eval with a value is a nanosecond.",
			CaughtBy: []string{"LIMIT-096"}, Seen: "1ns of wall time",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if out.Error == nil {
					out.Usage.Wall = 1
				}
			}),
		},
		{
			Name: "wall-of-the-longest", Wrong: "The wall time of an eval is that of the longest of the isolate.",
			CaughtBy: []string{"LIMIT-096"}, Seen: "of wall time",
			build: remembering(func(_ *isolate, most *time.Duration, out *spi.Outcome) {
				*most = max(*most, out.Usage.Wall)
				out.Usage.Wall = *most
			}),
		},
		{
			Name: "fuel-of-all", Wrong: "The fuel of an eval is that of all evals of the isolate.",
			CaughtBy: []string{"LIMIT-097"}, Seen: "the same script burns",
			build: remembering(func(_ *isolate, sum *int64, out *spi.Outcome) {
				*sum += out.Usage.Fuel
				out.Usage.Fuel = *sum
			}),
		},
		{
			Name: "peak-of-all", Wrong: "The peak of memory is that of all isolates so far.",
			CaughtBy: []string{"LIMIT-098"}, Seen: "in an isolate after one with",
			build: func() hooks {
				var most atomic.Int64
				return hooks{outcome: func(_ *isolate, out *spi.Outcome) {
					most.Store(max(most.Load(), out.Usage.MemoryPeakBytes))
					out.Usage.MemoryPeakBytes = most.Load()
				}}
			},
		},
	}
}

// failed reports whether the eval ended with one of the kinds.
func failed(out *spi.Outcome, kinds ...spi.Kind) bool {
	return out.Error != nil && slices.Contains(kinds, out.Error.Kind)
}
