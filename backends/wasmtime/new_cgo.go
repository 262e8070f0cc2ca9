//go:build cgo && linux && amd64

package wasmtime

import (
	"context"
	"fmt"
	"syscall"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmhost"
)

// Unavailable says why this build or this machine cannot run the backend; it is
// empty where New can be tried.
func Unavailable() string {
	// Threads get their stacks by the limit that the process was started with.
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_STACK, &limit); err != nil {
		return fmt.Sprintf("the size of thread stacks is not known: %v", err)
	}
	switch {
	case limit.Cur == ^uint64(0): // glibc then takes 2 MiB
		return fmt.Sprintf("thread stacks are too small where 'ulimit -s' says unlimited; allowed is %d KiB or more", MinThreadStackBytes>>10)
	case limit.Cur < uint64(MinThreadStackBytes):
		return fmt.Sprintf("thread stacks of %d KiB are too small; allowed is 'ulimit -s' of %d or more", limit.Cur>>10, MinThreadStackBytes>>10)
	}
	return ""
}

// New boots the engine image and compiles it: some seconds, a few tens of
// milliseconds with a cache. ctx bounds the starting, checked between its steps,
// and nothing later; where another process is filling the same cache, New waits
// for it for up to ten seconds. Errors are or wrap [ErrUnavailable],
// [ErrEngineImage] or the context's.
func New(ctx context.Context, opts *Options) (*Backend, error) {
	if opts == nil {
		opts = &Options{}
	}
	if reason := Unavailable(); reason != "" {
		return nil, fmt.Errorf("%w: %s", ErrUnavailable, reason)
	}
	host, err := wasmhost.Start(ctx, &wasmhost.Options{
		Descriptor: Describe(), ErrEngineImage: ErrEngineImage, CacheDir: opts.CacheDir, Logger: opts.Logger,
		EngineImage: opts.EngineImage, EngineImageSHA256: opts.EngineImageSHA256,
	}, engine{})
	if err != nil {
		return nil, err
	}
	return &Backend{host}, nil
}
