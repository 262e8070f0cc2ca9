package conformance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// hostEnding is one way in which the host ends an eval: the script that it ends,
// what that runs under and what its outcome has to say.
type hostEnding struct {
	kind   spi.Kind
	source string // after the beginning that all have; see began
	need   Need   // "" where every backend has it
	limit  spi.LimitName
	stop   interruption // nil where the script runs into its end
	// limits are what the isolate is opened with; nil for the usual ones. within
	// is how long the script may run, or is left alone until it is stopped.
	limits func(ctx context.Context, s *subject, within time.Duration) (func(*spi.Config), error)
	// spent: the isolate is to refuse the next eval. A stopped one is anyway.
	spent bool
	// atOnce: it ends long before its timeout.
	atOnce bool
}

// began begins each of these scripts: two lines, which are to be in the outcome.
const began = "console.log('one'); console.warn('two'); "

// hostEndings are all of them that a backend must know.
func hostEndings() []hostEnding {
	const loop = "for (;;) ;"
	fixed := func(change func(s *subject) func(*spi.Config)) func(context.Context, *subject, time.Duration) (func(*spi.Config), error) {
		return func(_ context.Context, s *subject, _ time.Duration) (func(*spi.Config), error) { return change(s), nil }
	}
	patience := fixed(func(s *subject) func(*spi.Config) { return s.withPatience() })
	return []hostEnding{
		{
			kind: spi.KindTimeout, source: loop, limit: spi.LimitTimeout, spent: true,
			limits: func(_ context.Context, _ *subject, within time.Duration) (func(*spi.Config), error) {
				return withTimeout(within), nil
			},
		},
		{kind: spi.KindCancelled, source: loop, stop: byCancelling, limits: patience, spent: true},
		{kind: spi.KindKilled, source: loop, stop: byClosing, limits: patience},
		{kind: spi.KindDeadlock, source: "await new Promise(() => {})", limits: patience, atOnce: true},
		{
			kind: spi.KindMemory, source: "const held = []; for (let i = 0; ; i++) held.push(new Uint8Array(1 << 20).fill(i))",
			limit: spi.LimitMemory, spent: true,
			limits: fixed(func(s *subject) func(*spi.Config) {
				return func(c *spi.Config) {
					withMemory(s.memory(16 << 20))(c)
					s.withLeisure()(c)
				}
			}),
		},
		{kind: spi.KindOutputTooLarge, source: "'x'.repeat(100)", limit: spi.LimitOutput, limits: fixed(func(*subject) func(*spi.Config) { return withOutput(40) })},
		{kind: spi.KindStackOverflow, source: "const down = (n) => down(n + 1) + 1; down(0)", need: NeedStack},
		{
			kind: spi.KindFuel, source: loop, need: NeedFuel, limit: spi.LimitFuel, spent: true,
			limits: func(ctx context.Context, s *subject, _ time.Duration) (func(*spi.Config), error) {
				small, err := s.fuelOf(ctx, began+"1")
				return withFuel(10*small + s.granularity(spi.LimitFuel)), err
			},
		},
	}
}

// endingOf is the ending with a kind.
func endingOf(kind spi.Kind) hostEnding {
	all := hostEndings()
	return all[slices.IndexFunc(all, func(h hostEnding) bool { return h.kind == kind })]
}

// declaredEndings are those that the backend promises.
func (s *subject) declaredEndings() []hostEnding {
	return slices.DeleteFunc(hostEndings(), func(h hostEnding) bool { return h.need != "" && !h.need.declaredBy(&s.descriptor) })
}

// opener opens the isolate of a script that is going to be ended.
type opener func(ctx context.Context, changes ...func(*spi.Config)) (spi.Isolate, error)

// met is an ending as it was seen: the outcome and the time of the whole call.
type met struct {
	out    *spi.Outcome
	within time.Duration
	took   time.Duration
}

// meet brings the ending about, demands its kind and the lines before it, and
// has judge say what else is wrong. Changes go before those of the ending.
func (h hostEnding) meet(ctx context.Context, s *subject, open opener, judge func(met) error, changes ...func(*spi.Config)) error {
	err := s.patiently(untilEnded(), func(within time.Duration) error { return h.try(ctx, s, open, judge, within, changes) })
	if err != nil {
		return fmt.Errorf("%s: %w", h.kind, err)
	}
	return nil
}

// untilEnded are long enough for usage to be told from nothing.
func untilEnded() []time.Duration {
	return []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, 1200 * time.Millisecond}
}

func (h hostEnding) try(ctx context.Context, s *subject, open opener, judge func(met) error, within time.Duration, changes []func(*spi.Config)) error {
	changes = slices.Clone(changes)
	if h.limits != nil {
		change, err := h.limits(ctx, s, within)
		if err != nil {
			return err
		}
		changes = append(changes, change)
	}
	iso, err := open(ctx, changes...)
	if err != nil {
		return err
	}
	m := met{within: within}
	start := time.Now()
	m.out, err = h.run(ctx, s, iso, within)
	m.took = time.Since(start)
	if err != nil {
		return err
	}
	return firstError(
		func() error { return wantKind(m.out, h.kind) },
		func() error { return h.wantLimit(m.out, s.config(changes...)) },
		func() error { return hasty(wantBegan(m.out)) },
		func() error { return wantPeak(m.out, 1, s.config(changes...).Limits.MemoryBytes) },
		func() error { return judge(m) },
		func() error {
			if !h.spent {
				return nil
			}
			return hasty(wantSpent(ctx, iso))
		},
	)
}

func (h hostEnding) run(ctx context.Context, s *subject, iso spi.Isolate, within time.Duration) (*spi.Outcome, error) {
	eval := func() (*spi.Outcome, error) { return s.evalIn(ctx, iso, began+h.source, s.room(s.config())) }
	switch {
	case h.stop != nil:
		return s.interrupt(ctx, iso, began+h.source, within, h.stop)
	case h.kind == spi.KindTimeout:
		return s.inTime(within, eval)
	case h.atOnce:
		return s.inTime(0, eval)
	}
	return eval()
}

func (h hostEnding) wantLimit(out *spi.Outcome, cfg *spi.Config) error {
	l := &cfg.Limits
	switch h.limit {
	case spi.LimitTimeout:
		return wantLimit(out, h.limit, l.Timeout.Milliseconds())
	case spi.LimitMemory:
		return wantLimit(out, h.limit, l.MemoryBytes)
	case spi.LimitOutput:
		return wantLimit(out, h.limit, l.OutputBytes)
	case spi.LimitFuel:
		return wantLimit(out, h.limit, l.Fuel)
	}
	if h.kind == spi.KindStackOverflow { // which of its limits is for another check
		return nil
	}
	return wantNoLimit(out)
}

// wantBegan demands the lines logged before the end, with their levels.
func wantBegan(out *spi.Outcome) error {
	want := []spi.LogLine{{Level: spi.LevelLog, Text: "one"}, {Level: spi.LevelWarn, Text: "two"}}
	if !slices.Equal(out.Logs, want) {
		return fmt.Errorf("logs are %s, wanted the two lines before the end: %v", clip(fmt.Sprint(out.Logs)), want)
	}
	return nil
}

// used opens an isolate in which two scripts have run. That there was too little
// time for them is a hasty error.
func (s *subject) used(ctx context.Context, changes ...func(*spi.Config)) (spi.Isolate, error) {
	iso, err := s.isolate(ctx, changes...)
	if err != nil {
		return nil, err
	}
	for _, source := range []string{"1", "console.log(1); 1"} {
		if _, err := s.evalOf(ctx, iso, s.config(changes...).Limits.Timeout, source, "", "1"); err != nil {
			return nil, fmt.Errorf("an eval before: %w", err)
		}
	}
	return iso, nil
}

// nothingElse is wrong with an ending.
func nothingElse(met) error { return nil }
