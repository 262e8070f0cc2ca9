package saboteur

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// sameDefects make the same eval give something else.
func sameDefects() []Defect {
	return []Defect{
		{
			Name: "ignores-seed", Wrong: "Every isolate has the same random numbers, whatever its seed.",
			CaughtBy: []string{"SAME-005"}, Seen: "with the seeds 0 and 1",
			build: config(func(_ *Backend, cfg *spi.Config) { cfg.Seed = 4 }),
		},
		{
			Name: "random-seed", Wrong: "Every isolate has random numbers of its own, whatever its seed.",
			CaughtBy: []string{"SAME-001"}, Seen: "Math.random()",
			build: func() hooks {
				var n atomic.Uint64
				return hooks{config: func(_ *Backend, cfg *spi.Config) { cfg.Seed += n.Add(1) << 32 }}
			},
		},
		{
			Name: "half-a-seed", Wrong: "The upper half of the seed is not used.",
			CaughtBy: []string{"SAME-005"}, Seen: "with the seeds 0 and 4294967296",
			build: config(func(_ *Backend, cfg *spi.Config) { cfg.Seed &= 1<<32 - 1 }),
		},
		{
			Name: "ignores-now", Wrong: "The guest's clock always starts at the same time.",
			CaughtBy: []string{"HOST-021"}, Seen: "2025-01-01",
			build: config(func(_ *Backend, cfg *spi.Config) { cfg.Now = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC) }),
		},
		{
			Name: "whole-seconds", Wrong: "The guest's clock starts at a whole second.",
			CaughtBy: []string{"EVAL-058"}, Seen: "false",
			build: config(func(_ *Backend, cfg *spi.Config) { cfg.Now = cfg.Now.Truncate(time.Second) }),
		},
		{
			Name: "local-time", Wrong: "The guest's clock is shifted by a time zone.",
			CaughtBy: []string{"HOST-021"}, Seen: "02:00:00",
			build: config(func(_ *Backend, cfg *spi.Config) { cfg.Now = cfg.Now.Add(2 * time.Hour) }),
		},
		{
			Name: "clock-jitters", Wrong: "The guest's clock starts a millisecond later from one isolate to the next.",
			CaughtBy: []string{"SAME-001"}, Seen: "T15:09:26",
			build: func() hooks {
				var n atomic.Int64
				return hooks{config: func(_ *Backend, cfg *spi.Config) { cfg.Now = cfg.Now.Add(time.Duration(n.Add(1)) * time.Millisecond) }}
			},
		},
		{
			Name: "stack-jitters", Wrong: "The stack of an error is not the same for the same eval.",
			CaughtBy: []string{"SAME-001"}, Seen: "<eval ",
			build: func() hooks {
				var n atomic.Int64
				return hooks{outcome: func(_ *isolate, out *spi.Outcome) {
					if out.Error != nil {
						out.Error.Stack += fmt.Sprintf("    at <eval %d>\n", n.Add(1))
					}
				}}
			},
		},
		{
			Name: "seed-moves-the-clock", Wrong: "The seed changes where the clock starts.",
			CaughtBy: []string{"SAME-006"}, Seen: "T15:09:26",
			build: config(func(_ *Backend, cfg *spi.Config) {
				cfg.Now = cfg.Now.Add(time.Duration(cfg.Seed%1000) * time.Millisecond)
			}),
		},
		{
			Name: "clock-is-the-seed", Wrong: "The clock's start changes the random numbers.",
			CaughtBy: []string{"SAME-007"}, Seen: "with another start",
			build: config(func(_ *Backend, cfg *spi.Config) { cfg.Seed ^= uint64(cfg.Now.UnixNano()) }),
		},
		{
			Name: "limits-change-numbers", Wrong: "The limits change the random numbers.",
			CaughtBy: []string{"SAME-008"}, Seen: "Math.random()",
			build: config(func(_ *Backend, cfg *spi.Config) { cfg.Seed ^= uint64(cfg.Limits.OutputBytes) }),
		},
		{
			Name: "first-is-different", Wrong: "The first isolate of a backend has other random numbers than later ones.",
			CaughtBy: []string{"SAME-003"}, Seen: "Math.random()",
			build: func() hooks {
				var opened atomic.Bool
				return hooks{config: func(_ *Backend, cfg *spi.Config) {
					if opened.CompareAndSwap(false, true) {
						cfg.Seed++
					}
				}}
			},
		},
		{
			Name: "busy-is-different", Wrong: "Random numbers differ while other isolates are open.",
			CaughtBy: []string{"SAME-002"}, Seen: "Math.random()",
			build: func() hooks {
				var open atomic.Int64
				return hooks{
					config: func(_ *Backend, cfg *spi.Config) {
						if open.Add(1) > 1 {
							cfg.Seed++
						}
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
		{
			Name: "zone-of-the-start", Wrong: "The start of the clock is read as the wall time of its zone.",
			CaughtBy: []string{"HOST-022"}, Seen: "20:39:26",
			build: config(func(_ *Backend, cfg *spi.Config) {
				_, offset := cfg.Now.Zone()
				cfg.Now = cfg.Now.UTC().Add(time.Duration(offset) * time.Second)
			}),
		},
		{
			Name: "clock-goes-back", Wrong: "The clock goes back now and then.",
			CaughtBy: []string{"HOST-026"}, Seen: "value is",
			build: before("const now = Date.now; let n = 0; Date.now = () => now() - (n++ % 2) * 5000"),
		},
		{
			Name: "performance-from-1970", Wrong: "performance.now counts from 1970.",
			CaughtBy: []string{"WEB-025", "HOST-028"}, Seen: "value is",
			build: before("performance.now = () => Date.now()"),
		},
		{
			Name: "zone-of-the-host", Wrong: "The script sees a time zone that is not UTC.",
			CaughtBy: []string{"HOST-023"}, Seen: "value is",
			build: before("Date.prototype.getTimezoneOffset = () => -60"),
		},
	}
}
