package quickjs

import (
	"fmt"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"
)

// bulkChunk is the most that one bulk instruction may move before the guest is
// asked for fuel again: about 0.1 ms.
const bulkChunk = 1 << 20

// bulkShift: a bulk instruction costs one unit of fuel for each 64 bytes, about
// what a loop turn takes.
const bulkShift = 6

// guards are the indexes that the inserted code refers to.
type guards struct {
	fuel, depth, stackPointer, stackLow, growRefused uint32 // globals
	finishing                                        uint32 // a global, of the driver
	tick                                             uint32 // imported function
	lowStack, bulkCopy, bulkFill, grow               uint32 // functions we add
	softLimit, hardLimit                             int32  // addresses in the stack region
}

// addFunctions defines the guards' own functions. They come before instrument,
// which leaves their bulk instructions alone but meters them like all others.
func (g *guards) addFunctions(m *wasmbin.Module) {
	i32 := wasmbin.I32
	empty := wasmbin.FuncType{}
	three := wasmbin.FuncType{Params: []wasmbin.ValType{i32, i32, i32}}

	// low_stack: the stack pointer is below the soft limit. Remember it, and
	// trap below the hard one.
	var a wasmbin.Assembler
	a.I32Const(1).GlobalSet(g.stackLow)
	g.below(&a, g.hardLimit)
	a.If(wasmbin.BlockEmpty).Op(wasmbin.OpUnreachable).End().End()
	g.lowStack = m.AddFunction(empty, wasmbin.Code{Body: clone(&a)})

	// bulk_copy(destination, source, length): in chunks, from the end that
	// keeps an overlapping source intact.
	const dst, src, value, n = 0, 1, 1, 2
	a.Reset()
	a.LocalGet(dst).LocalGet(src).Op(wasmbin.OpI32LeU)
	a.If(wasmbin.BlockEmpty) // forwards
	g.chunks(&a, n, func() {
		a.LocalGet(dst).LocalGet(src).I32Const(bulkChunk).MemoryCopy()
		add(&a, dst, bulkChunk)
		add(&a, src, bulkChunk)
		add(&a, n, -bulkChunk)
	})
	a.Else() // backwards: the last chunk first, what is left is the beginning
	g.chunks(&a, n, func() {
		add(&a, n, -bulkChunk)
		a.LocalGet(dst).LocalGet(n).Op(wasmbin.OpI32Add)
		a.LocalGet(src).LocalGet(n).Op(wasmbin.OpI32Add)
		a.I32Const(bulkChunk).MemoryCopy()
	})
	a.End()
	a.LocalGet(dst).LocalGet(src).LocalGet(n).MemoryCopy().End()
	g.bulkCopy = m.AddFunction(three, wasmbin.Code{Body: clone(&a)})

	// bulk_fill(destination, value, length)
	a.Reset()
	g.chunks(&a, n, func() {
		a.LocalGet(dst).LocalGet(value).I32Const(bulkChunk).MemoryFill()
		add(&a, dst, bulkChunk)
		add(&a, n, -bulkChunk)
	})
	a.LocalGet(dst).LocalGet(value).LocalGet(n).MemoryFill().End()
	g.bulkFill = m.AddFunction(three, wasmbin.Code{Body: clone(&a)})

	// grow(pages) -> old size or -1; a refusal is remembered.
	a.Reset()
	a.LocalGet(0).MemoryGrow().LocalSet(0)
	a.LocalGet(0).I32Const(-1).Op(wasmbin.OpI32Eq)
	a.If(wasmbin.BlockEmpty).I32Const(1).GlobalSet(g.growRefused).End()
	a.LocalGet(0).End()
	g.grow = m.AddFunction(wasmbin.FuncType{Params: []wasmbin.ValType{i32}, Results: []wasmbin.ValType{i32}}, wasmbin.Code{Body: clone(&a)})
}

// chunks writes a loop that runs move while the length in a local is more than
// a chunk, then charges for the rest. Each chunk is paid for before the next
// loop head asks for the fuel.
func (g *guards) chunks(a *wasmbin.Assembler, length uint32, move func()) {
	a.LocalGet(length).I32Const(bulkChunk).Op(wasmbin.OpI32GtU)
	a.If(wasmbin.BlockEmpty) // most moves are short and have no loop head to pay
	a.Loop(wasmbin.BlockEmpty)
	move()
	a.GlobalGet(g.fuel).I64Const(bulkChunk >> bulkShift).Op(wasmbin.OpI64Sub).GlobalSet(g.fuel)
	a.LocalGet(length).I32Const(bulkChunk).Op(wasmbin.OpI32GtU).BrIf(0)
	a.End().End()
	a.GlobalGet(g.fuel)
	a.LocalGet(length).I32Const(bulkShift).Op(wasmbin.OpI32ShrU).Op(wasmbin.OpI64ExtendI32U)
	a.Op(wasmbin.OpI64Sub).GlobalSet(g.fuel)
}

func add(a *wasmbin.Assembler, local uint32, v int32) {
	a.LocalGet(local).I32Const(v).Op(wasmbin.OpI32Add).LocalSet(local)
}

// burn is the fuel guard: one unit, and a tick when there is none left.
func (g *guards) burn(a *wasmbin.Assembler) {
	a.GlobalGet(g.fuel).I64Const(1).Op(wasmbin.OpI64Sub).GlobalSet(g.fuel)
	a.GlobalGet(g.fuel).I64Const(0).Op(wasmbin.OpI64LtS)
	a.If(wasmbin.BlockEmpty).Call(g.tick).End()
}

// below asks whether the stack pointer is below a limit. Signed: the region is
// far below 2 GiB, and a pointer that wrapped around below zero is negative.
func (g *guards) below(a *wasmbin.Assembler, limit int32) {
	a.GlobalGet(g.stackPointer).I32Const(limit).Op(wasmbin.OpI32LtS)
}

// instrument puts the guards into every body: fuel at each function entry and
// loop head, depth around the body of each function that calls another, a check
// of the stack pointer wherever it is set.
func (g *guards) instrument(m *wasmbin.Module) error {
	var r wasmbin.Reader
	var ins wasmbin.Instr
	return m.RewriteBodies(func(function uint32, code *wasmbin.Code, out *wasmbin.Assembler) error {
		t, err := m.FunctionType(function)
		if err != nil {
			return err
		}
		own := function == g.bulkCopy || function == g.bulkFill || function == g.grow
		counted := function != g.lowStack && g.calls(&r, code.Body)
		g.burn(out)
		if counted {
			out.GlobalGet(g.depth).I32Const(1).Op(wasmbin.OpI32Add).GlobalSet(g.depth)
			out.GlobalGet(g.depth).I32Const(MaxCallDepth).Op(wasmbin.OpI32GtS)
			out.If(wasmbin.BlockEmpty).Op(wasmbin.OpUnreachable).End()
			out.Block(bodyType(m, t))
		}
		for r.Reset(code.Body); r.Next(&ins); {
			switch {
			case r.Depth() == 0: // the function's own end
				if counted {
					out.End()
					out.GlobalGet(g.depth).I32Const(1).Op(wasmbin.OpI32Sub).GlobalSet(g.depth)
				}
				out.End()
			case ins.Op == wasmbin.OpReturn && counted:
				out.Br(uint32(r.Depth() - 1)) // to our block, which is what the function's label meant
			case ins.Op == wasmbin.OpLoop:
				out.Raw(ins.Raw)
				g.burn(out)
			case ins.Op == wasmbin.OpGlobalSet && ins.Index() == g.stackPointer:
				out.Raw(ins.Raw)
				g.below(out, g.softLimit)
				out.If(wasmbin.BlockEmpty).Call(g.lowStack).End()
			case ins.Op == wasmbin.OpMemoryCopy && !own:
				out.Call(g.bulkCopy)
			case ins.Op == wasmbin.OpMemoryFill && !own:
				out.Call(g.bulkFill)
			case ins.Op == wasmbin.OpMemoryGrow && !own:
				out.Call(g.grow)
			case ins.Op == wasmbin.OpGlobalSet && g.isGuard(ins.Index()) && !own && function != g.lowStack:
				return fmt.Errorf("sets guard global %d", ins.Index())
			default:
				out.Raw(ins.Raw)
			}
		}
		return r.Err()
	})
}

// isGuard reports whether a global is one that only guards may write.
func (g *guards) isGuard(global uint32) bool {
	return global == g.fuel || global == g.depth || global == g.stackLow || global == g.growRefused
}

// calls reports whether a body can call another function: only those can be
// part of a recursion.
func (g *guards) calls(r *wasmbin.Reader, body []byte) bool {
	var ins wasmbin.Instr
	for r.Reset(body); r.Next(&ins); {
		if ins.Op == wasmbin.OpCall || ins.Op == wasmbin.OpCallIndirect {
			return true
		}
	}
	return false
}

// bodyType is the type of a block that leaves what the function returns.
func bodyType(m *wasmbin.Module, t wasmbin.FuncType) wasmbin.BlockType {
	switch len(t.Results) {
	case 0:
		return wasmbin.BlockEmpty
	case 1:
		return wasmbin.ValueBlock(t.Results[0])
	default:
		return wasmbin.BlockType(m.TypeIndex(wasmbin.FuncType{Results: t.Results}))
	}
}

// clone is a copy of what was assembled, which the next Reset overwrites.
func clone(a *wasmbin.Assembler) []byte { return append([]byte(nil), a.Bytes()...) }
