package wazero

import (
	"context"
	"errors"
	"fmt"

	wz "github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/loom-sandbox/sandboxd/backends/internal/codecache"
	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
	"github.com/loom-sandbox/sandboxd/backends/internal/wasmhost"
)

// features is what the image uses of WebAssembly, and nothing else.
const features = api.CoreFeatureMutableGlobal | api.CoreFeatureSignExtensionOps |
	api.CoreFeatureNonTrappingFloatToIntConversion | api.CoreFeatureBulkMemoryOperations | api.CoreFeatureMultiValue

// engine is a [wasmhost.Engine].
type engine struct{ config wz.RuntimeConfig }

// Boot implements [wasmhost.Engine] with the interpreter: compiling takes longer
// than interpreting the boot.
func (engine) Boot(ctx context.Context, wasm []byte, imports []quickjs.Import, h *quickjs.Host) (quickjs.Instance, func() error, error) {
	m, err := compile(ctx, wz.NewRuntimeConfigInterpreter(), wasm, imports, nil)
	if err != nil {
		return nil, nil, err
	}
	inst, closeInstance, err := m.Instantiate(h, wasmhost.BootMemoryBytes)
	if err != nil {
		m.Close()
		return nil, nil, err
	}
	return inst, func() error { return errors.Join(closeInstance(), m.Close()) }, nil
}

// Compile implements [wasmhost.Engine] with a cache of wazero's own in the entry.
func (e engine) Compile(ctx context.Context, image *quickjs.Image, code *codecache.Entry) (wasmhost.Module, error) {
	var cache wz.CompilationCache
	if code != nil {
		var err error
		if cache, err = wz.NewCompilationCacheWithDir(code.Path()); err != nil {
			return nil, err
		}
	}
	m, err := compile(ctx, e.config, image.WASM, image.Imports, cache)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// module is one compiled module with its host functions linked. It implements
// [wasmhost.Module].
type module struct {
	runtime  wz.Runtime
	compiled wz.CompiledModule
	cache    wz.CompilationCache // nil where there is none
}

// hostKey finds the isolate's host in the context of a call. Host functions are
// linked once for all instances.
type hostKey struct{}

// compile owns cache: it is closed with the engine, or here on error.
func compile(ctx context.Context, config wz.RuntimeConfig, wasm []byte, imports []quickjs.Import, cache wz.CompilationCache) (*module, error) {
	config = config.WithCoreFeatures(features).WithDebugInfoEnabled(false)
	if cache != nil {
		config = config.WithCompilationCache(cache)
	}
	m := &module{runtime: wz.NewRuntimeWithConfig(ctx, config), cache: cache}
	var err error
	if m.compiled, err = m.runtime.CompileModule(ctx, wasm); err == nil {
		err = m.link(ctx, imports)
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// link provides the host functions, one host module for each import module.
func (m *module) link(ctx context.Context, imports []quickjs.Import) error {
	builders := map[string]wz.HostModuleBuilder{}
	for i := range imports {
		im := &imports[i]
		b := builders[im.Module]
		if b == nil {
			b = m.runtime.NewHostModuleBuilder(im.Module)
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

// Close implements [wasmhost.Module].
func (m *module) Close() error {
	err := m.runtime.Close(context.Background())
	if m.cache != nil {
		err = errors.Join(err, m.cache.Close(context.Background()))
	}
	return err
}

// Instantiate implements [wasmhost.Module].
func (m *module) Instantiate(h *quickjs.Host, maxBytes int64) (quickjs.Instance, func() error, error) {
	memory, err := newMemory(maxBytes)
	if err != nil {
		return nil, nil, err
	}
	// Not the caller's context: it would carry his deadline and values into
	// the engine, and an isolate outlives the call that opened it.
	ctx := context.WithValue(context.Background(), hostKey{}, h)
	allocator := experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory { return memory })
	config := wz.NewModuleConfig().WithName("").WithStartFunctions()
	inst, err := m.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, allocator), m.compiled, config)
	if err != nil {
		memory.Free()
		return nil, nil, err
	}
	return newInstance(ctx, inst), func() error { return inst.Close(ctx) }, nil
}
