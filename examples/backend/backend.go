package subprocess

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/loom-sandbox/sandboxd/backends/wazero"
	"github.com/loom-sandbox/sandboxd/spi"
)

// Name is how operators choose this backend.
const Name = "subprocess"

const (
	// grace is how long a child that was told to stop has to hand over its logs.
	grace = 400 * time.Millisecond
	// overrun is by how much a timeout may be exceeded: then the child is killed,
	// and the system takes a moment for that ([goneWithin] where it is in trouble).
	overrun = grace + 100*time.Millisecond
	// readyWithin is how long a child may take to be ready: it may have to
	// compile, and to wait for others that fill the same cache.
	readyWithin = time.Minute
)

// Options of [New].
type Options struct {
	// CacheDir keeps compiled code, so that a child is ready in tens of
	// milliseconds. Empty means no cache: each Open takes one to two seconds.
	CacheDir string
	// Logger gets what the first child warns of, such as a cache that others may
	// write to and that is not used for that reason; nil drops it.
	Logger *slog.Logger
}

// Backend opens isolates, each in a child process. It implements [spi.Backend].
type Backend struct {
	program    string // this binary
	argument   string // what makes it a child
	cacheDir   string // absolute or empty
	emptyDir   string // where children work; left behind where the host is killed
	descriptor spi.Descriptor

	life context.Context // ends with Close
	end  context.CancelFunc

	mu       sync.Mutex
	opening  sync.WaitGroup    // Add under mu while life has not ended
	isolates map[*isolate]bool // guarded by mu
}

// DefaultCacheDir is where compiled code is kept unless told otherwise.
func DefaultCacheDir() (string, error) { return wazero.DefaultCacheDir() }

// Describe is what a backend promises, but for the image, which a child says.
func Describe() spi.Descriptor {
	d := wazero.Describe() // the limits that the engine in the child holds
	d.Name = Name
	d.Summary = "QuickJS compiled to WebAssembly, each isolate in a child process"
	// A child has all the rights of its host, so the wall is still WebAssembly
	// alone. IsolationProcess is for a process with reduced rights.
	d.Isolation = spi.IsolationWASM
	d.Prepares, d.HostCalls, d.Suspends = false, false, false // not over the pipe
	for i := range d.Enforces {
		if e := &d.Enforces[i]; e.Limit == spi.LimitTimeout {
			e.Granularity = int64(overrun)
		}
	}
	return d
}

// New starts one child, which fills the cache and says what it is, and ends it.
// ctx bounds that and nothing later. A nil opts means the zero value.
func New(ctx context.Context, opts *Options) (*Backend, error) {
	if opts == nil {
		opts = &Options{}
	}
	b := &Backend{argument: childArgument, descriptor: Describe(), isolates: map[*isolate]bool{}}
	b.life, b.end = context.WithCancel(context.Background())
	var err error
	if b.program, err = os.Executable(); err != nil {
		return nil, fmt.Errorf("subprocess: %w", err)
	}
	if opts.CacheDir != "" { // a child works somewhere else
		if b.cacheDir, err = filepath.Abs(opts.CacheDir); err != nil {
			return nil, fmt.Errorf("subprocess: %w", err)
		}
	}
	if b.emptyDir, err = makeEmptyDir(); err != nil {
		return nil, fmt.Errorf("subprocess: %w", err)
	}
	c, what, err := b.start(ctx, nil)
	if err == nil {
		err = c.end()
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if what.Warnings != "" && opts.Logger != nil {
		opts.Logger.Warn("the child process warns", "text", what.Warnings)
	}
	b.descriptor.Image, b.descriptor.MinMemoryBytes = what.Image, what.MinMemoryBytes
	return b, nil
}

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
		return nil, fmt.Errorf("subprocess: %s of %d is not between %d and %d: %w",
			spi.LimitMemory, n, d.MinMemoryBytes, d.MaxMemoryBytes, spi.ErrUnsupported)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	if b.life.Err() != nil {
		b.mu.Unlock()
		return nil, spi.ErrClosed
	}
	b.opening.Add(1)
	b.mu.Unlock()
	defer b.opening.Done()

	c, what, err := b.start(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if what.Image != d.Image {
		err := fmt.Errorf("subprocess: the child has the image %.100q and the backend %q", what.Image, d.Image)
		return nil, errors.Join(err, c.end())
	}
	i := &isolate{backend: b, child: c, limits: cfg.Limits, closing: make(chan struct{})}
	b.mu.Lock()
	b.isolates[i] = true
	b.mu.Unlock()
	return i, nil
}

// start starts a child and waits until it is ready. Without a configuration the
// child only says what it is.
func (b *Backend) start(ctx context.Context, cfg *spi.Config) (*child, *identity, error) {
	c, err := startChild(b.program, b.argument, b.emptyDir)
	if err != nil {
		return nil, nil, fmt.Errorf("subprocess: the child does not start: %w", err)
	}
	late := time.NewTimer(readyWithin)
	defer late.Stop()
	select {
	case a := <-c.ask(newOpening(b.cacheDir, cfg), maxReadyBytes):
		switch {
		case a.err != nil:
			err = fmt.Errorf("subprocess: the child is not ready: %w", a.err)
		case a.reply.Ready == nil:
			err = fmt.Errorf("subprocess: the child is not ready: %.200q", a.reply.Failure)
		default:
			return c, a.reply.Ready, nil
		}
	case <-ctx.Done():
		err = ctx.Err()
	case <-b.life.Done():
		err = spi.ErrClosed
	case <-late.C:
		err = fmt.Errorf("subprocess: the child was not ready within %v", readyWithin)
	}
	return nil, nil, errors.Join(err, c.end())
}

// Close implements [spi.Backend].
func (b *Backend) Close() error {
	b.mu.Lock()
	b.end()
	b.mu.Unlock()
	b.opening.Wait()
	b.mu.Lock()
	var closing sync.WaitGroup
	errs := make(chan error, len(b.isolates)+1)
	for i := range b.isolates {
		closing.Go(func() { errs <- i.Close() })
	}
	b.mu.Unlock()
	closing.Wait()
	if err := removeEmptyDir(b.emptyDir); err != nil {
		errs <- fmt.Errorf("subprocess: %w", err)
	}
	close(errs)
	var err error
	for e := range errs {
		err = errors.Join(err, e)
	}
	return err
}

func (b *Backend) forget(i *isolate) {
	b.mu.Lock()
	delete(b.isolates, i)
	b.mu.Unlock()
}
