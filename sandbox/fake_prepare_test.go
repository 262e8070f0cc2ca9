package sandbox

import (
	"context"
	"slices"
	"sync"

	"github.com/loom-sandbox/sandboxd/spi"
)

// fakePreparer is a fakeBackend that prepares and counts.
type fakePreparer struct {
	*fakeBackend
	// prepare and open say how it goes wrong, or wait; nil means that it works.
	prepare func(ctx context.Context, limits *spi.Limits, source string) error
	open    func(ctx context.Context) error
	// bytes of every snapshot.
	bytes int64
	// nothing: no snapshot and no isolate, without an error.
	prepareNothing, openNothing bool
	closeErr                    error

	mu       sync.Mutex
	prepared []string // sources, in order
	opened   []string // from snapshots
	closed   []string
	closes   map[*fakePrepared]int
}

func preparing() *fakePreparer {
	b := &fakePreparer{fakeBackend: fake(), bytes: 100, closes: map[*fakePrepared]int{}}
	b.descriptor.Prepares = true
	return b
}

func (b *fakePreparer) Prepare(ctx context.Context, limits *spi.Limits, source string, _ spi.Language) (spi.Prepared, error) {
	b.note(&b.prepared, source)
	if b.prepare != nil {
		if err := b.prepare(ctx, limits, source); err != nil {
			return nil, err
		}
	}
	if b.prepareNothing {
		return nil, nil
	}
	p := &fakePrepared{b, source}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closes[p] = 0
	return p, nil
}

func (b *fakePreparer) note(list *[]string, source string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*list = append(*list, source)
}

// seen is what was prepared, opened from a snapshot, and closed.
func (b *fakePreparer) seen() (prepared, opened, closed []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.prepared), slices.Clone(b.opened), slices.Clone(b.closed)
}

// alive is how many snapshots were not closed; over is whether one was closed twice.
func (b *fakePreparer) alive() (n int, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, closes := range b.closes {
		if closes == 0 {
			n++
		}
		over = over || closes > 1
	}
	return n, over
}

type fakePrepared struct {
	b      *fakePreparer
	source string
}

func (p *fakePrepared) Open(ctx context.Context, cfg *spi.Config) (spi.Isolate, error) {
	p.b.note(&p.b.opened, p.source)
	if p.b.open != nil {
		if err := p.b.open(ctx); err != nil {
			return nil, err
		}
	}
	p.b.mu.Lock()
	closed := p.b.closes[p] > 0
	p.b.mu.Unlock()
	switch {
	case closed:
		return nil, spi.ErrClosed
	case p.b.openNothing:
		return nil, nil
	}
	iso, err := p.b.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &fakeFirst{Isolate: iso, source: p.source}, nil
}

func (p *fakePrepared) Bytes() int64 { return p.b.bytes }

func (p *fakePrepared) Close() error {
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	p.b.closes[p]++
	p.b.closed = append(p.b.closed, p.source)
	return p.b.closeErr
}

// fakeFirst takes its own script only.
type fakeFirst struct {
	spi.Isolate
	source string
}

func (i *fakeFirst) Eval(ctx context.Context, req *spi.Request) (*spi.Outcome, error) {
	if req.Source != i.source {
		return nil, spi.ErrUnsupported
	}
	return i.Isolate.Eval(ctx, req)
}
