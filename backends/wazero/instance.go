package wazero

import (
	"context"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
)

// instance is a wazero module as the driver sees it.
type instance struct {
	ctx     context.Context
	memory  api.Memory
	invoke  api.Function
	globals []api.MutableGlobal
}

func newInstance(ctx context.Context, module api.Module) *instance {
	i := &instance{ctx: ctx, memory: module.ExportedMemory(quickjs.MemoryExport), invoke: module.ExportedFunction(quickjs.InvokeExport)}
	for _, name := range quickjs.Globals() {
		i.globals = append(i.globals, module.ExportedGlobal(name).(api.MutableGlobal))
	}
	return i
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
