package wasmtime

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmhost"
	"github.com/loom-sandbox/sandboxd/spi"
)

// Name is how operators choose this backend.
const Name = "wasmtime"

// MaxMemoryBytes is the largest memory cap that Open accepts: 1 GiB.
const MaxMemoryBytes = int64(1 << 30)

// MinThreadStackBytes is the smallest thread stack that a guest may run on: 8 MiB.
const MinThreadStackBytes = int64(8 << 20)

// Options of [New]. The zero value uses the built-in engine image and keeps
// nothing on disk.
type Options struct {
	// CacheDir keeps compiled code from one process to the next; it is created
	// with mode 0700 if missing. Empty means no cache. See [DefaultCacheDir].
	CacheDir string
	// EngineImage is another reactor build of quickjs-ng, nil for the built-in one.
	EngineImage []byte
	// EngineImageSHA256 is the hash that EngineImage must have, in hex, with or
	// without "sha256:" before it. Required with EngineImage.
	EngineImageSHA256 string
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

// Errors of [New].
var (
	// ErrEngineImage says that an engine image is not the one that was asked
	// for, or not one that this package can run.
	ErrEngineImage = errors.New("wasmtime: engine image refused")
	// ErrUnavailable says that this build or this machine has no wasmtime. The
	// error that wraps it carries the text of [Unavailable].
	ErrUnavailable = errors.New("wasmtime: not available")
)

// Backend opens isolates on one compiled image. It implements [spi.Backend] and
// [spi.Preparer].
type Backend struct{ host *wasmhost.Backend }

// DefaultCacheDir is where compiled code is kept unless told otherwise: a folder
// of the user's cache directory, shared with other backends.
func DefaultCacheDir() (string, error) { return wasmhost.DefaultCacheDir() }

// Describe is what a backend made with default options promises, but for the
// image, which is known once it is booted.
func Describe() spi.Descriptor {
	return spi.Descriptor{
		Name:      Name,
		Summary:   "QuickJS compiled to WebAssembly, in this process, on an optimising engine (cgo)",
		Isolation: spi.IsolationWASM,
		Languages: []spi.Language{spi.JavaScript},
		Enforces: []spi.Enforcement{
			{Limit: spi.LimitTimeout, Granularity: int64(50 * time.Millisecond)}, // nearly always under 1 ms
			{Limit: spi.LimitMemory, Granularity: wasmhost.PageBytes},
			{Limit: spi.LimitFuel, Exact: true},
			{Limit: spi.LimitStack, Exact: true},
			{Limit: spi.LimitCallDepth, Exact: true},
			{Limit: spi.LimitOutput, Exact: true},
			{Limit: spi.LimitLogs, Exact: true},
			{Limit: spi.LimitHostCalls, Exact: true},
			{Limit: spi.LimitCallBytes, Exact: true},
		},
		Engine:         "quickjs-ng on wasmtime " + wasmhost.ModuleVersion("github.com/bytecodealliance/wasmtime-go/v39"),
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
