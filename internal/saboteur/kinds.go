package saboteur

import (
	"slices"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

// kindDefects report the wrong kind of error.
func kindDefects() []Defect {
	return []Defect{
		{
			Name: "syntax-as-exception", Wrong: "A source that does not parse is reported as an exception.",
			CaughtBy: []string{"ERROR-001"}, Seen: "ended with exception",
			build: relabel(spi.KindSyntax, spi.KindException),
		},
		{
			Name: "exception-as-syntax", Wrong: "A script that throws a SyntaxError is reported as one that does not parse.",
			CaughtBy: []string{"ERROR-004"}, Seen: "ended with syntax",
			build: failure(func(_ *isolate, e *spi.ScriptError) {
				if e.Name == "SyntaxError" {
					e.Kind = spi.KindSyntax
				}
			}),
		},
		{
			Name: "timeout-as-exception", Wrong: "The end of the time is reported as an exception.",
			CaughtBy: slices.Concat(series("LIMIT", 1, 11), series("LIMIT", 16, 22)), Seen: "ended with exception",
			build: relabel(spi.KindTimeout, spi.KindException),
		},
		{
			Name: "deadline-as-cancel", Wrong: "The end of the context's time is reported as its cancellation.",
			CaughtBy: []string{"LIMIT-031", "KILL-025"}, Seen: "cancelled",
			build: relabelDeadline,
		},
		{
			Name: "fuel-as-timeout", Wrong: "Fuel that is burnt is reported as a timeout.",
			CaughtBy: []string{"LIMIT-072"}, Seen: "ended with timeout",
			build: relabel(spi.KindFuel, spi.KindTimeout),
		},
		{
			Name: "memory-as-exception", Wrong: "The end of the memory is reported as an exception.",
			CaughtBy: []string{"LIMIT-034", "LIMIT-038", "LIMIT-039", "LIMIT-040", "LIMIT-042", "LIMIT-043"}, Seen: "ended with exception",
			build: relabel(spi.KindMemory, spi.KindException),
		},
		{
			Name: "memory-as-backend", Wrong: "The end of the memory is reported as an interpreter that broke.",
			CaughtBy: []string{"LIMIT-034"}, Seen: "ended with backend",
			build: relabel(spi.KindMemory, spi.KindBackend),
		},
		{
			Name: "stack-as-exception", Wrong: "The end of the call stack is reported as an exception.",
			CaughtBy: []string{"STACK-052"}, Seen: "ended with exception",
			build: relabel(spi.KindStackOverflow, spi.KindException),
		},
		{
			Name: "stack-as-backend", Wrong: "The end of the call stack is reported as an interpreter that broke.",
			CaughtBy: []string{"STACK-051", "STACK-052"}, Seen: "ended with backend",
			build: relabel(spi.KindStackOverflow, spi.KindBackend),
		},
		{
			Name: "output-as-unserializable", Wrong: "A result that is too large is reported as one that JSON cannot hold.",
			CaughtBy: []string{"LIMIT-055"}, Seen: "ended with unserializable",
			build: relabel(spi.KindOutputTooLarge, spi.KindUnserializable),
		},
		{
			Name: "unserializable-as-exception", Wrong: "A result that JSON cannot hold is reported as an exception.",
			CaughtBy: []string{"VALUE-008", "VALUE-009"}, Seen: "ended with exception",
			build: relabel(spi.KindUnserializable, spi.KindException),
		},
		{
			Name: "deadlock-as-exception", Wrong: "A script that waits for nothing is reported as an exception.",
			CaughtBy: append(series("KILL", 30, 34), "EVAL-018"), Seen: "ended with exception",
			build: relabel(spi.KindDeadlock, spi.KindException),
		},
		{
			Name: "cancelled-as-killed", Wrong: "A cancelled context is reported as a closed isolate.",
			CaughtBy: series("KILL", 1, 13), Seen: "ended with killed",
			build: relabel(spi.KindCancelled, spi.KindKilled),
		},
		{
			Name: "cancelled-as-timeout", Wrong: "A cancelled context is reported as the end of the time.",
			CaughtBy: []string{"KILL-001", "KILL-024"}, Seen: "ended with timeout",
			build: relabel(spi.KindCancelled, spi.KindTimeout),
		},
		{
			Name: "killed-as-cancelled", Wrong: "A closed isolate is reported as a cancelled context.",
			CaughtBy: series("KILL", 16, 20), Seen: "ended with cancelled",
			build: relabel(spi.KindKilled, spi.KindCancelled),
		},
		{
			Name: "unknown-kind", Wrong: "A stack overflow has a kind that is not one of the frozen ones.",
			CaughtBy: []string{"STACK-051"}, Seen: "frozen",
			build: relabel(spi.KindStackOverflow, "recursion"),
		},
		{
			Name: "forges-timeout", Wrong: "A script whose error speaks of a timeout is reported as timed out.",
			CaughtBy: []string{"ERROR-005"}, Seen: "ended with timeout",
			build: forge(spi.KindTimeout, "timeout", "timed out", "interrupted"),
		},
		{
			Name: "forges-memory", Wrong: "A script whose error speaks of memory is reported as out of memory.",
			CaughtBy: []string{"ERROR-005"}, Seen: "ended with memory",
			build: forge(spi.KindMemory, "out of memory", "memory limit"),
		},
		{
			Name: "forges-fuel", Wrong: "A script whose error speaks of fuel is reported as out of fuel.",
			CaughtBy: []string{"ERROR-005"}, Seen: "ended with fuel",
			build: forge(spi.KindFuel, "fuel"),
		},
		{
			Name: "forges-stack", Wrong: "A script whose error speaks of the stack is reported as a stack overflow.",
			CaughtBy: []string{"ERROR-005"}, Seen: "ended with stack_overflow",
			build: forge(spi.KindStackOverflow, "stack overflow", "call stack"),
		},
		{
			Name: "forges-kill", Wrong: "A script whose error speaks of a kill is reported as killed.",
			CaughtBy: []string{"ERROR-005"}, Seen: "ended with killed",
			build: forge(spi.KindKilled, "killed", "closed"),
		},
		{
			Name: "forges-cancel", Wrong: "A script whose error speaks of a cancellation is reported as cancelled.",
			CaughtBy: []string{"ERROR-005"}, Seen: "ended with cancelled",
			build: forge(spi.KindCancelled, "cancelled", "canceled", "aborted"),
		},
		{
			Name: "forges-denied", Wrong: "A script whose error speaks of a permission is reported as denied.",
			CaughtBy: []string{"ERROR-005"}, Seen: "ended with denied",
			build: forge(spi.KindDenied, "denied", "permission", "not allowed"),
		},
		{
			Name: "forges-backend", Wrong: "A script whose error speaks of the interpreter is reported as the interpreter's end.",
			CaughtBy: []string{"ERROR-005"}, Seen: "ended with backend",
			build: forge(spi.KindBackend, "internal", "unreachable", "wasm"),
		},
		{
			Name: "throw-as-backend", Wrong: "What is thrown and is no error is reported as an interpreter that broke.",
			CaughtBy: []string{"ERROR-003"}, Seen: "ended with backend",
			build: failure(func(_ *isolate, e *spi.ScriptError) {
				if e.Kind == spi.KindException && e.Stack == "" {
					e.Kind = spi.KindBackend
				}
			}),
		},
	}
}

// forge lets a script choose the kind of its error by the error's text.
func forge(kind spi.Kind, words ...string) func() hooks {
	return failure(func(_ *isolate, e *spi.ScriptError) {
		text := strings.ToLower(e.Name + ": " + e.Message)
		for _, w := range words {
			if e.Kind == spi.KindException && strings.Contains(text, w) {
				e.Kind = kind
			}
		}
	})
}
