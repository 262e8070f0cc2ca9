package saboteur

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

type (
	prepareFunc      func(ctx context.Context, b *Backend, limits *spi.Limits, source string, language spi.Language) (spi.Prepared, error)
	openPreparedFunc func(ctx context.Context, p *prepared, cfg *spi.Config) (spi.Isolate, error)
)

// Prepare implements [spi.Preparer]. Where the good backend does not prepare, it
// is refused.
func (b *Backend) Prepare(ctx context.Context, limits *spi.Limits, source string, language spi.Language) (spi.Prepared, error) {
	if b.hooks.prepare != nil {
		return b.hooks.prepare(ctx, b, limits, source, language)
	}
	return b.prepare(ctx, limits, source, language)
}

// prepare prepares a good script and puts the hooks on it.
func (b *Backend) prepare(ctx context.Context, limits *spi.Limits, source string, language spi.Language) (spi.Prepared, error) {
	preparer, ok := b.good.(spi.Preparer)
	if !ok {
		return nil, spi.ErrUnsupported
	}
	good, err := preparer.Prepare(ctx, limits, source, language)
	if err != nil {
		return nil, err
	}
	return &prepared{backend: b, good: good, limits: *limits, source: source}, nil
}

// prepared is a good prepared script with the backend's hooks on it. Without a
// good one it opens isolates that are not prepared.
type prepared struct {
	backend *Backend
	good    spi.Prepared
	limits  spi.Limits // it was prepared within
	source  string

	// What hooks may use.
	opens  atomic.Int64
	closes atomic.Int64
	noted  atomic.Bool
	mu     sync.Mutex
	first  *spi.Config // of its first isolate
	input  []byte      // of its first eval
	open   []*isolate
	peak   int64
}

// Open implements [spi.Prepared].
func (p *prepared) Open(ctx context.Context, cfg *spi.Config) (spi.Isolate, error) {
	p.opens.Add(1)
	if p.backend.hooks.openPrepared != nil {
		return p.backend.hooks.openPrepared(ctx, p, cfg)
	}
	return orNone(p.isolate(ctx, cfg))
}

// orNone is an isolate as a caller gets it.
func orNone(i *isolate, err error) (spi.Isolate, error) {
	if err != nil {
		return nil, err
	}
	return i, nil
}

// isolate opens a good isolate of the script and puts the hooks on it.
func (p *prepared) isolate(ctx context.Context, cfg *spi.Config) (*isolate, error) {
	i := &isolate{backend: p.backend, asked: *cfg, from: p, opened: time.Now()}
	if err := i.renew(ctx); err != nil {
		return nil, err
	}
	p.backend.opened.Add(1)
	return i, nil
}

// plainly opens a good isolate that is not of the script.
func (p *prepared) plainly(ctx context.Context, cfg *spi.Config) (*isolate, error) {
	plain := &prepared{backend: p.backend, limits: p.limits, source: p.source}
	return plain.isolate(ctx, cfg)
}

// Bytes implements [spi.Prepared].
func (p *prepared) Bytes() int64 {
	if p.backend.hooks.bytesPrepared != nil {
		return p.backend.hooks.bytesPrepared(p)
	}
	return p.good.Bytes()
}

// Close implements [spi.Prepared].
func (p *prepared) Close() error {
	p.closes.Add(1)
	if p.backend.hooks.closePrepared != nil {
		return p.backend.hooks.closePrepared(p)
	}
	return p.good.Close()
}

// Most defects sit in one hook; these are for what was prepared only.

func preparing(f prepareFunc) func() hooks {
	return func() hooks { return hooks{prepare: f} }
}

func openingPrepared(f openPreparedFunc) func() hooks {
	return func() hooks { return hooks{openPrepared: f} }
}

// configPrepared changes what isolates of prepared scripts are opened with.
func configPrepared(f func(p *prepared, cfg *spi.Config)) func() hooks {
	return openingPrepared(func(ctx context.Context, p *prepared, cfg *spi.Config) (spi.Isolate, error) {
		changed := *cfg
		f(p, &changed)
		i, err := p.isolate(ctx, &changed)
		if err != nil {
			return nil, err
		}
		i.asked.Limits = cfg.Limits // a changed limit does not give itself away
		return i, nil
	})
}

// outcomePrepared edits outcomes of first evals of isolates of prepared scripts.
func outcomePrepared(f func(p *prepared, i *isolate, out *spi.Outcome)) func() hooks {
	return outcome(func(i *isolate, out *spi.Outcome) {
		if i.from != nil && !i.later() {
			f(i.from, i, out)
		}
	})
}

// evaluatingPrepared is evaluating for isolates of prepared scripts.
func evaluatingPrepared(f evalFunc) func() hooks {
	return evaluating(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
		if i.from == nil {
			return run(ctx, i, req)
		}
		return f(ctx, i, req)
	})
}
