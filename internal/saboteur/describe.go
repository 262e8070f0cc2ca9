package saboteur

import (
	"slices"
	"sync/atomic"

	"github.com/loom-sandbox/sandboxd/spi"
)

// describeDefects are untrue or unusable descriptors.
func describeDefects() []Defect {
	return []Defect{
		{
			Name: "describe-changes", Wrong: "Describe answers differently the second time.",
			CaughtBy: []string{"DESC-011"}, Seen: "descriptor was",
			build: func() hooks {
				var calls atomic.Int64
				return hooks{describe: func(d *spi.Descriptor) {
					if calls.Add(1) > 1 {
						d.Engine += ", warm"
					}
				}}
			},
		},
		{
			Name: "describe-changes-by-use", Wrong: "Describe answers differently after an eval.",
			CaughtBy: []string{"DESC-011"}, Seen: "after two evals",
			build: func() hooks {
				var evals atomic.Int64
				return hooks{
					outcome: func(*isolate, *spi.Outcome) { evals.Add(1) },
					describe: func(d *spi.Descriptor) {
						if evals.Load() > 0 {
							d.MinMemoryBytes += 64 << 10
						}
					},
				}
			},
		},
		{
			Name: "describe-shares", Wrong: "Describe hands out the backend's own slices.",
			CaughtBy: []string{"DESC-012"}, Seen: "descriptor was",
			build: func() hooks {
				var kept atomic.Pointer[spi.Descriptor]
				return hooks{describe: func(d *spi.Descriptor) {
					own := *d
					kept.CompareAndSwap(nil, &own)
					*d = *kept.Load()
				}}
			},
		},
		{
			Name: "describe-name", Wrong: "The name cannot be written as a flag's value.",
			CaughtBy: []string{"DESC-001"}, Seen: "My Backend",
			build: describe(func(d *spi.Descriptor) { d.Name = "My Backend" }),
		},
		{
			Name: "describe-summary", Wrong: "The summary has two lines.",
			CaughtBy: []string{"DESC-002"}, Seen: "summary",
			build: describe(func(d *spi.Descriptor) { d.Summary += "\nand more" }),
		},
		{
			Name: "describe-engine", Wrong: "The descriptor names no engine.",
			CaughtBy: []string{"DESC-010"}, Seen: "engine is empty",
			build: describe(func(d *spi.Descriptor) { d.Engine = "" }),
		},
		{
			Name: "describe-isolation", Wrong: "The isolation is none of the levels.",
			CaughtBy: []string{"DESC-003"}, Seen: "strong",
			build: describe(func(d *spi.Descriptor) { d.Isolation = "strong" }),
		},
		{
			Name: "describe-languages", Wrong: "The descriptor lists no language.",
			CaughtBy: []string{"DESC-004"}, Seen: "languages",
			build: describe(func(d *spi.Descriptor) { d.Languages = nil }),
		},
		{
			Name: "describe-too-many-languages", Wrong: "The descriptor lists a language that Eval refuses.",
			CaughtBy: []string{"DESC-015"}, Seen: `language "lua" is listed`,
			build: describe(func(d *spi.Descriptor) { d.Languages = append(slices.Clone(d.Languages), "lua") }),
		},
		{
			Name: "describe-twice", Wrong: "The descriptor lists a limit twice, once exact and once not.",
			CaughtBy: []string{"DESC-005"}, Seen: "twice",
			build: describe(func(d *spi.Descriptor) {
				d.Enforces = append(d.Enforces, spi.Enforcement{Limit: spi.LimitTimeout, Exact: true})
			}),
		},
		{
			Name: "describe-unknown-limit", Wrong: "The descriptor lists a limit that is none.",
			CaughtBy: []string{"DESC-005"}, Seen: "cpuMs",
			build: describe(func(d *spi.Descriptor) { d.Enforces = append(d.Enforces, spi.Enforcement{Limit: "cpuMs"}) }),
		},
		{
			Name: "describe-no-timeout", Wrong: "The descriptor does not say that the timeout is enforced.",
			CaughtBy: []string{"DESC-007"}, Seen: "timeoutMs",
			build: describe(func(d *spi.Descriptor) { drop(d, spi.LimitTimeout) }),
		},
		{
			Name: "describe-exact-with-granularity", Wrong: "A limit is exact and has a granularity.",
			CaughtBy: []string{"DESC-006"}, Seen: "granularity",
			build: describe(func(d *spi.Descriptor) {
				for n := range d.Enforces {
					if d.Enforces[n].Exact {
						d.Enforces[n].Granularity = 8
					}
				}
			}),
		},
		{
			Name: "describe-image", Wrong: "The image is named by a tag and not by its hash.",
			CaughtBy: []string{"DESC-009"}, Seen: "latest",
			build: describe(func(d *spi.Descriptor) { d.Image = "quickjs:latest" }),
		},
		{
			Name: "describe-memory-order", Wrong: "The smallest memory cap is above the largest.",
			CaughtBy: []string{"DESC-008"}, Seen: "memory is from",
			build: describe(func(d *spi.Descriptor) { d.MinMemoryBytes = d.MaxMemoryBytes + 1 }),
		},
		{
			Name: "describe-too-little-memory", Wrong: "The smallest memory cap of the descriptor is refused.",
			CaughtBy: []string{"LIMIT-052"}, Seen: "cap of 65536",
			build: describe(func(d *spi.Descriptor) { d.MinMemoryBytes = 64 << 10 }),
		},
		{
			Name: "describe-too-much-memory", Wrong: "The largest memory cap of the descriptor is refused.",
			CaughtBy: []string{"LIMIT-052"}, Seen: "cap of 2147483648",
			build: describe(func(d *spi.Descriptor) { d.MaxMemoryBytes *= 2 }),
		},
		{
			Name: "accepts-every-language", Wrong: "A language that the descriptor does not list is run as JavaScript.",
			CaughtBy: []string{"EVAL-019"}, Seen: "ran",
			build: request(func(_ *isolate, req *spi.Request) { req.Language = spi.JavaScript }),
		},
		{
			Name: "describe-after-close", Wrong: "A closed backend describes nothing.",
			CaughtBy: []string{"CLOSE-009"}, Seen: "Name: Summary",
			build: func() hooks {
				var closed atomic.Bool
				return hooks{
					describe: func(d *spi.Descriptor) {
						if closed.Load() {
							*d = spi.Descriptor{}
						}
					},
					closeAll: func(b *Backend) error { closed.Store(true); return b.good.Close() },
				}
			},
		},
	}
}

func drop(d *spi.Descriptor, limit spi.LimitName) {
	d.Enforces = slices.DeleteFunc(slices.Clone(d.Enforces), func(e spi.Enforcement) bool { return e.Limit == limit })
}
