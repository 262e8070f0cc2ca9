package quickjs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"
)

// The guest's stack. A reactor build keeps 64 KiB of it below the heap and
// QuickJS takes it for boundless there, so deep recursion would overwrite the
// heap. It gets a region of its own above the initial heap.
const (
	// StackBytes is the size of the shadow stack: room for more than 5,000
	// plain JavaScript calls, whatever form the function has.
	StackBytes = 2560 << 10
	// stackReserve is what QuickJS's own check leaves for code that does not
	// check; below, the interpreter throws a RangeError that a script can catch.
	stackReserve = 64 << 10
	// stackHard is the part at the very end where the guest is stopped instead.
	stackHard = 4 << 10
	// stackSoft marks the last part: whoever overflows the stack has been there,
	// since no frame of a JavaScript function is larger (65,534 each of locals,
	// arguments and operands, 8 bytes each).
	stackSoft = 1600<<10 + stackReserve
	// MaxCallDepth bounds nested calls inside the guest. Much of QuickJS recurses
	// with tiny shadow frames; without this bound such recursion would grow the
	// engine's own stack, on the host.
	MaxCallDepth = 20_000
)

// maxPages is the largest memory that an image declares: all of it, so that a
// growth is refused by the cap of an eval and never unseen by the engine.
const maxPages = wasmbin.MaxPages

// hostModule is where tick and emit are imported from.
const hostModule = "sandboxd"

// layout is what the host must know of a rewritten module.
type layout struct {
	StackLow, StackTop uint32 // addresses of the stack region
	EmitEntry          uint32 // table index of the C function emit
	Constants          uint32 // index of the driver's first constant
}

// rewrite turns a stock build into one with guards, a stack of its own and our
// host functions. It is not booted yet.
func rewrite(source []byte, guarded bool) (*wasmbin.Module, *layout, error) {
	m, err := wasmbin.Decode(source)
	if err != nil {
		return nil, nil, err
	}
	if err := checkBuild(m); err != nil {
		return nil, nil, err
	}
	m.StripCustoms()

	l := &layout{StackLow: m.Memories[0].Min * wasmbin.PageSize}
	l.StackTop = l.StackLow + StackBytes
	if err := m.SetMemoryLimits(l.StackTop/wasmbin.PageSize, maxPages); err != nil {
		return nil, nil, err
	}
	if err := m.SetGlobalInit(0, wasmbin.I32ConstExpr(int32(l.StackTop))); err != nil {
		return nil, nil, err
	}
	imported, err := m.AddFunctionImports([]wasmbin.FunctionImport{
		{Module: hostModule, Name: "tick"},
		{Module: hostModule, Name: "emit", Type: funcType("iii:i")},
	})
	if err != nil {
		return nil, nil, err
	}
	g, err := newGuards(m, imported[0], int32(l.StackLow+stackSoft), int32(l.StackLow+stackHard))
	if err != nil {
		return nil, nil, err
	}
	if err := shorten(m); err != nil {
		return nil, nil, err
	}
	g.addFunctions(m)
	emit, err := addEmit(m, imported[1])
	if err != nil {
		return nil, nil, err
	}
	if l.EmitEntry, err = m.AppendTableEntry(emit); err != nil {
		return nil, nil, err
	}
	if l.Constants, err = addConstants(m); err != nil {
		return nil, nil, err
	}
	globals, err := addDriverGlobals(m)
	if err != nil {
		return nil, nil, err
	}
	invoke := addInvoke(m, addDriver(m, l.Constants, globals))
	if guarded {
		if err := g.instrument(m); err != nil {
			return nil, nil, err
		}
	}
	return m, l, exportOnly(m, g, globals, invoke)
}

// shorten gives every call_indirect the one-byte form of table 0. Linkers leave
// room for five bytes, which is only valid with the reference-types proposal.
func shorten(m *wasmbin.Module) error {
	var r wasmbin.Reader
	var ins wasmbin.Instr
	return m.RewriteBodies(func(_ uint32, code *wasmbin.Code, out *wasmbin.Assembler) error {
		for r.Reset(code.Body); r.Next(&ins); {
			if ins.Op == wasmbin.OpCallIndirect && ins.Imm2 == 0 {
				out.CallIndirect(ins.Index())
			} else {
				out.Raw(ins.Raw)
			}
		}
		return r.Err()
	})
}

// addEmit defines the C function behind the prelude's host.emit(op, text): a
// JSCFunction that hands the text as UTF-8 to the host and returns a boolean.
func addEmit(m *wasmbin.Module, hostEmit uint32) (uint32, error) {
	toCString, _ := m.ExportedFunction("JS_ToCStringLen2")
	freeCString, _ := m.ExportedFunction("JS_FreeCString")
	const ctx, argc, argv = 0, 2, 3 // and 1 is `this`
	code := wasmbin.Code{}
	length := code.AddLocal(4, wasmbin.I32) // address of the length, on the shadow stack
	text := code.AddLocal(4, wasmbin.I32)
	var a wasmbin.Assembler
	a.LocalGet(argc).I32Const(2).Op(wasmbin.OpI32LtS)
	a.If(wasmbin.BlockEmpty).I64Const(int64(jsUndefined)).Return().End()
	a.GlobalGet(0).I32Const(16).Op(wasmbin.OpI32Sub).LocalTee(length).GlobalSet(0)
	a.LocalGet(ctx).LocalGet(length).LocalGet(argv).Load(wasmbin.OpI64Load, 3, 8).I32Const(0).Call(toCString)
	a.LocalTee(text).Op(wasmbin.OpI32Eqz)
	a.If(wasmbin.ValueBlock(wasmbin.I64)).I64Const(int64(jsException)).Else()
	a.LocalGet(argv).Load(wasmbin.OpI64Load, 3, 0).Op(wasmbin.OpI32WrapI64)
	a.LocalGet(text).LocalGet(length).Load(wasmbin.OpI32Load, 2, 0).Call(hostEmit)
	a.Op(wasmbin.OpI64ExtendI32U).I64Const(int64(jsFalse)).Op(wasmbin.OpI64Or)
	a.LocalGet(ctx).LocalGet(text).Call(freeCString).End()
	a.LocalGet(length).I32Const(16).Op(wasmbin.OpI32Add).GlobalSet(0).End()
	code.Body = clone(&a)
	return m.AddFunction(funcType("iIii:I"), code), nil
}

// checkBuild refuses a build that the rewriting or the driver cannot rely on,
// with every reason at once.
func checkBuild(m *wasmbin.Module) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	table := functionTable()
	needed := slices.DeleteFunc(append(table[:], usedInside()...), signature.isOurs)
	var missing, different []string
	for _, s := range needed {
		index, ok := m.ExportedFunction(s.name)
		if !ok {
			missing = append(missing, s.name)
			continue
		}
		if t, err := m.FunctionType(index); err != nil || !t.Equal(funcType(s.shape)) {
			different = append(different, s.name)
		}
	}
	if len(missing) > 0 {
		fail("exports missing: %s", strings.Join(missing, ", "))
	}
	if len(different) > 0 {
		fail("exports with an unexpected type: %s", strings.Join(different, ", "))
	}
	for _, im := range m.Imports {
		if im.Module != wasiModule {
			fail("import %s.%s is not known; allowed are functions of %s", im.Module, im.Name, wasiModule)
		} else if err := checkWASI(im.Name, m.Types[im.TypeIndex]); err != nil {
			errs = append(errs, err)
		}
	}
	if len(m.Memories) != 1 {
		fail("has %d memories; needed is one of its own", len(m.Memories))
	} else if m.Memories[0].Min > 1024 {
		fail("asks for %d pages of memory at start; at most 1024 are allowed", m.Memories[0].Min)
	}
	if len(m.Tables) != 1 {
		fail("has %d tables; needed is one", len(m.Tables))
	}
	if len(m.Globals) == 0 || m.Globals[0].Type != wasmbin.I32 || !m.Globals[0].Mutable {
		fail("global 0 is not a mutable i32, so there is no stack pointer")
	}
	for i, g := range m.Globals {
		if i > 0 && g.Mutable {
			// The state of an isolate is its memory and the globals we know.
			fail("global %d is mutable; only the stack pointer may be", i)
		}
	}
	if m.Start != nil {
		fail("has a start function; a reactor has _initialize instead")
	}
	used, err := m.UsedOpcodes()
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, op := range []wasmbin.Opcode{
		wasmbin.OpTableSet, wasmbin.OpTableGrow, wasmbin.OpTableFill, wasmbin.OpTableCopy, wasmbin.OpTableInit,
		wasmbin.OpMemoryInit, wasmbin.OpDataDrop, wasmbin.OpElemDrop,
	} {
		if used.Has(op) {
			fail("uses %s, which would be state outside memory and globals", op)
		}
	}
	return errors.Join(errs...)
}

// addInvoke defines the function behind [InvokeExport]: it calls the function of
// a number in [functionTable]. Which functions there are was checked before.
func addInvoke(m *wasmbin.Module, driver map[string]uint32) uint32 {
	table := functionTable()
	var a wasmbin.Assembler
	for range len(table) + 1 { // one block to leave for each case, and one for no case
		a.Block(wasmbin.BlockEmpty)
	}
	cases := make([]uint32, len(table))
	for i := range cases {
		cases[i] = uint32(i)
	}
	a.LocalGet(0).BrTable(cases, uint32(len(table)))
	for _, s := range table {
		a.End()
		t := funcType(s.shape)
		for i, p := range t.Params {
			a.LocalGet(uint32(1 + i))
			if p == wasmbin.I32 {
				a.Op(wasmbin.OpI32WrapI64)
			}
		}
		index, ours := driver[s.name]
		if !ours {
			index, _ = m.ExportedFunction(s.name)
		}
		a.Call(index)
		if len(t.Results) == 0 {
			a.I64Const(0)
		} else if t.Results[0] == wasmbin.I32 {
			a.Op(wasmbin.OpI64ExtendI32U)
		}
		a.Return()
	}
	a.End().Op(wasmbin.OpUnreachable).End()
	return m.AddFunction(funcType("i"+strings.Repeat("I", maxArguments)+":I"), wasmbin.Code{Body: clone(&a)})
}

// exportOnly leaves what the host uses: nothing else of the engine can be called
// by mistake.
func exportOnly(m *wasmbin.Module, g *guards, d driverGlobals, invoke uint32) error {
	memory := slices.IndexFunc(m.Exports, func(e wasmbin.Export) bool { return e.Name == MemoryExport && e.Kind == wasmbin.ExternMemory })
	if memory < 0 {
		return fmt.Errorf("does not export its memory as %q", MemoryExport)
	}
	m.Exports = []wasmbin.Export{m.Exports[memory]}
	if err := m.AddExport(InvokeExport, wasmbin.ExternFunction, invoke); err != nil {
		return err
	}
	indexes := [GlobalCount]uint32{
		GlobalFuel: g.fuel, GlobalDepth: g.depth, GlobalStackPointer: g.stackPointer,
		GlobalStackLow: g.stackLow, GlobalGrowRefused: g.growRefused,
		GlobalFinishing: d.finishing, GlobalWaiting: d.waiting, GlobalPromise: d.promise, GlobalPhase: d.phase,
	}
	for i, name := range Globals() {
		if err := m.AddExport(name, wasmbin.ExternGlobal, indexes[i]); err != nil {
			return err
		}
	}
	return nil
}

// funcType reads a type in letters: see [signature].
func funcType(shape string) wasmbin.FuncType {
	var t wasmbin.FuncType
	to := &t.Params
	for _, c := range shape {
		switch c {
		case ':':
			to = &t.Results
		case 'i':
			*to = append(*to, wasmbin.I32)
		case 'I':
			*to = append(*to, wasmbin.I64)
		}
	}
	return t
}
