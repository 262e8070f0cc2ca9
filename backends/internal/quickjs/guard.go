package quickjs

import "github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"

// bulkChunk is the most that one bulk instruction may move before the guest is
// asked for fuel again: about 0.1 ms.
const bulkChunk = 1 << 20

// bulkShift: a bulk instruction costs one unit of fuel for each 64 bytes, about
// what a loop turn takes.
const bulkShift = 6

// guards are the indexes that the inserted code refers to.
type guards struct {
	fuel, depth, stackPointer, stackLow, growRefused uint32 // globals
	tick                                             uint32 // imported function
	lowStack, bulkCopy, bulkFill, grow               uint32 // functions we add
	softLimit, hardLimit                             int32  // addresses in the stack region
}

// newGuards adds the globals of the guards to a module whose global 0 is the
// stack pointer.
func newGuards(m *wasmbin.Module, tick uint32, softLimit, hardLimit int32) (*guards, error) {
	g := &guards{stackPointer: 0, tick: tick, softLimit: softLimit, hardLimit: hardLimit}
	return g, addMutable(m,
		newGlobal{&g.fuel, wasmbin.I64, wasmbin.I64ConstExpr(0)},
		newGlobal{&g.depth, wasmbin.I32, wasmbin.I32ConstExpr(0)},
		newGlobal{&g.stackLow, wasmbin.I32, wasmbin.I32ConstExpr(0)},
		newGlobal{&g.growRefused, wasmbin.I32, wasmbin.I32ConstExpr(0)},
	)
}

// newGlobal is a global to be, and where its index goes.
type newGlobal struct {
	index *uint32
	t     wasmbin.ValType
	init  wasmbin.ConstExpr
}

// addMutable declares mutable globals.
func addMutable(m *wasmbin.Module, all ...newGlobal) error {
	for _, g := range all {
		var err error
		if *g.index, err = m.AddGlobal(wasmbin.Global{Type: g.t, Mutable: true, Init: g.init}); err != nil {
			return err
		}
	}
	return nil
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

// below asks whether the stack pointer is below a limit. Signed: the region is
// far below 2 GiB, and a pointer that wrapped around below zero is negative.
func (g *guards) below(a *wasmbin.Assembler, limit int32) {
	a.GlobalGet(g.stackPointer).I32Const(limit).Op(wasmbin.OpI32LtS)
}

// isGuard reports whether a global is one that only guards may write.
func (g *guards) isGuard(global uint32) bool {
	return global == g.fuel || global == g.depth || global == g.stackLow || global == g.growRefused
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
