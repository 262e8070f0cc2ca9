package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPercentilesLieBetweenTheNearestSamples(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		samples []float64
		want    Stats
	}{
		"nothing":         {nil, Stats{}},
		"one":             {[]float64{7}, Stats{P10: 7, P50: 7, P90: 7, P99: 7, N: 1}},
		"two":             {[]float64{20, 10}, Stats{P10: 11, P50: 15, P90: 19, P99: 19.9, N: 2}},
		"odd, not sorted": {[]float64{5, 1, 4, 2, 3}, Stats{P10: 1.4, P50: 3, P90: 4.6, P99: 4.96, N: 5}},
		"an outlier":      {[]float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1000}, Stats{P10: 1, P50: 1, P90: 1, P99: 900.1, N: 11}},
	} {
		got := StatsOf(c.samples)
		assert.InDelta(t, c.want.P10, got.P10, 1e-9, name)
		assert.InDelta(t, c.want.P50, got.P50, 1e-9, name)
		assert.InDelta(t, c.want.P90, got.P90, 1e-9, name)
		assert.InDelta(t, c.want.P99, got.P99, 1e-9, name)
		assert.Equal(t, c.want.N, got.N, name)
	}
}

func TestSamplesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	samples := []float64{3, 1, 2}
	StatsOf(samples)
	assert.Equal(t, []float64{3, 1, 2}, samples)
}
