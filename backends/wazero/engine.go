package wazero

import (
	"context"
	"errors"
	"fmt"

	wz "github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/loom-sandbox/sandboxd/backends/internal/codecache"
	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
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
	config := wz.NewRuntimeConfigInterpreter().WithMemoryLimitPages(wasmhost.BootMemoryBytes / wasmhost.PageBytes)
	m, err := compile(ctx, config, wasm, imports, nil)
	if err != nil {
		return nil, nil, err
	}
	inst := &instance{host: h}
	if err := m.instantiate(context.Background(), inst); err != nil {
		return nil, nil, errors.Join(err, m.Close())
	}
	return inst, func() error { return errors.Join(inst.Close(), m.Close()) }, nil
}

// Compile implements [wasmhost.Engine] with a cache of wazero's own in the entry.
func (e engine) Compile(ctx context.Context, image *quickjs.Image, memory *pristine.Image, code *codecache.Entry) (wasmhost.Module, error) {
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
	m.memory = memory
	return m, nil
}

// module is one compiled module with its host functions linked. It implements
// [wasmhost.Module].
type module struct {
	runtime  wz.Runtime
	compiled wz.CompiledModule
	memory   *pristine.Image
	cache    wz.CompilationCache // nil where there is none
}

// instanceKey finds the instance in the context of a call. Host functions are
// linked once for all of them.
type instanceKey struct{}

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
			if err := ctx.Value(instanceKey{}).(*instance).host.Call(im, stack); err != nil {
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
func (m *module) Instantiate(maxBytes int64) (wasmhost.Instance, error) {
	reserved, err := m.memory.Reserve(maxBytes / wasmhost.PageBytes * wasmhost.PageBytes)
	if err != nil {
		return nil, err
	}
	i := &instance{linear: &linearMemory{Memory: reserved}}
	i.linear.limit(reserved.CapBytes())
	// The module has no data of its own: its memory starts as the image.
	allocator := experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory { return i.linear })
	if err := m.instantiate(experimental.WithMemoryAllocator(context.Background(), allocator), i); err != nil {
		reserved.Free()
		return nil, err
	}
	return i, nil
}

// instantiate makes i an instance of the module. ctx is not the caller's: it
// would carry his deadline and values into the engine, and an instance outlives
// the call that made it.
func (m *module) instantiate(ctx context.Context, i *instance) error {
	i.ctx = context.WithValue(context.Background(), instanceKey{}, i)
	made, err := m.runtime.InstantiateModule(ctx, m.compiled, wz.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return err
	}
	i.bind(made)
	return nil
}
