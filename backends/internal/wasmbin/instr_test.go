package wasmbin_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"
)

func read(t *testing.T, code []byte) []wasmbin.Instr {
	t.Helper()
	var all []wasmbin.Instr
	var ins wasmbin.Instr
	r := wasmbin.NewReader(code)
	for r.Next(&ins) {
		all = append(all, ins)
	}
	require.NoError(t, r.Err())
	assert.Zero(t, r.Depth())
	return all
}

func TestWhatTheAssemblerWritesTheReaderReads(t *testing.T) {
	t.Parallel()
	type op = wasmbin.Opcode
	for _, tc := range []struct {
		write      func(a *wasmbin.Assembler)
		op         op
		text       string
		imm1, imm2 uint64
	}{
		{func(a *wasmbin.Assembler) { a.Op(wasmbin.OpI64ExtendI32U) }, wasmbin.OpI64ExtendI32U, "i64.extend_i32_u", 0, 0},
		{func(a *wasmbin.Assembler) { a.Op(wasmbin.OpI64TruncSatF64U) }, wasmbin.OpI64TruncSatF64U, "i64.trunc_sat_f64_u", 0, 0},
		{func(a *wasmbin.Assembler) { a.Op(wasmbin.OpI64Extend32S) }, wasmbin.OpI64Extend32S, "i64.extend32_s", 0, 0},
		{func(a *wasmbin.Assembler) { a.LocalGet(300) }, wasmbin.OpLocalGet, "local.get", 300, 0},
		{func(a *wasmbin.Assembler) { a.LocalSet(1) }, wasmbin.OpLocalSet, "local.set", 1, 0},
		{func(a *wasmbin.Assembler) { a.LocalTee(math.MaxUint32) }, wasmbin.OpLocalTee, "local.tee", math.MaxUint32, 0},
		{func(a *wasmbin.Assembler) { a.GlobalGet(2) }, wasmbin.OpGlobalGet, "global.get", 2, 0},
		{func(a *wasmbin.Assembler) { a.GlobalSet(127) }, wasmbin.OpGlobalSet, "global.set", 127, 0},
		{func(a *wasmbin.Assembler) { a.Call(128) }, wasmbin.OpCall, "call", 128, 0},
		{func(a *wasmbin.Assembler) { a.CallIndirect(9) }, wasmbin.OpCallIndirect, "call_indirect", 9, 0},
		{func(a *wasmbin.Assembler) { a.Br(0) }, wasmbin.OpBr, "br", 0, 0},
		{func(a *wasmbin.Assembler) { a.BrIf(0) }, wasmbin.OpBrIf, "br_if", 0, 0},
		{func(a *wasmbin.Assembler) { a.BrTable([]uint32{0, 0}, 0) }, wasmbin.OpBrTable, "br_table", 2, 0},
		{func(a *wasmbin.Assembler) { a.Return() }, wasmbin.OpReturn, "return", 0, 0},
		{func(a *wasmbin.Assembler) { a.Load(wasmbin.OpI64Load, 3, 1000) }, wasmbin.OpI64Load, "i64.load", 3, 1000},
		{func(a *wasmbin.Assembler) { a.Store(wasmbin.OpI32Store8, 0, 1<<31) }, wasmbin.OpI32Store8, "i32.store8", 0, 1 << 31},
		{func(a *wasmbin.Assembler) { a.MemorySize() }, wasmbin.OpMemorySize, "memory.size", 0, 0},
		{func(a *wasmbin.Assembler) { a.MemoryGrow() }, wasmbin.OpMemoryGrow, "memory.grow", 0, 0},
		{func(a *wasmbin.Assembler) { a.MemoryCopy() }, wasmbin.OpMemoryCopy, "memory.copy", 0, 0},
		{func(a *wasmbin.Assembler) { a.MemoryFill() }, wasmbin.OpMemoryFill, "memory.fill", 0, 0},
		{func(a *wasmbin.Assembler) { a.U32x2(wasmbin.OpTableInit, 4, 5) }, wasmbin.OpTableInit, "table.init", 4, 5},
		{func(a *wasmbin.Assembler) { a.U32(wasmbin.OpRefFunc, 4) }, wasmbin.OpRefFunc, "ref.func", 4, 0},
		{func(a *wasmbin.Assembler) { a.Op(wasmbin.OpRefNull).Raw([]byte{0x70}) }, wasmbin.OpRefNull, "ref.null", 0x70, 0},
		{func(a *wasmbin.Assembler) { a.Op(wasmbin.OpSelectTyped).Raw([]byte{1, 0x7f}) }, wasmbin.OpSelectTyped, "select", 1, 0},
		{func(a *wasmbin.Assembler) { a.F32Const(1.5) }, wasmbin.OpF32Const, "f32.const", uint64(math.Float32bits(1.5)), 0},
		{func(a *wasmbin.Assembler) { a.F64Const(-2) }, wasmbin.OpF64Const, "f64.const", math.Float64bits(-2), 0},
	} {
		t.Run(tc.text, func(t *testing.T) {
			t.Parallel()
			var a wasmbin.Assembler
			tc.write(a.Op(wasmbin.OpNop))
			size := a.Len() - 1
			all := read(t, a.End().Bytes())
			require.Len(t, all, 3)
			got := all[1]
			assert.Equal(t, tc.op, got.Op)
			assert.Equal(t, tc.text, got.Op.String())
			assert.Equal(t, 1, got.Offset)
			assert.Len(t, got.Raw, size)
			assert.Equal(t, tc.imm1, got.Imm1)
			assert.Equal(t, tc.imm2, got.Imm2)
		})
	}
}

func TestConstantsKeepTheirValue(t *testing.T) {
	t.Parallel()
	for shift := range 64 {
		for _, near := range []int64{-1, 0, 1} {
			for _, sign := range []int64{1, -1} {
				v := sign * (int64(1)<<shift + near)
				var a wasmbin.Assembler
				all := read(t, a.I64Const(v).I32Const(int32(v)).F64Const(float64(v)).F32Const(float32(v)).End().Bytes())
				require.Equal(t, v, all[0].I64())
				require.Equal(t, int32(v), all[1].I32())
				require.Equal(t, float64(v), all[2].F64())
				require.Equal(t, float32(v), all[3].F32())
				c32, ok := wasmbin.I32ConstExpr(int32(v)).I32()
				require.True(t, ok)
				require.Equal(t, int32(v), c32)
				c64, ok := wasmbin.I64ConstExpr(v).I64()
				require.True(t, ok)
				require.Equal(t, v, c64)
			}
		}
	}
	_, ok := wasmbin.I64ConstExpr(1).I32()
	assert.False(t, ok)
}

func TestBlocksHaveTypesAndDepth(t *testing.T) {
	t.Parallel()
	var a wasmbin.Assembler
	a.Block(wasmbin.BlockEmpty).Loop(wasmbin.ValueBlock(wasmbin.I32)).If(100).Else()
	a.BrTable([]uint32{0, 3, 1}, 2).End().End().End().End()
	r := wasmbin.NewReader(a.Bytes())
	var ins wasmbin.Instr
	var depths []int
	var types []wasmbin.BlockType
	var labels []uint32
	for r.Next(&ins) {
		depths = append(depths, r.Depth())
		switch ins.Op {
		case wasmbin.OpBlock, wasmbin.OpLoop, wasmbin.OpIf:
			types = append(types, ins.BlockType())
		}
		labels = ins.AppendLabels(labels)
	}
	require.NoError(t, r.Err())
	assert.Equal(t, []int{2, 3, 4, 4, 4, 3, 2, 1, 0}, depths)
	assert.Equal(t, []wasmbin.BlockType{wasmbin.BlockEmpty, wasmbin.ValueBlock(wasmbin.I32), 100}, types)
	assert.Equal(t, []uint32{0, 3, 1, 2}, labels)
}

func TestPaddedNumbersAreReadAndKept(t *testing.T) {
	t.Parallel()
	raw := []byte{0x41, 0xff, 0xff, 0xff, 0xff, 0x7f}
	var a wasmbin.Assembler
	all := read(t, a.Raw(raw).End().Bytes())
	assert.EqualValues(t, -1, all[0].I32())
	assert.Equal(t, raw, all[0].Raw)
}

func TestResetEmptiesAnAssembler(t *testing.T) {
	t.Parallel()
	var a wasmbin.Assembler
	a.Call(1)
	a.Reset()
	assert.Zero(t, a.Len())
	assert.Equal(t, []byte{byte(wasmbin.OpEnd)}, a.End().Bytes())
}

func TestReadingAllocatesNothing(t *testing.T) {
	code := body(func(a *wasmbin.Assembler) { a.LocalGet(0).I64Const(-1<<40).MemoryCopy().BrTable([]uint32{0}, 0) })
	var r wasmbin.Reader
	var ins wasmbin.Instr
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		for r.Reset(code.Body); r.Next(&ins); {
		}
	}))
}

func TestUsedOpcodesAreFound(t *testing.T) {
	t.Parallel()
	m := smallModule()
	m.Codes[0] = body(func(a *wasmbin.Assembler) { a.LocalGet(0).I32Const(0).I32Const(0).I32Const(0).MemoryFill() })
	set, err := m.UsedOpcodes()
	require.NoError(t, err)
	assert.True(t, set.Has(wasmbin.OpMemoryFill))
	assert.True(t, set.Has(wasmbin.OpCallIndirect))
	for _, absent := range []wasmbin.Opcode{wasmbin.OpTableSet, wasmbin.OpTableGrow, wasmbin.OpDataDrop, wasmbin.OpElemDrop, 0x27, 0xfcff, 0x300} {
		assert.False(t, set.Has(absent), absent.String())
	}
	m.Codes[0].Body = []byte{0x27}
	_, err = m.UsedOpcodes()
	assert.ErrorIs(t, err, wasmbin.ErrUnsupported)
}
