package conformance

import (
	"context"

	"github.com/loom-sandbox/sandboxd/spi"
)

// Outcome is what became of a check.
type Outcome string

// Outcomes.
const (
	// Pass: the rule holds.
	Pass Outcome = "pass"
	// Fail: the rule does not hold, or a known one holds after all.
	Fail Outcome = "fail"
	// Known: the rule does not hold, as the harness says.
	Known Outcome = "known"
	// NotApplicable: the descriptor does not declare what the check needs.
	NotApplicable Outcome = "notApplicable"
	// Error: it is not known whether the rule holds; no backend could be made,
	// or the run was cancelled.
	Error Outcome = "error"
)

// Result is what became of one check.
type Result struct {
	ID      string  `json:"id"`
	Level   Level   `json:"level"`
	Rule    string  `json:"rule"`
	Outcome Outcome `json:"outcome"`
	// Detail says what was seen, or why the check does not apply. It may quote
	// what a guest said, with everything that is no printable character escaped.
	Detail string `json:"detail"`
	// Ms is how long it took, in milliseconds.
	Ms float64 `json:"ms"`
}

// Summary counts results by outcome.
type Summary struct {
	Pass          int `json:"pass"`
	Fail          int `json:"fail"`
	Known         int `json:"known"`
	NotApplicable int `json:"notApplicable"`
	Error         int `json:"error"`
}

// Report is what became of all checks.
type Report struct {
	Backend    string         `json:"backend"`
	Descriptor spi.Descriptor `json:"descriptor"`
	Summary    Summary        `json:"summary"`
	Checks     []Result       `json:"checks"`
}

// OK reports whether the backend conforms: nothing failed and nothing is unknown.
func (r *Report) OK() bool { return r.Summary.Fail == 0 && r.Summary.Error == 0 }

func (r *Report) add(result Result) {
	r.Checks = append(r.Checks, result)
	switch s := &r.Summary; result.Outcome {
	case Pass:
		s.Pass++
	case Fail:
		s.Fail++
	case Known:
		s.Known++
	case NotApplicable:
		s.NotApplicable++
	default:
		s.Error++
	}
}

// Run runs every check and reports what became of each; it takes about half
// a minute on a backend that answers in milliseconds. When ctx ends, the checks that are
// left have the outcome [Error]. An error is or wraps [ErrHarness], or says why
// no backend could be made.
func Run(ctx context.Context, h *Harness) (*Report, error) {
	r, err := NewRunner(ctx, h)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	report := &Report{Backend: r.Descriptor().Name, Descriptor: r.Descriptor()}
	for _, c := range Checks() {
		result := r.Run(ctx, &c)
		report.add(result)
		if h.Progress != nil {
			h.Progress(result)
		}
	}
	return report, nil
}
