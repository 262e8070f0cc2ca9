package saboteur

import (
	"sync/atomic"

	"github.com/loom-sandbox/sandboxd/spi"
)

// fuelDefects break fuel, or what is said of it.
func fuelDefects() []Defect {
	return []Defect{
		{
			Name: "fuel-unbounded", Wrong: "The descriptor declares exact fuel, and none is enforced.",
			CaughtBy: []string{"LIMIT-081"}, Seen: "one unit less",
			build: config(func(_ *Backend, cfg *spi.Config) { cfg.Limits.Fuel = 0 }),
		},
		{
			Name: "fuel-ignored", Wrong: "The descriptor declares no fuel, and Open ignores the limit instead of refusing it.",
			CaughtBy: []string{"LIMIT-082"}, Seen: "Open accepted fuel",
			build: func() hooks {
				return hooks{
					describe: func(d *spi.Descriptor) { drop(d, spi.LimitFuel) },
					config:   func(_ *Backend, cfg *spi.Config) { cfg.Limits.Fuel = 0 },
				}
			},
		},
		{
			Name: "fuel-jitters", Wrong: "Fuel is declared exact, and every other eval burns one unit more.",
			CaughtBy: []string{"LIMIT-080"}, Seen: "and then",
			build: func() hooks {
				var n atomic.Int64
				return hooks{outcome: func(_ *isolate, out *spi.Outcome) { out.Usage.Fuel += n.Add(1) % 2 }}
			},
		},
		{
			Name: "fuel-one-more", Wrong: "A script may burn one unit more than its fuel.",
			CaughtBy: []string{"LIMIT-081"}, Seen: "one unit less",
			build: config(func(_ *Backend, cfg *spi.Config) {
				if cfg.Limits.Fuel > 0 {
					cfg.Limits.Fuel++
				}
			}),
		},
		{
			Name: "fuel-one-less", Wrong: "A script may not burn the last unit of its fuel.",
			CaughtBy: []string{"LIMIT-081"}, Seen: "that it burns",
			build: config(func(_ *Backend, cfg *spi.Config) {
				if cfg.Limits.Fuel > 1 {
					cfg.Limits.Fuel--
				}
			}),
		},
		{
			Name: "fuel-not-counted", Wrong: "The usage never says how much fuel was burnt.",
			CaughtBy: []string{"LIMIT-077"}, Seen: "0 units",
			build: outcome(func(_ *isolate, out *spi.Outcome) { out.Usage.Fuel = 0 }),
		},
		{
			Name: "fuel-over-limit", Wrong: "The usage says that more fuel was burnt than there was.",
			CaughtBy: []string{"LIMIT-072"}, Seen: "units of fuel",
			build: outcome(func(i *isolate, out *spi.Outcome) {
				if out.Error != nil && out.Error.Kind == spi.KindFuel {
					out.Usage.Fuel = i.asked.Limits.Fuel + 1000
				}
			}),
		},
		{
			Name: "fuel-zero-is-default", Wrong: "A limit of 0 fuel means a default and not none.",
			CaughtBy: []string{"LIMIT-079"}, Seen: "fuel of 0",
			build: config(func(_ *Backend, cfg *spi.Config) {
				if cfg.Limits.Fuel == 0 {
					cfg.Limits.Fuel = 20_000
				}
			}),
		},
		{
			Name: "fuel-shared", Wrong: "All evals of an isolate share one tank.",
			CaughtBy: []string{"LIMIT-078"}, Seen: "eval 2",
			build: outcome(func(i *isolate, out *spi.Outcome) {
				i.sum += out.Usage.Fuel
				if limit := i.asked.Limits.Fuel; limit > 0 && i.sum > limit {
					setError(i, out, spi.KindFuel, spi.LimitFuel)
				}
			}),
		},
	}
}
