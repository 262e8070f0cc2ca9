package wasmbin_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"
)

var i32 = []wasmbin.ValType{wasmbin.I32}

func body(write func(a *wasmbin.Assembler)) wasmbin.Code {
	var a wasmbin.Assembler
	write(&a)
	return wasmbin.Code{Body: a.End().Bytes()}
}

// smallModule uses each section. Its functions, in order:
//
//	0 env.host(i32) i32, imported
//	1 double(x) = x + x
//	2 main(x) = host(x) + double(x)
//	3 indirect(x, entry) = table[entry](x), for entries from 1 on: entry 1 is double, entry 2 is host
//	4 the start function: adds 5 to the global "count"
func smallModule() *wasmbin.Module {
	unary := wasmbin.FuncType{Params: i32, Results: i32}
	start := uint32(4)
	return &wasmbin.Module{
		Types: []wasmbin.FuncType{
			unary,
			{Params: []wasmbin.ValType{wasmbin.I32, wasmbin.I32}, Results: i32},
			{},
		},
		Imports:   []wasmbin.Import{{Module: "env", Name: "host", TypeIndex: 0}},
		Functions: []uint32{0, 0, 1, 2},
		Tables:    []wasmbin.Limits{{Min: 3, Max: 3, HasMax: true}},
		Memories:  []wasmbin.Limits{{Min: 1}},
		Globals: []wasmbin.Global{
			{Type: wasmbin.I32, Mutable: true, Init: wasmbin.I32ConstExpr(-200)},
			{Type: wasmbin.I64, Init: wasmbin.I64ConstExpr(1 << 40)},
		},
		Exports: []wasmbin.Export{
			{Name: "double", Kind: wasmbin.ExternFunction, Index: 1},
			{Name: "main", Kind: wasmbin.ExternFunction, Index: 2},
			{Name: "indirect", Kind: wasmbin.ExternFunction, Index: 3},
			{Name: "memory", Kind: wasmbin.ExternMemory},
			{Name: "count", Kind: wasmbin.ExternGlobal},
			{Name: "host", Kind: wasmbin.ExternFunction, Index: 0},
		},
		Start:        &start,
		Elements:     []wasmbin.ElementSegment{{Offset: wasmbin.I32ConstExpr(1), Functions: []uint32{1, 0}}},
		HasDataCount: true,
		Codes: []wasmbin.Code{
			body(func(a *wasmbin.Assembler) { a.LocalGet(0).LocalGet(0).Op(wasmbin.OpI32Add) }),
			body(func(a *wasmbin.Assembler) {
				// The index of the second call is padded, as linkers write it.
				a.LocalGet(0).Call(0).LocalGet(0).Raw([]byte{0x10, 0x81, 0x80, 0x80, 0x80, 0x00}).Op(wasmbin.OpI32Add)
			}),
			body(func(a *wasmbin.Assembler) { a.LocalGet(0).LocalGet(1).CallIndirect(0) }),
			{
				Locals: []wasmbin.LocalGroup{{Count: 1, Type: wasmbin.I32}, {Count: 2, Type: wasmbin.F64}},
				Body: body(func(a *wasmbin.Assembler) {
					a.GlobalGet(0).I32Const(5).Op(wasmbin.OpI32Add).GlobalSet(0)
				}).Body,
			},
		},
		Data: []wasmbin.DataSegment{{Offset: wasmbin.I32ConstExpr(16), Bytes: []byte("hello")}},
		Customs: []wasmbin.Custom{
			{Name: "first", Data: []byte{1}},
			{Name: "between", Data: []byte{2, 3}, After: wasmbin.SectionDataCount},
			{Name: "last", Data: []byte{4}, After: wasmbin.SectionData},
		},
	}
}

// instantiate compiles a module with an interpreter. All function imports are given: those named "host" add 1000 to
// their argument; others take and leave nothing.
func instantiate(t *testing.T, wasm []byte) api.Module {
	t.Helper()
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() { require.NoError(t, rt.Close(ctx)) })
	env := rt.NewHostModuleBuilder("env")
	env.NewFunctionBuilder().WithFunc(func(x uint32) uint32 { return x + 1000 }).Export("host")
	env.NewFunctionBuilder().WithFunc(func() {}).Export("tick")
	env.NewFunctionBuilder().WithFunc(func(x uint32) uint32 { return x + 7 }).Export("seven")
	_, err := env.Instantiate(ctx)
	require.NoError(t, err)
	mod, err := rt.Instantiate(ctx, wasm)
	require.NoError(t, err)
	return mod
}

func call(t *testing.T, mod api.Module, name string, args ...uint64) uint64 {
	t.Helper()
	results, err := mod.ExportedFunction(name).Call(context.Background(), args...)
	require.NoError(t, err)
	require.Len(t, results, 1)
	return results[0]
}

func decode(t testing.TB, wasm []byte) *wasmbin.Module {
	t.Helper()
	m, err := wasmbin.Decode(wasm)
	require.NoError(t, err)
	return m
}
