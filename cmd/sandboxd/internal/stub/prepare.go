package stub

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/loom-sandbox/sandboxd/spi"
)

// Prepared is how many scripts were prepared.
func (b *Backend) Prepared() int64 { return b.prepared.Load() }

// Reused is how many isolates were opened from a prepared script.
func (b *Backend) Reused() int64 { return b.reused.Load() }

// Prepare implements spi.Preparer. There is nothing to parse: it remembers.
func (b *Backend) Prepare(ctx context.Context, _ *spi.Limits, source string, _ spi.Language) (spi.Prepared, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if strings.HasPrefix(source, "unprepared") {
		return nil, spi.ErrNotPrepared
	}
	b.prepared.Add(1)
	return &prepared{backend: b, source: source}, nil
}

type prepared struct {
	backend *Backend
	source  string
	closed  atomic.Bool
}

// Open implements spi.Prepared.
func (p *prepared) Open(_ context.Context, cfg *spi.Config) (spi.Isolate, error) {
	if p.closed.Load() {
		return nil, spi.ErrClosed
	}
	p.backend.reused.Add(1)
	return &isolate{backend: p.backend, config: *cfg, only: &p.source, closed: make(chan struct{})}, nil
}

// Bytes implements spi.Prepared.
func (p *prepared) Bytes() int64 { return 1 << 10 }

// Close implements spi.Prepared.
func (p *prepared) Close() error {
	p.closed.Store(true)
	return nil
}
