package wazero

import (
	"context"
	"errors"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
	"github.com/loom-sandbox/sandboxd/backends/internal/wasmhost"
)

// instance is a wazero module as the driver and the pool see it. It implements
// [wasmhost.Instance].
type instance struct {
	ctx     context.Context // leads the host functions here
	host    *quickjs.Host
	module  api.Module
	memory  api.Memory
	linear  *linearMemory // nil while an image is booted
	invoke  api.Function
	globals []api.MutableGlobal
}

func (i *instance) bind(module api.Module) {
	i.module, i.memory = module, module.ExportedMemory(quickjs.MemoryExport)
	for _, name := range quickjs.Globals() {
		i.globals = append(i.globals, module.ExportedGlobal(name).(api.MutableGlobal))
	}
	i.Refresh()
}

// Call implements [quickjs.Instance].
func (i *instance) Call(stack []uint64) error {
	err := i.invoke.CallWithStack(i.ctx, stack)
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

// Lend implements [wasmhost.Instance].
func (i *instance) Lend(h *quickjs.Host, maxBytes int64) bool {
	if !i.linear.limit(maxBytes) {
		return false
	}
	i.host = h
	return true
}

// Grow implements [wasmhost.Instance].
func (i *instance) Grow(size int64) error {
	if _, ok := i.memory.Grow(uint32((size - int64(i.memory.Size())) / wasmhost.PageBytes)); !ok {
		return errors.New("the memory cannot grow")
	}
	return nil
}

// Refresh implements [wasmhost.Instance]: wazero keeps a native stack for each
// function that was called, which grows to what a recursion needed.
func (i *instance) Refresh() { i.invoke = i.module.ExportedFunction(quickjs.InvokeExport) }

// Close implements [wasmhost.Instance].
func (i *instance) Close() error {
	err := i.module.Close(i.ctx)
	if i.linear != nil {
		i.linear.Free()
	}
	return err
}
