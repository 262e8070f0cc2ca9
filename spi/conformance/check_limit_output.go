package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

func outputChecks() []Check {
	return []Check{
		{ID: "LIMIT-055", Level: MUST, Rule: "A result that is exactly as large as its limit is a value, and one byte more is output_too_large with the limit.", Watchdog: manyWatchdog, body: outputBoundary(
			"'x'.repeat(998)", "Array.from({ length: 400 }, (_, i) => i)", "({ toJSON: () => 'x'.repeat(100) })", "123456", "undefined",
		)},
		{ID: "LIMIT-056", Level: MUST, Rule: "The size of a result is that of its JSON as UTF-8: an escape counts in full.", Watchdog: manyWatchdog, body: outputBoundary(
			"'\\u0001'.repeat(50)", "'\u00e9'.repeat(50)", "'\\u{1f600}'.repeat(50)", "'\"\\\\'.repeat(50)", "({ ['\\n'.repeat(20)]: '\u00e9' })",
		)},
		{ID: "LIMIT-057", Level: MUST, Rule: "Usage counts the bytes that JSON.stringify would write.", body: outputCount},
		{ID: "LIMIT-058", Level: MUST, Rule: "A result far larger than its limit has no value, and nothing else suffers.", body: script{
			source: "'\\u0001'.repeat(1 << 18)", config: withOutput(64 << 10), kinds: []spi.Kind{spi.KindOutputTooLarge, spi.KindMemory},
			next: "'small'", nextValue: `"small"`,
		}.body()},
		{ID: "LIMIT-059", Level: MUST, Rule: "Many small parts that are together too large are output_too_large.", body: script{
			source: "Array.from({ length: 5000 }, (_, i) => ({ i }))",
			config: func(c *spi.Config) { c.Limits.OutputBytes = 10_000 },
			kinds:  []spi.Kind{spi.KindOutputTooLarge}, limit: spi.LimitOutput,
		}.body()},
		{ID: "LIMIT-060", Level: MUST, Rule: "Lines logged before a result that is too large are kept.", body: script{
			source: "console.log('kept'); 'x'.repeat(100)",
			config: func(c *spi.Config) { c.Limits.OutputBytes = 10 },
			kinds:  []spi.Kind{spi.KindOutputTooLarge}, limit: spi.LimitOutput, logs: []string{"kept"},
		}.body()},
	}
}

func withOutput(n int64) func(*spi.Config) {
	return func(c *spi.Config) { c.Limits.OutputBytes = n }
}

// outputBoundary measures each result and puts the limit at it and below it.
func outputBoundary(sources ...string) body {
	return func(ctx context.Context, s *subject) error {
		for _, source := range sources {
			if err := s.outputBoundaryOf(ctx, source); err != nil {
				return fmt.Errorf("%s: %w", source, err)
			}
		}
		return nil
	}
}

func (s *subject) outputBoundaryOf(ctx context.Context, source string) error {
	free, err := s.eval(ctx, source, "")
	if err != nil {
		return err
	}
	if free.Error != nil {
		return fmt.Errorf("ended with %s, wanted a value", free.Error.Kind)
	}
	size := int64(len(free.Value))
	enough, err := s.eval(ctx, source, "", withOutput(size+s.granularity(spi.LimitOutput)))
	if err != nil {
		return err
	}
	if err := wantValue(enough, string(free.Value)); err != nil {
		return fmt.Errorf("with a limit of just its size, %d: %w", size, err)
	}
	short, err := s.eval(ctx, source, "", withOutput(size-1))
	if err != nil {
		return err
	}
	if err := wantKind(short, spi.KindOutputTooLarge); err != nil {
		return fmt.Errorf("with a limit of one byte less than its size, %d: %w", size, err)
	}
	return wantLimit(short, spi.LimitOutput, size-1)
}

func outputCount(ctx context.Context, s *subject) error {
	for _, c := range []struct {
		source string
		bytes  int64
	}{
		{"'x'.repeat(100)", 102},
		{"'\\u0001'.repeat(10)", 62},
		{"'\u00e9'.repeat(10)", 22},
		{"[1, 'a', null, { b: true }]", 23},
		{"undefined", 4},
	} {
		out, err := s.eval(ctx, c.source, "")
		if err != nil {
			return err
		}
		if out.Usage.OutputBytes != c.bytes {
			return fmt.Errorf("%s: usage says %d bytes of output, wanted %d", c.source, out.Usage.OutputBytes, c.bytes)
		}
	}
	return nil
}

func logChecks() []Check {
	return []Check{
		{ID: "LIMIT-061", Level: MUST, Rule: "Lines that just fit, each with one byte for its line end, are all kept and not marked as truncated.", body: logBoundary{
			source: "console.log('abc'); console.log('de')", limit: 7, full: true, want: []string{"abc", "de"},
		}.body()},
		{ID: "LIMIT-062", Level: MUST, Rule: "One byte less than the lines need marks the logs as truncated and keeps within the limit.", body: logBoundary{
			source: "console.log('abc'); console.log('de')", limit: 6, want: []string{"abc", "de"},
		}.body()},
		{ID: "LIMIT-063", Level: MUST, Rule: "A single line larger than the limit is cut or dropped, and the logs are truncated.", body: logBoundary{
			source: "console.log('x'.repeat(100000))", limit: 50, want: []string{strings.Repeat("x", 100_000)},
		}.body()},
		{ID: "LIMIT-064", Level: MUST, Rule: "A line is cut between characters, never within one.", body: logBoundary{
			source: "console.log('a\u00e9\u00e9\u00e9\u00e9')", limit: 5, want: []string{"a\u00e9\u00e9\u00e9\u00e9"},
		}.body()},
		{ID: "LIMIT-065", Level: MUST, Rule: "Where lines are dropped or cut, those kept are in order and marked as truncated.", body: logBoundary{
			source: "console.log('0123456789'); console.log('0123456789'); console.log(''); console.log('z')", limit: 15,
			want: []string{"0123456789", "0123456789", "", "z"},
		}.body()},
		{ID: "LIMIT-066", Level: MUST, Rule: "A limit of no logs keeps none and marks them as truncated, and the script goes on.", body: logBoundary{
			source: "console.log('a'); console.error('b'); 1", limit: 0, want: []string{},
		}.body()},
		{ID: "LIMIT-067", Level: MUST, Rule: "A script that logs nothing has no truncated logs, also under a limit of none.", body: logBoundary{
			source: "1", limit: 0, full: true, want: []string{},
		}.body()},
		{ID: "LIMIT-068", Level: MUST, Rule: "A backend that bounds the number of lines keeps at least 1024.", body: manyLines},
		{ID: "LIMIT-069", Level: MUST, Rule: "A flood of lines ends as the script says or at its timeout, keeps the first lines and stays within the limit.", body: logFlood},
		{ID: "LIMIT-070", Level: MUST, Rule: "Each eval of an isolate has the whole log limit and only its own lines.", body: logsAnew},
		{ID: "LIMIT-071", Level: MUST, Rule: "Lines logged before an exception are kept.", body: script{
			source: "console.log('before'); null.x", kinds: []spi.Kind{spi.KindException}, logs: []string{"before"},
		}.body()},
	}
}

func withLogs(n int64) func(*spi.Config) {
	return func(c *spi.Config) { c.Limits.LogBytes = n }
}

// logBoundary is a body as data: lines under a limit near their size.
type logBoundary struct {
	source string
	limit  int64
	full   bool     // all lines fit
	want   []string // all lines, or what those kept are some of
}

func (l logBoundary) body() body { return l.run }

func (l logBoundary) run(ctx context.Context, s *subject) error {
	limit := l.limit
	if l.full && limit > 0 {
		limit += s.granularity(spi.LimitLogs)
	}
	out, err := s.eval(ctx, l.source, "", withLogs(limit))
	if err != nil {
		return err
	}
	if out.Error != nil {
		return fmt.Errorf("ended with %s, wanted a value", out.Error.Kind)
	}
	got := logTexts(out)
	if l.full && len(got) != len(l.want) {
		return fmt.Errorf("logs are %s, wanted %s", clip(fmt.Sprintf("%q", got)), clip(fmt.Sprintf("%q", l.want)))
	}
	if out.LogsTruncated == l.full {
		return fmt.Errorf("logs of %d bytes under a limit of %d are marked as truncated: %v", out.Usage.LogBytes, limit, out.LogsTruncated)
	}
	return firstError(
		func() error { return wantLogBytes(out, limit) },
		func() error { return wantLines(got, l.want, out.LogsTruncated) },
	)
}

func wantLogBytes(out *spi.Outcome, most int64) error {
	if n := out.Usage.LogBytes; n > most {
		return fmt.Errorf("kept %d bytes of logs, wanted at most %d", n, most)
	}
	return nil
}

// wantLines demands that the lines kept are some of all, in order, and cut only
// where that was marked.
func wantLines(got, all []string, mayCut bool) error {
	rest := all
	for i, line := range got {
		at := slices.IndexFunc(rest, func(l string) bool { return l == line || mayCut && strings.HasPrefix(l, line) })
		if at < 0 {
			return fmt.Errorf("line %d is %q, wanted the lines %s in order", i+1, clip(line), clip(fmt.Sprintf("%q", all)))
		}
		rest = rest[at+1:]
	}
	return nil
}

// wantFirstLines demands that the lines kept are the first of all, the last of
// them possibly cut.
func wantFirstLines(got, all []string, mayCut bool) error {
	if len(got) > len(all) {
		return fmt.Errorf("kept %d lines of %d", len(got), len(all))
	}
	for i, line := range got {
		whole := line == all[i]
		cut := mayCut && i == len(got)-1 && strings.HasPrefix(all[i], line)
		if !whole && !cut {
			return fmt.Errorf("line %d is %q, wanted %q", i+1, clip(line), clip(all[i]))
		}
	}
	return nil
}

func manyLines(ctx context.Context, s *subject) error {
	out, err := s.eval(ctx, "for (let i = 0; i < 1024; i++) console.log('')", "", withLogs(64<<10))
	if err != nil {
		return err
	}
	if len(out.Logs) != 1024 || out.LogsTruncated {
		return fmt.Errorf("kept %d of 1024 empty lines, truncated: %v", len(out.Logs), out.LogsTruncated)
	}
	return nil
}

func logFlood(ctx context.Context, s *subject) error {
	const limit = 16 << 10
	out, err := s.eval(ctx, "const dashes = '-'.repeat(100); for (let i = 0; i < 50000; i++) console.log('line ' + i + ' ' + dashes); 'done'", "", withLogs(limit))
	if err != nil {
		return err
	}
	if out.Error != nil {
		if err := wantKind(out, spi.KindTimeout); err != nil {
			return err
		}
	} else if err := wantValue(out, `"done"`); err != nil {
		return err
	}
	if len(out.Logs) < 100 || !out.LogsTruncated {
		return fmt.Errorf("kept %d lines, truncated: %v; wanted the first that fit into %d bytes, truncated", len(out.Logs), out.LogsTruncated, limit)
	}
	all := make([]string, len(out.Logs))
	for i := range all {
		all[i] = fmt.Sprintf("line %d %s", i, strings.Repeat("-", 100))
	}
	return firstError(
		func() error { return wantLogBytes(out, limit) },
		func() error { return wantFirstLines(logTexts(out), all, true) },
	)
}

func logsAnew(ctx context.Context, s *subject) error {
	limit := 4 + s.granularity(spi.LimitLogs)
	iso, err := s.isolate(ctx, withLogs(limit))
	if err != nil {
		return err
	}
	for _, step := range []struct {
		source, line string
		truncated    bool
	}{{"console.log('abc')", "abc", false}, {"console.log('x'.repeat(input + 1000))", "", true}, {"console.log('def')", "def", false}} {
		out, err := s.evalIn(ctx, iso, step.source, fmt.Sprint(limit))
		if err != nil {
			return err
		}
		got := logTexts(out)
		if out.LogsTruncated != step.truncated || !step.truncated && (len(got) != 1 || got[0] != step.line) {
			return fmt.Errorf("%s: logs are %q, truncated: %v", step.source, got, out.LogsTruncated)
		}
	}
	return nil
}
