package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// Runner runs checks one by one. It is used by one goroutine.
type Runner struct {
	harness    Harness
	descriptor spi.Descriptor
	backend    spi.Backend // nil until the next check needs one
	closed     bool
}

// NewRunner makes the first backend. ctx bounds that and nothing later. Errors
// are as those of [Run].
func NewRunner(ctx context.Context, h *Harness) (*Runner, error) {
	if err := h.validate(); err != nil {
		return nil, err
	}
	r := &Runner{harness: *h}
	r.harness.Known = maps.Clone(h.Known)
	if r.harness.Slow == 0 {
		r.harness.Slow = 1
	}
	var err error
	if r.backend, err = r.newBackend(ctx); err != nil {
		return nil, err
	}
	if r.descriptor, err = r.describe(ctx); err != nil {
		r.abandon()
		return nil, err
	}
	return r, nil
}

// describe asks the backend what it is. The lists are copied: a backend might
// hand out its own, and a caller might write to them.
func (r *Runner) describe(ctx context.Context) (spi.Descriptor, error) {
	b := r.backend
	d, err := guarded(ctx, r.allow(DefaultWatchdog), func(context.Context) (spi.Descriptor, error) {
		return b.Describe(), nil
	}, nil)
	if err != nil {
		return d, fmt.Errorf("conformance: the backend does not describe itself: %w", err)
	}
	d.Languages, d.Enforces = slices.Clone(d.Languages), slices.Clone(d.Enforces)
	return d, nil
}

// allow is a time that the runner gives, on a machine as slow as the harness says.
func (r *Runner) allow(d time.Duration) time.Duration {
	return time.Duration(float64(d) * r.harness.Slow)
}

// Descriptor is that of the backend under test.
func (r *Runner) Descriptor() spi.Descriptor { return r.descriptor }

// Close closes the backend, if it does not hang. A check that is run afterwards
// has the outcome [Error].
func (r *Runner) Close() {
	r.closed = true
	r.retire(context.Background())
}

// Run runs one check of [Checks]. When ctx ends, a check that does not return at
// once is left behind with its backend.
func (r *Runner) Run(ctx context.Context, c *Check) Result {
	start := time.Now()
	result := Result{ID: c.ID, Level: c.Level, Rule: c.Rule}
	result.Outcome, result.Detail = r.judge(ctx, c)
	result.Ms = float64(time.Since(start).Microseconds()) / 1000
	return result
}

func (r *Runner) judge(ctx context.Context, c *Check) (Outcome, string) {
	switch {
	case r.closed:
		return Error, "the runner was closed"
	case ctx.Err() != nil:
		return Error, clean(ended(ctx).Error())
	case c.body == nil:
		return Error, "the check has no body; those that can be run come from Checks"
	}
	var missing []string
	for _, n := range c.Needs {
		if !n.declaredBy(&r.descriptor) {
			missing = append(missing, string(n))
		}
	}
	reason, known := r.harness.Known[c.ID]
	if len(missing) > 0 {
		if known {
			return Fail, "it is declared known and does not apply; take it off the list"
		}
		return NotApplicable, "it is for backends that declare " + strings.Join(missing, ", ")
	}
	err := r.attempt(ctx, c)
	var broken *unknownError
	switch {
	case errors.As(err, &broken):
		return Error, clean(err.Error())
	case err == nil && known:
		return Fail, "it is declared known and passes; take it off the list"
	case err == nil:
		return Pass, ""
	case known:
		return Known, clean(reason)
	}
	return Fail, clean(err.Error())
}

// unknownError: it is not known whether the rule holds.
type unknownError struct{ err error }

func (e *unknownError) Error() string { return e.err.Error() }
func (e *unknownError) Unwrap() error { return e.err }

func ended(ctx context.Context) error { return fmt.Errorf("the run was ended: %w", context.Cause(ctx)) }

// hungError: the backend did not return, and was left behind with what it does.
type hungError struct {
	after time.Duration
	ended error // why nobody waited that long, if so
}

func (e *hungError) Error() string {
	if e.ended != nil {
		return e.ended.Error()
	}
	return fmt.Sprintf("hung: no answer within %v", e.after)
}

func (e *hungError) Unwrap() error { return e.ended }

// attempt runs the check on a backend that nothing has failed on.
func (r *Runner) attempt(ctx context.Context, c *Check) error {
	if c.own {
		r.retire(ctx)
	}
	if r.backend == nil {
		b, err := r.newBackend(ctx)
		if err != nil {
			return &unknownError{err}
		}
		r.backend = b
	}
	s := &subject{backend: r.backend, descriptor: r.descriptor, slow: r.harness.Slow, another: r.newBackend}
	watchdog := c.Watchdog
	if watchdog == 0 {
		watchdog = DefaultWatchdog
	}
	_, err := guarded(ctx, r.allow(watchdog), func(ctx context.Context) (none, error) {
		defer s.cleanUp()
		return none{}, c.body(ctx, s)
	}, nil)
	var hung *hungError
	switch {
	case errors.As(err, &hung):
		r.abandon()
	case err != nil || c.own:
		r.retire(ctx)
	}
	if ctx.Err() != nil {
		return &unknownError{ended(ctx)} // whatever was seen may come from that
	}
	return err
}

// none is no answer but an error.
type none = struct{}

// guarded runs f in a goroutine of its own, which is left behind if it hangs or
// the caller's ctx ends. f's ctx is cancelled when nobody waits any more; late, if
// not nil, gets what f returns after that.
func guarded[T any](caller context.Context, limit time.Duration, f func(context.Context) (T, error), late func(T, error)) (T, error) {
	ctx, cancel := context.WithCancel(caller)
	defer cancel()
	done := background(func() (T, error) { return f(ctx) })
	watchdog := time.NewTimer(limit)
	defer watchdog.Stop()
	hung := &hungError{after: limit}
	select {
	case a := <-done:
		return a.value, a.err
	case <-caller.Done():
		hung.ended = ended(caller)
	case <-watchdog.C:
	}
	if late != nil {
		go func() {
			a := <-done
			late(a.value, a.err)
		}()
	}
	var nothing T
	return nothing, hung
}

// newBackend is bounded as well: a backend that does not start is at fault.
func (r *Runner) newBackend(ctx context.Context) (spi.Backend, error) {
	b, err := guarded(ctx, r.allow(startWatchdog), r.harness.New, func(b spi.Backend, _ error) { discard(b) })
	switch {
	case err == nil && b == nil:
		err = errors.New("New returned no backend and no error")
	case err == nil && ctx.Err() != nil:
		err = ended(ctx)
		discard(b)
	case err != nil && b != nil:
		r.shut(ctx, b)
	}
	if err != nil {
		return nil, fmt.Errorf("conformance: no backend could be made: %w", err)
	}
	return b, nil
}

// startWatchdog bounds making a backend: images may have to be compiled.
const startWatchdog = 2 * time.Minute

// discard makes one attempt to close a backend, which nobody waits for.
func discard(b spi.Backend) {
	if b != nil {
		background(func() (none, error) { return none{}, b.Close() })
	}
}

// retire closes the backend, waiting no longer than for a check.
func (r *Runner) retire(ctx context.Context) {
	b := r.backend
	if b == nil {
		return
	}
	r.backend = nil
	r.shut(ctx, b)
}

// shut closes a backend. What that must do is for the checks of the group CLOSE,
// and beside an error of New it is often a nil pointer that panics.
func (r *Runner) shut(ctx context.Context, b spi.Backend) {
	_, _ = guarded(ctx, r.allow(DefaultWatchdog), func(context.Context) (none, error) { return none{}, b.Close() }, nil)
}

// abandon leaves a hung backend alone, but for one attempt to close it that
// nobody waits for.
func (r *Runner) abandon() {
	discard(r.backend)
	r.backend = nil
}

// clean makes a detail safe for a terminal and short enough for a table.
func clean(s string) string {
	const most = 2000
	var b strings.Builder
	for _, c := range s {
		if b.Len() > most {
			b.WriteString("…")
			break
		}
		if c == '\n' || strconv.IsPrint(c) {
			b.WriteRune(c)
			continue
		}
		format := `\u%04x`
		if c > 0xffff {
			format = `\U%08x`
		}
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}
