package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

// Harness says how to get at the backend under test.
type Harness struct {
	// New makes a backend. It is called before the first check, and again for a
	// check that needs a backend of its own and after one that failed. What it
	// returns is closed by the suite, also if it comes too late or with an error.
	// Required.
	New func(ctx context.Context) (spi.Backend, error)
	// Known are the SHOULD checks that the backend is known not to pass: a
	// reason for each ID. One that passes or does not apply is a failure.
	Known map[string]string
	// Slow multiplies every time that a check allows: how late an eval may end
	// and when the backend counts as hung. Zero means 1; less is not allowed.
	Slow float64
	// Progress, if not nil, is called after each check.
	Progress func(Result)
}

// ErrHarness says that a harness cannot be used. The error that wraps it says why.
var ErrHarness = errors.New("conformance: harness refused")

func (h *Harness) validate() error {
	if h == nil {
		return fmt.Errorf("%w: there is none", ErrHarness)
	}
	var errs []error
	refuse := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: %w", ErrHarness, fmt.Errorf(format, args...)))
	}
	if h.New == nil {
		refuse("New is required")
	}
	if h.Slow != 0 && !(h.Slow >= 1 && h.Slow <= 1000) {
		refuse("Slow is %v; allowed is 0 or 1 to 1000", h.Slow)
	}
	levels := map[string]Level{}
	for _, c := range Checks() {
		levels[c.ID] = c.Level
	}
	for id, reason := range h.Known {
		switch level, ok := levels[id]; {
		case !ok:
			refuse("Known names %q, and there is no such check", id)
		case level == MUST:
			refuse("Known names %s, a MUST; allowed is a SHOULD", id)
		case strings.TrimSpace(reason) == "":
			refuse("Known names %s without a reason", id)
		}
	}
	return errors.Join(errs...)
}

// Should is the part of a backend's known failures that [Harness.Known] takes:
// a fresh map of the entries whose check exists and is a SHOULD.
func Should(known map[string]string) map[string]string {
	part := map[string]string{}
	for _, c := range Checks() {
		if reason, ok := known[c.ID]; ok && c.Level == SHOULD {
			part[c.ID] = reason
		}
	}
	return part
}
