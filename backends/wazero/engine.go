package wazero

import (
	"context"
	"errors"
	"fmt"

	wz "github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
)

// features is what the image uses of WebAssembly, and nothing else.
const features = api.CoreFeatureMutableGlobal | api.CoreFeatureSignExtensionOps |
	api.CoreFeatureNonTrappingFloatToIntConversion | api.CoreFeatureBulkMemoryOperations | api.CoreFeatureMultiValue

// engine is one compiled module with its host functions linked.
type engine struct {
	runtime wz.Runtime
	module  wz.CompiledModule
	cache   wz.CompilationCache // nil where there is none
}

// hostKey finds the isolate's host in the context of a call. Host functions are
// linked once for all instances.
type hostKey struct{}

// newEngine compiles an image, or takes the code from the store.
func newEngine(ctx context.Context, image *quickjs.Image, config wz.RuntimeConfig, s *store) (*engine, error) {
	cache, err := s.code()
	if err != nil {
		s.log.Warn("not using the cache of compiled code", "reason", err)
	}
	e, err := compile(ctx, config, image.WASM, image.Imports, cache)
	if err == nil || cache == nil || ctx.Err() != nil {
		return e, err
	}
	// wazero met code of its own that it cannot use.
	s.discard(err)
	s.keep(image)
	return compile(ctx, config, image.WASM, image.Imports, nil)
}

// compile owns cache: it is closed with the engine, or here on error.
func compile(ctx context.Context, config wz.RuntimeConfig, wasm []byte, imports []quickjs.Import, cache wz.CompilationCache) (*engine, error) {
	config = config.WithCoreFeatures(features).WithDebugInfoEnabled(false)
	if cache != nil {
		config = config.WithCompilationCache(cache)
	}
	e := &engine{runtime: wz.NewRuntimeWithConfig(ctx, config), cache: cache}
	var err error
	if e.module, err = e.runtime.CompileModule(ctx, wasm); err == nil {
		err = e.link(ctx, imports)
	}
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// link provides the host functions, one host module for each import module.
func (e *engine) link(ctx context.Context, imports []quickjs.Import) error {
	builders := map[string]wz.HostModuleBuilder{}
	for i := range imports {
		im := &imports[i]
		b := builders[im.Module]
		if b == nil {
			b = e.runtime.NewHostModuleBuilder(im.Module)
			builders[im.Module] = b
		}
		f := api.GoModuleFunc(func(ctx context.Context, _ api.Module, stack []uint64) {
			h := ctx.Value(hostKey{}).(*quickjs.Host)
			if err := h.Call(im, stack); err != nil {
				panic(err) // how a wazero host function abandons the guest
			}
		})
		b.NewFunctionBuilder().WithGoModuleFunction(f, im.Params, im.Results).Export(im.Name)
	}
	for name, b := range builders {
		if _, err := b.Instantiate(ctx); err != nil {
			return fmt.Errorf("host functions of %s: %w", name, err)
		}
	}
	return nil
}

func (e *engine) close() error {
	err := e.runtime.Close(context.Background())
	if e.cache != nil {
		err = errors.Join(err, e.cache.Close(context.Background()))
	}
	return err
}

// instantiate makes a pristine instance whose memory cannot grow beyond
// maxBytes.
func (e *engine) instantiate(h *quickjs.Host, maxBytes int64) (quickjs.Instance, func() error, error) {
	memory, err := newMemory(maxBytes)
	if err != nil {
		return nil, nil, err
	}
	// Not the caller's context: it would carry his deadline and values into
	// the engine, and an isolate outlives the call that opened it.
	ctx := context.WithValue(context.Background(), hostKey{}, h)
	allocator := experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory { return memory })
	config := wz.NewModuleConfig().WithName("").WithStartFunctions()
	module, err := e.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, allocator), e.module, config)
	if err != nil {
		memory.Free()
		return nil, nil, err
	}
	return newInstance(ctx, module), func() error { return module.Close(ctx) }, nil
}

// bootInstance runs a module that is not an image yet. It is needed once,
// and compiling it takes longer than interpreting the boot.
func bootInstance(ctx context.Context, wasm []byte, imports []quickjs.Import, h *quickjs.Host) (quickjs.Instance, func() error, error) {
	e, err := compile(ctx, wz.NewRuntimeConfigInterpreter(), wasm, imports, nil)
	if err != nil {
		return nil, nil, err
	}
	inst, closeInstance, err := e.instantiate(h, bootMemoryBytes)
	if err != nil {
		e.close()
		return nil, nil, err
	}
	return inst, func() error { return errors.Join(closeInstance(), e.close()) }, nil
}

// bootMemoryBytes caps the memory of a boot.
const bootMemoryBytes = 256 << 20
