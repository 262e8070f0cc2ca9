package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/loom-sandbox/sandboxd/bench/internal/report"
	"github.com/loom-sandbox/sandboxd/bench/internal/subject"
)

// patience bounds one turn of one subject.
const patience = 2 * time.Minute

// Run measures all rows of all subjects. Progress goes to progress. Subjects
// that fail are in the report; an error is only ctx's.
func Run(ctx context.Context, rows []Row, subjects []subject.Subject, plan Plan, progress io.Writer) (*report.Report, error) {
	out := &report.Report{}
	begin := time.Now()
	open, missing := start(ctx, subjects, progress)
	defer func() {
		for _, s := range open {
			if err := s.engine.Close(); err != nil {
				fmt.Fprintf(progress, "%s: close: %v\n", s.Name, err)
			}
		}
	}()
	out.Missing = missing
	for i, row := range rows {
		fmt.Fprintf(progress, "%s (%d of %d, %.0f s)\n", row.Name, i+1, len(rows), time.Since(begin).Seconds())
		out.Rows = append(out.Rows, measure(ctx, row, open, plan)...)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	relate(out)
	out.FillRatios()
	return out, nil
}

// start opens all subjects at once: those that compile take seconds.
func start(ctx context.Context, subjects []subject.Subject, progress io.Writer) ([]*running, []report.Missing) {
	fmt.Fprintf(progress, "starting %d subjects\n", len(subjects))
	engines, errs := make([]subject.Engine, len(subjects)), make([]error, len(subjects))
	var wg sync.WaitGroup
	for i, s := range subjects {
		if s.Missing == "" {
			wg.Go(func() { engines[i], errs[i] = s.Open(ctx) })
		}
	}
	wg.Wait()
	var open []*running
	var missing []report.Missing
	for i, s := range subjects {
		switch {
		case s.Missing != "":
			missing = append(missing, report.Missing{Subject: s.Name, Reason: s.Missing})
		case errs[i] != nil:
			missing = append(missing, report.Missing{Subject: s.Name, Reason: "does not start: " + oneLine(errs[i].Error())})
		default:
			open = append(open, &running{s, engines[i]})
		}
	}
	return open, missing
}

// turn is where one subject stands in a row.
type turn struct {
	warmth
	spent   time.Duration
	values  []float64
	elapsed time.Duration
	failed  error
}

// measure lets the subjects of a row take turns, with another one first in each
// round.
func measure(ctx context.Context, row Row, subjects []*running, plan Plan) []report.Cell {
	turns := make([]turn, len(subjects))
	for i, s := range subjects {
		t := &turns[i]
		bounded(ctx, func(ctx context.Context) { t.warmth, t.failed = row.warm(ctx, s) })
		if t.failed == nil && t.first != 0 && t.one > plan.Slow {
			t.values, t.spent = microseconds([]time.Duration{t.first}), t.one
		}
	}
	for round := range row.rounds(plan) {
		for k := range subjects {
			i := (k + round) % len(subjects)
			t := &turns[i]
			if t.failed != nil || t.spent > plan.Slow || ctx.Err() != nil {
				continue
			}
			begin, had := time.Now(), len(t.values)
			bounded(ctx, func(ctx context.Context) {
				got, err := row.sample(ctx, subjects[i], plan, t.one)
				t.values, t.elapsed, t.failed = append(t.values, got.values...), t.elapsed+got.elapsed, err
			})
			took := time.Since(begin)
			t.spent += took
			if n := len(t.values) - had; n > 0 { // what warmed up in a bad moment gets its samples later
				t.one = min(t.one, took/time.Duration(n))
			}
		}
	}
	cells := make([]report.Cell, len(subjects))
	for i, s := range subjects {
		cells[i] = turns[i].cell(row, s)
	}
	return cells
}

func bounded(ctx context.Context, f func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	f(ctx)
}

func (t *turn) cell(row Row, s *running) report.Cell {
	c := report.Cell{Row: row.Name, Subject: s.Name, Unit: row.Unit, Limits: s.Limits, Isolation: s.Isolation}
	if t.failed == nil && len(t.values) == 0 {
		t.failed = errors.New("gave no samples")
	}
	if t.failed != nil {
		c.Reason = oneLine(t.failed.Error())
		return c
	}
	stats := report.StatsOf(t.values)
	if row.Unit == report.UnitTime && stats.P50 <= 0 { // a difference can be
		c.Reason = "the difference was lost in the noise"
		return c
	}
	c.N = stats.N
	switch row.Unit {
	case report.UnitBytes:
		c.Bytes = stats.P50
	case report.UnitRate:
		c.PerSecond = float64(stats.N) / t.elapsed.Seconds()
		fallthrough
	default:
		c.P10, c.P50, c.P90, c.P99 = stats.P10, stats.P50, stats.P90, stats.P99
	}
	return c
}

// relate says on json-io how often what JSON costs inside fits into it.
func relate(r *report.Report) {
	inside := map[string]float64{}
	for _, c := range r.Rows {
		if c.Row == rowJSONInside && c.Reason == "" {
			inside[c.Subject] = c.P50
		}
	}
	for i := range r.Rows {
		c := &r.Rows[i]
		if c.Row == rowJSONIO && c.Reason == "" && inside[c.Subject] > 0 {
			c.Note = fmt.Sprintf("%s: %.1f times what JSON.parse and JSON.stringify of the same text cost inside the script", c.Subject, c.P50/inside[c.Subject])
		}
	}
}

// oneLine is an error for a footnote.
func oneLine(text string) string {
	out := make([]rune, 0, len(text))
	for _, r := range text {
		if r < ' ' {
			r = ' '
		}
		out = append(out, r)
	}
	if len(out) > 200 {
		out = append(out[:200], '…')
	}
	return string(out)
}
