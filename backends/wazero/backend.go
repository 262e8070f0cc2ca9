package wazero

import (
	"context"
	"errors"
	"log/slog"
	"time"

	wz "github.com/tetratelabs/wazero"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmhost"
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
	// IdleIsolates is how many isolates are kept while nobody uses them, so that
	// the next Open takes microseconds; zero means twice the number of processors
	// and 16 at least, below zero none. One that is idle takes about 1 MiB.
	// It bounds nothing else: as many as memory allows may be open at once.
	IdleIsolates int
	// WarmIsolates is how many New makes, and keeps however long they idle; at most
	// IdleIsolates. The others are made when they are needed.
	WarmIsolates int
	// IdleTimeout is how long an isolate that is not warm is kept; zero means 30
	// seconds. Its memory then goes back to the system.
	IdleTimeout time.Duration
	// CheckRestored compares an isolate's whole memory with the image each time
	// that it was made pristine, which takes some hundred microseconds. If a byte
	// differs, closing that isolate is an error and it is not used again.
	CheckRestored bool
	// Logger gets warnings about the cache; nil drops them.
	Logger *slog.Logger
}

// Backend opens isolates on one compiled image. It implements [spi.Backend] and
// [spi.Preparer].
type Backend struct{ host *wasmhost.Backend }

// ErrEngineImage says that an engine image is not the one that was asked for, or
// not one that this package can run. The error that wraps it says why.
var ErrEngineImage = errors.New("wazero: engine image refused")

// DefaultCacheDir is where compiled code is kept unless told otherwise: a folder
// of the user's cache directory.
func DefaultCacheDir() (string, error) { return wasmhost.DefaultCacheDir() }

// New boots the engine image and compiles it: one to two seconds, a few tens of
// milliseconds with a cache. ctx bounds the starting and nothing later; where
// another process is filling the same cache, New waits for it for up to ten
// seconds. Errors are or wrap [ErrEngineImage] or the context's.
func New(ctx context.Context, opts *Options) (*Backend, error) {
	if opts == nil {
		opts = &Options{}
	}
	d := Describe()
	config := wz.NewRuntimeConfig() // compiler where the platform has one
	if opts.Interpreter {
		config = wz.NewRuntimeConfigInterpreter()
		d.Engine += " (interpreter)"
		for i := range d.Enforces {
			// wazero's interpreter has fewer frames than the image allows calls.
			if l := d.Enforces[i].Limit; l == spi.LimitStack || l == spi.LimitCallDepth {
				d.Enforces[i].Exact = false
			}
		}
	}
	host, err := wasmhost.Start(ctx, &wasmhost.Options{
		Descriptor: d, ErrEngineImage: ErrEngineImage, CacheDir: opts.CacheDir, Logger: opts.Logger,
		EngineImage: opts.EngineImage, EngineImageSHA256: opts.EngineImageSHA256,
		Pool: wasmhost.PoolOptions{Idle: opts.IdleIsolates, Warm: opts.WarmIsolates, IdleTimeout: opts.IdleTimeout, Check: opts.CheckRestored},
	}, engine{config})
	if err != nil {
		return nil, err
	}
	return &Backend{host}, nil
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
			{Limit: spi.LimitMemory, Granularity: wasmhost.PageBytes},
			{Limit: spi.LimitFuel, Exact: true},
			{Limit: spi.LimitStack, Exact: true},
			{Limit: spi.LimitCallDepth, Exact: true},
			{Limit: spi.LimitOutput, Exact: true},
			{Limit: spi.LimitLogs, Exact: true},
			{Limit: spi.LimitHostCalls, Exact: true},
			{Limit: spi.LimitCallBytes, Exact: true},
		},
		Engine:         "quickjs-ng on wazero " + wasmhost.ModuleVersion("github.com/tetratelabs/wazero"),
		Prepares:       true,
		HostCalls:      true,
		Suspends:       true,
		MaxMemoryBytes: MaxMemoryBytes,
		MinMemoryBytes: 4 << 20,
	}
}

// Describe implements [spi.Backend]. The slices are the caller's.
func (b *Backend) Describe() spi.Descriptor { return b.host.Describe() }

// Open implements [spi.Backend].
func (b *Backend) Open(ctx context.Context, cfg *spi.Config) (spi.Isolate, error) {
	return b.host.Open(ctx, cfg)
}

// Prepare implements [spi.Preparer].
func (b *Backend) Prepare(ctx context.Context, limits *spi.Limits, source string, language spi.Language) (spi.Prepared, error) {
	return b.host.Prepare(ctx, limits, source, language)
}

// Resume implements [spi.Resumer].
func (b *Backend) Resume(ctx context.Context, r *spi.Resumption) (spi.Isolate, error) {
	return b.host.Resume(ctx, r)
}

// Close implements [spi.Backend].
func (b *Backend) Close() error { return b.host.Close() }
