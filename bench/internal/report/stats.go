package report

import (
	"math"
	"slices"
)

// Stats of samples, in the samples' unit.
type Stats struct {
	P10, P50, P90, P99 float64
	N                  int
}

// StatsOf describes samples, which stay as they are; nothing gives zeros.
func StatsOf(samples []float64) Stats {
	sorted := slices.Sorted(slices.Values(samples))
	return Stats{
		P10: percentile(sorted, 0.10), P50: percentile(sorted, 0.50),
		P90: percentile(sorted, 0.90), P99: percentile(sorted, 0.99), N: len(sorted),
	}
}

// percentile interpolates between the two nearest of sorted samples.
func percentile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := p * float64(len(sorted)-1)
	low := int(math.Floor(at))
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}
