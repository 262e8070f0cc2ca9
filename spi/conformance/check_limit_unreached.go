package conformance

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// unreachedChecks: a limit that an eval does not reach takes nothing from it.
func unreachedChecks() []Check {
	line := "<" + strings.Repeat("x", 10<<10-2) + ">"
	return []Check{
		{ID: "LIMIT-085", Level: MUST, Rule: "Each eval of an isolate has the whole timeout.", body: timeoutAnew},
		{ID: "LIMIT-086", Level: MUST, Rule: "A line of 10 KiB is kept whole and not marked as truncated where the limit has room for it.", body: logBoundary{
			source: "console.log('<' + 'x'.repeat(10 * 1024 - 2) + '>'); console.log('after')", limit: 64 << 10, full: true, want: []string{line, "after"},
		}.body()},
	}
}

// timeoutAnew computes in many evals for longer than one of them may.
func timeoutAnew(ctx context.Context, s *subject) error {
	return s.patiently(untilDone(), func(timeout time.Duration) error {
		iso, err := s.isolate(ctx, withTimeout(timeout))
		if err != nil {
			return err
		}
		turns := 1000
		var all time.Duration
		for n := 1; all < timeout*3/2; n++ {
			took, err := s.evalOf(ctx, iso, timeout, "(() => { let odd = 0; for (let i = 0; i < input; i++) odd += i & 1; return odd })()",
				fmt.Sprint(turns), fmt.Sprint(turns/2))
			if err != nil {
				return fmt.Errorf("eval %d, after %v in those before: %w", n, all, err)
			}
			all += took
			if took < timeout/16 { // it is the script that is to take the time
				turns *= 2
			}
		}
		return nil
	})
}
