package saboteur

import (
	"context"
	"slices"

	"github.com/loom-sandbox/sandboxd/spi"
)

// callDefects break host calls and their replies.
func callDefects() []Defect {
	return []Defect{
		{
			Name: "calls-not-at-all", Wrong: "The descriptor says that scripts can call, and Continue is not there yet.",
			CaughtBy: []string{"CALL-001"}, Seen: "not supported",
			build: goingOn(func(context.Context, *isolate, []spi.Reply) (*spi.Outcome, error) { return nil, spi.ErrUnsupported }),
		},
		{
			Name: "calls-secretly", Wrong: "Scripts can call, and the descriptor does not say so.",
			CaughtBy: []string{"CALL-002"}, Seen: "was handed functions, and the descriptor does not say",
			build: describe(func(d *spi.Descriptor) { d.HostCalls = false }),
		},
		{
			Name: "call-ids-from-zero", Wrong: "Calls are counted from zero.",
			CaughtBy: []string{"CALL-003"}, Seen: "has the ID 0",
			build: pendingCalls(func(c *spi.HostCall) { c.ID-- }),
		},
		{
			Name: "call-without-path", Wrong: "A call names its function without the objects that it is in.",
			CaughtBy: []string{"CALL-003"}, Seen: "wanted [1 tools.a",
			build: pendingCalls(func(c *spi.HostCall) { c.Function = c.Function[len(c.Function)-1:] }),
		},
		{
			Name: "calls-in-reverse", Wrong: "Calls that wait are shown with the last one first.",
			CaughtBy: []string{"CALL-010"}, Seen: "after 4",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				out.Pending = slices.Clone(out.Pending)
				slices.Reverse(out.Pending)
			}),
		},
		{
			Name: "one-call-at-a-time", Wrong: "Only the first of the calls that wait is shown.",
			CaughtBy: []string{"CALL-010", "CALL-011"}, Seen: "calls without a reply are [1 tools.a",
			build: outcome(func(_ *isolate, out *spi.Outcome) { out.Pending = out.Pending[:min(1, len(out.Pending))] }),
		},
		{
			Name: "call-ids-of-the-eval", Wrong: "Every eval counts its calls from one.",
			CaughtBy: []string{"CALL-014"}, Seen: "wanted [3 tools.a []]",
			build: func() hooks {
				return hooks{
					eval: func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
						i.sum = i.last
						return run(ctx, i, req)
					},
					outcome: func(i *isolate, out *spi.Outcome) {
						out.Pending = slices.Clone(out.Pending)
						for n := range out.Pending {
							i.last = max(i.last, out.Pending[n].ID)
							out.Pending[n].ID -= i.sum
						}
					},
				}
			},
		},
		{
			Name: "absent-functions-are-undefined", Wrong: "A function that was not handed out is undefined.",
			CaughtBy: []string{"CALL-015"}, Seen: "undefined",
			build: before("if (globalThis.tools) Object.setPrototypeOf(tools, Object.prototype)"),
		},
		{
			Name: "hands-out-emit", Wrong: "Who is handed a function is handed emit with it.",
			CaughtBy: []string{"CALL-016"}, Seen: `with [tools.a]: value is ["object","undefined","undefined","undefined","function"`,
			build: request(func(_ *isolate, req *spi.Request) {
				if len(req.Functions) > 0 && !slices.Contains(req.Functions, spi.FunctionEmit) {
					req.Functions = append(slices.Clone(req.Functions), spi.FunctionEmit)
				}
			}),
		},
		{
			Name: "hands-out-errors", Wrong: "The classes of errors of calls are there for every script.",
			CaughtBy: []string{"CALL-016"}, Seen: `"function","function"], wanted`,
			build: request(func(_ *isolate, req *spi.Request) {
				if len(req.Functions) == 0 {
					req.Functions = []string{"unused"}
				}
			}),
		},
		{
			Name: "keeps-functions", Wrong: "A script is handed what the one before it was handed as well.",
			CaughtBy: []string{"CALL-039"}, Seen: `eval 2, with [tools.b]: value is ["tools","emit","DeniedError"`,
			build: func() hooks {
				return hooks{request: func(i *isolate, req *spi.Request) {
					functions := slices.Clone(req.Functions)
					for _, name := range i.handed {
						if !slices.Contains(functions, name) {
							functions = append(functions, name)
						}
					}
					i.handed, req.Functions = req.Functions, functions
				}}
			},
		},
		{
			Name: "forgets-calls-at-the-end", Wrong: "A script that has ended has no pending calls.",
			CaughtBy: []string{"CALL-019"}, Seen: "calls without a reply are []",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if !out.Waits() {
					out.Pending = nil
				}
			}),
		},
		{
			Name: "call-one-line-off", Wrong: "Lines of calls are counted from zero.",
			CaughtBy: []string{"CALL-004"}, Seen: "at line",
			build: pendingCalls(func(c *spi.HostCall) { c.Line-- }),
		},
	}
}
