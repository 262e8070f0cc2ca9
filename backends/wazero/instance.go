package wazero

import (
	"context"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
)

// instance is a wazero module as the driver sees it.
type instance struct {
	ctx       context.Context
	module    api.Module
	memory    api.Memory
	names     []string
	functions []api.Function // made at first use: each has a stack of its own
	globals   []api.MutableGlobal
}

func newInstance(ctx context.Context, module api.Module) *instance {
	names := quickjs.Functions()
	i := &instance{
		ctx: ctx, module: module, memory: module.ExportedMemory(quickjs.MemoryExport),
		names: names, functions: make([]api.Function, len(names)),
	}
	for _, name := range quickjs.Globals() {
		i.globals = append(i.globals, module.ExportedGlobal(name).(api.MutableGlobal))
	}
	return i
}

// Call implements [quickjs.Instance].
func (i *instance) Call(fn quickjs.Function, stack []uint64) error {
	f := i.functions[fn]
	if f == nil {
		f = i.module.ExportedFunction(i.names[fn])
		i.functions[fn] = f
	}
	err := f.CallWithStack(i.ctx, stack)
	// wazero's sentinel for this is internal; its interpreter allows 2,000 frames.
	if err != nil && strings.HasPrefix(err.Error(), "wasm error: stack overflow") {
		return quickjs.ErrNativeStack
	}
	return err
}

// Memory implements [quickjs.Instance].
func (i *instance) Memory() []byte {
	b, _ := i.memory.Read(0, i.memory.Size())
	return b
}

// Global implements [quickjs.Instance].
func (i *instance) Global(g quickjs.Global) uint64 { return i.globals[g].Get() }

// SetGlobal implements [quickjs.Instance].
func (i *instance) SetGlobal(g quickjs.Global, v uint64) { i.globals[g].Set(v) }
