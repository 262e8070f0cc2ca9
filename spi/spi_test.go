package spi

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestKindsAreFrozen: the spelling and the order are stored in logs and metrics
// and compared by clients. Do not change this list to make the test pass; a new
// kind goes at its end.
func TestKindsAreFrozen(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []Kind{
		"syntax", "exception", "timeout", "fuel", "memory", "stack_overflow", "output_too_large",
		"input_too_large", "unserializable", "deadlock", "denied", "cancelled", "killed", "backend",
	}, Kinds())
}

func TestConfigIsCheckedAsAWhole(t *testing.T) {
	t.Parallel()
	good := Config{Limits: Limits{Timeout: time.Second, MemoryBytes: 1, OutputBytes: 1}}
	require.NoError(t, good.Validate())
	bad := Config{Limits: Limits{Timeout: -1, MemoryBytes: 0, OutputBytes: -5, Fuel: -1, LogBytes: -1}}
	err := bad.Validate()
	for _, name := range []LimitName{LimitTimeout, LimitMemory, LimitOutput, LimitFuel, LimitLogs} {
		assert.ErrorContains(t, err, string(name))
	}
}

func TestDescriptorAnswersForItsLists(t *testing.T) {
	t.Parallel()
	d := Descriptor{Languages: []Language{JavaScript}, Enforces: []Enforcement{{Limit: LimitFuel, Exact: true}}}
	assert.True(t, d.Speaks(JavaScript))
	assert.False(t, d.Speaks("ts"))
	e, ok := d.EnforcementOf(LimitFuel)
	assert.True(t, ok && e.Exact)
	_, ok = d.EnforcementOf(LimitMemory)
	assert.False(t, ok)
}
