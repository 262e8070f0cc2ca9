//go:build cgo && linux && amd64

package wasmtime

import (
	"errors"

	wt "github.com/bytecodealliance/wasmtime-go/v39"

	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
	"github.com/loom-sandbox/sandboxd/backends/internal/wasmhost"
)

// instance is a wasmtime instance as the driver sees it.
type instance struct {
	host     *quickjs.Host
	store    *wt.Store
	memory   *wt.Memory
	invoke   function
	globals  []*wt.Global
	is32     []bool // by global
	panicked any    // what a host function panicked with
}

// slice is the fuel of a guest between two looks at the clock: about 0.4 ms. Go's
// collector runs beside a guest that is in C, so that nobody waits for it, and
// each way back to Go costs some microseconds.
const slice = 5 * quickjs.Slice

// Instantiate implements [wasmhost.Module].
func (m *module) Instantiate(h *quickjs.Host, maxBytes int64) (quickjs.Instance, func() error, error) {
	h.SetSlice(slice)
	i := &instance{host: h}
	i.store = wt.NewStoreWithData(m.engine, i)
	// One instance with one memory and one table, which has its final size.
	const keep = -1
	i.store.Limiter(maxBytes/wasmhost.PageBytes*wasmhost.PageBytes, keep, 1, 1, 1)
	made, err := m.linker.Instantiate(i.store, m.compiled)
	if err != nil {
		i.store.Close()
		return nil, nil, errInstantiate
	}
	i.memory = made.GetExport(i.store, quickjs.MemoryExport).Memory()
	i.invoke = functionOf(made.GetFunc(i.store, quickjs.InvokeExport))
	for _, name := range quickjs.Globals() {
		g := made.GetExport(i.store, name).Global()
		i.globals = append(i.globals, g)
		i.is32 = append(i.is32, g.Get(i.store).Kind() == wt.KindI32)
	}
	return i, func() error { i.store.Close(); return nil }, nil
}

// errTrap stands for whatever wasmtime says of a guest that it stopped.
var errTrap = errors.New("wasmtime: guest trapped")

// Call implements [quickjs.Instance].
func (i *instance) Call(stack []uint64) error {
	how := i.invoke.call(i.store, stack, needStackBytes)
	if how == endCramped {
		how = onAnotherThread(func() ending { return i.invoke.call(i.store, stack, needStackBytes) })
	}
	if p := i.panicked; p != nil { // on its way through the guest
		panic(p)
	}
	switch how {
	case endReturned:
		return nil
	case endOverflowed:
		return quickjs.ErrNativeStack
	}
	return errTrap
}

// Memory implements [quickjs.Instance].
func (i *instance) Memory() []byte { return i.memory.UnsafeData(i.store) }

// Global implements [quickjs.Instance].
func (i *instance) Global(g quickjs.Global) uint64 {
	v := i.globals[g].Get(i.store)
	if i.is32[g] {
		return uint64(uint32(v.I32()))
	}
	return uint64(v.I64())
}

// SetGlobal implements [quickjs.Instance].
func (i *instance) SetGlobal(g quickjs.Global, value uint64) {
	v := wt.ValI64(int64(value))
	if i.is32[g] {
		v = wt.ValI32(int32(value))
	}
	// It fails for another type or for a constant, and these are the image's own.
	if err := i.globals[g].Set(i.store, v); err != nil {
		panic("wasmtime: the image's globals have other types than its driver expects")
	}
}

// hostFunction is an import as wasmtime calls it.
func hostFunction(im *quickjs.Import) func(*wt.Caller, []wt.Val) ([]wt.Val, *wt.Trap) {
	return func(caller *wt.Caller, args []wt.Val) ([]wt.Val, *wt.Trap) {
		i := caller.Data().(*instance)
		defer func() {
			if p := recover(); p != nil {
				i.panicked = p
				panic(p)
			}
		}()
		stack := make([]uint64, max(len(im.Params), len(im.Results)))
		for n := range args {
			if im.Params[n] == typeI32 {
				stack[n] = uint64(uint32(args[n].I32()))
			} else {
				stack[n] = uint64(args[n].I64())
			}
		}
		if err := i.host.Call(im, stack); err != nil {
			return nil, wt.NewTrap("stopped by the host")
		}
		results := make([]wt.Val, len(im.Results))
		for n, t := range im.Results {
			if t == typeI32 {
				results[n] = wt.ValI32(int32(stack[n]))
			} else {
				results[n] = wt.ValI64(int64(stack[n]))
			}
		}
		return results, nil
	}
}
