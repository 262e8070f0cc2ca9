package saboteur

import (
	"context"
	"slices"

	"github.com/loom-sandbox/sandboxd/spi"
)

// goOnFunc is called instead of Continue.
type goOnFunc func(ctx context.Context, i *isolate, replies []spi.Reply) (*spi.Outcome, error)

// Continue implements [spi.Caller]. Where the good isolate is none, it is refused.
func (i *isolate) Continue(ctx context.Context, replies []spi.Reply) (*spi.Outcome, error) {
	h := &i.backend.hooks
	f := h.goOn
	if f == nil {
		f = goOn
	}
	out, err := f(ctx, i, replies)
	if err == nil && h.outcome != nil {
		h.outcome(i, out)
	}
	return out, err
}

// goOn is the good Continue.
func goOn(ctx context.Context, i *isolate, replies []spi.Reply) (*spi.Outcome, error) {
	c, ok := i.whole().(spi.Caller)
	if !ok {
		return nil, spi.ErrUnsupported
	}
	out, err := c.Continue(ctx, replies)
	return i.asAsked(out, err)
}

func goingOn(f goOnFunc) func() hooks {
	return func() hooks { return hooks{goOn: f} }
}

// replying changes the replies; the caller's own are left alone.
func replying(f func(replies []spi.Reply) []spi.Reply) func() hooks {
	return goingOn(func(ctx context.Context, i *isolate, replies []spi.Reply) (*spi.Outcome, error) {
		return goOn(ctx, i, f(slices.Clone(replies)))
	})
}

// pendingCalls changes the calls that an outcome shows.
func pendingCalls(f func(c *spi.HostCall)) func() hooks {
	return outcome(func(_ *isolate, out *spi.Outcome) {
		out.Pending = slices.Clone(out.Pending)
		for n := range out.Pending {
			f(&out.Pending[n])
		}
	})
}
