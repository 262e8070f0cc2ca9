package saboteur

import (
	"context"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// asideDefects switch a limit off where there is one of fuel, or have one that
// nobody asked for.
func asideDefects() []Defect {
	return []Defect{
		{
			Name: "fuel-instead-of-timeout", Wrong: "Where fuel is limited there is no timeout.", Hangs: true,
			CaughtBy: []string{"LIMIT-087"}, Seen: "hung",
			build: fueled(func(l *spi.Limits) { l.Timeout = time.Hour }),
		},
		{
			Name: "fuel-instead-of-memory", Wrong: "Where fuel is limited the memory cap is four times as large.",
			CaughtBy: []string{"LIMIT-088"}, Seen: "a peak of",
			build: fueled(func(l *spi.Limits) { l.MemoryBytes *= 4 }),
		},
		{
			Name: "fuel-instead-of-output", Wrong: "Where fuel is limited there is no limit of the output.",
			CaughtBy: []string{"LIMIT-089"}, Seen: "ended with the value",
			build: fueled(func(l *spi.Limits) { l.OutputBytes = 1 << 40 }),
		},
		{
			Name: "fuel-instead-of-cancel", Wrong: "Where fuel is limited nothing can be cancelled.", Hangs: true,
			CaughtBy: []string{"LIMIT-090"}, Seen: "hung",
			build: deafWhere(func(_ context.Context, i *isolate) bool { return i.asked.Limits.Fuel > 0 }),
		},
		{
			Name: "fuel-instead-of-log-limit", Wrong: "Where fuel is limited there is no limit of the logs.",
			CaughtBy: []string{"LIMIT-091"}, Seen: "bytes of logs",
			build: fueled(func(l *spi.Limits) { l.LogBytes = 1 << 20 }),
		},
		{
			Name: "output-of-its-own", Wrong: "No output is larger than 256 KiB, whatever its limit.",
			CaughtBy: []string{"LIMIT-092"}, Seen: "ended with output_too_large",
			build: config(func(_ *Backend, cfg *spi.Config) { cfg.Limits.OutputBytes = min(cfg.Limits.OutputBytes, 256<<10) }),
		},
		{
			Name: "logs-longer-lines-cut", Wrong: "A log line of more than 16 KiB is cut, and the outcome does not say so.",
			CaughtBy: []string{"LIMIT-093"}, Seen: "line 1 is",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				setTexts(out, func(text string) string { return text[:min(len(text), 16<<10)] })
			}),
		},
		{
			Name: "timeout-of-its-own", Wrong: "No script runs for longer than half a second, whatever its timeout.",
			CaughtBy: []string{"LIMIT-094"}, Seen: "ended with timeout",
			build: config(func(_ *Backend, cfg *spi.Config) { cfg.Limits.Timeout = min(cfg.Limits.Timeout, 500*time.Millisecond) }),
		},
	}
}

// fueled changes the limits of those isolates that have one of fuel.
func fueled(change func(l *spi.Limits)) func() hooks {
	return config(func(_ *Backend, cfg *spi.Config) {
		if cfg.Limits.Fuel > 0 {
			change(&cfg.Limits)
		}
	})
}
