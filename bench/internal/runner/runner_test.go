package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/bench/internal/report"
	"github.com/loom-sandbox/sandboxd/bench/internal/subject"
	"github.com/loom-sandbox/sandboxd/bench/internal/work"
)

// TestMain is also the child that the rows start and memory ask for.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		if err := subject.Child(context.Background(), os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// tiny is a plan of one sample each.
func tiny() Plan {
	return Plan{Rounds: 1, Budget: time.Nanosecond, Slow: time.Minute, FlowBudget: time.Nanosecond, Starts: 1, MemoryRounds: 1, Instances: 2}
}

func TestEverySubjectGivesTheRightAnswerInEveryRow(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	rows := Rows(work.TinySizes())
	for _, s := range subject.All(subject.Env{CacheDir: t.TempDir(), NodeDir: "../../node", Self: self}) {
		t.Run(s.Name, func(t *testing.T) {
			if s.Missing != "" {
				t.Skipf("%s cannot run here: %s", s.Name, s.Missing)
			}
			r, err := Run(t.Context(), rows, []subject.Subject{s}, tiny(), io.Discard)
			require.NoError(t, err)
			require.Empty(t, r.Missing)
			require.Len(t, r.Rows, len(rows))
			for _, c := range r.Rows {
				if s.Name == "npm-run" && (c.Row == "logs-100" || c.Row == "memory") {
					assert.NotEmpty(t, c.Reason, c.Row)
					continue
				}
				if c.Row == rowJSONInside && c.Reason == "the difference was lost in the noise" {
					continue // at this size it may be
				}
				assert.Empty(t, c.Reason, c.Row)
				assert.Positive(t, c.N, c.Row)
			}
		})
	}
}

// fake answers as its function says.
type fake struct {
	eval func(job work.Job) (subject.Answer, error)
}

func (f fake) Eval(_ context.Context, job work.Job) (subject.Answer, error) { return f.eval(job) }
func (f fake) Close() error                                                 { return nil }
func (f fake) Hold(context.Context, work.Job) (func() error, error) {
	return nil, errors.New("fake: holds nothing")
}

func right(job work.Job) (subject.Answer, error) {
	return subject.Answer{Value: job.Want, Logs: job.Logs}, nil
}

func fakeSubject(name string, eval func(work.Job) (subject.Answer, error)) subject.Subject {
	return subject.Subject{Name: name, Limits: "none", Isolation: "none", Open: func(context.Context) (subject.Engine, error) {
		return subject.NewEngine(fake{eval}), nil
	}}
}

func TestAWrongAnswerHasNoTimeButAReason(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	subjects := []subject.Subject{
		fakeSubject(report.Baseline, right),
		fakeSubject("wrong value", func(work.Job) (subject.Answer, error) { return subject.Answer{Value: `{"a":3}`}, nil }),
		fakeSubject("lost log", func(j work.Job) (subject.Answer, error) { return subject.Answer{Value: j.Want, Logs: j.Logs + 1}, nil }),
		fakeSubject("fails", func(work.Job) (subject.Answer, error) { return subject.Answer{}, errors.New("out\nof order") }),
		fakeSubject("wrong later", func(j work.Job) (subject.Answer, error) {
			if calls.Add(1) > 2 { // no more than two check
				return subject.Answer{Value: "null"}, nil
			}
			return right(j)
		}),
	}
	plan := tiny()
	plan.Rounds = 3
	for _, row := range []Row{timed("small-eval", work.SmallEval()), concurrency(2, work.SmallEval())} {
		calls.Store(0)
		r, err := Run(t.Context(), []Row{row}, subjects, plan, io.Discard)
		require.NoError(t, err)
		require.Len(t, r.Rows, len(subjects))
		reasons := map[string]string{}
		for _, c := range r.Rows {
			reasons[c.Subject] = c.Reason
			assert.Equal(t, c.Reason == "", c.N > 0, c.Subject)
			assert.Equal(t, c.Reason == "", c.Ratio > 0, c.Subject)
		}
		assert.Empty(t, reasons[report.Baseline])
		assert.Equal(t, `wrong answer: {"a":3}`, reasons["wrong value"])
		assert.Equal(t, "the host saw 1 log lines", reasons["lost log"])
		assert.Equal(t, "out of order", reasons["fails"])
		assert.Contains(t, reasons["wrong later"], "wrong answer: null")
	}
}

func TestWhatCannotRunIsNamed(t *testing.T) {
	t.Parallel()
	missing := fakeSubject("missing", right)
	missing.Missing = "not installed"
	broken := subject.Subject{Name: "broken", Open: func(context.Context) (subject.Engine, error) { return nil, errors.New("no way") }}
	r, err := Run(t.Context(), []Row{timed("r", work.SmallEval())}, []subject.Subject{missing, broken}, tiny(), io.Discard)
	require.NoError(t, err)
	assert.Empty(t, r.Rows)
	assert.Equal(t, []report.Missing{{Subject: "missing", Reason: "not installed"}, {Subject: "broken", Reason: "does not start: no way"}}, r.Missing)
}

func TestSubjectsTakeTurns(t *testing.T) {
	t.Parallel()
	var order strings.Builder
	one := func(name string) subject.Subject {
		return fakeSubject(name, func(j work.Job) (subject.Answer, error) { order.WriteString(name); return right(j) })
	}
	plan := tiny()
	plan.Rounds = 3
	_, err := Run(t.Context(), []Row{timed("r", work.SmallEval())}, []subject.Subject{one("a"), one("b"), one("c")}, plan, io.Discard)
	require.NoError(t, err)
	got := order.String()
	require.Greater(t, len(got), 9)
	assert.Equal(t, "abc"+"bca"+"cab", got[len(got)-9:], "another one first in each round")
}

func TestALongEvalIsItsOnlySample(t *testing.T) {
	t.Parallel()
	calls := 0
	slow := fakeSubject("slow", func(j work.Job) (subject.Answer, error) {
		calls++
		time.Sleep(2 * long)
		return right(j)
	})
	plan := tiny()
	plan.Rounds, plan.Slow = 5, long
	r, err := Run(t.Context(), []Row{timed("r", work.SmallEval())}, []subject.Subject{slow}, plan, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, 1, calls)
	assert.Equal(t, 1, r.Rows[0].N)
	assert.GreaterOrEqual(t, r.Rows[0].P50, float64((2 * long).Microseconds()))
}

func TestADifferenceThatIsNoneHasNoTime(t *testing.T) {
	t.Parallel()
	backwards := fakeSubject("backwards", func(j work.Job) (subject.Answer, error) {
		if j.Want == "2" {
			time.Sleep(2 * long)
		}
		return right(j)
	})
	row := difference("r", work.Job{Want: "1"}, work.Job{Want: "2"})
	r, err := Run(t.Context(), []Row{row}, []subject.Subject{backwards}, tiny(), io.Discard)
	require.NoError(t, err)
	assert.Equal(t, "the difference was lost in the noise", r.Rows[0].Reason)
	assert.Zero(t, r.Rows[0].P50)
}

func TestARunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, []Row{timed("r", work.SmallEval())}, []subject.Subject{fakeSubject("a", right)}, tiny(), io.Discard)
	require.ErrorIs(t, err, context.Canceled)
}

func TestJSONInAndOutIsSetInRelationToWhatItCostsInside(t *testing.T) {
	t.Parallel()
	r := &report.Report{Rows: []report.Cell{
		{Row: rowJSONIO, Subject: "a", P50: 30}, {Row: rowJSONInside, Subject: "a", P50: 20},
		{Row: rowJSONIO, Subject: "b", P50: 30}, {Row: rowJSONInside, Subject: "b", Reason: "wrong"},
	}}
	relate(r)
	assert.Contains(t, r.Rows[0].Note, "a: 1.5 times")
	assert.Empty(t, r.Rows[2].Note)
}
