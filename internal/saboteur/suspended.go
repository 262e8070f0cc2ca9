package saboteur

import (
	"bytes"
	"context"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

type (
	suspendFunc func(ctx context.Context, i *isolate, maxBytes int64) ([]byte, error)
	resumeFunc  func(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error)
)

// Suspend implements [spi.Suspender]. Where the good isolate is none, it is refused.
func (i *isolate) Suspend(ctx context.Context, maxBytes int64) ([]byte, error) {
	if i.backend.hooks.suspend != nil {
		return i.backend.hooks.suspend(ctx, i, maxBytes)
	}
	return i.suspend(ctx, maxBytes)
}

func (i *isolate) suspend(ctx context.Context, maxBytes int64) ([]byte, error) {
	sus, ok := i.whole().(spi.Suspender)
	if !ok {
		return nil, spi.ErrUnsupported
	}
	return sus.Suspend(ctx, maxBytes)
}

// Resume implements [spi.Resumer]. Where the good backend is none, it is refused.
func (b *Backend) Resume(ctx context.Context, r *spi.Resumption) (spi.Isolate, error) {
	if b.hooks.resume != nil {
		return b.hooks.resume(ctx, b, r)
	}
	return orNone(b.resume(ctx, r))
}

// resume resumes a good isolate and puts the hooks on it.
func (b *Backend) resume(ctx context.Context, r *spi.Resumption) (*isolate, error) {
	own := *r
	own.State = bytes.Clone(r.State)
	i := &isolate{backend: b, asked: spi.Config{Limits: r.Limits, Now: r.Now, Observer: r.Observer}, state: &own, opened: time.Now()}
	if err := i.renew(ctx); err != nil {
		return nil, err
	}
	b.opened.Add(1)
	return i, nil
}

func (i *isolate) resumeGood(ctx context.Context, cfg *spi.Config) (spi.Isolate, error) {
	resumer, ok := i.backend.good.(spi.Resumer)
	if !ok {
		return nil, spi.ErrUnsupported
	}
	r := *i.state
	r.Limits = cfg.Limits
	return resumer.Resume(ctx, &r)
}

// Most defects sit in one hook.

func suspending(f suspendFunc) func() hooks {
	return func() hooks { return hooks{suspend: f} }
}

func resuming(f resumeFunc) func() hooks {
	return func() hooks { return hooks{resume: f} }
}

// resumption changes what isolates are resumed with.
func resumption(f func(r *spi.Resumption)) func() hooks {
	return resuming(func(ctx context.Context, b *Backend, r *spi.Resumption) (spi.Isolate, error) {
		changed := *r
		f(&changed)
		i, err := b.resume(ctx, &changed)
		if err != nil {
			return nil, err
		}
		i.asked.Limits = r.Limits // a changed limit does not give itself away
		return i, nil
	})
}

// evaluatingResumed is evaluating for isolates that were resumed.
func evaluatingResumed(f evalFunc) func() hooks {
	return evaluating(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
		if i.state == nil {
			return run(ctx, i, req)
		}
		return f(ctx, i, req)
	})
}

// outcomeResumed edits how scripts that were resumed end or wait again.
func outcomeResumed(f func(i *isolate, out *spi.Outcome)) func() hooks {
	return func() hooks {
		return hooks{goOn: func(ctx context.Context, i *isolate, replies []spi.Reply) (*spi.Outcome, error) {
			out, err := goOn(ctx, i, replies)
			if err == nil && i.state != nil {
				f(i, out)
			}
			return out, err
		}}
	}
}
