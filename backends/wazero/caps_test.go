package wazero

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

func TestACapNeedsNoWholePages(t *testing.T) {
	t.Parallel()
	for _, bytes := range []int64{shared.Describe().MinMemoryBytes, 5_000_000, 64<<20 - 1, 64<<20 + 1, 100_000_000, MaxMemoryBytes - 1, MaxMemoryBytes} {
		for range 2 { // a new isolate, then perhaps one that is kept
			cfg := testConfig()
			cfg.Limits.MemoryBytes = bytes
			requireValue(t, run(t, shared, cfg, "1 + 1"), "2")
		}
		p, err := shared.Prepare(t.Context(), &spi.Limits{Timeout: testConfig().Limits.Timeout, MemoryBytes: bytes, OutputBytes: 1}, "1 + 1", spi.JavaScript)
		require.NoError(t, err, bytes)
		require.NoError(t, p.Close())
	}
}
