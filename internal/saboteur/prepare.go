package saboteur

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// prepareDefects break preparing and its ends.
func prepareDefects() []Defect {
	return []Defect{
		{
			Name: "prepares-not-at-all", Wrong: "The descriptor says that the backend prepares, and Prepare is not there yet.",
			CaughtBy: []string{"PREP-001"}, Seen: "not supported",
			build: preparing(func(context.Context, *Backend, *spi.Limits, string, spi.Language) (spi.Prepared, error) {
				return nil, spi.ErrUnsupported
			}),
		},
		{
			Name: "prepares-secretly", Wrong: "The backend prepares, and the descriptor does not say so.",
			CaughtBy: []string{"PREP-002"}, Seen: "was prepared, and the descriptor does not say",
			build: describe(func(d *spi.Descriptor) { d.Prepares = false }),
		},
		{
			Name: "prepares-broken-scripts", Wrong: "A script that cannot be prepared is kept as it is.",
			CaughtBy: []string{"PREP-007", "PREP-008"}, Seen: "was prepared, wanted",
			build: insteadOf(spi.ErrNotPrepared, func(b *Backend, limits *spi.Limits, source string) (spi.Prepared, error) {
				return &prepared{backend: b, good: plainScript{b.good}, limits: *limits, source: source}, nil
			}),
		},
		{
			Name: "prepares-with-plain-errors", Wrong: "A script that does not parse is refused by Prepare with an error of its own.",
			CaughtBy: []string{"PREP-007"}, Seen: "unexpected token, wanted one that is",
			build: insteadOf(spi.ErrNotPrepared, func(*Backend, *spi.Limits, string) (spi.Prepared, error) {
				return nil, errors.New("saboteur: unexpected token")
			}),
		},
		{
			Name: "prepare-times-out-as-context", Wrong: "Preparing that takes too long says that a deadline passed.",
			CaughtBy: []string{"PREP-009"}, Seen: "Prepare within tight limits: error is context deadline exceeded",
			build: insteadOf(spi.ErrNotPrepared, func(*Backend, *spi.Limits, string) (spi.Prepared, error) {
				return nil, context.DeadlineExceeded
			}),
		},
		{
			Name: "prepare-runs-the-script", Wrong: "Preparing runs the script to its end.", Late: true,
			CaughtBy: []string{"PREP-010"}, Seen: "script cannot be prepared",
			build: preparing(func(ctx context.Context, b *Backend, limits *spi.Limits, source string, language spi.Language) (spi.Prepared, error) {
				iso, err := b.good.Open(ctx, &spi.Config{Limits: *limits})
				if err != nil {
					return nil, err
				}
				defer iso.Close()
				out, err := iso.Eval(ctx, &spi.Request{Source: source, Language: language, Input: []byte("null")})
				if err != nil {
					return nil, err
				}
				if ended(out) {
					return nil, spi.ErrNotPrepared
				}
				return b.prepare(ctx, limits, source, language)
			}),
		},
		{
			Name: "prepares-any-language", Wrong: "Prepare takes every language for JavaScript.",
			CaughtBy: []string{"PREP-011"}, Seen: "was prepared",
			build: preparing(func(ctx context.Context, b *Backend, limits *spi.Limits, source string, _ spi.Language) (spi.Prepared, error) {
				return b.prepare(ctx, limits, source, spi.JavaScript)
			}),
		},
		{
			Name: "prepares-one-at-a-time", Wrong: "Of two scripts that are prepared at once, both get the second.",
			CaughtBy: []string{"PREP-016"}, Seen: "not supported",
			build: func() hooks {
				var mu sync.Mutex
				last := ""
				return hooks{prepare: func(ctx context.Context, b *Backend, limits *spi.Limits, source string, language spi.Language) (spi.Prepared, error) {
					mu.Lock()
					last = source
					mu.Unlock()
					time.Sleep(5 * time.Millisecond)
					mu.Lock()
					source = last
					mu.Unlock()
					return b.prepare(ctx, limits, source, language)
				}}
			},
		},
		{
			Name: "prepare-writes-limits", Wrong: "Prepare writes its own limits into those of the caller.", Meddles: true,
			CaughtBy: []string{"PREP-023"}, Seen: "the limits were",
			build: preparing(func(ctx context.Context, b *Backend, limits *spi.Limits, source string, language spi.Language) (spi.Prepared, error) {
				p, err := b.prepare(ctx, limits, source, language)
				limits.LogBytes, limits.OutputBytes = 0, 0
				return p, err
			}),
		},
		{
			Name: "prepares-when-closed", Wrong: "Prepare of a closed backend gives something that opens nothing.",
			CaughtBy: []string{"PREP-027"}, Seen: "was prepared after the backend was closed",
			build: insteadOf(spi.ErrClosed, func(b *Backend, limits *spi.Limits, source string) (spi.Prepared, error) {
				return &prepared{backend: b, good: plainScript{b.good}, limits: *limits, source: source}, nil
			}),
		},
		{
			Name: "prepares-in-ended-context", Wrong: "Prepare does not look at its context.",
			CaughtBy: []string{"PREP-028"}, Seen: "Prepare gave a script",
			build: preparing(func(ctx context.Context, b *Backend, limits *spi.Limits, source string, language spi.Language) (spi.Prepared, error) {
				return b.prepare(context.WithoutCancel(ctx), limits, source, language)
			}),
		},
	}
}

// insteadOf has Prepare return something else where the good backend refuses
// with an error.
func insteadOf(refused error, f func(b *Backend, limits *spi.Limits, source string) (spi.Prepared, error)) func() hooks {
	return preparing(func(ctx context.Context, b *Backend, limits *spi.Limits, source string, language spi.Language) (spi.Prepared, error) {
		p, err := b.prepare(ctx, limits, source, language)
		if errors.Is(err, refused) && slices.Contains(b.good.Describe().Languages, language) {
			return f(b, limits, source)
		}
		return p, err
	})
}

// plainScript is a prepared script of which nothing is kept.
type plainScript struct{ backend spi.Backend }

func (s plainScript) Open(ctx context.Context, cfg *spi.Config) (spi.Isolate, error) {
	return s.backend.Open(ctx, cfg)
}
func (plainScript) Bytes() int64 { return 1 }
func (plainScript) Close() error { return nil }
