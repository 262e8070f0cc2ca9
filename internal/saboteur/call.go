package saboteur

import (
	"context"

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
			Name: "call-one-line-off", Wrong: "Lines of calls are counted from zero.",
			CaughtBy: []string{"CALL-004"}, Seen: "at line",
			build: pendingCalls(func(c *spi.HostCall) { c.Line-- }),
		},
	}
}
