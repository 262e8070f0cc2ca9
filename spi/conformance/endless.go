package conformance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// Watchdogs of checks that need no longer than their timeouts, of those that open
// so many isolates that slow opening adds up, and of one that opens a hundred.
const (
	endlessWatchdog = 20 * time.Second
	manyWatchdog    = 2 * time.Minute
	loadWatchdog    = 5 * time.Minute
)

// endless is a body as data: a script that does not end by itself, or only after
// a very long time, and must be ended on time.
type endless struct {
	source string
	// kinds that will do as well, where an engine may give up by itself.
	kinds []spi.Kind
	// values that will do, where an engine may be quick enough after all.
	values []string
}

// body is the script as a check's body.
func (e endless) body() body { return e.run }

func (e endless) run(ctx context.Context, s *subject) error {
	timeout := s.shortTimeout()
	iso, err := s.isolate(ctx, withTimeout(timeout))
	if err != nil {
		return err
	}
	out, err := s.inTime(timeout, func() (*spi.Outcome, error) {
		return s.evalIn(ctx, iso, e.source, s.room(s.config()))
	})
	switch {
	case err != nil:
		return err
	case out.Error == nil && slices.ContainsFunc(e.values, func(v string) bool { return sameJSON(out.Value, []byte(v)) }):
		return s.healthy(ctx)
	}
	allowed := append([]spi.Kind{spi.KindTimeout}, e.kinds...)
	if s.cramped() { // garbage is not collected in time for it
		allowed = append(allowed, spi.KindMemory)
	}
	if err := wantKind(out, allowed...); err != nil {
		return err
	}
	if out.Error.Kind == spi.KindTimeout {
		if err := wantLimit(out, spi.LimitTimeout, timeout.Milliseconds()); err != nil {
			return err
		}
		if err := wantSpent(ctx, iso); err != nil {
			return err
		}
	}
	return s.healthy(ctx)
}

// shortTimeout is for scripts that reach it: whole milliseconds, as results say it.
func (s *subject) shortTimeout() time.Duration {
	return s.allow(100 * time.Millisecond).Round(time.Millisecond)
}

// timers begins scripts that set some. Whether there are timers is for other
// checks: where there are none, jobs stand in for them.
const timers = "const later = globalThis.setTimeout ?? ((f) => { Promise.resolve().then(f) }), " +
	"every = globalThis.setInterval ?? ((f) => { const again = () => { f(); Promise.resolve().then(again) }; again() }); "

func withTimeout(d time.Duration) func(*spi.Config) {
	return func(c *spi.Config) { c.Limits.Timeout = d }
}

// room is the input of scripts that depend on the size of their memory: the cap,
// and what of it is left for a script.
func (s *subject) room(cfg *spi.Config) string {
	limit := cfg.Limits.MemoryBytes
	return fmt.Sprintf(`{"cap":%d,"room":%d}`, limit, limit-s.descriptor.MinMemoryBytes)
}
