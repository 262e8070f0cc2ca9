//go:build cgo && linux && amd64

package wasmtime

import (
	"context"
	"fmt"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmhost"
)

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
		Pool: wasmhost.PoolOptions{Idle: opts.IdleIsolates, Warm: opts.WarmIsolates, IdleTimeout: opts.IdleTimeout, Check: opts.CheckRestored},
	}, engine{})
	if err != nil {
		return nil, err
	}
	return &Backend{host}, nil
}
