package wasmhost

import (
	"context"
	"runtime/debug"

	"github.com/loom-sandbox/sandboxd/backends/internal/codecache"
	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
)

// Engine executes WebAssembly.
type Engine interface {
	// Boot is a [quickjs.Instantiate] for a module that is run once, to make
	// the image: starting soon matters, running fast does not.
	Boot(ctx context.Context, wasm []byte, imports []quickjs.Import, h *quickjs.Host) (quickjs.Instance, func() error, error)

	// Compile makes an image ready. memory is what its instances start with, for
	// engines that can be handed memory; it outlives the module. code is a private directory whose content
	// is as it was sealed, where compiled code may be kept, or nil. Where code
	// holds something unusable Compile fails, and is called again with nil.
	Compile(ctx context.Context, image *quickjs.Image, memory *pristine.Image, code *codecache.Entry) (Module, error)
}

// Module is a compiled image with its host functions linked. Instantiate may be
// called from any number of goroutines.
type Module interface {
	// Instantiate makes a pristine instance whose memory can grow to maxBytes at
	// least, rounded down to whole pages.
	Instantiate(maxBytes int64) (Instance, error)

	// Close is called once, when no instance is left.
	Close() error
}

// Instance is one guest, used again and again. The pool restores its memory and
// its globals; anything else that an engine keeps for an instance must not be
// seen by a guest.
type Instance interface {
	quickjs.Instance

	// Lend has the instance work for h, with a memory that cannot grow beyond
	// maxBytes. It is false where the instance was made for less.
	Lend(h *quickjs.Host, maxBytes int64) bool

	// Grow grows the memory to a size in whole pages, as the guest would.
	Grow(size int64) error

	// Refresh gives back what the engine keeps after a long or deep eval, such
	// as a native stack that has grown.
	Refresh()

	// Close releases the instance.
	Close() error
}

// PageBytes is a page of WebAssembly, the granularity of a memory cap.
const PageBytes = 64 << 10

// BootMemoryBytes caps the memory of a boot.
const BootMemoryBytes = 256 << 20

// ModuleVersion is the version of a Go module that is linked into this binary.
// Test binaries do not know.
func ModuleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == path {
				return dep.Version
			}
		}
	}
	return "of unknown version"
}
