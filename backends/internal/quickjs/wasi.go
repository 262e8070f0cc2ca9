package quickjs

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"
)

// wasiModule is the one foreign module that a build may import from.
const wasiModule = "wasi_snapshot_preview1"

// WASI error numbers (wasi_snapshot_preview1, type errno).
const (
	errnoSuccess = 0
	errnoBadf    = 8
	errnoFault   = 21
	errnoInval   = 28
	errnoNosys   = 52
)

// maxRandomBytes is the most that random_get fills at once.
const maxRandomBytes = 64 << 10

// Import is a host function that an image imports.
type Import struct {
	Module, Name string
	// Params and Results are value types as the binary format encodes them.
	Params, Results []byte
	call            func(h *Host, stack []uint64) error
}

// checkWASI accepts every function of WASI preview 1 by shape: all answer an
// error number, but for proc_exit.
func checkWASI(name string, t wasmbin.FuncType) error {
	if name == "proc_exit" {
		if !t.Equal(funcType("i:")) {
			return fmt.Errorf("import %s.proc_exit has an unexpected type", wasiModule)
		}
		return nil
	}
	if len(t.Results) != 1 || t.Results[0] != wasmbin.I32 {
		return fmt.Errorf("import %s.%s does not answer an error number", wasiModule, name)
	}
	want, ok := map[string]string{
		"clock_time_get": "iIi:i", "clock_res_get": "ii:i", "fd_prestat_get": "ii:i", "environ_sizes_get": "ii:i",
		"args_sizes_get": "ii:i", "environ_get": "ii:i", "args_get": "ii:i", "random_get": "ii:i",
	}[name]
	if ok && !t.Equal(funcType(want)) {
		return fmt.Errorf("import %s.%s has an unexpected type", wasiModule, name)
	}
	return nil
}

// importsOf lists what a rewritten module imports, with our answers.
func importsOf(m *wasmbin.Module) []Import {
	imports := make([]Import, len(m.Imports))
	for i, im := range m.Imports {
		t := m.Types[im.TypeIndex]
		imports[i] = Import{Module: im.Module, Name: im.Name, Params: letters(t.Params), Results: letters(t.Results), call: answer(im.Module, im.Name)}
	}
	return imports
}

func letters(ts []wasmbin.ValType) []byte {
	out := make([]byte, len(ts))
	for i, t := range ts {
		out[i] = byte(t)
	}
	return out
}

// answer is what a host function does. Arguments are cut to 32 bits where the
// type is i32: engines may leave anything in the upper half.
func answer(module, name string) func(*Host, []uint64) error {
	if module == hostModule {
		if name == "tick" {
			return func(h *Host, _ []uint64) error { return h.tick() }
		}
		return func(h *Host, stack []uint64) error {
			op, address, length := uint32(stack[0]), uint32(stack[1]), uint32(stack[2])
			if err := h.work(int64(length)); err != nil {
				return err
			}
			stack[0] = h.emit(op, address, length)
			return nil
		}
	}
	switch name {
	case "proc_exit": // libc gives up: the guest is at its end
		return func(*Host, []uint64) error { return errStopped }
	case "fd_prestat_get": // "no more preopened files"; libc aborts on anything else
		return errno(errnoBadf)
	case "environ_get", "args_get", "sched_yield":
		return errno(errnoSuccess)
	case "environ_sizes_get", "args_sizes_get":
		return func(h *Host, stack []uint64) error {
			count, ok1 := window(h.inst.Memory(), uint32(stack[0]), 4)
			size, ok2 := window(h.inst.Memory(), uint32(stack[1]), 4)
			if stack[0] = errnoFault; ok1 && ok2 {
				clear(count)
				clear(size)
				stack[0] = errnoSuccess
			}
			return nil
		}
	case "clock_res_get":
		return func(h *Host, stack []uint64) error {
			stack[0] = h.clock(uint32(stack[0]), uint32(stack[1]), 1_000_000)
			return nil
		}
	case "clock_time_get":
		return func(h *Host, stack []uint64) error {
			t := uint64(h.elapsed())
			if uint32(stack[0]) == clockRealtime {
				t += uint64(h.epoch.UnixNano())
			}
			stack[0] = h.clock(uint32(stack[0]), uint32(stack[2]), t)
			return nil
		}
	case "random_get":
		return func(h *Host, stack []uint64) error {
			if uint32(stack[1]) > maxRandomBytes { // nothing could stop us meanwhile
				stack[0] = errnoInval
				return nil
			}
			buf, ok := window(h.inst.Memory(), uint32(stack[0]), uint32(stack[1]))
			if !ok {
				stack[0] = errnoFault
				return nil
			}
			for chunk := range slices.Chunk(buf, workBytes) {
				for i := range chunk {
					chunk[i] = byte(h.random.next() >> 56)
				}
				if err := h.work(int64(len(chunk))); err != nil {
					return err
				}
			}
			stack[0] = errnoSuccess
			return nil
		}
	default: // no files, no network, no processes, no waiting
		return errno(errnoNosys)
	}
}

// Clocks of WASI preview 1 (type clockid).
const (
	clockRealtime  = 0
	clockMonotonic = 1
)

// clock writes a time in nanoseconds for a clock that exists.
func (h *Host) clock(id, address uint32, value uint64) uint64 {
	if id != clockRealtime && id != clockMonotonic {
		return errnoInval
	}
	out, ok := window(h.inst.Memory(), address, 8)
	if !ok {
		return errnoFault
	}
	binary.LittleEndian.PutUint64(out, value)
	return errnoSuccess
}

func errno(n uint64) func(*Host, []uint64) error {
	return func(_ *Host, stack []uint64) error {
		stack[0] = n
		return nil
	}
}

// window is the part of memory at an address that the guest names, if it is
// there in whole.
func window(mem []byte, address, length uint32) ([]byte, bool) {
	end := uint64(address) + uint64(length)
	if end > uint64(len(mem)) {
		return nil, false
	}
	return mem[address:end:end], true
}
