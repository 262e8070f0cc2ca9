package conformance

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// asideChecks: a limit of fuel that is not reached takes the place of no other.
func asideChecks() []Check {
	beside := func(id, what string, kind spi.Kind) Check {
		return Check{
			ID: id, Level: MUST, Rule: "Beside fuel that is not burnt " + what + ".", Needs: []Need{NeedFuel},
			body: func(ctx context.Context, s *subject) error {
				return endingOf(kind).meet(ctx, s, s.isolate, nothingElse, withFuel(plentyOfFuel))
			},
		}
	}
	return []Check{
		beside("LIMIT-087", "a loop ends at its timeout", spi.KindTimeout),
		beside("LIMIT-088", "the memory cap holds", spi.KindMemory),
		beside("LIMIT-089", "a result that is too large has no value", spi.KindOutputTooLarge),
		beside("LIMIT-090", "cancelling ends a loop", spi.KindCancelled),
		{ID: "LIMIT-091", Level: MUST, Rule: "Beside fuel that is not burnt the limit of the logs holds.", Needs: []Need{NeedFuel}, body: logsBesideFuel},
		{ID: "LIMIT-092", Level: MUST, Rule: "A result of 900 KiB is a value where the limit has room for it.", body: script{
			source: "'x'.repeat(900 * 1024)", value: `"` + strings.Repeat("x", 900<<10) + `"`, roomy: true,
		}.body()},
		{ID: "LIMIT-093", Level: MUST, Rule: "A line of 40 KiB is kept whole and not marked as truncated where the limit has room for it.", body: logBoundary{
			source: "console.log('<' + 'x'.repeat(40 * 1024 - 2) + '>'); console.log('after')", limit: 64 << 10, full: true,
			want: []string{"<" + strings.Repeat("x", 40<<10-2) + ">", "after"},
		}.body()},
		{ID: "LIMIT-094", Level: MUST, Rule: "A script that computes for more than a second is not ended where its timeout is far longer.", Watchdog: manyWatchdog, body: longRun},
	}
}

// plentyOfFuel is more than any check burns, and no number that might stand for none.
const plentyOfFuel = 1 << 50

func logsBesideFuel(ctx context.Context, s *subject) error {
	const limit = 50
	out, err := s.eval(ctx, "console.log('x'.repeat(30)); console.log('y'.repeat(5000)); 1", "", withLogs(limit), withFuel(plentyOfFuel))
	if err != nil {
		return err
	}
	return firstError(
		func() error { return wantValue(out, "1") },
		func() error { return wantLogBytes(out, limit) },
		func() error {
			if !out.LogsTruncated {
				return fmt.Errorf("logs under a limit of %d are not marked as truncated: %q", limit, logTexts(out))
			}
			return nil
		},
	)
}

// computing is a script that does as many turns of a loop as its input says.
const computing = "(() => { let odd = 0; for (let i = 0; i < input; i++) odd += i & 1; return odd })()"

// turnsFor finds out how many turns take about a time. It is the last
// measurement that counts, whose outcome it returns too.
func (s *subject) turnsFor(ctx context.Context, iso spi.Isolate, least time.Duration) (turns int, took time.Duration, out *spi.Outcome, err error) {
	for turns = 1000; ; turns *= 2 {
		start := time.Now()
		out, err = s.evalIn(ctx, iso, computing, fmt.Sprint(turns))
		took = time.Since(start)
		if err == nil {
			err = wantValue(out, fmt.Sprint(turns/2))
		}
		if err != nil || took >= least {
			return turns, took, out, err
		}
	}
}

func longRun(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx, s.withLeisure())
	if err != nil {
		return err
	}
	turns, took, _, err := s.turnsFor(ctx, iso, 100*time.Millisecond)
	if err != nil {
		return err
	}
	many := int(float64(turns)*float64(1500*time.Millisecond)/float64(took)) / 2 * 2
	_, err = s.evalOf(ctx, iso, s.config(s.withLeisure()).Limits.Timeout, computing, fmt.Sprint(many), fmt.Sprint(many/2))
	return err
}
