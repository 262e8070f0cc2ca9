package wasmhost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
	"github.com/loom-sandbox/sandboxd/spi"
)

// Backend opens isolates on one compiled image. It implements [spi.Backend].
type Backend struct {
	image      *quickjs.Image
	module     Module
	descriptor spi.Descriptor

	mu       sync.Mutex
	closed   bool                      // guarded by mu
	isolates map[*quickjs.Isolate]bool // guarded by mu
	opening  sync.WaitGroup            // Add under mu while not closed
}

// New makes a backend of a compiled image and takes the module over. The
// descriptor's image and smallest memory are the image's.
func New(image *quickjs.Image, module Module, d spi.Descriptor) *Backend {
	d.Image = image.ID()
	d.MinMemoryBytes = image.MemoryBytes
	return &Backend{image: image, module: module, descriptor: d, isolates: map[*quickjs.Isolate]bool{}}
}

// Image is what the isolates are made of.
func (b *Backend) Image() *quickjs.Image { return b.image }

// Describe implements [spi.Backend]. The slices are the caller's.
func (b *Backend) Describe() spi.Descriptor {
	d := b.descriptor
	d.Languages, d.Enforces = slices.Clone(d.Languages), slices.Clone(d.Enforces)
	return d
}

// Open implements [spi.Backend].
func (b *Backend) Open(ctx context.Context, cfg *spi.Config) (spi.Isolate, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	d := &b.descriptor
	if n := cfg.Limits.MemoryBytes; n < d.MinMemoryBytes || n > d.MaxMemoryBytes {
		return nil, fmt.Errorf("%s: %s of %d is not between %d and %d: %w",
			d.Name, spi.LimitMemory, n, d.MinMemoryBytes, d.MaxMemoryBytes, spi.ErrUnsupported)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil, spi.ErrClosed
	}
	b.opening.Add(1) // Close waits: it takes away what an instance is made from
	b.mu.Unlock()
	defer b.opening.Done()

	host := quickjs.NewHost(cfg)
	inst, closeInstance, err := b.module.Instantiate(host, cfg.Limits.MemoryBytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Name, err)
	}
	var iso *quickjs.Isolate
	iso, err = quickjs.NewIsolate(b.image, inst, host, func() error {
		b.mu.Lock()
		delete(b.isolates, iso)
		b.mu.Unlock()
		return closeInstance()
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", d.Name, err), closeInstance())
	}
	b.mu.Lock()
	b.isolates[iso] = true
	b.mu.Unlock()
	return iso, nil
}

// Close implements [spi.Backend].
func (b *Backend) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	b.mu.Unlock()
	b.opening.Wait()
	b.mu.Lock()
	open := make([]*quickjs.Isolate, 0, len(b.isolates))
	for iso := range b.isolates {
		open = append(open, iso)
	}
	b.mu.Unlock()
	for _, iso := range open {
		iso.Close()
	}
	return b.module.Close()
}
