package wasmhost

import (
	"context"
	"fmt"

	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
	"github.com/loom-sandbox/sandboxd/spi"
)

// Resume implements [spi.Resumer].
func (b *Backend) Resume(ctx context.Context, r *spi.Resumption) (spi.Isolate, error) {
	limits := &r.Limits
	if err := (&spi.Config{Limits: *limits}).Validate(); err != nil {
		return nil, err
	}
	if err := b.enter(ctx, limits); err != nil {
		return nil, err
	}
	defer b.opening.Done()
	state, err := b.image.ReadState(r.State)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.descriptor.Name, err)
	}
	delta, err := b.pool.memory.Decode(state.Memory())
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", b.descriptor.Name, spi.ErrState, err)
	}
	if limits.MemoryBytes/PageBytes*PageBytes < delta.MemoryBytes() {
		return nil, fmt.Errorf("%s: %s of %d is less than the %d that the state has: %w",
			b.descriptor.Name, spi.LimitMemory, limits.MemoryBytes, delta.MemoryBytes(), spi.ErrUnsupported)
	}
	host := state.Host(r)
	return b.isolate(host, limits.MemoryBytes, delta, func(lease quickjs.Lease) (*quickjs.Isolate, error) {
		return state.Isolate(lease, host, r), nil
	})
}

// save appends how a guest's memory differs from the image but for its dead parts.
func (b *Backend) save(out []byte, g *guest, dead [][2]int64) []byte {
	spans := make([]pristine.Span, 0, len(dead))
	for _, d := range dead {
		spans = append(spans, pristine.Span{Start: d[0], End: d[1]})
	}
	return b.pool.memory.Encode(out, b.pool.memory.Diff(g.Memory(), spans...))
}
