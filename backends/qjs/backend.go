package qjs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// Name is how operators choose this backend.
const Name = "qjs"

// Memory caps that Open accepts, in bytes. The library's guest has 320 KiB
// before any script runs.
const (
	MinMemoryBytes = int64(1 << 20)
	MaxMemoryBytes = int64(1 << 30)
)

// grace is how long a guest that was told to stop is waited for. One that sleeps
// in the library does not notice before it wakes.
const grace = 900 * time.Millisecond

// ErrLibrary says that the library did not do its work. It runs a module in
// another runtime than the one that compiled it, which is for wazero to allow:
// v1.11.0 does, and v1.12.0 does not, so that with it nothing starts (see pull
// request 2511 of wazero).
var ErrLibrary = errors.New("qjs: the library failed")

// Options of [New]. There are none so far.
type Options struct{}

// Backend opens isolates, each a runtime of the library. It implements [spi.Backend].
type Backend struct {
	mu       sync.Mutex
	closed   bool              // guarded by mu
	isolates map[*Isolate]bool // guarded by mu
}

var _ spi.Backend = (*Backend)(nil)

// New starts one guest to see that the library works and that its guests can be
// stopped: half a second where it has to compile. ctx bounds that, but for the
// compiling, and nothing later; nil opts are the zero value. Errors are or wrap
// [ErrLibrary] or the context's.
func New(ctx context.Context, _ *Options) (*Backend, error) {
	g, err := startGuest(ctx, MinMemoryBytes)
	if err != nil {
		return nil, fmt.Errorf("qjs: starting on wazero %s (v1.11.0 is known to work): %w", version(wazero), err)
	}
	defer g.close()
	g.stop()
	if g.alive() {
		return nil, fmt.Errorf("%w: others in this process had it compile so that a script cannot be stopped", ErrLibrary)
	}
	return &Backend{isolates: map[*Isolate]bool{}}, nil
}

// Describe is what every backend of this package promises.
func Describe() spi.Descriptor {
	return spi.Descriptor{
		Name:      Name,
		Summary:   "the library fastschema/qjs, for comparison: no fuel, real clock, breaks on deep recursion",
		Isolation: spi.IsolationWASM,
		Languages: []spi.Language{spi.JavaScript},
		Enforces: []spi.Enforcement{
			{Limit: spi.LimitTimeout, Granularity: int64(grace)},
			{Limit: spi.LimitMemory, Granularity: pageBytes},
			{Limit: spi.LimitOutput, Exact: true},
			{Limit: spi.LimitLogs, Exact: true},
		},
		Engine: fmt.Sprintf("quickjs-ng 0.10.1 in fastschema/qjs %s on wazero %s",
			version("github.com/fastschema/qjs"), version(wazero)),
		MaxMemoryBytes: MaxMemoryBytes,
		MinMemoryBytes: MinMemoryBytes,
	}
}

const wazero = "github.com/tetratelabs/wazero"

// version of a module that is linked in.
func version(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == module {
				return dep.Version
			}
		}
	}
	return "of unknown version"
}

// Describe implements [spi.Backend]. The slices are the caller's.
func (b *Backend) Describe() spi.Descriptor { return Describe() }

// Open implements [spi.Backend].
func (b *Backend) Open(ctx context.Context, cfg *spi.Config) (spi.Isolate, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if n := cfg.Limits.Fuel; n != 0 {
		return nil, fmt.Errorf("qjs: %s of %d cannot be counted; allowed is 0: %w", spi.LimitFuel, n, spi.ErrUnsupported)
	}
	if n := cfg.Limits.MemoryBytes; n < MinMemoryBytes || n > MaxMemoryBytes {
		return nil, fmt.Errorf("qjs: %s of %d is not between %d and %d: %w",
			spi.LimitMemory, n, MinMemoryBytes, MaxMemoryBytes, spi.ErrUnsupported)
	}
	if b.isClosed() {
		return nil, spi.ErrClosed
	}
	g, err := startGuest(ctx, cfg.Limits.MemoryBytes)
	if err != nil {
		return nil, fmt.Errorf("qjs: opening an isolate: %w", err)
	}
	iso := &Isolate{guest: g, limits: cfg.Limits, closing: make(chan struct{})}
	iso.forget = func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.isolates, iso)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		g.close()
		return nil, spi.ErrClosed
	}
	b.isolates[iso] = true
	return iso, nil
}

func (b *Backend) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// Close implements [spi.Backend].
func (b *Backend) Close() error {
	b.mu.Lock()
	b.closed = true
	open := slices.Collect(maps.Keys(b.isolates))
	b.mu.Unlock()
	for _, iso := range open {
		_ = iso.Close() // never fails
	}
	return nil
}
