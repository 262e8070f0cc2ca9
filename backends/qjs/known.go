package qjs

import (
	_ "embed"
	"strings"
)

//go:embed known_failures.txt
var knownFailures string

// KnownFailures are the checks of package conformance that this backend does not
// pass, or not each time: a reason for each ID. Nothing passes them for it; the
// list is there so that those who read a report know what they see. The map is
// the caller's.
func KnownFailures() map[string]string {
	known := map[string]string{}
	for line := range strings.Lines(knownFailures) {
		id, reason, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if ok && !strings.HasPrefix(id, "#") {
			known[strings.TrimSuffix(id, "?")] = reason
		}
	}
	return known
}
