package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

func waitsAwayFuel(ctx context.Context, s *subject) error {
	for _, source := range []string{
		"await tools.echo(1)", "let n = 0; for (let i = 0; i < 3; i++) { for (let j = 0; j < 20000; j++) n++; await tools.echo(i) } n",
		"const all = Promise.all([1, 2].map((n) => tools.echo(n))); for (let j = 0; j < 20000; j++) ; await all",
	} {
		stayed, err := s.waitingParts(ctx, source, stays)
		if err != nil {
			return err
		}
		need := stayed[len(stayed)-1].Usage.Fuel
		for _, fuel := range []int64{0, need, need + 1, need - 1, need - need/10, stayed[0].Usage.Fuel} {
			want, err := s.waitingParts(ctx, source, stays, withFuel(fuel))
			if err != nil {
				return err
			}
			given := func(r *spi.Resumption) { r.Limits.Fuel = fuel }
			for what, opened := range map[string]int64{"that it was opened with, too": fuel, "and none before": 0} {
				away, err := s.waitingParts(ctx, source, s.goesAway(given), withFuel(opened))
				if err == nil && (opened == fuel || want[0].Waits()) {
					err = s.sameAway(want, away)
				}
				last := want[len(want)-1]
				if err == nil && fuel > 0 && fuel < need {
					err = firstError(func() error { return wantKind(last, spi.KindFuel) }, func() error { return wantLimit(last, spi.LimitFuel, fuel) })
				} else if err == nil && last.Error != nil {
					err = fmt.Errorf("ended with %s", last.Error.Kind)
				}
				if err != nil {
					return fmt.Errorf("%s: resumed with %d units, %s, of %d that it burns: %w", clip(source), fuel, what, need, err)
				}
			}
		}
	}
	return nil
}

// twins runs steps in two isolates, one after the other for each step, and
// demands the same outcomes.
func (s *subject) twins(ctx context.Context, one, other spi.Isolate, sources ...string) error {
	for _, source := range sources {
		a, err := s.evalIn(ctx, one, source, "")
		if err != nil {
			return err
		}
		b, err := s.evalIn(ctx, other, source, "")
		if err == nil {
			err = s.sameButStack(a, b)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", clip(source), err)
		}
	}
	return nil
}

const begun = "globalThis.n = 1; const list = [Math.random()]; n"

func suspendedGoesOn(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx, s.withLeisure())
	if err != nil {
		return err
	}
	steps := []step{{begun, "1"}, {"n++; list.push(1); n", "2"}, {"n++; [n, list.length]", "[3,2]"}, {"n + list.length", "5"}}
	err = s.walk(ctx, iso, func(ctx context.Context, iso spi.Isolate) (spi.Isolate, error) {
		first, err := suspend(ctx, iso)
		if err != nil {
			return nil, err
		}
		resumed, err := s.resume(ctx, first) // what becomes of it is nothing to the other
		if err == nil {
			_, err = s.evalIn(ctx, resumed, "n = -1; list.push(8); while (list.length < 1000) list.push(Math.random()); 0", "")
		}
		if err != nil {
			return nil, err
		}
		_, err = suspend(ctx, iso) // again
		return iso, err
	}, steps...)
	if err == nil && NeedImage.declaredBy(&s.descriptor) {
		err = s.asNeverSuspended(ctx, iso, steps)
	}
	if err != nil || !NeedHostCalls.declaredBy(&s.descriptor) {
		return err
	}
	for _, source := range waitingSources()[:8] {
		stayed, err := s.waitingParts(ctx, source, stays)
		if err != nil {
			return err
		}
		looked, err := s.waitingParts(ctx, source, func(ctx context.Context, iso spi.Isolate) (spi.Isolate, error) {
			_, err := suspend(ctx, iso)
			return iso, err
		})
		if err == nil {
			err = s.sameAway(stayed, looked)
		}
		if err != nil {
			return fmt.Errorf("%s: an isolate that was suspended and went on: %w", clip(source), err)
		}
	}
	return nil
}

// asNeverSuspended demands that an isolate goes on as one that took the same steps
// and stayed.
func (s *subject) asNeverSuspended(ctx context.Context, iso spi.Isolate, steps []step) error {
	never, err := s.isolate(ctx, s.withLeisure())
	if err != nil {
		return err
	}
	if err := s.walk(ctx, never, stays, steps...); err != nil {
		return err
	}
	if err := s.twins(ctx, never, iso, "[n, list, "+randomSource+", "+timeSource+"]", "throw new Error(String(Math.random()))"); err != nil {
		return fmt.Errorf("an isolate that goes on is not like one that was never suspended: %w", err)
	}
	return nil
}

func resumedTwice(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx, s.withLeisure())
	if err != nil {
		return err
	}
	if _, err := s.evalIn(ctx, iso, begun, ""); err != nil {
		return err
	}
	state, err := suspend(ctx, iso)
	if err != nil {
		return err
	}
	one, err := s.resume(ctx, state)
	if err != nil {
		return err
	}
	next := []string{"n++; list.push(Math.random()); list", "throw new Error(String(list.length))", "[n, list, Math.random()]"}
	for i := range 2 {
		other, err := s.resume(ctx, state)
		if err != nil {
			return err
		}
		if i == 0 {
			err = s.twins(ctx, one, other, next...)
		} else { // that the others have gone on is nothing to it
			err = s.twins(ctx, iso, other, next...)
		}
		if err != nil {
			return fmt.Errorf("resumed again, it is another outcome: %w", err)
		}
	}
	if !NeedHostCalls.declaredBy(&s.descriptor) {
		return nil
	}
	return s.waitsTwice(ctx)
}

// waitsTwice resumes a script that waits with replies that differ.
func (s *subject) waitsTwice(ctx context.Context) error {
	iso, err := s.isolate(ctx, s.withLeisure(), s.withWaits())
	if err != nil {
		return err
	}
	out, err := s.beginWaiting(ctx, iso, "let n = 1; const a = await tools.echo(1); [++n, a]")
	if err != nil {
		return err
	}
	if !out.Waits() {
		return fmt.Errorf("ended with %s, wanted it to wait", ending(out))
	}
	state, err := suspend(ctx, iso)
	if err != nil {
		return err
	}
	for _, reply := range []string{`"a"`, `{"b":[1]}`, `"a"`} {
		next, err := s.resume(ctx, state)
		if err != nil {
			return err
		}
		out, err := waitMore(ctx, next, spi.Reply{ID: out.Pending[0].ID, Value: json.RawMessage(reply)})
		if err == nil {
			err = wantValue(out, "[2,"+reply+"]")
		}
		if err != nil {
			return fmt.Errorf("resumed again and answered with %s: %w", reply, err)
		}
	}
	return nil
}

func resumedClock(ctx context.Context, s *subject) error {
	const before, after = timers + "await new Promise((r) => later(r, 700)); for (let i = 0; i < 20000; i++) ; Date.now()", "Date.now()"
	iso, err := s.isolate(ctx, s.withLeisure())
	if err != nil {
		return err
	}
	read := func(iso spi.Isolate, source string) (time.Time, error) {
		out, err := s.evalIn(ctx, iso, source, "")
		if err != nil {
			return time.Time{}, err
		}
		var ms int64
		if err := json.Unmarshal(out.Value, &ms); err != nil {
			return time.Time{}, fmt.Errorf("ended with %s and the value %s, wanted a time", ending(out), clip(string(out.Value)))
		}
		return time.UnixMilli(ms).UTC(), nil
	}
	stood, err := read(iso, before)
	if err != nil {
		return err
	}
	state, err := suspend(ctx, iso)
	if err != nil {
		return err
	}
	for _, now := range []time.Time{{}, checkTime().AddDate(3, 1, 4), checkTime().AddDate(-40, 0, 0), {}} {
		next, err := s.resume(ctx, state, func(r *spi.Resumption) { r.Now = now })
		if err != nil {
			return err
		}
		at, err := read(next, after)
		if err != nil {
			return err
		}
		from, what := now, "that it was given"
		if now.IsZero() {
			from, what = stood, "where it stood"
		}
		if since := at.Sub(from); since < -time.Millisecond || since > s.allow(5*time.Second) {
			return fmt.Errorf("the clock of a resumed isolate began %v after the time %s", since, what)
		}
	}
	return nil
}

func resumedRandom(ctx context.Context, s *subject) error {
	const draw = "const drawn = []; for (let i = 0; i < 5; i++) drawn.push(" + randomSource + "); drawn"
	iso, err := s.isolate(ctx, s.withLeisure())
	if err != nil {
		return err
	}
	drawn := func(iso spi.Isolate) (string, error) {
		out, err := s.evalIn(ctx, iso, draw, "")
		if err == nil && out.Error != nil {
			err = fmt.Errorf("ended with %s", out.Error.Kind)
		}
		if err != nil {
			return "", err
		}
		return string(out.Value), nil
	}
	first, err := drawn(iso)
	if err != nil {
		return err
	}
	state, err := suspend(ctx, iso)
	if err != nil {
		return err
	}
	went, err := drawn(iso)
	if err != nil {
		return err
	}
	bySeed := func(seed uint64) func(*spi.Resumption) { return func(r *spi.Resumption) { r.Seed = &seed } }
	var got []string
	for _, change := range []func(*spi.Resumption){
		func(*spi.Resumption) {}, bySeed(0), bySeed(1), bySeed(2), bySeed(1<<64 - 1), bySeed(1), bySeed(0), func(*spi.Resumption) {},
	} {
		next, err := s.resume(ctx, state, change)
		if err != nil {
			return err
		}
		text, err := drawn(next)
		if err != nil {
			return err
		}
		got = append(got, text)
	}
	switch {
	case got[0] != went || got[7] != went:
		return fmt.Errorf("random numbers of a resumed isolate are %s, and of the one that was suspended %s", clip(got[0]), clip(went))
	case got[1] != got[6] || got[2] != got[5]:
		return errors.New("resumed twice with the same seed, random numbers differ")
	}
	all := append([]string{first, went}, got[1:5]...)
	slices.Sort(all)
	if distinct := len(slices.Compact(all)); distinct != 6 {
		return fmt.Errorf("of six rounds of random numbers, with four seeds, %d differ", distinct)
	}
	return nil
}

func resumedCounts(ctx context.Context, s *subject) error {
	const source = "const out = []; for (let i = 0; i < 4; i++) { console.log('123456789'); try { await tools.echo('x'); out.push('ok') } catch (e) { out.push(e.name) } } out"
	const freely, thrice = `["ok","ok","ok","ok"]`, `["ok","ok","ok","DeniedError"]`
	for _, c := range []struct {
		name  string
		tight func(*spi.Limits)
		value string
		lines int
	}{
		{"nothing", func(*spi.Limits) {}, freely, 4},
		{"hostCalls", func(l *spi.Limits) { l.HostCalls = 3 }, thrice, 4},
		{"callBytes", func(l *spi.Limits) { l.CallBytes = 3 * int64(len(`["x"]`)) }, thrice, 4},
		{"logBytes", func(l *spi.Limits) { l.LogBytes = 30 }, freely, 3},
	} {
		opened := func(cfg *spi.Config) { c.tight(&cfg.Limits) }
		resumed := func(r *spi.Resumption) { c.tight(&r.Limits) }
		roomy := func(*spi.Config) {}
		for what, run := range map[string]func() ([]*spi.Outcome, error){
			"not put away":             func() ([]*spi.Outcome, error) { return s.waitingParts(ctx, source, stays, opened) },
			"put away":                 func() ([]*spi.Outcome, error) { return s.waitingParts(ctx, source, s.goesAway(resumed), opened) },
			"resumed with that alone":  func() ([]*spi.Outcome, error) { return s.waitingParts(ctx, source, s.goesAway(resumed), roomy) },
			"resumed the second time":  func() ([]*spi.Outcome, error) { return s.waitingParts(ctx, source, s.awayFrom(2, resumed), opened) },
			"resumed the last time by": func() ([]*spi.Outcome, error) { return s.waitingParts(ctx, source, s.awayFrom(3, resumed), roomy) },
		} {
			parts, err := run()
			if err == nil {
				out := parts[len(parts)-1]
				err = firstError(
					func() error { return wantValue(out, c.value) },
					func() error {
						if len(out.Logs) != c.lines || out.LogsTruncated != (c.lines < 4) {
							return fmt.Errorf("%d log lines are kept, truncated: %t, wanted %d of 4", len(out.Logs), out.LogsTruncated, c.lines)
						}
						return nil
					},
				)
			}
			if err != nil {
				return fmt.Errorf("%s tight, %s: %w", c.name, what, err)
			}
		}
	}
	return nil
}

// awayFrom stays until the given wait, counted from 1, and then goes away at each.
func (s *subject) awayFrom(wait int, changes ...func(*spi.Resumption)) mover {
	goes, n := s.goesAway(changes...), 0
	return func(ctx context.Context, iso spi.Isolate) (spi.Isolate, error) {
		if n++; n < wait {
			return iso, nil
		}
		return goes(ctx, iso)
	}
}
