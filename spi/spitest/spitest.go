// Package spitest runs the conformance suite as a Go test. All that the author
// of a backend writes:
//
//	func TestConformance(t *testing.T) {
//		spitest.Run(t, &conformance.Harness{
//			New: func(ctx context.Context) (spi.Backend, error) { return mine.New(nil) },
//		})
//	}
package spitest

import (
	"context"
	"testing"

	"github.com/loom-sandbox/sandboxd/spi/conformance"
)

// Run runs every check as a subtest named after its ID, one after the other, so
// that -run TestConformance/LIMIT-003 runs one. A check that does not apply is
// skipped and one that is known is logged, both with the reason.
func Run(t *testing.T, h *conformance.Harness) {
	t.Helper()
	// Not the test's own context: a check's failure is not its end.
	r, err := conformance.NewRunner(context.Background(), h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	for _, c := range conformance.Checks() {
		t.Run(c.ID, func(t *testing.T) {
			result := r.Run(t.Context(), &c)
			if h.Progress != nil { // first: what follows may end the function
				h.Progress(result)
			}
			switch result.Outcome {
			case conformance.Pass:
			case conformance.NotApplicable:
				t.Skipf("does not apply: %s", result.Detail)
			case conformance.Known:
				t.Logf("known not to hold: %s\n%s", result.Rule, result.Detail)
			default:
				t.Errorf("%s %s: %s\n%s", result.Level, result.Outcome, result.Rule, result.Detail)
			}
		})
	}
}
