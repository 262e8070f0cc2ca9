package qjs

import (
	"context"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/spi/conformance"
)

// TestConformance demands that the checks which fail are those of
// known_failures.txt: no other, and every one of them.
func TestConformance(t *testing.T) {
	known := KnownFailures()
	should := conformance.Should(known)
	maps.DeleteFunc(should, func(id, _ string) bool { return varies(id) })
	var failed []string
	report, err := conformance.Run(context.Background(), &conformance.Harness{
		New:   func(ctx context.Context) (spi.Backend, error) { return New(ctx, nil) },
		Known: should,
		Progress: func(r conformance.Result) {
			_, listed := known[r.ID]
			delete(known, r.ID)
			switch {
			case r.Outcome == conformance.Fail && listed && (r.Level == conformance.MUST || varies(r.ID)):
				t.Logf("%s %s: %s", r.ID, r.Outcome, r.Detail)
				failed = append(failed, r.ID)
			case r.Outcome == conformance.Fail, r.Outcome == conformance.Error:
				t.Errorf("%s %s %s: %s\n%s", r.ID, r.Level, r.Outcome, r.Rule, r.Detail)
			case r.Outcome == conformance.Known, !listed, varies(r.ID):
			default:
				t.Errorf("%s is listed in known_failures.txt; its outcome is %s", r.ID, r.Outcome)
			}
		},
	})
	require.NoError(t, err)
	assert.Empty(t, known, "known_failures.txt lists what is no check")
	t.Logf("%+v, of which %d are listed: %s", report.Summary, len(failed), strings.Join(failed, " "))
}

// varies reports whether the list says that a check fails at times only.
func varies(id string) bool { return strings.Contains("\n"+knownFailures, "\n"+id+"?: ") }

func TestEveryKnownFailureHasAnIDAndAReason(t *testing.T) {
	t.Parallel()
	lines := 0
	for line := range strings.Lines(knownFailures) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		lines++
		assert.Regexp(t, regexp.MustCompile(`^[A-Z]+-\d{3}\??: \S.{10,}\S\n$`), line)
	}
	first := KnownFailures()
	assert.Len(t, first, lines, "an ID is listed once")
	clear(first)
	assert.Len(t, KnownFailures(), lines, "the map is the caller's")
}
