package wasmhost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
	"github.com/loom-sandbox/sandboxd/spi"
)

// Backend opens isolates on one compiled image. It implements [spi.Backend] and
// [spi.Preparer].
type Backend struct {
	image      *quickjs.Image
	module     Module
	pool       *pool
	descriptor spi.Descriptor

	mu       sync.Mutex
	closed   bool                      // guarded by mu
	isolates map[*quickjs.Isolate]bool // guarded by mu
	parsing  map[*quickjs.Host]bool    // guarded by mu
	opening  sync.WaitGroup            // Add under mu while not closed

	closing sync.Once
	failed  error // of closing
}

// newBackend makes a backend of a compiled image. It takes the memory over, and
// the module unless there is an error. The descriptor's image and smallest memory
// are the image's.
func newBackend(image *quickjs.Image, memory *pristine.Image, module Module, d spi.Descriptor, p PoolOptions) (*Backend, error) {
	d.Image = image.ID()
	d.MinMemoryBytes = int64(len(image.Memory))
	b := &Backend{image: image, module: module, descriptor: d, isolates: map[*quickjs.Isolate]bool{}, parsing: map[*quickjs.Host]bool{}}
	var err error
	if b.pool, err = newPool(module, memory, p); err != nil {
		return nil, err
	}
	return b, nil
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
	return b.open(ctx, cfg, nil, nil)
}

// enter keeps the backend from being closed, or says why that is too late. Who
// gets no error calls opening.Done.
func (b *Backend) enter(ctx context.Context, l *spi.Limits) error {
	d := &b.descriptor
	if n := l.MemoryBytes; n < d.MinMemoryBytes || n > d.MaxMemoryBytes {
		return fmt.Errorf("%s: %s of %d is not between %d and %d: %w",
			d.Name, spi.LimitMemory, n, d.MinMemoryBytes, d.MaxMemoryBytes, spi.ErrUnsupported)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return spi.ErrClosed
	}
	b.opening.Add(1) // Close waits: it takes away what an instance is made from
	return nil
}

// open lends an instance to a new isolate for a script, or for any where parsed is
// nil; in the state after parsing where from is not nil.
func (b *Backend) open(ctx context.Context, cfg *spi.Config, parsed *quickjs.Parsed, from *pristine.Delta) (spi.Isolate, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := b.enter(ctx, &cfg.Limits); err != nil {
		return nil, err
	}
	defer b.opening.Done()
	host := quickjs.NewHost(cfg)
	return b.isolate(host, cfg.Limits.MemoryBytes, from, func(lease quickjs.Lease) (*quickjs.Isolate, error) {
		return quickjs.NewIsolate(b.image, lease, host, parsed), nil
	})
}

// isolate has an isolate made of an instance, in the state of from where that is
// not nil. It is called after enter.
func (b *Backend) isolate(host *quickjs.Host, maxBytes int64, from *pristine.Delta, open func(quickjs.Lease) (*quickjs.Isolate, error)) (spi.Isolate, error) {
	g, err := b.lend(host, maxBytes, from)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.descriptor.Name, err)
	}
	var iso *quickjs.Isolate
	iso, err = open(quickjs.Lease{
		Instance: g, Watch: g.memory,
		Save: func(out []byte, dead [][2]int64) []byte { return b.save(out, g, dead) },
		Release: func(wear quickjs.Wear) error {
			err := b.pool.give(g, wear)
			b.mu.Lock() // only now: Close takes away what an instance is made from
			delete(b.isolates, iso)
			b.mu.Unlock()
			return err
		},
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", b.descriptor.Name, err), b.pool.give(g, quickjs.WearNone))
	}
	b.mu.Lock()
	b.isolates[iso] = true
	b.mu.Unlock()
	return iso, nil
}

// lend takes a guest and brings it into the state of from, where that is not nil.
func (b *Backend) lend(h *quickjs.Host, maxBytes int64, from *pristine.Delta) (*guest, error) {
	g, err := b.pool.take(h, maxBytes)
	if err != nil || from == nil {
		return g, err
	}
	if size := from.MemoryBytes(); size > int64(len(g.Memory())) {
		if err := g.Grow(size); err != nil {
			return nil, errors.Join(err, g.Close())
		}
	}
	g.memory.Applies(from)
	if err := from.Apply(g.Memory()); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// Close implements [spi.Backend]. It ends what runs.
func (b *Backend) Close() error {
	b.closing.Do(func() { b.failed = b.close() })
	return b.failed
}

func (b *Backend) close() error {
	b.mu.Lock()
	b.closed = true
	for host := range b.parsing {
		host.Kill()
	}
	b.mu.Unlock()
	b.opening.Wait()
	b.mu.Lock()
	open := make([]*quickjs.Isolate, 0, len(b.isolates))
	for iso := range b.isolates {
		open = append(open, iso)
	}
	b.mu.Unlock()
	var errs []error
	for _, iso := range open {
		errs = append(errs, iso.Close())
	}
	return errors.Join(append(errs, b.pool.close(), b.module.Close())...)
}
