package saboteur

import (
	"context"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// callLimitDefects break the limits of scripts that call, and what they use.
func callLimitDefects() []Defect {
	return []Defect{
		{
			Name: "one-call-less", Wrong: "The last call that is allowed is refused.",
			CaughtBy: []string{"CALL-022"}, Seen: "with hostCalls of 1: ended with",
			build: config(func(_ *Backend, cfg *spi.Config) { cfg.Limits.HostCalls = max(0, cfg.Limits.HostCalls-1) }),
		},
		{
			Name: "no-calls-means-any", Wrong: "Where no calls are allowed, any number is.",
			CaughtBy: []string{"CALL-022"}, Seen: "with hostCalls of 0",
			build: config(func(_ *Backend, cfg *spi.Config) {
				if cfg.Limits.HostCalls == 0 {
					cfg.Limits.HostCalls = 1 << 20
				}
			}),
		},
		{
			Name: "one-byte-of-arguments-more", Wrong: "Arguments may have one byte more than is allowed.",
			CaughtBy: []string{"CALL-023"}, Seen: "with callBytes of 1",
			build: config(func(_ *Backend, cfg *spi.Config) { cfg.Limits.CallBytes++ }),
		},
		{
			Name: "arguments-without-brackets", Wrong: "The brackets of arguments are not counted.",
			CaughtBy: []string{"CALL-001", "CALL-023"}, Seen: "usage says",
			build: outcome(func(_ *isolate, out *spi.Outcome) { out.Usage.CallBytes -= 2 * out.Usage.HostCalls }),
		},
		{
			Name: "refused-call-without-limit", Wrong: "A script that a refused call ended names no limit.",
			CaughtBy: []string{"CALL-024"}, Seen: "names no limit",
			build: failure(func(_ *isolate, e *spi.ScriptError) {
				if e.Kind == spi.KindDenied {
					e.Limit = nil
				}
			}),
		},
		{
			Name: "timeout-of-each-part", Wrong: "Each part of an eval has the whole timeout.", Late: true,
			CaughtBy: []string{"CALL-025"}, Seen: "waits after",
			build: func() hooks {
				return hooks{
					config: func(_ *Backend, cfg *spi.Config) { cfg.Limits.Timeout = time.Hour },
					goOn: func(ctx context.Context, i *isolate, replies []spi.Reply) (*spi.Outcome, error) {
						part, cancel := context.WithTimeout(ctx, i.asked.Limits.Timeout)
						defer cancel()
						return goOn(part, i, replies)
					},
				}
			},
		},
		{
			Name: "timeout-while-waiting", Wrong: "A script that waits for longer than its timeout is over.", Late: true,
			CaughtBy: []string{"CALL-026"}, Seen: "ended with timeout",
			build: goingOn(func(ctx context.Context, i *isolate, replies []spi.Reply) (*spi.Outcome, error) {
				out, err := goOn(ctx, i, replies)
				if err == nil && time.Since(i.opened) > i.asked.Limits.Timeout {
					setError(i, out, spi.KindTimeout, spi.LimitTimeout)
				}
				return out, err
			}),
		},
		{
			Name: "wall-while-waiting", Wrong: "The time that a script waited is in its wall time.", Late: true,
			CaughtBy: []string{"CALL-026"}, Seen: "of wall time, and most of it the script waited",
			build: outcome(func(i *isolate, out *spi.Outcome) { out.Usage.Wall = time.Since(i.opened) }),
		},
		{
			Name: "fuel-of-each-part", Wrong: "Each part of an eval may burn all of the fuel.",
			CaughtBy: []string{"CALL-027"}, Seen: "waits after 100 calls",
			build: func() hooks {
				return hooks{
					config: func(_ *Backend, cfg *spi.Config) { cfg.Limits.Fuel = 0 },
					outcome: func(i *isolate, out *spi.Outcome) {
						part := out.Usage.Fuel - i.sum
						i.sum = out.Usage.Fuel
						if most := i.asked.Limits.Fuel; most > 0 && part > most {
							setError(i, out, spi.KindFuel, spi.LimitFuel)
						}
					},
				}
			},
		},
		{
			Name: "usage-of-the-part", Wrong: "The usage says what the last part burnt.",
			CaughtBy: []string{"CALL-027"}, Seen: "units of fuel after",
			build: outcome(func(i *isolate, out *spi.Outcome) {
				all := out.Usage.Fuel
				out.Usage.Fuel -= i.sum
				i.sum = all
			}),
		},
		{
			Name: "a-unit-for-calling", Wrong: "A script that calls has one unit of fuel more.",
			CaughtBy: []string{"CALL-028"}, Seen: "ended with the value",
			build: config(func(_ *Backend, cfg *spi.Config) {
				if cfg.Limits.Fuel > 0 && cfg.Limits.HostCalls > 0 {
					cfg.Limits.Fuel++
				}
			}),
		},
		{
			Name: "fuel-of-the-clock", Wrong: "What a script has burnt after it waited is a little different each time.",
			CaughtBy: []string{"CALL-036"}, Seen: "fuel is",
			build: goingOn(func(ctx context.Context, i *isolate, replies []spi.Reply) (*spi.Outcome, error) {
				out, err := goOn(ctx, i, replies)
				if err == nil {
					out.Usage.Fuel += i.backend.opened.Load()
				}
				return out, err
			}),
		},
	}
}
