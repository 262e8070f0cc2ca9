package wazero

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	wz "github.com/tetratelabs/wazero"

	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
	"github.com/loom-sandbox/sandboxd/spi"
)

// Name is how operators choose this backend.
const Name = "wazero"

// MaxMemoryBytes is the largest memory cap that Open accepts: 1 GiB.
const MaxMemoryBytes = int64(1 << 30)

// Options of [New]. The zero value uses the built-in engine image, compiled, and
// keeps nothing on disk.
type Options struct {
	// CacheDir keeps compiled code from one process to the next; it is created
	// with mode 0700 if missing. Empty means no cache. See [DefaultCacheDir].
	CacheDir string
	// EngineImage is another reactor build of quickjs-ng, nil for the built-in one.
	EngineImage []byte
	// EngineImageSHA256 is the hash that EngineImage must have, in hex, with or
	// without "sha256:" before it. Required with EngineImage.
	EngineImageSHA256 string
	// Interpreter executes the guest without compiling it: about forty times
	// slower, for platforms where code cannot be generated.
	Interpreter bool
	// Logger gets warnings about the cache; nil drops them.
	Logger *slog.Logger
}

// Backend opens isolates on one compiled image. It implements [spi.Backend].
type Backend struct {
	image      *quickjs.Image
	engine     *engine
	descriptor spi.Descriptor

	mu       sync.Mutex
	closed   bool                      // guarded by mu
	isolates map[*quickjs.Isolate]bool // guarded by mu
	opening  sync.WaitGroup            // Add under mu while not closed
}

// ErrEngineImage says that an engine image is not the one that was asked for, or
// not one that this package can run. The error that wraps it says why.
var ErrEngineImage = errors.New("wazero: engine image refused")

// New boots the engine image and compiles it: one to two seconds, a few tens of
// milliseconds with a cache. ctx bounds the starting and nothing later; where
// another process is filling the same cache, New waits for it for up to ten
// seconds. Errors are or wrap [ErrEngineImage] or the context's.
func New(ctx context.Context, opts *Options) (*Backend, error) {
	if opts == nil {
		opts = &Options{}
	}
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	source, sum := quickjs.DefaultSource()
	want := strings.ToLower(strings.TrimPrefix(opts.EngineImageSHA256, "sha256:"))
	if opts.EngineImage != nil {
		if opts.EngineImageSHA256 == "" {
			return nil, fmt.Errorf("%w: Options.EngineImage needs its sha256 in Options.EngineImageSHA256", ErrEngineImage)
		}
		source, sum = opts.EngineImage, want
	} else if opts.EngineImageSHA256 != "" && want != sum {
		return nil, fmt.Errorf("%w: %w", ErrEngineImage, &quickjs.SourceMismatchError{Want: want, Got: sum})
	}
	image, e, err := start(ctx, opts, source, sum, log)
	var mismatch *quickjs.SourceMismatchError
	var unusable *quickjs.BuildError
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, fmt.Errorf("wazero: %w", err)
	case errors.As(err, &mismatch), errors.As(err, &unusable):
		return nil, fmt.Errorf("%w: %w", ErrEngineImage, err)
	case err != nil:
		return nil, fmt.Errorf("wazero: %w", err)
	}
	d := Describe()
	d.Image = image.ID()
	d.MinMemoryBytes = image.MemoryBytes
	if opts.Interpreter {
		d.Engine += " (interpreter)"
		for i := range d.Enforces {
			// wazero's interpreter has fewer frames than the image allows calls.
			if l := d.Enforces[i].Limit; l == spi.LimitStack || l == spi.LimitCallDepth {
				d.Enforces[i].Exact = false
			}
		}
	}
	return &Backend{image: image, engine: e, descriptor: d, isolates: map[*quickjs.Isolate]bool{}}, nil
}

// start boots and compiles, or takes both from the cache.
func start(ctx context.Context, opts *Options, source []byte, sum string, log *slog.Logger) (*quickjs.Image, *engine, error) {
	config := wz.NewRuntimeConfig() // compiler where the platform has one
	if opts.Interpreter {
		config = wz.NewRuntimeConfigInterpreter()
	}
	s, err := openStore(ctx, opts.CacheDir, sum, log)
	if err != nil {
		return nil, nil, err
	}
	defer s.close()
	image := s.image(sum)
	if image == nil {
		if image, err = quickjs.Build(ctx, source, sum, bootInstance); err != nil {
			return nil, nil, err
		}
		s.keep(image)
	}
	e, err := newEngine(ctx, image, config, s)
	return image, e, err
}

// Describe is what a backend made with default options promises, but for the
// image, which is known once it is booted.
func Describe() spi.Descriptor {
	return spi.Descriptor{
		Name:      Name,
		Summary:   "QuickJS compiled to WebAssembly, in this process, on a pure-Go runtime",
		Isolation: spi.IsolationWASM,
		Languages: []spi.Language{spi.JavaScript},
		Enforces: []spi.Enforcement{
			// Nearly always under 1 ms; while the native stack grows for a deep
			// recursion nothing can be stopped.
			{Limit: spi.LimitTimeout, Granularity: int64(100 * time.Millisecond)},
			{Limit: spi.LimitMemory, Granularity: pageBytes},
			{Limit: spi.LimitFuel, Exact: true},
			{Limit: spi.LimitStack, Exact: true},
			{Limit: spi.LimitCallDepth, Exact: true},
			{Limit: spi.LimitOutput, Exact: true},
			{Limit: spi.LimitLogs, Exact: true},
		},
		Engine:         "quickjs-ng on wazero " + version(),
		MaxMemoryBytes: MaxMemoryBytes,
		MinMemoryBytes: 4 << 20,
	}
}

// version of wazero that is linked in.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "github.com/tetratelabs/wazero" {
				return dep.Version
			}
		}
	}
	return "of unknown version"
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
	if n := cfg.Limits.MemoryBytes; n < b.descriptor.MinMemoryBytes || n > b.descriptor.MaxMemoryBytes {
		return nil, fmt.Errorf("wazero: %s of %d is not between %d and %d: %w",
			spi.LimitMemory, n, b.descriptor.MinMemoryBytes, b.descriptor.MaxMemoryBytes, spi.ErrUnsupported)
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
	inst, closeInstance, err := b.engine.instantiate(host, cfg.Limits.MemoryBytes)
	if err != nil {
		return nil, fmt.Errorf("wazero: %w", err)
	}
	var iso *quickjs.Isolate
	iso, err = quickjs.NewIsolate(b.image, inst, host, func() error {
		b.mu.Lock()
		delete(b.isolates, iso)
		b.mu.Unlock()
		return closeInstance()
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("wazero: %w", err), closeInstance())
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
	return b.engine.close()
}
