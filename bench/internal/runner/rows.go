package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/loom-sandbox/sandboxd/bench/internal/report"
	"github.com/loom-sandbox/sandboxd/bench/internal/subject"
	"github.com/loom-sandbox/sandboxd/bench/internal/work"
)

// Row is one thing that is measured of each subject.
type Row struct {
	Name, Unit string
	// rounds is how often sample is called for each subject.
	rounds func(Plan) int
	// warm checks the subject's answer before anything is timed.
	warm func(ctx context.Context, s *running) (warmth, error)
	// sample measures once more; one is that of warm.
	sample func(ctx context.Context, s *running, p Plan, one time.Duration) (sample, error)
}

// warmth is what warming up says.
type warmth struct {
	// one is how long one sample takes.
	one time.Duration
	// first can stand for a sample where more would take too long; 0 where it
	// is not what the row measures.
	first time.Duration
}

// sample is what one turn gave.
type sample struct {
	values  []float64 // microseconds, or bytes
	elapsed time.Duration
}

// running is a subject that has been opened.
type running struct {
	subject.Subject
	engine subject.Engine
}

// Rows returns the rows in the order of the table.
func Rows(sizes work.Sizes) []Row {
	rows := []Row{timed("small-eval", work.SmallEval())}
	for _, c := range work.CPUBound(sizes) {
		rows = append(rows, timed(c.Name, c.Job))
	}
	with, without := work.JSONInside(sizes.InputBytes)
	rows = append(rows,
		timed(rowJSONIO, work.JSONIO(sizes.InputBytes)),
		difference(rowJSONInside, with, without),
		timed("logs-100", work.Logs100()),
		startRow(), memoryRow(),
	)
	for _, kb := range sizes.ScriptKB {
		rows = append(rows, timed(fmt.Sprintf("script-size-%dk", kb), work.ScriptSize(kb)))
	}
	for _, callers := range sizes.Callers {
		rows = append(rows, concurrency(callers, work.SmallEval()))
	}
	return rows
}

// The two rows that are set in relation.
const (
	rowJSONIO     = "json-io"
	rowJSONInside = "json-inside"
)

func plain(p Plan) int { return p.Rounds }

// long is from where on a first eval says well enough how long others take.
const long = 50 * time.Millisecond

// once runs a job for the answer, and a short one again for the time.
func once(ctx context.Context, s *running, job work.Job) (time.Duration, error) {
	took, err := s.engine.Time(ctx, job, 1)
	if err == nil && took[0] < long {
		took, err = s.engine.Time(ctx, job, 1)
	}
	if err != nil {
		return 0, err
	}
	return took[0], nil
}

// answers warms up a row that measures something other than the job's time.
func answers(job work.Job) func(context.Context, *running) (warmth, error) {
	return func(ctx context.Context, s *running) (warmth, error) {
		took, err := once(ctx, s, job)
		return warmth{one: took}, err
	}
}

// timed is a row of evals one after the other.
func timed(name string, job work.Job) Row {
	return Row{
		Name: name, Unit: report.UnitTime, rounds: plain,
		warm: func(ctx context.Context, s *running) (warmth, error) {
			took, err := once(ctx, s, job)
			return warmth{took, took}, err
		},
		sample: func(ctx context.Context, s *running, p Plan, one time.Duration) (sample, error) {
			took, err := s.engine.Time(ctx, job, p.samples(one))
			return sample{values: microseconds(took)}, err
		},
	}
}

// difference is a row of what one job takes longer than another.
func difference(name string, with, without work.Job) Row {
	return Row{
		Name: name, Unit: report.UnitTime, rounds: plain,
		warm: func(ctx context.Context, s *running) (warmth, error) {
			more, err := once(ctx, s, with)
			if err != nil {
				return warmth{}, err
			}
			less, err := once(ctx, s, without)
			return warmth{more + less, more - less}, err
		},
		sample: func(ctx context.Context, s *running, p Plan, one time.Duration) (sample, error) {
			var out sample
			for range p.samples(one) {
				more, err := s.engine.Time(ctx, with, 1)
				if err != nil {
					return out, err
				}
				less, err := s.engine.Time(ctx, without, 1)
				if err != nil {
					return out, err
				}
				out.values = append(out.values, microseconds(more)[0]-microseconds(less)[0])
			}
			return out, nil
		},
	}
}

// concurrency is a row of several callers at once.
func concurrency(callers int, job work.Job) Row {
	return Row{
		Name: fmt.Sprintf("concurrency-%d", callers), Unit: report.UnitRate, rounds: plain, warm: answers(job),
		sample: func(ctx context.Context, s *running, p Plan, _ time.Duration) (sample, error) {
			flow, err := s.engine.Flow(ctx, job, callers, p.FlowBudget/time.Duration(p.Rounds))
			return sample{values: microseconds(flow.Each), elapsed: flow.Elapsed}, err
		},
	}
}

// memoryRow is the growth by one idle instance that has run a script.
func memoryRow() Row {
	return Row{
		Name: "memory", Unit: report.UnitBytes, rounds: func(p Plan) int { return p.MemoryRounds },
		warm: answers(work.SmallEval()),
		sample: func(ctx context.Context, s *running, p Plan, _ time.Duration) (sample, error) {
			bytes, err := s.Memory(ctx, work.SmallEval(), p.Instances)
			return sample{values: []float64{float64(bytes) / float64(p.Instances)}}, err
		},
	}
}

func microseconds(all []time.Duration) []float64 {
	us := make([]float64, len(all))
	for i, d := range all {
		us[i] = float64(d) / float64(time.Microsecond)
	}
	return us
}
