package saboteur

import (
	"slices"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

// logDefects break the lines of the console.
func logDefects() []Defect {
	return []Defect{
		{
			Name: "logs-lost", Wrong: "No log line is kept.",
			CaughtBy: []string{"WEB-001"}, Seen: "logs are []",
			build: outcome(func(_ *isolate, out *spi.Outcome) { setLogs(out, nil) }),
		},
		{
			Name: "logs-lost-on-failure", Wrong: "The logs of a script that threw are lost.",
			CaughtBy: []string{"ERROR-009", "LIMIT-071"}, Seen: "logs are []",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if out.Error != nil && out.Error.Kind == spi.KindException {
					setLogs(out, nil)
				}
			}),
		},
		{
			Name: "logs-lost-on-force", Wrong: "The logs of a script that was ended by force are lost.", Late: true,
			CaughtBy: []string{"LIMIT-028", "LIMIT-072", "KILL-014", "KILL-021"}, Seen: "logs are []",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if ended(out) {
					setLogs(out, nil)
				}
			}),
		},
		{
			Name: "logs-without-level", Wrong: "Every log line has the level log.",
			CaughtBy: []string{"WEB-001"}, Seen: "{log 2}",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				for n := range out.Logs {
					out.Logs[n].Level = spi.LevelLog
				}
			}),
		},
		{
			Name: "logs-reordered", Wrong: "Errors come before the other log lines.",
			CaughtBy: []string{"WEB-001"}, Seen: "[{error 2} {log 1}",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				slices.SortStableFunc(out.Logs, func(a, b spi.LogLine) int { return strings.Compare(rank(a.Level), rank(b.Level)) })
			}),
		},
		{
			Name: "logs-backwards", Wrong: "The newest log line comes first.",
			CaughtBy: []string{"WEB-001"}, Seen: "[{log 6}",
			build: outcome(func(_ *isolate, out *spi.Outcome) { slices.Reverse(out.Logs) }),
		},
		{
			Name: "logs-not-marked", Wrong: "Log lines are dropped and the outcome does not say so.",
			CaughtBy: []string{"LIMIT-062", "LIMIT-063", "LIMIT-065", "LIMIT-066"}, Seen: "truncated: false",
			build: outcome(func(_ *isolate, out *spi.Outcome) { out.LogsTruncated = false }),
		},
		{
			Name: "logs-always-marked", Wrong: "The outcome says that log lines were dropped where none were.",
			CaughtBy: []string{"LIMIT-061", "LIMIT-067"}, Seen: "truncated: true",
			build: outcome(func(_ *isolate, out *spi.Outcome) { out.LogsTruncated = true }),
		},
		{
			Name: "logs-over-limit", Wrong: "Twice as many bytes of logs are kept as allowed.",
			CaughtBy: []string{"LIMIT-063", "LIMIT-069"}, Seen: "bytes of logs",
			build: config(func(_ *Backend, cfg *spi.Config) { cfg.Limits.LogBytes *= 2 }),
		},
		{
			Name: "logs-line-ends-free", Wrong: "Line ends do not count against the limit of logs.",
			CaughtBy: []string{"LIMIT-062"}, Seen: "logs of 7 bytes under a limit of 6",
			build: func() hooks {
				return hooks{
					config:  func(_ *Backend, cfg *spi.Config) { cfg.Limits.LogBytes *= 2 },
					outcome: func(i *isolate, out *spi.Outcome) { keepTexts(out, i.asked.Limits.LogBytes) },
				}
			},
		},
		{
			Name: "logs-zero-is-default", Wrong: "A limit of 0 bytes of logs means a default and not none.",
			CaughtBy: []string{"LIMIT-066"}, Seen: "under a limit of 0",
			build: config(func(_ *Backend, cfg *spi.Config) {
				if cfg.Limits.LogBytes == 0 {
					cfg.Limits.LogBytes = 64 << 10
				}
			}),
		},
		{
			Name: "logs-few-lines", Wrong: "No more than 100 log lines are kept.",
			CaughtBy: []string{"LIMIT-068"}, Seen: "kept 100 of",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if len(out.Logs) > 100 {
					setLogs(out, out.Logs[:100])
					out.LogsTruncated = true
				}
			}),
		},
		{
			Name: "logs-empty-lines-lost", Wrong: "Empty log lines are dropped.",
			CaughtBy: []string{"LIMIT-068"}, Seen: "kept 0 of",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				setLogs(out, slices.DeleteFunc(out.Logs, func(l spi.LogLine) bool { return l.Text == "" }))
			}),
		},
		{
			Name: "logs-split", Wrong: "A log line with a line end in it becomes two.",
			CaughtBy: []string{"WEB-003"}, Seen: "logs are",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				var lines []spi.LogLine
				for _, l := range out.Logs {
					for text := range strings.SplitSeq(l.Text, "\n") {
						lines = append(lines, spi.LogLine{Level: l.Level, Text: text})
					}
				}
				setLogs(out, lines)
			}),
		},
		{
			Name: "logs-not-utf8", Wrong: "Half a surrogate pair in a log line is written as bytes that are no UTF-8.",
			CaughtBy: []string{"WEB-003"}, Seen: "not valid UTF-8",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				setTexts(out, func(text string) string { return strings.ReplaceAll(text, "\ufffd", "\xed\xa0\x80") })
			}),
		},
		{
			Name: "logs-cut-in-a-character", Wrong: "The last line kept is cut in the middle of a character.",
			CaughtBy: []string{"LIMIT-064"}, Seen: "not valid UTF-8",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if n := len(out.Logs); out.LogsTruncated && n > 0 {
					lines := slices.Clone(out.Logs)
					lines[n-1].Text = strings.TrimSuffix(lines[n-1].Text, "…") + "\xe2\x80"
					setLogs(out, lines)
				}
			}),
		},
		{
			Name: "logs-cut-at-nul", Wrong: "A log line ends at its first NUL.",
			CaughtBy: []string{"WEB-003"}, Seen: "logs are",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				setTexts(out, func(text string) string { text, _, _ = strings.Cut(text, "\x00"); return text })
			}),
		},
		{
			Name: "logs-carried-over", Wrong: "The logs of an eval are in the next one's as well.",
			CaughtBy: []string{"EVAL-042"}, Seen: "first",
			build: outcome(func(i *isolate, out *spi.Outcome) {
				i.lines = append(i.lines, out.Logs...)
				setLogs(out, slices.Clone(i.lines))
			}),
		},
		{
			Name: "logs-budget-shared", Wrong: "All evals of an isolate share one limit of logs.",
			CaughtBy: []string{"LIMIT-070"}, Seen: "logs are []",
			build: outcome(func(i *isolate, out *spi.Outcome) {
				i.sum += out.Usage.LogBytes
				if i.sum > i.asked.Limits.LogBytes {
					setLogs(out, nil)
					out.LogsTruncated = true
				}
			}),
		},
		{
			Name: "logs-normalised", Wrong: "The letters and accents of a log line are put together.",
			CaughtBy: []string{"VALUE-039"}, Seen: "logs are",
			build: outcome(func(_ *isolate, out *spi.Outcome) { setTexts(out, compose) }),
		},
		{
			Name: "logs-long-lines-cut", Wrong: "A log line of more than 8 KiB is cut, and the outcome does not say so.",
			CaughtBy: []string{"LIMIT-086"}, Seen: "line 1 is",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				setTexts(out, func(text string) string { return text[:min(len(text), 8<<10)] })
			}),
		},
		{
			Name: "logs-long-lines-dropped", Wrong: "A log line of more than 8 KiB is dropped as if there were no room for it.",
			CaughtBy: []string{"LIMIT-086"}, Seen: "logs are",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				kept := slices.DeleteFunc(slices.Clone(out.Logs), func(l spi.LogLine) bool { return len(l.Text) > 8<<10 })
				out.LogsTruncated = out.LogsTruncated || len(kept) < len(out.Logs)
				setLogs(out, kept)
			}),
		},
		{
			Name: "logs-trimmed", Wrong: "White space at the ends of a log line is dropped.",
			CaughtBy: []string{"WEB-003"}, Seen: "logs are",
			build: outcome(func(_ *isolate, out *spi.Outcome) { setTexts(out, strings.TrimSpace) }),
		},
	}
}

func rank(l spi.Level) string {
	if l == spi.LevelError {
		return ""
	}
	return "others"
}

// keepTexts keeps the lines whose texts fit into a number of bytes.
func keepTexts(out *spi.Outcome, most int64) {
	for n, l := range out.Logs {
		if most -= int64(len(l.Text)); most < 0 {
			setLogs(out, out.Logs[:n])
			out.LogsTruncated = true
			return
		}
	}
}
