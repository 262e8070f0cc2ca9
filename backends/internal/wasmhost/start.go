package wasmhost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/loom-sandbox/sandboxd/backends/internal/codecache"
	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
	"github.com/loom-sandbox/sandboxd/spi"
)

// Options of [Start].
type Options struct {
	// Descriptor is what the backend promises. Image and MinMemoryBytes are
	// filled in; Name is also the prefix of errors and of cache entries.
	Descriptor spi.Descriptor
	// ErrEngineImage is what errors about the engine image wrap.
	ErrEngineImage error
	// CacheDir keeps images and compiled code; empty means nowhere.
	CacheDir string
	// EngineImage replaces the built-in reactor build, nil for the built-in one.
	EngineImage []byte
	// EngineImageSHA256 is the hash that the build must have, in hex, with or
	// without "sha256:" before it. Required with EngineImage.
	EngineImageSHA256 string
	// Pool says how isolates are kept between evals.
	Pool PoolOptions
	// Logger gets warnings about the cache; nil drops them.
	Logger *slog.Logger
}

// Start boots an engine image and compiles it, or takes both from the cache. ctx
// bounds the starting and nothing later. Errors are or wrap
// Options.ErrEngineImage or the context's.
func Start(ctx context.Context, opts *Options, engine Engine) (*Backend, error) {
	source, sum, err := opts.source()
	if err != nil {
		return nil, err
	}
	b, err := opts.start(ctx, engine, source, sum)
	name := opts.Descriptor.Name
	var mismatch *quickjs.SourceMismatchError
	var unusable *quickjs.BuildError
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case errors.As(err, &mismatch), errors.As(err, &unusable):
		return nil, fmt.Errorf("%w: %w", opts.ErrEngineImage, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

// source is the module to run and the hash that it must have.
func (o *Options) source() (source []byte, sum string, err error) {
	source, sum = quickjs.DefaultSource()
	want := strings.TrimPrefix(strings.ToLower(o.EngineImageSHA256), "sha256:")
	switch {
	case o.EngineImage != nil && want == "":
		return nil, "", fmt.Errorf("%w: Options.EngineImage needs its sha256 in Options.EngineImageSHA256", o.ErrEngineImage)
	case o.EngineImage != nil:
		return o.EngineImage, want, nil
	case want != "" && want != sum:
		return nil, "", fmt.Errorf("%w: %w", o.ErrEngineImage, &quickjs.SourceMismatchError{Want: want, Got: sum})
	}
	return source, sum, nil
}

func (o *Options) start(ctx context.Context, engine Engine, source []byte, sum string) (*Backend, error) {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s, err := openStore(ctx, o.CacheDir, o.Descriptor.Name, sum, log)
	if err != nil {
		return nil, err
	}
	defer s.close()
	build := func() (*quickjs.Image, error) { return quickjs.Build(ctx, source, sum, engine.Boot) }
	image := s.image(sum)
	found := image != nil
	if !found {
		if image, err = build(); err != nil {
			return nil, err
		}
		s.keep(image)
	}
	b, err := Assemble(ctx, engine, image, s.code(), o.Descriptor, o.Pool)
	if err != nil && s != nil && ctx.Err() == nil {
		// The engine met code or an image of its own that it cannot use.
		s.discard(err)
		if found {
			if image, err = build(); err != nil {
				return nil, err
			}
		}
		s.keep(image)
		b, err = Assemble(ctx, engine, image, nil, o.Descriptor, o.Pool)
	}
	return b, err
}

// Assemble compiles an image on an engine and makes a backend of it. code is as
// for [Engine].
func Assemble(ctx context.Context, engine Engine, image *quickjs.Image, code *codecache.Entry, d spi.Descriptor, p PoolOptions) (*Backend, error) {
	var cold []pristine.Span
	for _, span := range image.ColdMemory() {
		cold = append(cold, pristine.Span{Start: span[0], End: span[1]})
	}
	memory, err := pristine.New(image.Memory, cold)
	if err != nil {
		return nil, err
	}
	module, err := engine.Compile(ctx, image, memory, code)
	if err != nil {
		return nil, errors.Join(err, memory.Close())
	}
	b, err := newBackend(image, memory, module, d, p)
	if err != nil {
		return nil, errors.Join(err, module.Close())
	}
	return b, nil
}
