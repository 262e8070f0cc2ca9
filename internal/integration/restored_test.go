package integration

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

// Trials end early here: what they leave behind is what matters.
const (
	restoredFuel = 500_000
	// A whole probe takes longer than most trials.
	probeEvery = 5
)

// TestEveryScriptLeavesAnIsolateAsItWas runs the scripts of this package in very
// few isolates, one after the other. Each time the backend compares all of the
// memory and the globals with what an isolate starts with, and a probe is held to
// what it gives in the first isolate of a backend that nobody used.
func TestEveryScriptLeavesAnIsolateAsItWas(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, engine string) {
		look := newTrial("probe", probeScript)
		look = look.onlyFuelEnds(verdictFuel)
		fresh := pooled{IdleIsolates: -1}.open(t, engine)
		want, err := judge(fresh, &look)
		require.NoError(t, err)
		require.Nil(t, want.Outcomes[0].Error, "the probe itself must run")

		b := &closeWatch{Backend: pooled{IdleIsolates: 2, CheckRestored: true}.open(t, engine)}
		kinds := map[spi.Kind]int{}
		n := 0
		for _, g := range []trialGroup{{"cases", 0, caseTrials}, {"rows", 0, rowTrials}, {"limits", 0, limitTrials}} {
			for _, tr := range g.sorted(t) {
				tr := tr.onlyFuelEnds(restoredFuel)
				v, err := judge(b, &tr)
				require.NoError(t, err, "%s", &tr)
				require.NoError(t, b.err, "%s", &tr)
				for i := range v.Outcomes {
					kinds[kindOf(&v.Outcomes[i])]++
				}
				if n++; n%probeEvery != 0 {
					continue
				}
				got, err := judge(b, &look)
				require.NoError(t, err)
				require.NoError(t, b.err)
				require.Empty(t, difference(want, got), "a probe in the isolate of\n%s", &tr)
			}
		}
		require.Greater(t, b.closed, 500)
		for _, kind := range []spi.Kind{
			"", spi.KindSyntax, spi.KindException, spi.KindFuel, spi.KindMemory, spi.KindStackOverflow,
			spi.KindOutputTooLarge, spi.KindUnserializable, spi.KindDeadlock,
		} {
			require.Positive(t, kinds[kind], "no script ended with kind %q", kind)
		}
	})
}
