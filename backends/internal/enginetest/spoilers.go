package enginetest

import (
	"runtime"
	"slices"

	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
	"github.com/loom-sandbox/sandboxd/backends/internal/wasmhost"
)

// spoiler is an engine that breaks what the pool relies on, and what is told then.
type spoiler struct {
	spoil func(wasmhost.Instance) wasmhost.Instance
	told  string
}

// spoilers break it in ways that a script does not see.
func spoilers() map[string]spoiler {
	deaf := func(g quickjs.Global) spoiler {
		return spoiler{
			func(i wasmhost.Instance) wasmhost.Instance { return &deafInstance{i, g} },
			"global " + quickjs.Globals()[g] + " was not restored",
		}
	}
	differs := pristine.ErrDiffers.Error()
	return map[string]spoiler{
		"the call depth is not set back":    deaf(quickjs.GlobalDepth),
		"the stack pointer is not set back": deaf(quickjs.GlobalStackPointer),
		"the memory is shown elsewhere first": {
			func(i wasmhost.Instance) wasmhost.Instance { return &elsewhere{Instance: i} }, differs,
		},
		"the guest runs on another thread, and nobody is told": {
			func(i wasmhost.Instance) wasmhost.Instance { return &astray{i} }, differs,
		},
	}
}

// deafInstance does not set one global.
type deafInstance struct {
	wasmhost.Instance

	global quickjs.Global
}

// SetGlobal implements [quickjs.Instance].
func (d *deafInstance) SetGlobal(g quickjs.Global, v uint64) {
	if g != d.global {
		d.Instance.SetGlobal(g, v)
	}
}

// elsewhere shows a copy of its memory until it is lent, as an engine that moves
// memory might.
type elsewhere struct {
	wasmhost.Instance

	moved bool
}

// Lend implements [wasmhost.Instance].
func (e *elsewhere) Lend(h *quickjs.Host, maxBytes int64) bool {
	e.moved = true
	return e.Instance.Lend(h, maxBytes)
}

// Memory implements [quickjs.Instance].
func (e *elsewhere) Memory() []byte {
	if !e.moved {
		return slices.Clone(e.Instance.Memory())
	}
	return e.Instance.Memory()
}

// astray calls the guest on a thread whose faults nobody counts.
type astray struct{ wasmhost.Instance }

// Call implements [quickjs.Instance].
func (a *astray) Call(stack []uint64) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and the thread ends with it
		done <- a.Instance.Call(stack)
	}()
	return <-done
}
