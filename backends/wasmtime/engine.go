//go:build cgo && linux && amd64

package wasmtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	wt "github.com/bytecodealliance/wasmtime-go/v39"

	"github.com/loom-sandbox/sandboxd/backends/internal/codecache"
	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
	"github.com/loom-sandbox/sandboxd/backends/internal/wasmhost"
)

// maxStackBytes is what guest code may use of a thread's stack. The image's own
// guards end every recursion that we know within 6.7 MiB of it, which
// TestOneVerdict looks at; the rest of the thread's 8 MiB is for the engine.
const maxStackBytes = 7 << 20

// codeName is the compiled module in a cache entry.
const codeName = "wasmtime-code"

// engine is a [wasmhost.Engine]. wasmtime's engine is made when it is needed.
type engine struct{}

// configure switches everything off that the image does not use.
func configure(level wt.OptLevel) *wt.Config {
	c := wt.NewConfig()
	c.SetStrategy(wt.StrategyCranelift)
	c.SetCraneliftOptLevel(level)
	c.SetMaxWasmStack(maxStackBytes)
	c.SetMemoryInitCOWSet(true)
	c.SetDebugInfo(false)
	c.SetNativeUnwindInfo(false)
	c.SetProfiler(wt.ProfilingStrategyNone)
	for _, off := range []func(bool){
		c.SetConsumeFuel, c.SetEpochInterruption,
		c.SetWasmThreads, c.SetWasmRelaxedSIMD, c.SetWasmSIMD, c.SetWasmMultiMemory, c.SetWasmMemory64, c.SetWasmTailCall,
		c.SetWasmGC, c.SetWasmFunctionReferences, c.SetWasmReferenceTypes, c.SetWasmWideArithmetic,
	} {
		off(false)
	}
	return c
}

// Boot implements [wasmhost.Engine] with as little optimising as there can be.
func (engine) Boot(ctx context.Context, wasm []byte, imports []quickjs.Import, h *quickjs.Host) (quickjs.Instance, func() error, error) {
	m := newModule(configure(wt.OptLevelNone))
	err := m.compile(ctx, wasm, imports)
	if err != nil {
		m.Close()
		return nil, nil, err
	}
	inst, err := m.instantiate(wasmhost.BootMemoryBytes)
	if err != nil {
		m.Close()
		return nil, nil, err
	}
	inst.host = h
	return inst, func() error { return errors.Join(inst.Close(), m.Close()) }, nil
}

// Compile implements [wasmhost.Engine] with one file in the entry. wasmtime maps
// what a memory starts with by itself.
func (engine) Compile(ctx context.Context, image *quickjs.Image, _ *pristine.Image, code *codecache.Entry) (wasmhost.Module, error) {
	m := newModule(configure(wt.OptLevelSpeed))
	err := m.load(ctx, image, code)
	if err == nil {
		err = m.link(image.Imports)
	}
	if err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// module is one compiled module with its host functions linked. It implements
// [wasmhost.Module].
type module struct {
	engine   *wt.Engine
	linker   *wt.Linker
	compiled *wt.Module // nil until there is one
}

func newModule(config *wt.Config) *module {
	e := wt.NewEngineWithConfig(config)
	return &module{engine: e, linker: wt.NewLinker(e)}
}

// Errors in our words: wasmtime's name files of the machine that built it.
var (
	errCompile     = errors.New("the engine refused to compile the module")
	errCode        = errors.New("the compiled code is not of this engine and configuration")
	errLink        = errors.New("the engine refused a host function")
	errInstantiate = errors.New("the engine could not make an instance: no memory or address space is left, or the memory cap is below the image's size")
)

func (m *module) compile(ctx context.Context, wasm []byte, imports []quickjs.Import) error {
	// Compiling cannot be interrupted.
	if err := ctx.Err(); err != nil {
		return err
	}
	var err error
	if m.compiled, err = wt.NewModule(m.engine, wasm); err != nil {
		return errCompile
	}
	return m.link(imports)
}

// load takes the compiled image from the cache, or makes it and puts it there.
func (m *module) load(ctx context.Context, image *quickjs.Image, code *codecache.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var err error
	if code != nil {
		// The file is mapped and not read, which spares thousands of page faults.
		// It is never written to again: a new one takes its place.
		path := filepath.Join(code.Path(), codeName)
		if _, err := os.Lstat(path); err == nil {
			if m.compiled, err = wt.NewModuleDeserializeFile(m.engine, path); err != nil {
				return errCode
			}
			return nil
		}
	}
	wasm, err := image.WithData()
	if err != nil {
		return err
	}
	if m.compiled, err = wt.NewModule(m.engine, wasm); err != nil {
		return errCompile
	}
	if code == nil {
		return nil
	}
	data, err := m.compiled.Serialize()
	if err != nil {
		return errCode
	}
	return code.WriteFile(codeName, data)
}

// link provides the host functions, once for all instances: a call finds the
// isolate's host in the data of its store.
func (m *module) link(imports []quickjs.Import) error {
	for i := range imports {
		im := &imports[i]
		params, err := valTypes(im.Params)
		if err != nil {
			return err
		}
		results, err := valTypes(im.Results)
		if err != nil {
			return err
		}
		if err := m.linker.FuncNew(im.Module, im.Name, wt.NewFuncType(params, results), hostFunction(im)); err != nil {
			return errLink
		}
	}
	return nil
}

// Close implements [wasmhost.Module].
func (m *module) Close() error {
	if m.compiled != nil {
		m.compiled.Close()
	}
	m.linker.Close()
	m.engine.Close()
	return nil
}

// valTypes are the integers that the image's imports use.
func valTypes(encoded []byte) ([]*wt.ValType, error) {
	types := make([]*wt.ValType, len(encoded))
	for i, t := range encoded {
		switch t {
		case typeI32:
			types[i] = wt.NewValType(wt.KindI32)
		case typeI64:
			types[i] = wt.NewValType(wt.KindI64)
		default:
			return nil, fmt.Errorf("value type %#x of a host function is not known; allowed is i32 and i64", t)
		}
	}
	return types, nil
}

// Value types as the binary format encodes them.
const (
	typeI32 = 0x7f
	typeI64 = 0x7e
)
