package integration

import (
	"context"
	_ "embed"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/sandbox"
)

// probeScript looks at everything that a script can reach, and at the clock, the
// timers, the random numbers and the console.
//
//go:embed testdata/probe.js
var probeScript string

// probe says whether an eval is as pristine as the first one of its process.
type probe struct{ pristine string }

// newProbe takes the measure of an isolate that nobody used before.
func newProbe(t require.TestingT, sb *sandbox.Sandbox) *probe {
	p := &probe{}
	o := p.run(t, sb)
	require.Equal(t, []string{"probe"}, logTexts(o))
	var err error
	p.pristine, err = o.bytes()
	require.NoError(t, err)
	return p
}

func (p *probe) run(t require.TestingT, sb *sandbox.Sandbox) *observed {
	o, err := observe(context.Background(), sb, &sandbox.Request{
		Script: probeScript, Seed: "probe", Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Limits: sandbox.Limits{Timeout: 20 * time.Second},
	})
	require.NoError(t, err)
	require.Nil(t, o.Error, "the probe itself must run")
	return o
}

// check runs the probe and compares bytes: value, logs, fuel and memory.
func (p *probe) check(t require.TestingT, sb *sandbox.Sandbox) {
	got, err := p.run(t, sb).bytes()
	require.NoError(t, err)
	assert.Equal(t, p.pristine, got, "an eval is not what it would be in a fresh process")
}

func logTexts(o *observed) []string {
	texts := []string{}
	for _, l := range o.Logs {
		texts = append(texts, l.Text)
	}
	return texts
}
