package integration

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
)

// grace is how much later than its time limit an eval may return.
const grace = 100 * time.Millisecond

// attempts is how often a case may run until it is in time. A late one on a busy
// machine says nothing; one that is late every time does.
const attempts = 3

// alsoHere are outcomes beyond those of the case files that are right for this
// project, by case.
func alsoHere() map[string]expectation {
	return map[string]expectation{
		// Waiting for what nothing can settle is reported at once, before anybody
		// cancels it, and has a kind of its own.
		"cancel-02-idle": {ErrorKind: oneOrMore{spi.KindDeadlock}},
	}
}

// TestCases runs one case after the other: they measure time.
func TestCases(t *testing.T) {
	cases, err := loadCases()
	require.NoError(t, err)
	require.Len(t, cases, 73)
	sb := newSandbox(t, nil)
	pristine := newProbe(t, sb)
	for _, c := range cases {
		if also, ok := alsoHere()[c.name]; ok {
			c.Expect.AlsoOK = append(c.Expect.AlsoOK, also)
		}
		t.Run(c.name, func(t *testing.T) {
			first := runCase(t, sb, c)
			for _, next := range c.Followup {
				o, err := observe(context.Background(), sb, &sandbox.Request{Script: next.Script, Limits: c.limits()})
				require.NoError(t, err)
				require.Empty(t, next.Expect.mismatch(o), "the eval that follows\n%s", next.Script)
				if c.ID == "num-03-random-seed" {
					require.NotEqual(t, string(first.Value), string(o.Value), "two evals without a seed draw the same numbers")
				}
			}
			pristine.check(t, sb)
		})
	}
}

// runCase demands what the case says and what every case demands.
func runCase(t *testing.T, sb *sandbox.Sandbox, c *scriptCase) *observed {
	for attempt := 1; ; attempt++ {
		o, err := evalCase(sb, c)
		require.NoError(t, err)
		require.LessOrEqual(t, o.Usage.MemoryPeakBytes, c.memoryCap(), "memory cap")
		late := o.late(c.endsBy())
		mismatch := c.Expect.mismatch(o)
		if slow := mismatch != "" && o.Error != nil && o.Error.Kind == spi.KindTimeout; late <= grace && !slow {
			require.Empty(t, mismatch, "%s\n%s", c.Report, clip(c.source()))
			return o
		}
		require.Less(t, attempt, attempts, "every time too slow for its limit or more than %s after it, last by %s: %s", grace, late, mismatch)
		t.Logf("attempt %d ended %s after its limit, %s; once more", attempt, late, mismatch)
	}
}

// evalCase runs the case's script and takes away the time until it is cancelled.
func evalCase(sb *sandbox.Sandbox, c *scriptCase) (*observed, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if c.Limits.CancelAfterMs > 0 {
		defer time.AfterFunc(c.cancelAfter(), cancel).Stop()
	}
	return observe(ctx, sb, &sandbox.Request{Script: c.source(), Limits: c.limits()})
}

func TestACaseThatIsNotMetIsNoticed(t *testing.T) {
	t.Parallel()
	value := &observed{Value: []byte(`{"a":[1]}`), ValueType: spi.TypeObject, Logs: []spi.LogLine{{Text: "one"}, {Text: "two"}}}
	thrown := &observed{Error: &observedError{Kind: spi.KindException, Name: "TypeError", Message: "x is y"}}
	for name, c := range map[string]struct {
		expect expectation
		got    *observed
		met    bool
	}{
		"any value":               {expectation{OK: true}, value, true},
		"value":                   {expectation{OK: true, Value: []byte(`{"a": [1.0]}`)}, value, true},
		"another value":           {expectation{OK: true, Value: []byte(`{"a": [2]}`)}, value, false},
		"type":                    {expectation{OK: true, ValueType: spi.TypeObject}, value, true},
		"another type":            {expectation{OK: true, ValueType: spi.TypeArray}, value, false},
		"logs":                    {expectation{OK: true, LogsContain: []string{"one", "two"}}, value, true},
		"a log is missing":        {expectation{OK: true, LogsContain: []string{"three"}}, value, false},
		"error for a value":       {expectation{OK: true}, thrown, false},
		"value for an error":      {expectation{}, value, false},
		"any error":               {expectation{}, thrown, true},
		"kind":                    {expectation{ErrorKind: oneOrMore{spi.KindTimeout, spi.KindException}}, thrown, true},
		"another kind":            {expectation{ErrorKind: oneOrMore{spi.KindTimeout}}, thrown, false},
		"name":                    {expectation{Name: "TypeError"}, thrown, true},
		"another name":            {expectation{Name: "Error"}, thrown, false},
		"message":                 {expectation{MessageContains: "is"}, thrown, true},
		"another message":         {expectation{MessageContains: "was"}, thrown, false},
		"second choice":           {expectation{OK: true, AlsoOK: []expectation{{Name: "TypeError"}}}, thrown, true},
		"no choice":               {expectation{OK: true, AlsoOK: []expectation{{Name: "Error"}}}, thrown, false},
		"logs of an error, too":   {expectation{LogsContain: []string{"one"}}, thrown, false},
		"kind of a value is idle": {expectation{OK: true, ErrorKind: oneOrMore{spi.KindSyntax}}, value, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.met, c.expect.mismatch(c.got) == "", c.expect.mismatch(c.got))
		})
	}
}
