package integration

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loom-sandbox/sandboxd/backends/wazero"
)

// TestOneVerdict holds the second engine to the first, on everything that can be
// seen from outside and on every byte of the guest's memory. It is not parallel
// to other tests, which measure time.
func TestOneVerdict(t *testing.T) {
	second := openWasmtime(t)
	first := openWazero(t, wazero.Options{})
	for _, g := range verdictTable() {
		t.Run(g.name, func(t *testing.T) {
			for _, tr := range g.sorted(t) {
				tr := tr.onlyFuelEnds(g.fuel)
				t.Run(tr.name, func(t *testing.T) {
					t.Parallel()
					requireOneVerdict(t, first, second, &tr)
				})
			}
		})
	}
}

// TestBootingOnAnotherEngineGivesTheSameImage: the image of the one is not
// handed to the other, each boots the guest by itself.
func TestBootingOnAnotherEngineGivesTheSameImage(t *testing.T) {
	t.Parallel()
	second := openWasmtime(t)
	first := openWazero(t, wazero.Options{})
	assert.NotEmpty(t, first.Describe().Image)
	assert.Equal(t, first.Describe().Image, second.Describe().Image)
	assert.Equal(t, first.Describe().MinMemoryBytes, second.Describe().MinMemoryBytes)
}

// Interpreting is about forty times slower.
const (
	interpreterFuel   = 3_000_000
	interpreterTrials = 60
)

// deepScripts are kinds of scripts that nest calls by the thousand, by what they
// are called and by what is in them. wazero's interpreter has 2,000 frames, fewer
// than the image allows calls, and its descriptor says that these two limits are
// not exact.
const deepScripts = `(?i)recurs|stack|deep|nest|levels|calls|inside the engine|\bdive\b|repeat\(\d{3,}\)|= \[r\]`

// TestTheInterpreterGivesTheSameVerdict takes a part of the table, as much from
// each group.
func TestTheInterpreterGivesTheSameVerdict(t *testing.T) {
	compiled := openWazero(t, wazero.Options{})
	interpreter := openWazero(t, wazero.Options{Interpreter: true})
	deep := regexp.MustCompile(deepScripts)
	// Recording what the conformance checks run takes longer than it is worth for
	// the few that this test would take of them.
	table := slices.DeleteFunc(verdictTable(), func(g trialGroup) bool { return slices.Contains([]string{"conformance", "deep", "reentry"}, g.name) })
	for _, g := range table {
		t.Run(g.name, func(t *testing.T) {
			shallow := slices.DeleteFunc(g.sorted(t), func(tr trial) bool {
				return deep.MatchString(tr.name) || deep.MatchString(tr.requests[0].Source)
			})
			step := max(1, len(shallow)*len(table)/interpreterTrials)
			for i := 0; i < len(shallow); i += step {
				tr := shallow[i].onlyFuelEnds(interpreterFuel)
				t.Run(tr.name, func(t *testing.T) {
					t.Parallel()
					requireOneVerdict(t, compiled, interpreter, &tr)
				})
			}
		})
	}
}
