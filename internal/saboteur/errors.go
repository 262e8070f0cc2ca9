package saboteur

import (
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

// errorDefects break what an error says besides its kind.
func errorDefects() []Defect {
	return []Defect{
		{
			Name: "names-no-limit", Wrong: "An error does not say which limit was reached.",
			CaughtBy: []string{"LIMIT-001", "LIMIT-034", "LIMIT-055", "LIMIT-072"}, Seen: "names",
			build: failure(func(_ *isolate, e *spi.ScriptError) { e.Limit = nil }),
		},
		{
			Name: "names-another-limit", Wrong: "Whatever limit was reached, the error says it was the timeout.",
			CaughtBy: []string{"LIMIT-034", "LIMIT-055", "LIMIT-072"}, Seen: "names timeoutMs",
			build: failure(func(_ *isolate, e *spi.ScriptError) {
				if e.Limit != nil {
					e.Limit = &spi.ReachedLimit{Name: spi.LimitTimeout, Value: e.Limit.Value}
				}
			}),
		},
		{
			Name: "limit-in-another-unit", Wrong: "The timeout that was reached is given in nanoseconds.",
			CaughtBy: []string{"LIMIT-001"}, Seen: "wanted timeoutMs",
			build: failure(func(i *isolate, e *spi.ScriptError) {
				if e.Limit != nil && e.Limit.Name == spi.LimitTimeout {
					e.Limit.Value = int64(i.asked.Limits.Timeout)
				}
			}),
		},
		{
			Name: "limit-value-of-the-backend", Wrong: "The memory that was reached is given as the backend's maximum and not as what was asked for.",
			CaughtBy: []string{"LIMIT-034"}, Seen: "wanted memoryBytes",
			build: failure(func(i *isolate, e *spi.ScriptError) {
				if e.Limit != nil && e.Limit.Name == spi.LimitMemory {
					e.Limit.Value = i.backend.good.Describe().MaxMemoryBytes
				}
			}),
		},
		{
			Name: "limit-without-end", Wrong: "An exception names a limit that did not end it.",
			CaughtBy: []string{"ERROR-005"}, Seen: "limit",
			build: failure(func(_ *isolate, e *spi.ScriptError) {
				if e.Kind == spi.KindException {
					e.Limit = &spi.ReachedLimit{Name: spi.LimitCallDepth, Value: 1000}
				}
			}),
		},
		{
			Name: "long-message", Wrong: "The message of an error has no bound.",
			CaughtBy: []string{"ERROR-022"}, Seen: "allowed is",
			build: failure(func(_ *isolate, e *spi.ScriptError) { e.Message = lengthen(e.Message) }),
		},
		{
			Name: "long-stack", Wrong: "The stack of an error has no bound.",
			CaughtBy: []string{"ERROR-022"}, Seen: "allowed is",
			build: failure(func(_ *isolate, e *spi.ScriptError) { e.Stack = lengthen(e.Stack) }),
		},
		{
			Name: "long-name", Wrong: "The name of an error has no bound.",
			CaughtBy: []string{"ERROR-022"}, Seen: "allowed is",
			build: failure(func(_ *isolate, e *spi.ScriptError) { e.Name = lengthen(e.Name) }),
		},
		{
			Name: "cuts-in-a-character", Wrong: "A long message is cut in the middle of a character.",
			CaughtBy: []string{"ERROR-022"}, Seen: "not valid UTF-8",
			build: failure(func(_ *isolate, e *spi.ScriptError) {
				if kept, cut := strings.CutSuffix(e.Message, "…"); cut {
					e.Message = kept + "\xe2\x80"
				}
			}),
		},
		{
			Name: "cuts-silently", Wrong: "A long message is cut and does not end with an ellipsis.",
			CaughtBy: []string{"ERROR-022"}, Seen: "ellipsis",
			build: failure(func(_ *isolate, e *spi.ScriptError) { e.Message = strings.TrimSuffix(e.Message, "…") }),
		},
		{
			Name: "error-not-utf8", Wrong: "Half a surrogate pair in a message is written as bytes that are no UTF-8.",
			CaughtBy: []string{"ERROR-021"}, Seen: "UTF-8",
			build: failure(func(_ *isolate, e *spi.ScriptError) {
				e.Message = strings.ReplaceAll(e.Message, "\ufffd", "\xed\xa0\x80")
			}),
		},
		{
			Name: "error-without-message", Wrong: "The message of an error is lost.",
			CaughtBy: []string{"ERROR-002"}, Seen: "error says",
			build: failure(func(_ *isolate, e *spi.ScriptError) { e.Message = "" }),
		},
		{
			Name: "error-without-name", Wrong: "Every error has the name Error.",
			CaughtBy: []string{"ERROR-002"}, Seen: "the name",
			build: failure(func(_ *isolate, e *spi.ScriptError) {
				if e.Name != "" {
					e.Name = "Error"
				}
			}),
		},
		{
			Name: "error-without-stack", Wrong: "The stack of an error is lost.",
			CaughtBy: []string{"ERROR-026"}, Seen: "stack",
			build: failure(func(_ *isolate, e *spi.ScriptError) { e.Stack = "" }),
		},
		{
			Name: "error-without-place", Wrong: "It is never known where an error happened.",
			CaughtBy: []string{"ERROR-030", "ERROR-031"}, Seen: "line 0",
			build: failure(func(_ *isolate, e *spi.ScriptError) { e.Line, e.Column = 0, 0 }),
		},
		{
			Name: "columns-in-bytes", Wrong: "A column counts bytes and not characters.",
			CaughtBy: []string{"ERROR-033"}, Seen: "columns after",
			build: failure(func(i *isolate, e *spi.ScriptError) { e.Column += wider(i.ran.Source, e) }),
		},
		{
			Name: "place-beyond-source", Wrong: "The place of an error is taken from its stack without looking at the source.",
			CaughtBy: []string{"ERROR-032"}, Seen: "line",
			build: failure(func(_ *isolate, e *spi.ScriptError) {
				if e.Line == 0 && strings.Contains(e.Stack, ":") {
					e.Line, e.Column = 1_000_000, 1
				}
			}),
		},
		{
			Name: "deadline-names-a-limit", Wrong: "The end of the context's time names the timeout, which it is not.",
			CaughtBy: []string{"LIMIT-031", "KILL-025"}, Seen: "wanted no limit",
			build: outcome(func(i *isolate, out *spi.Outcome) {
				if out.Error != nil && out.Error.Kind == spi.KindTimeout {
					setError(i, out, spi.KindTimeout, spi.LimitTimeout)
				}
			}),
		},
	}
}

func lengthen(text string) string { return text + strings.Repeat(" and so on", 2000) }

// wider is by how many bytes the part of the line before an error is longer
// than its characters.
func wider(source string, e *spi.ScriptError) int {
	lines := strings.Split(source, "\n")
	if e.Line < 1 || e.Line > len(lines) {
		return 0
	}
	line := []rune(lines[e.Line-1])
	part := line[:max(0, min(len(line), e.Column-1))]
	return len(string(part)) - len(part)
}
