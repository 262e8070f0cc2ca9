package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

func TestAHarnessIsRefusedWithAllReasons(t *testing.T) {
	t.Parallel()
	usable := func(context.Context) (spi.Backend, error) { return &fakeBackend{}, nil }
	for name, c := range map[string]struct {
		harness Harness
		wanted  []string // nil where it is accepted
	}{
		"smallest":       {Harness{New: usable}, nil},
		"slow":           {Harness{New: usable, Slow: 20}, nil},
		"a known SHOULD": {Harness{New: usable, Known: map[string]string{anID(t, SHOULD): "a reason"}}, nil},
		"no New":         {Harness{}, []string{"New is required"}},
		"faster":         {Harness{New: usable, Slow: 0.5}, []string{"Slow is 0.5; allowed is 0 or 1 to 1000"}},
		"negative":       {Harness{New: usable, Slow: -1}, []string{"Slow is -1"}},
		"not a number":   {Harness{New: usable, Slow: math.NaN()}, []string{"Slow is NaN"}},
		"for ever":       {Harness{New: usable, Slow: math.Inf(1)}, []string{"Slow is +Inf"}},
		"a known MUST":   {Harness{New: usable, Known: map[string]string{anID(t, MUST): "a reason"}}, []string{"Known names " + anID(t, MUST) + ", a MUST"}},
		"no such check":  {Harness{New: usable, Known: map[string]string{"NONE-001": "a reason"}}, []string{`Known names "NONE-001", and there is no such check`}},
		"no reason":      {Harness{New: usable, Known: map[string]string{anID(t, SHOULD): " \n"}}, []string{"Known names " + anID(t, SHOULD) + " without a reason"}},
		"all of it at once": {
			Harness{Slow: 0.1, Known: map[string]string{"NONE-001": "x", anID(t, SHOULD): ""}},
			[]string{"New is required", "Slow is 0.1", "NONE-001", "without a reason"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := NewRunner(t.Context(), &c.harness)
			if c.wanted == nil {
				require.NoError(t, err)
				r.Close()
				return
			}
			require.ErrorIs(t, err, ErrHarness)
			for _, w := range c.wanted {
				assert.ErrorContains(t, err, w)
			}
		})
	}
}

// anID is one that the suite has at this level.
func anID(t *testing.T, level Level) string {
	t.Helper()
	all := Checks()
	i := slices.IndexFunc(all, func(c Check) bool { return c.Level == level })
	require.GreaterOrEqual(t, i, 0)
	return all[i].ID
}

func TestSlownessMultipliesWhatIsAllowed(t *testing.T) {
	t.Parallel()
	r, err := NewRunner(t.Context(), &Harness{Slow: 5, New: (&factory{}).new})
	require.NoError(t, err)
	defer r.Close()
	hung := check(func(ctx context.Context, s *subject) error {
		if s.allow(time.Second) != 5*time.Second {
			return errors.New("the check's own times are not longer")
		}
		<-ctx.Done()
		return nil
	})
	hung.Watchdog = 4 * time.Millisecond
	require.Equal(t, "hung: no answer within 20ms", r.Run(t.Context(), hung).Detail)
}

func TestARunReportsEveryCheck(t *testing.T) {
	t.Parallel()
	var seen []string
	f := &factory{make: func() *fakeBackend { return &fakeBackend{open: func() error { return errors.New("not today") }} }}
	report, err := Run(t.Context(), &Harness{New: f.new, Progress: func(r Result) { seen = append(seen, r.ID) }})
	require.NoError(t, err)
	var ids []string
	for _, c := range Checks() {
		ids = append(ids, c.ID)
	}
	require.Equal(t, ids, seen)
	require.Len(t, report.Checks, len(ids))
	s := report.Summary
	require.Equal(t, len(ids), s.Pass+s.Fail+s.Known+s.NotApplicable+s.Error)
	require.Positive(t, s.Pass, "the descriptor is sound")
	require.Positive(t, s.Fail)
	require.Positive(t, s.NotApplicable)
	require.False(t, report.OK())
	for _, b := range f.made {
		require.Positive(t, b.closed.Load(), "every backend is closed")
	}
}

func TestARunThatIsEndedReportsEveryCheckToo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := 0
	f := &factory{}
	report, err := Run(ctx, &Harness{New: f.new, Progress: func(Result) {
		if done++; done == 3 {
			cancel()
		}
	}})
	require.NoError(t, err)
	require.Equal(t, len(Checks())-3, report.Summary.Error)
	require.False(t, report.OK())
	require.Len(t, f.made, 1)
}

func TestARunSaysWhyItDidNotStart(t *testing.T) {
	t.Parallel()
	report, err := Run(t.Context(), &Harness{})
	require.ErrorIs(t, err, ErrHarness)
	require.Nil(t, report)
}

// TestTheReportAsJSON: its names are compared by programs. Do not change this
// test to make it pass; new names may be added.
func TestTheReportAsJSON(t *testing.T) {
	t.Parallel()
	report := Report{Backend: "fake", Descriptor: fakeDescriptor()}
	for _, o := range []Outcome{Pass, Fail, Known, NotApplicable, Error, Pass} {
		report.add(Result{ID: "FAKE-001", Level: MUST, Rule: "A rule.", Outcome: o, Detail: "why", Ms: 1.5})
	}
	text, err := json.Marshal(&report)
	require.NoError(t, err)
	var got struct {
		whole, summary, check map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(text, &got.whole))
	require.NoError(t, json.Unmarshal(got.whole["summary"], &got.summary))
	var checks []json.RawMessage
	require.NoError(t, json.Unmarshal(got.whole["checks"], &checks))
	require.Len(t, checks, 6)
	require.NoError(t, json.Unmarshal(checks[2], &got.check))
	names := func(m map[string]json.RawMessage) []string { return slices.Sorted(maps.Keys(m)) }
	assert.Equal(t, []string{"backend", "checks", "descriptor", "summary"}, names(got.whole))
	assert.Equal(t, []string{"error", "fail", "known", "notApplicable", "pass"}, names(got.summary))
	assert.Equal(t, []string{"detail", "id", "level", "ms", "outcome", "rule"}, names(got.check))
	assert.JSONEq(t, `{"pass":2,"fail":1,"known":1,"notApplicable":1,"error":1}`, string(got.whole["summary"]))
	assert.JSONEq(t, `{"id":"FAKE-001","level":"MUST","rule":"A rule.","outcome":"known","detail":"why","ms":1.5}`, string(checks[2]))

	var back Report
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Equal(t, report, back)
}

func TestAReportIsGoodWhenNothingFailedAndAllIsKnown(t *testing.T) {
	t.Parallel()
	for o, good := range map[Outcome]bool{Pass: true, Known: true, NotApplicable: true, Fail: false, Error: false, "other": false} {
		r := Report{}
		r.add(Result{Outcome: o})
		assert.Equal(t, good, r.OK(), o)
	}
}

func TestShouldLeavesOutWhatAHarnessRefusesAsKnown(t *testing.T) {
	t.Parallel()
	should, must := anID(t, SHOULD), anID(t, MUST)
	known := map[string]string{should: "a reason", must: "another", "NONE-001": "a third"}
	assert.Equal(t, map[string]string{should: "a reason"}, Should(known))
	assert.Len(t, known, 3, "the caller's map is left as it was")
	assert.Empty(t, Should(nil))
}
