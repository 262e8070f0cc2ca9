package conformance

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

func concurrencyChecks() []Check {
	must := func(id, rule string, b body) Check {
		return Check{ID: id, Level: MUST, Rule: rule, Watchdog: manyWatchdog, body: b}
	}
	return []Check{
		must("CONC-001", "Sixteen isolates at once each get back their own values, round after round.", eachItsOwn(
			"globalThis.sum = (globalThis.sum ?? 0) + input.n; await null; [input.n, sum]",
			func(out *spi.Outcome, n, round int) error {
				return wantValue(out, fmt.Sprintf("[%d,%d]", n, n*(round+1)))
			},
		)),
		must("CONC-002", "Sixteen isolates at once each have their own logs.", eachItsOwn(
			"for (let i = 0; i < 20; i++) { console.log(input.n, i); await null } 1",
			func(out *spi.Outcome, n, _ int) error {
				want := make([]string, 20)
				for i := range want {
					want[i] = fmt.Sprintf("%d %d", n, i)
				}
				if got := logTexts(out); !reflect.DeepEqual(got, want) {
					return fmt.Errorf("logs are %q, wanted %q", got, want)
				}
				return nil
			},
		)),
		must("CONC-003", "Sixteen isolates at once each have their own errors.", eachItsOwn(
			"throw new RangeError('mine is ' + input.n)",
			func(out *spi.Outcome, n, _ int) error {
				if err := wantKind(out, spi.KindException); err != nil {
					return err
				}
				if want := fmt.Sprintf("mine is %d", n); out.Error.Message != want {
					return fmt.Errorf("error says %q, wanted %q", clip(out.Error.Message), want)
				}
				return nil
			},
		)),
		must("CONC-004", "Isolates that are open at once each have their own limits.", ownLimits),
		must("CONC-005", "Isolates that spin do not keep others from finishing.", spinnersAreFair),
		must("CONC-006", "Evals that end in all ways at once end as they do alone.", mixedEndings),
		must("CONC-007", "Open, Describe and Close of isolates may be called from many goroutines at once.", openAndClose),
		must("CONC-008", "An isolate may be used by one goroutine after another.", goroutinesInTurn),
		{ID: "CONC-009", Level: MUST, Rule: "Isolates may be opened while the backend is closed: each Open gives an isolate or ErrClosed.", Watchdog: manyWatchdog, own: true, body: openWhileClosing},
		must("CONC-010", "Opening gives up in time when its context ends, or opens, with many others opening.", openWithDeadline),
	}
}

const isolatesAtOnce = 16

// eachItsOwn runs a script in many isolates at once, several times in each, and
// judges each outcome by the number that the isolate was given.
func eachItsOwn(source string, judge func(out *spi.Outcome, n, round int) error) body {
	return func(ctx context.Context, s *subject) error {
		var isolates [isolatesAtOnce]spi.Isolate
		err := together(isolatesAtOnce, func(i int) (err error) {
			isolates[i], err = s.isolate(ctx, s.withLeisure())
			return err
		})
		if err != nil {
			return err
		}
		return together(isolatesAtOnce, func(i int) error { // all are open
			iso, n := isolates[i], 1000+i
			for round := range 5 {
				out, err := s.evalIn(ctx, iso, source, fmt.Sprintf(`{"n":%d}`, n))
				if err == nil {
					err = judge(out, n, round)
				}
				if err != nil {
					return fmt.Errorf("round %d: %w", round+1, err)
				}
			}
			return iso.Close()
		})
	}
}

func ownLimits(ctx context.Context, s *subject) error {
	return together(isolatesAtOnce, func(i int) error {
		size := int64(100+10*i) + s.granularity(spi.LimitOutput)
		iso, err := s.isolate(ctx, s.withLeisure(), withOutput(size), withLogs(0))
		if err != nil {
			return err
		}
		for _, step := range []struct {
			length int64
			fits   bool
		}{{size - 2 - s.granularity(spi.LimitOutput), true}, {size - 1, false}} {
			out, err := s.evalIn(ctx, iso, "'x'.repeat(input)", fmt.Sprint(step.length))
			if err != nil {
				return err
			}
			if step.fits && out.Error == nil {
				continue
			}
			if step.fits {
				return fmt.Errorf("a result of the limit's size ended with %s", out.Error.Kind)
			}
			if err := wantKind(out, spi.KindOutputTooLarge); err != nil {
				return err
			}
			if err := wantLimit(out, spi.LimitOutput, size); err != nil {
				return err
			}
		}
		return nil
	})
}

func spinnersAreFair(ctx context.Context, s *subject) error {
	const spinners = 4
	spinning, cancel := context.WithCancel(ctx)
	defer cancel()
	var pending []<-chan answer[*spi.Outcome]
	for range spinners {
		iso, err := s.isolate(ctx, s.withLeisure())
		if err != nil {
			return err
		}
		pending = append(pending, background(func() (*spi.Outcome, error) { return s.evalIn(spinning, iso, "for (;;) ;", "") }))
	}
	err := together(4, func(i int) error {
		for range 5 {
			out, err := s.eval(ctx, "let n = 0; for (let i = 0; i < 1000; i++) n += i; n + input", fmt.Sprint(i), s.withLeisure())
			if err == nil {
				err = wantValue(out, fmt.Sprint(499500+i))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	cancel()
	for _, p := range pending {
		a := <-p
		switch {
		case err != nil: // it is what is told
		case a.err != nil:
			err = fmt.Errorf("one that spins: %w", a.err)
		default:
			err = wantKind(a.value, spi.KindCancelled)
		}
	}
	return err
}

// mixedEndings compares with how each ends alone: whether that is right is for
// other checks.
func mixedEndings(ctx context.Context, s *subject) error {
	sources := []string{
		"input", "throw new Error('x')", "await new Promise(() => {})", "let a = ;", "({ a: 1n })", "for (;;) ;",
		"const held = []; for (;;) held.push(new Uint8Array(1 << 20).fill(1))", "const down = () => down() + 1; down()", "'x'.repeat(2000)",
	}
	end := func(source string) (string, error) {
		timeout := s.withLeisure()
		if strings.HasPrefix(source, "for ") { // the one that does not end by itself
			timeout = withTimeout(s.shortTimeout())
		}
		out, err := s.eval(ctx, source, "7", timeout, withMemory(s.memory(16<<20)), withOutput(1000))
		if err != nil {
			return "", fmt.Errorf("%s: %w", source, err)
		}
		return ending(out) + " " + string(out.Value), nil
	}
	alone := make([]string, len(sources))
	for i, source := range sources {
		var err error
		if alone[i], err = end(source); err != nil {
			return err
		}
	}
	return together(2*len(sources), func(i int) error {
		i %= len(sources)
		for range 2 {
			switch got, err := end(sources[i]); {
			case err != nil:
				return err
			case got != alone[i]:
				return fmt.Errorf("%s: ended with %s, and alone with %s", sources[i], clip(got), clip(alone[i]))
			}
		}
		return nil
	})
}

func openAndClose(ctx context.Context, s *subject) error {
	return together(isolatesAtOnce, func(i int) error {
		for range 10 {
			iso, err := s.isolate(ctx, s.withLeisure())
			if err != nil {
				return err
			}
			if d := s.backend.Describe(); !reflect.DeepEqual(d, s.descriptor) {
				return fmt.Errorf("Describe says %+v, and before that %+v", d, s.descriptor)
			}
			if i%2 == 0 {
				out, err := s.evalIn(ctx, iso, "input", fmt.Sprint(i))
				if err == nil {
					err = wantValue(out, fmt.Sprint(i))
				}
				if err != nil {
					return err
				}
			}
			if err := iso.Close(); err != nil {
				return fmt.Errorf("Close: %w", err)
			}
		}
		return nil
	})
}

func goroutinesInTurn(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx)
	if err != nil {
		return err
	}
	for i := range 20 {
		a := <-background(func() (*spi.Outcome, error) {
			return s.evalIn(ctx, iso, "globalThis.n = (globalThis.n ?? 0) + 1; n", "")
		})
		if a.err == nil {
			a.err = wantValue(a.value, fmt.Sprint(i+1))
		}
		if a.err != nil {
			return fmt.Errorf("eval %d: %w", i+1, a.err)
		}
	}
	return nil
}

func openWhileClosing(ctx context.Context, s *subject) error {
	var opened atomic.Int64
	var closed atomic.Bool
	pending := background(func() (none, error) {
		return none{}, together(8, func(int) error {
			for {
				late := closed.Load()
				iso, err := s.backend.Open(ctx, s.config())
				if errors.Is(err, spi.ErrClosed) {
					return nil
				}
				if err != nil {
					return fmt.Errorf("Open: %w", err)
				}
				if late {
					return errors.New("Open gave an isolate after Close had returned")
				}
				opened.Add(1)
				if _, err := iso.Eval(ctx, request("1", "")); err != nil && !errors.Is(err, spi.ErrClosed) {
					return fmt.Errorf("Eval: %w", err)
				}
				if err := iso.Close(); err != nil {
					return fmt.Errorf("closing the isolate: %w", err)
				}
			}
		})
	})
	for deadline := time.Now().Add(s.allow(5 * time.Second)); opened.Load() < 8 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	closeErr := s.backend.Close()
	closed.Store(true)
	a := <-pending
	return errors.Join(closeErr, a.err)
}

func openWithDeadline(ctx context.Context, s *subject) error {
	return together(isolatesAtOnce, func(i int) error {
		short, cancel := context.WithTimeout(ctx, time.Duration(i)*200*time.Microsecond)
		defer cancel()
		iso, err := s.isolate(short, s.withLeisure())
		if err != nil {
			return wantOneOf("Open", err, context.DeadlineExceeded)
		}
		out, err := s.evalIn(ctx, iso, "input", fmt.Sprint(i))
		if err != nil {
			return err
		}
		return wantValue(out, fmt.Sprint(i))
	})
}
