package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
)

// trialGroup is a source of trials and how much fuel each gets.
type trialGroup struct {
	name   string
	fuel   int64
	trials func(t *testing.T) []trial
}

// sorted are the trials in an order that no map decides.
func (g *trialGroup) sorted(t *testing.T) []trial {
	t.Helper()
	trials := g.trials(t)
	require.NotEmpty(t, trials)
	slices.SortStableFunc(trials, func(a, b trial) int { return strings.Compare(a.name, b.name) })
	return trials
}

// verdictFuel ends what would not end by itself, after some tenths of a second.
const verdictFuel = 16_000_000

// verdictTable is every script of this repository's tests that can be had here,
// and generated ones.
func verdictTable() []trialGroup {
	return []trialGroup{
		{"cases", verdictFuel * 2, caseTrials},
		{"rows", verdictFuel, rowTrials},
		{"limits", verdictFuel, limitTrials},
		{"prelude", verdictFuel, preludeTrials},
		{"conformance", verdictFuel / 4, conformanceTrials},
		{"sweeps", verdictFuel, sweepTrials},
		{"deep", verdictFuel, deepTrials},
		{"reentry", verdictFuel, reentryTrials},
		{"generated", verdictFuel / 4, generatedTrials},
	}
}

// caseTrials are the case files, and what follows a case as a trial of its own.
func caseTrials(t *testing.T) []trial {
	t.Helper()
	cases, err := loadCases()
	require.NoError(t, err)
	var trials []trial
	for _, c := range cases {
		trials = append(trials, throughSandbox(t, c.name, sandbox.Request{Script: c.source(), Limits: c.limits()})...)
		for _, next := range c.Followup {
			trials = append(trials, throughSandbox(t, c.name+" followup", sandbox.Request{Script: next.Script, Limits: c.limits()})...)
		}
	}
	return trials
}

// rowTrials are the tables of this package's tests.
func rowTrials(t *testing.T) []trial {
	t.Helper()
	var trials []trial
	for _, r := range slices.Concat(resultRows(), logRows(), formRows(), placeRows(), tamperRows(), thrownRows(), endlessRows(), timerRows()) {
		limits := r.limits
		limits.Timeout = 0
		trials = append(trials, throughSandbox(t, r.name, sandbox.Request{Script: r.script, Input: json.RawMessage(r.input), Limits: limits})...)
	}
	for name, script := range hostileScripts() {
		trials = append(trials, throughSandbox(t, "hostile "+name, sandbox.Request{Script: script})...)
	}
	for name, script := range canaryScripts() {
		trials = append(trials, throughSandbox(t, "canary "+name, sandbox.Request{Script: script})...)
	}
	for i, s := range soakScripts() {
		limits := s.limits
		limits.Timeout = 0
		trials = append(trials, throughSandbox(t, fmt.Sprintf("soak %d", i+1), sandbox.Request{Script: s.script, Input: []byte("7"), Limits: limits})...)
	}
	return append(trials, throughSandbox(t, "probe", sandbox.Request{Script: probeScript})...)
}

// limitTrials end at a limit, or just before it.
func limitTrials(t *testing.T) []trial {
	t.Helper()
	var trials []trial
	add := func(name, script string, limits sandbox.Limits) {
		trials = append(trials, throughSandbox(t, name, sandbox.Request{Script: script, Input: []byte("[3,1,2]"), Limits: limits})...)
	}
	for name, script := range workScripts() {
		add("work "+name, script, sandbox.Limits{})
		// Wherever that is, and around the end of a slice.
		for _, fuel := range []int64{1, 1_000, 19_999, 20_000, 20_001, 40_000, 123_456, 1_234_567} {
			add("work "+name+" fuel", script, sandbox.Limits{Fuel: fuel})
		}
	}
	for name, script := range outputScripts() {
		for _, size := range []int64{1, 4, 100, 999, 1000} {
			add("output "+name, script, sandbox.Limits{OutputBytes: size})
		}
	}
	for name, cut := range logCuts() {
		add("logs "+name, cut.script, sandbox.Limits{LogBytes: cut.limit})
	}
	for name, script := range memoryScripts() {
		for _, size := range []int64{4 << 20, 6<<20 + 1, 20 << 20, 24 << 20} {
			add("memory "+name, script, sandbox.Limits{MemoryBytes: size})
		}
	}
	for name, bytes := range map[string]int64{"too small": 1, "too large": 1 << 40, "a byte too few": 4<<20 - 1} {
		tr := newTrial("memory "+name, "1")
		tr.config.Limits.MemoryBytes = bytes
		trials = append(trials, tr)
	}
	return trials
}

// preludeDir has the scripts that test what surrounds a script.
const preludeDir = "../../backends/internal/quickjs/testdata"

func preludeTrials(t *testing.T) []trial {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(preludeDir, "web", "*.js"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var trials []trial
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		trials = append(trials, newTrial(filepath.Base(file), string(source)))
	}
	text, err := os.ReadFile(filepath.Join(preludeDir, "console.json"))
	require.NoError(t, err)
	var lines []struct{ Script string }
	require.NoError(t, json.Unmarshal(text, &lines))
	require.NotEmpty(t, lines)
	// All in one isolate as well: what one leaves behind the next one meets.
	all := newTrial("console, one after the other", "0")
	for i, l := range lines {
		tr := newTrial(fmt.Sprintf("console %d", i+1), l.Script)
		trials = append(trials, tr)
		all.requests = append(all.requests, tr.requests...)
	}
	return append(trials, all)
}

// generatedTrials have fixed seeds. Some must do with little memory.
func generatedTrials(t *testing.T) []trial {
	t.Helper()
	trials := make([]trial, 400)
	for i := range trials {
		trials[i] = fuzzTrial(seededDecisions(uint64(i)))
		trials[i].name = fmt.Sprintf("seed %d", i)
	}
	return trials
}

// sourceTrial is a script of the user's in small memory.
func sourceTrial(name, source string, memoryBytes int64) trial {
	tr := newTrial(name, source)
	tr.config.Limits = spi.Limits{MemoryBytes: memoryBytes, OutputBytes: 256 << 10, LogBytes: 16 << 10}
	return tr
}
