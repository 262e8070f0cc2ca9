package saboteur

import (
	"errors"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

// evalDefects break the shape of what Eval returns, whatever the script.
func evalDefects() []Defect {
	return []Defect{
		{
			Name: "value-and-error", Wrong: "An outcome has a value and an error.",
			CaughtBy: []string{"ERROR-002"}, Seen: "a value and an error",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if out.Error != nil {
					out.Value, out.ValueType, out.Usage.OutputBytes = []byte("null"), spi.TypeNull, 4
				}
			}),
		},
		{
			Name: "neither-value-nor-error", Wrong: "A script that gives undefined has neither a value nor an error.",
			CaughtBy: []string{"EVAL-003"}, Seen: "neither",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if out.ValueType == spi.TypeUndefined {
					out.Value, out.Usage.OutputBytes = nil, 0
				}
			}),
		},
		{
			Name: "nothing", Wrong: "Eval returns no outcome and no error where the script failed.",
			CaughtBy: []string{"ERROR-002"}, Seen: "no outcome",
			build: asError(spi.Kinds(), nil),
		},
		{
			Name: "failure-as-go-error", Wrong: "A script that throws is an error of the backend.",
			CaughtBy: []string{"ERROR-002"}, Seen: "Eval: saboteur",
			build: asError([]spi.Kind{spi.KindException}, errors.New("saboteur: the script failed")),
		},
		{
			Name: "panics", Wrong: "A character outside the basic plane in the source panics.",
			CaughtBy: []string{"VALUE-021"}, Seen: "panicked",
			build: request(func(_ *isolate, req *spi.Request) {
				if strings.ContainsFunc(req.Source, func(r rune) bool { return r > 0xffff }) {
					panic("saboteur: a character outside the basic plane")
				}
			}),
		},
		{
			Name: "loses-usage", Wrong: "The usage of a script that failed is zero.",
			CaughtBy: []string{"ERROR-009"}, Seen: "usage is missing",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if out.Error != nil {
					out.Usage = spi.Usage{LogBytes: out.Usage.LogBytes}
				}
			}),
		},
		{
			Name: "no-wall", Wrong: "The wall time is always zero.",
			CaughtBy: []string{"ERROR-009"}, Seen: "usage is missing",
			build: outcome(func(_ *isolate, out *spi.Outcome) { out.Usage.Wall = 0 }),
		},
		{
			Name: "counts-output-wrong", Wrong: "The usage counts the characters of the output and not its bytes.",
			CaughtBy: []string{"VALUE-021"}, Seen: "usage says",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				out.Usage.OutputBytes = int64(len([]rune(string(out.Value))))
			}),
		},
		{
			Name: "success-after-a-kill", Wrong: "A script that was ended by force is reported as done.",
			CaughtBy: []string{"LIMIT-001", "KILL-001", "KILL-016"}, Seen: "ended with the value null",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if ended(out) {
					setValue(out, "null", spi.TypeUndefined)
				}
			}),
		},
		{
			Name: "success-after-an-error", Wrong: "A script that threw is reported as done.",
			CaughtBy: []string{"ERROR-002"}, Seen: "ended with the value",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if out.Error != nil && out.Error.Kind == spi.KindException {
					setValue(out, "null", spi.TypeUndefined)
				}
			}),
		},
		{
			Name: "wall-in-another-unit", Wrong: "The wall time is given in microseconds and not in nanoseconds.",
			CaughtBy: []string{"LIMIT-027"}, Seen: "of wall time",
			build: outcome(func(_ *isolate, out *spi.Outcome) { out.Usage.Wall /= 1000 }),
		},
	}
}
