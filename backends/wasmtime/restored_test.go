//go:build cgo && linux && amd64

package wasmtime

import (
	"testing"

	"github.com/loom-sandbox/sandboxd/backends/internal/enginetest"
)

func TestIsolatesAreUsedAgainAndNobodyCanTell(t *testing.T) {
	t.Parallel()
	if reason := Unavailable(); reason != "" {
		t.Skip(reason)
	}
	enginetest.TestRestored(t, engine{}, Describe())
}
