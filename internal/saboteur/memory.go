package saboteur

import "github.com/loom-sandbox/sandboxd/spi"

// memoryDefects break the cap of the guest's memory.
func memoryDefects() []Defect {
	return []Defect{
		{
			Name: "memory-unbounded", Wrong: "The memory cap is not enforced, and what was used is reported.",
			CaughtBy: []string{"LIMIT-034"}, Seen: "a peak of",
			build: config(allMemory),
		},
		{
			Name: "memory-unbounded-and-denied", Wrong: "The memory cap is not enforced, and the usage never goes over it.",
			CaughtBy: []string{"LIMIT-035", "LIMIT-036"}, Seen: "ended with the value",
			build: func() hooks {
				return hooks{config: allMemory, outcome: func(i *isolate, out *spi.Outcome) {
					out.Usage.MemoryPeakBytes = min(out.Usage.MemoryPeakBytes, i.asked.Limits.MemoryBytes)
				}}
			},
		},
		{
			Name: "memory-doubled", Wrong: "The guest gets twice the memory, as if its image did not count.",
			CaughtBy: []string{"LIMIT-034"}, Seen: "a peak of",
			build: config(func(_ *Backend, cfg *spi.Config) { cfg.Limits.MemoryBytes *= 2 }),
		},
		{
			Name: "memory-doubled-and-denied", Wrong: "The guest gets twice the memory, and the usage never goes over the cap.",
			CaughtBy: []string{"LIMIT-048"}, Seen: "ended with the value",
			build: func() hooks {
				return hooks{
					config: func(_ *Backend, cfg *spi.Config) { cfg.Limits.MemoryBytes *= 2 },
					outcome: func(i *isolate, out *spi.Outcome) {
						out.Usage.MemoryPeakBytes = min(out.Usage.MemoryPeakBytes, i.asked.Limits.MemoryBytes)
					},
				}
			},
		},
		{
			Name: "memory-rounded-up", Wrong: "The memory cap is rounded up to the next MiB.",
			CaughtBy: []string{"LIMIT-034"}, Seen: "a peak of",
			build: config(func(_ *Backend, cfg *spi.Config) {
				const unit = 1 << 20
				cfg.Limits.MemoryBytes = (cfg.Limits.MemoryBytes/unit + 1) * unit
			}),
		},
		{
			Name: "memory-halved", Wrong: "The guest gets half the memory that it was given.",
			CaughtBy: []string{"LIMIT-049"}, Seen: "ended with memory",
			build: config(func(b *Backend, cfg *spi.Config) {
				cfg.Limits.MemoryBytes = max(cfg.Limits.MemoryBytes/2, b.good.Describe().MinMemoryBytes)
			}),
		},
		{
			Name: "memory-peak-over-cap", Wrong: "The usage says that the guest had more memory than its cap.",
			CaughtBy: []string{"LIMIT-054"}, Seen: "a peak of",
			build: outcome(func(i *isolate, out *spi.Outcome) { out.Usage.MemoryPeakBytes = i.asked.Limits.MemoryBytes + 1 }),
		},
		{
			Name: "memory-peak-constant", Wrong: "The usage says the same peak of memory for every script.",
			CaughtBy: []string{"LIMIT-049"}, Seen: "a peak of",
			build: outcome(func(_ *isolate, out *spi.Outcome) { out.Usage.MemoryPeakBytes = 1 << 20 }),
		},
		{
			Name: "memory-peak-zero", Wrong: "The usage never says how much memory there was.",
			CaughtBy: []string{"LIMIT-054"}, Seen: "a peak of 0",
			build: outcome(func(_ *isolate, out *spi.Outcome) { out.Usage.MemoryPeakBytes = 0 }),
		},
		{
			Name: "memory-cap-clamped", Wrong: "A memory cap above the descriptor's largest is accepted and lowered.",
			CaughtBy: []string{"LIMIT-053"}, Seen: "accepted a memory cap",
			build: config(func(b *Backend, cfg *spi.Config) {
				cfg.Limits.MemoryBytes = min(cfg.Limits.MemoryBytes, b.good.Describe().MaxMemoryBytes)
			}),
		},
		{
			Name: "memory-cap-raised", Wrong: "A memory cap below the descriptor's smallest is accepted and raised.",
			CaughtBy: []string{"LIMIT-053"}, Seen: "accepted a memory cap",
			build: config(func(b *Backend, cfg *spi.Config) {
				cfg.Limits.MemoryBytes = max(cfg.Limits.MemoryBytes, b.good.Describe().MinMemoryBytes)
			}),
		},
		{
			Name: "memory-not-given-back", Wrong: "Each isolate has some MiB less than the one before.",
			CaughtBy: []string{"LIMIT-050"}, Seen: "ended with memory",
			build: config(func(b *Backend, cfg *spi.Config) {
				lost := b.opened.Load() * 4 << 20
				cfg.Limits.MemoryBytes = max(cfg.Limits.MemoryBytes-lost, min(cfg.Limits.MemoryBytes, b.good.Describe().MinMemoryBytes))
			}),
		},
	}
}

func allMemory(b *Backend, cfg *spi.Config) {
	cfg.Limits.MemoryBytes = b.good.Describe().MaxMemoryBytes
}
