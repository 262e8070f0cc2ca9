package qjs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// Isolate is one runtime of the library. It implements [spi.Isolate].
type Isolate struct {
	guest   *guest
	limits  spi.Limits
	forget  func() // by the backend
	once    sync.Once
	closing chan struct{} // closed when Close is called

	turn  sync.Mutex   // held by Eval, and by Close when it releases
	spent bool         // guarded by turn
	left  <-chan error // guarded by turn: where a guest that was not waited for answers; nil if there is none
}

var _ spi.Isolate = (*Isolate)(nil)

// Eval implements [spi.Isolate].
func (i *Isolate) Eval(ctx context.Context, req *spi.Request) (*spi.Outcome, error) {
	start := time.Now()
	if req.Language != spi.JavaScript {
		return nil, fmt.Errorf("qjs: language %q; allowed is %q: %w", req.Language, spi.JavaScript, spi.ErrUnsupported)
	}
	if len(req.Functions) > 0 {
		return nil, fmt.Errorf("qjs: %d functions; allowed are none: %w", len(req.Functions), spi.ErrUnsupported)
	}
	i.turn.Lock()
	defer i.turn.Unlock()
	select {
	case <-i.closing:
		return nil, spi.ErrClosed
	default:
	}
	if i.spent {
		return nil, spi.ErrIsolateSpent
	}
	e := &ending{limits: i.limits, sink: &sink{limits: i.limits}}
	if err := ctx.Err(); err != nil {
		e.stopped = stoppedByCaller(err)
	} else {
		i.run(ctx, req, e)
	}
	e.refused = i.guest.memory.refused.Load()
	out := e.outcome(req.Source)
	i.spent = i.spent || e.refused || out.Error != nil && out.Error.Kind == spi.KindBackend
	out.Usage.MemoryPeakBytes = i.guest.memory.size.Load()
	out.Usage.Wall = time.Since(start)
	return out, nil
}

// run runs the script until it ends or has to be stopped, and notes which.
func (i *Isolate) run(ctx context.Context, req *spi.Request, e *ending) {
	deadline := time.NewTimer(i.limits.Timeout)
	defer deadline.Stop()
	done := make(chan error, 1)
	go func() { done <- i.guest.eval(e.sink, req) }()
	select {
	case e.failure = <-done:
		return
	case <-ctx.Done():
		e.stopped = stoppedByCaller(ctx.Err())
	case <-deadline.C:
		e.stopped = reached(spi.KindTimeout, "TimeoutError", "the script ran longer than", spi.LimitTimeout, i.limits.Timeout.Milliseconds())
	case <-i.closing:
		e.stopped = &spi.ScriptError{Kind: spi.KindKilled, Name: "KilledError", Message: "the isolate was closed while the script ran"}
	}
	i.spent = true
	i.guest.stop()
	select {
	case <-done:
	case <-time.After(grace):
		i.left = done
	}
}

// stoppedByCaller is how an eval ends whose context did.
func stoppedByCaller(err error) *spi.ScriptError {
	if errors.Is(err, context.DeadlineExceeded) {
		return &spi.ScriptError{Kind: spi.KindTimeout, Name: "TimeoutError", Message: "the caller's deadline passed"}
	}
	return &spi.ScriptError{Kind: spi.KindCancelled, Name: "CancelledError", Message: "the caller cancelled the eval"}
}

// Close implements [spi.Isolate]. It never fails. A guest that sleeps in the
// library and cannot be woken is released when it wakes; Close does not wait for it.
func (i *Isolate) Close() error {
	i.once.Do(func() {
		close(i.closing)
		i.turn.Lock()
		defer i.turn.Unlock()
		if left := i.left; left == nil {
			i.guest.close()
		} else {
			go func() {
				<-left
				i.guest.close()
			}()
		}
		i.forget()
	})
	return nil
}
