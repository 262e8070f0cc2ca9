//go:build cgo && linux && amd64

package wasmtime

import (
	"errors"

	wt "github.com/bytecodealliance/wasmtime-go/v39"

	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
	"github.com/loom-sandbox/sandboxd/backends/internal/wasmhost"
)

// instance is a wasmtime instance as the driver and the pool see it. It implements
// [wasmhost.Instance].
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
func (m *module) Instantiate(maxBytes int64) (wasmhost.Instance, error) {
	i, err := m.instantiate(maxBytes)
	if err != nil {
		return nil, err
	}
	return i, nil
}

func (m *module) instantiate(maxBytes int64) (*instance, error) {
	i := &instance{}
	i.store = wt.NewStoreWithData(m.engine, i)
	i.limit(maxBytes)
	made, err := m.linker.Instantiate(i.store, m.compiled)
	if err != nil {
		i.store.Close()
		return nil, errInstantiate
	}
	i.memory = made.GetExport(i.store, quickjs.MemoryExport).Memory()
	i.invoke = functionOf(made.GetFunc(i.store, quickjs.InvokeExport))
	for _, name := range quickjs.Globals() {
		g := made.GetExport(i.store, name).Global()
		i.globals = append(i.globals, g)
		i.is32 = append(i.is32, g.Get(i.store).Kind() == wt.KindI32)
	}
	return i, nil
}

// limit caps the memory: one instance with one memory and one table, which has
// its final size.
func (i *instance) limit(maxBytes int64) {
	const keep = -1
	i.store.Limiter(maxBytes/wasmhost.PageBytes*wasmhost.PageBytes, keep, 1, 1, 1)
}

// Lend implements [wasmhost.Instance]. Address space for any cap is there.
func (i *instance) Lend(h *quickjs.Host, maxBytes int64) bool {
	h.SetSlice(slice)
	i.host = h
	i.limit(maxBytes)
	return true
}

// Grow implements [wasmhost.Instance].
func (i *instance) Grow(size int64) error {
	pages := uint64(size-int64(len(i.Memory()))) / wasmhost.PageBytes
	if _, err := i.memory.Grow(i.store, pages); err != nil {
		return errGrow
	}
	return nil
}

// Refresh implements [wasmhost.Instance]: guests run on the threads' own stacks.
func (i *instance) Refresh() {}

// Close implements [wasmhost.Instance].
func (i *instance) Close() error {
	i.store.Close()
	return nil
}

// errGrow stands for what wasmtime says where a memory cannot grow.
var errGrow = errors.New("wasmtime: the memory cannot grow")

// errTrap stands for whatever wasmtime says of a guest that it stopped.
var errTrap = errors.New("wasmtime: guest trapped")

// Call implements [quickjs.Instance].
func (i *instance) Call(stack []uint64) error {
	how := i.invoke.call(i.store, stack, needStackBytes)
	if how == endCramped {
		i.host.Moved()
		how = onAnotherThread(func() ending { return i.invoke.call(i.store, stack, needStackBytes) })
	}
	if p := i.panicked; p != nil { // on its way through the guest
		i.panicked = nil
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
