package wasmhost

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
	"github.com/loom-sandbox/sandboxd/spi"
)

// prepared is a script after parsing: what the memory then holds that the image
// does not. It implements [spi.Prepared].
type prepared struct {
	backend *Backend
	parsed  *quickjs.Parsed
	delta   *pristine.Delta
	closed  atomic.Bool
}

// Prepare implements [spi.Preparer].
func (b *Backend) Prepare(ctx context.Context, limits *spi.Limits, source string, language spi.Language) (spi.Prepared, error) {
	if !b.descriptor.Speaks(language) {
		return nil, fmt.Errorf("%s: language %q: %w; allowed is %s", b.descriptor.Name, language, spi.ErrUnsupported, spi.JavaScript)
	}
	// Nothing runs, so that nothing can see the clock or a random number.
	cfg := &spi.Config{Limits: *limits, Now: time.Unix(0, 0)}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := b.enter(ctx, limits); err != nil {
		return nil, err
	}
	defer b.opening.Done()
	host := quickjs.NewHost(cfg)
	g, err := b.lend(host, limits.MemoryBytes, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.descriptor.Name, err)
	}
	b.mu.Lock()
	b.parsing[host] = true
	if b.closed {
		host.Kill()
	}
	b.mu.Unlock()
	p := &prepared{backend: b}
	if p.parsed, err = quickjs.Parse(ctx, b.image, g, host, g.memory, source); err == nil {
		p.delta = b.pool.memory.Diff(g.Memory())
	}
	b.mu.Lock()
	delete(b.parsing, host)
	if b.closed {
		err = spi.ErrClosed
	}
	b.mu.Unlock()
	// A parser may have recursed deeply.
	if err = errors.Join(err, b.pool.give(g, quickjs.WearMuch)); err != nil {
		return nil, fmt.Errorf("%s: %w", b.descriptor.Name, err)
	}
	return p, nil
}

// Open implements [spi.Prepared].
func (p *prepared) Open(ctx context.Context, cfg *spi.Config) (spi.Isolate, error) {
	if p.closed.Load() {
		return nil, spi.ErrClosed
	}
	if fuel := cfg.Limits.Fuel; fuel > 0 && fuel < p.parsed.Fuel() || cfg.Limits.MemoryBytes/PageBytes*PageBytes < p.delta.MemoryBytes() {
		return p.backend.open(ctx, cfg, p.parsed.Again(), nil) // limits that parsing would reach: let it
	}
	return p.backend.open(ctx, cfg, p.parsed, p.delta)
}

// Bytes implements [spi.Prepared].
func (p *prepared) Bytes() int64 { return p.delta.Bytes() + p.parsed.SourceBytes() }

// Close implements [spi.Prepared]. Who has the script open has taken its copy.
func (p *prepared) Close() error {
	p.closed.Store(true)
	return nil
}
