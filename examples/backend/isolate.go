package subprocess

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// isolate is one child. It implements [spi.Isolate].
type isolate struct {
	backend *Backend
	child   *child
	limits  spi.Limits

	closing   chan struct{} // closed by the first Close
	closeOnce sync.Once

	mu     sync.Mutex // held while an eval runs, and while closing
	spent  bool       // guarded by mu
	closed bool       // guarded by mu
}

// Close implements [spi.Isolate].
func (i *isolate) Close() error {
	i.closeOnce.Do(func() { close(i.closing) }) // ends the eval that holds mu
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return nil
	}
	i.closed = true
	defer i.backend.forget(i) // not before: the backend's Close waits for it
	return i.child.end()
}

// Eval implements [spi.Isolate].
func (i *isolate) Eval(ctx context.Context, req *spi.Request) (*spi.Outcome, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	start := time.Now()
	switch {
	case i.closed:
		return nil, spi.ErrClosed
	case i.spent:
		return nil, spi.ErrIsolateSpent
	case req.Language != spi.JavaScript:
		return nil, fmt.Errorf("subprocess: language %.20q: %w; allowed is %s", req.Language, spi.ErrUnsupported, spi.JavaScript)
	case len(req.Functions) > 0:
		return nil, fmt.Errorf("subprocess: %d functions: %w; allowed are none", len(req.Functions), spi.ErrUnsupported)
	case ctx.Err() != nil: // nothing ran, so the isolate is as it was
		return &spi.Outcome{Error: contextEnded(ctx)}, nil
	}
	a, stopped := i.run(ctx, req, start)
	var out *spi.Outcome
	if a.err == nil {
		out = i.outcome(&a.reply, req.Source, stopped)
	}
	switch {
	case out != nil:
	case stopped != nil:
		out = &spi.Outcome{Error: stopped}
	default: // it died or contradicts itself, which a script may have brought about
		out = &spi.Outcome{Error: hostError(spi.KindBackend, "the child process failed; the script did not end")}
	}
	out.Usage.Wall = time.Since(start)
	if a.reply.Spent || out.Error != nil && endsIsolate(out.Error.Kind) {
		i.spend()
	}
	return out, nil
}

// run asks the child and watches everything that may end the eval meanwhile. It
// returns within overrun of that; stopped is the host's reason, nil for none.
func (i *isolate) run(ctx context.Context, req *spi.Request, start time.Time) (a answer, stopped *spi.ScriptError) {
	timeout := time.NewTimer(i.limits.Timeout)
	defer timeout.Stop()
	answers := i.child.ask(&question{req.Source, req.Language, string(req.Input)}, maxReplyBytes(&i.limits))
	select {
	case a = <-answers:
		if a.reply.kind() == spi.KindTimeout && time.Since(start) >= i.limits.Timeout {
			stopped = i.timedOut() // both clocks ran out at once
		}
		return a, stopped
	case <-timeout.C:
		stopped = i.timedOut()
	case <-ctx.Done():
		stopped = contextEnded(ctx)
	case <-i.closing:
		stopped = hostError(spi.KindKilled, "the isolate was closed while the script ran")
	}
	i.child.stop()
	select {
	case a = <-answers: // with the logs so far
	case <-time.After(grace):
		a.err = errors.New("subprocess: the child does not answer")
		_ = i.child.end() // Close reports it
	}
	return a, stopped
}

// spend ends the child: no later eval may trust it.
func (i *isolate) spend() {
	i.spent = true
	_ = i.child.end() // Close reports it
}

// endsIsolate reports whether an eval that ended so leaves a heap that is not
// whole. Where memory was refused and the script recovered, the child says so.
func endsIsolate(kind spi.Kind) bool {
	switch kind {
	case spi.KindTimeout, spi.KindCancelled, spi.KindKilled, spi.KindFuel, spi.KindMemory, spi.KindBackend:
		return true
	}
	return false
}

func hostError(kind spi.Kind, message string) *spi.ScriptError {
	return &spi.ScriptError{Kind: kind, Name: "HostError", Message: message}
}

func contextEnded(ctx context.Context) *spi.ScriptError {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return hostError(spi.KindTimeout, "the caller's deadline passed") // no limit of the isolate's
	}
	return hostError(spi.KindCancelled, "the caller cancelled the eval")
}

func (i *isolate) timedOut() *spi.ScriptError {
	e := hostError(spi.KindTimeout, "the script ran too long")
	e.Limit = &spi.ReachedLimit{Name: spi.LimitTimeout, Value: i.limits.Timeout.Milliseconds()}
	return e
}
