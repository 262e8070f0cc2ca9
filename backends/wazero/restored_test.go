package wazero

import (
	"testing"

	wz "github.com/tetratelabs/wazero"

	"github.com/loom-sandbox/sandboxd/backends/internal/enginetest"
)

func TestIsolatesAreUsedAgainAndNobodyCanTell(t *testing.T) {
	t.Parallel()
	enginetest.TestRestored(t, engine{wz.NewRuntimeConfig()}, Describe())
}
