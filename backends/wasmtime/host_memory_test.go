//go:build cgo && linux && amd64

package wasmtime

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

// TestCallsLeaveNothingForTheCollector: a script that awaits calls the guest
// twice for each turn. It is not parallel, since the collector is off.
func TestCallsLeaveNothingForTheCollector(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	b := open(t)
	defer b.Close()
	eval := func(turns int) {
		iso, err := b.Open(t.Context(), &spi.Config{
			Limits: spi.Limits{Timeout: time.Minute, MemoryBytes: 16 << 20, OutputBytes: 1 << 20}, Now: time.Unix(1_700_000_000, 0),
		})
		require.NoError(t, err)
		out, err := iso.Eval(t.Context(), &spi.Request{
			Source: "for (let i = 0; i < input; i++) await 0; 1", Language: spi.JavaScript, Input: json.RawMessage(fmt.Sprint(turns)),
		})
		require.NoError(t, err)
		require.Nil(t, out.Error)
		require.NoError(t, iso.Close())
	}
	eval(1000)
	before := residentBytes(t)
	eval(200_000)
	// Go's own garbage is part of it. One C object for each call was 300 MiB.
	require.Less(t, residentBytes(t)-before, int64(100<<20))
}

func residentBytes(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	var size, resident int64
	_, err = fmt.Sscan(string(text), &size, &resident)
	require.NoError(t, err)
	return resident * int64(os.Getpagesize())
}
