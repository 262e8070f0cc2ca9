package wasmbin_test

import (
	"bytes"
	"context"
	"testing"

	quickjswasi "github.com/aperturerobotics/go-quickjs-wasi-reactor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"
)

var moreImports = []wasmbin.FunctionImport{
	{Module: "env", Name: "seven", Type: wasmbin.FuncType{Params: i32, Results: i32}},
	{Module: "env", Name: "tick", Type: wasmbin.FuncType{}},
}

func checkSmallModule(t *testing.T, wasm []byte) {
	t.Helper()
	mod := instantiate(t, wasm)
	assert.EqualValues(t, 42, call(t, mod, "double", 21))
	assert.EqualValues(t, 1003+6, call(t, mod, "main", 3))
	assert.EqualValues(t, 8, call(t, mod, "indirect", 4, 1))
	assert.EqualValues(t, 1004, call(t, mod, "indirect", 4, 2))
	assert.EqualValues(t, -195, int32(mod.ExportedGlobal("count").Get()))
}

func TestAddedImportsLeaveASmallModuleWorking(t *testing.T) {
	t.Parallel()
	checkSmallModule(t, smallModule().Encode())

	m := decode(t, smallModule().Encode())
	indexes, err := m.AddFunctionImports(moreImports)
	require.NoError(t, err)
	assert.Equal(t, []uint32{1, 2}, indexes)
	assert.Equal(t, 3, m.ImportedFunctionCount())
	index, ok := m.ExportedFunction("double")
	assert.True(t, ok)
	assert.EqualValues(t, 3, index)
	checkSmallModule(t, m.Encode())
}

func TestAddedImportsCanBeCalled(t *testing.T) {
	t.Parallel()
	m := smallModule()
	indexes, err := m.AddFunctionImports(moreImports)
	require.NoError(t, err)
	var r wasmbin.Reader
	var ins wasmbin.Instr
	double, _ := m.ExportedFunction("double")
	require.NoError(t, m.RewriteBodies(func(f uint32, code *wasmbin.Code, out *wasmbin.Assembler) error {
		if f != double {
			return nil
		}
		assert.Zero(t, out.Len())
		for r.Reset(code.Body); r.Next(&ins); {
			if r.Depth() == 0 {
				out.Call(indexes[0]).Call(indexes[1])
			}
			out.Raw(ins.Raw)
		}
		return r.Err()
	}))
	assert.EqualValues(t, 49, call(t, instantiate(t, m.Encode()), "double", 21))
}

func TestAddedImportsLeaveTheRealModuleWorking(t *testing.T) {
	t.Parallel()
	m := decode(t, quickjswasi.QuickJSWASM)
	m.StripCustoms()
	_, err := m.AddFunctionImports(moreImports)
	require.NoError(t, err)
	init, ok := m.ExportedFunction("_initialize")
	require.True(t, ok)
	typ, err := m.FunctionType(init)
	require.NoError(t, err)
	assert.True(t, typ.Equal(wasmbin.FuncType{}))

	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer rt.Close(ctx)
	wasi_snapshot_preview1.MustInstantiate(ctx, rt)
	env := rt.NewHostModuleBuilder("env")
	env.NewFunctionBuilder().WithFunc(func(x uint32) uint32 { return x }).Export("seven")
	env.NewFunctionBuilder().WithFunc(func() {}).Export("tick")
	_, err = env.Instantiate(ctx)
	require.NoError(t, err)
	mod, err := rt.InstantiateWithConfig(ctx, m.Encode(), wazero.NewModuleConfig().WithStartFunctions("_initialize"))
	require.NoError(t, err)
	for _, size := range []uint64{1, 100, 100_000} {
		address, err := mod.ExportedFunction("malloc").Call(ctx, size)
		require.NoError(t, err)
		require.NotZero(t, address[0])
		assert.True(t, mod.Memory().WriteByte(uint32(address[0]+size-1), 1))
	}
	rtPtr, err := mod.ExportedFunction("JS_NewRuntime").Call(ctx)
	require.NoError(t, err)
	assert.NotZero(t, rtPtr[0], "a runtime is made by calls, some of them indirect")
}

func TestAnAppendedTableEntryCanBeCalled(t *testing.T) {
	t.Parallel()
	m := smallModule()
	unary := wasmbin.FuncType{Params: i32, Results: i32}
	triple := m.AddFunction(unary, body(func(a *wasmbin.Assembler) {
		a.LocalGet(0).I32Const(3).Op(wasmbin.OpI32Mul)
	}))
	entry, err := m.AppendTableEntry(triple)
	require.NoError(t, err)
	assert.EqualValues(t, 3, entry)
	assert.Equal(t, wasmbin.Limits{Min: 4, Max: 4, HasMax: true}, m.Tables[0])
	wasm := m.Encode()
	checkSmallModule(t, wasm)
	assert.EqualValues(t, 33, call(t, instantiate(t, wasm), "indirect", 11, uint64(entry)))
}

func TestReplacedDataGivesTheSameMemory(t *testing.T) {
	t.Parallel()
	image := make([]byte, 3*wasmbin.PageSize-100)
	image[0] = 1
	image[4095] = 2
	copy(image[2*4096+5:], bytes.Repeat([]byte{7}, 5000)) // two pages
	image[100_000] = 9
	image[len(image)-1] = 3
	for name, image := range map[string][]byte{
		"a mixed image":        image,
		"an image of zeros":    make([]byte, 10_000),
		"an empty image":       {},
		"an image of no zeros": bytes.Repeat([]byte{1}, wasmbin.PageSize),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := smallModule()
			require.NoError(t, m.SetMemoryLimits(3, 4))
			require.NoError(t, m.ReplaceData(image))
			size := 0
			for _, s := range m.Data {
				size += len(s.Bytes)
			}
			assert.LessOrEqual(t, size, len(image))
			mem := instantiate(t, m.Encode()).Memory()
			require.EqualValues(t, 3*wasmbin.PageSize, mem.Size())
			got, _ := mem.Read(0, mem.Size())
			want := make([]byte, mem.Size())
			copy(want, image)
			assert.True(t, bytes.Equal(want, got))
		})
	}
	m := smallModule()
	require.NoError(t, m.SetMemoryLimits(3, 4))
	require.NoError(t, m.ReplaceData(image))
	assert.Len(t, m.Data, 4, "zero pages are left out")
}

func TestGlobalsAndExportsCanBeAdded(t *testing.T) {
	t.Parallel()
	m := smallModule()
	index, err := m.AddGlobal(wasmbin.Global{Type: wasmbin.I64, Mutable: true, Init: wasmbin.I64ConstExpr(-1 << 63)})
	require.NoError(t, err)
	require.NoError(t, m.AddExport("fuel", wasmbin.ExternGlobal, index))
	require.NoError(t, m.SetGlobalInit(0, wasmbin.I32ConstExpr(95)))
	mod := instantiate(t, m.Encode())
	assert.EqualValues(t, -1<<63, int64(mod.ExportedGlobal("fuel").Get()))
	assert.EqualValues(t, 100, mod.ExportedGlobal("count").Get())
}

func TestALocalCanBeAdded(t *testing.T) {
	t.Parallel()
	var c wasmbin.Code
	assert.EqualValues(t, 2, c.AddLocal(2, wasmbin.I32))
	copied := c
	assert.EqualValues(t, 3, c.AddLocal(2, wasmbin.I32))
	assert.EqualValues(t, 4, c.AddLocal(2, wasmbin.I64))
	assert.Equal(t, []wasmbin.LocalGroup{{Count: 2, Type: wasmbin.I32}, {Count: 1, Type: wasmbin.I64}}, c.Locals)
	assert.EqualValues(t, 1, copied.LocalCount(), "a copy is left alone")
}

func TestTypesAreFoundBeforeTheyAreAdded(t *testing.T) {
	t.Parallel()
	m := smallModule()
	assert.EqualValues(t, 2, m.TypeIndex(wasmbin.FuncType{}))
	assert.EqualValues(t, 3, m.TypeIndex(wasmbin.FuncType{Results: i32}))
	assert.Len(t, m.Types, 4)
}

func TestCustomsCanBeStrippedByName(t *testing.T) {
	t.Parallel()
	m := smallModule()
	m.StripCustoms("between", "absent")
	require.Len(t, m.Customs, 2)
	assert.Equal(t, "last", m.Customs[1].Name)
	m.StripCustoms()
	assert.Empty(t, m.Customs)
}

func TestInvalidEditsAreRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edit func(m *wasmbin.Module) error
		text string
	}{
		"a second export of a name": {func(m *wasmbin.Module) error {
			return m.AddExport("main", wasmbin.ExternFunction, 0)
		}, `second export "main"`},
		"an export of nothing": {func(m *wasmbin.Module) error {
			return m.AddExport("x", wasmbin.ExternGlobal, 2)
		}, "global 2 of 2"},
		"memory limits that fall": {func(m *wasmbin.Module) error { return m.SetMemoryLimits(3, 2) }, "3 to 2"},
		"memory beyond 4 GiB":     {func(m *wasmbin.Module) error { return m.SetMemoryLimits(1, 65537) }, "65537"},
		"limits without a memory": {func(m *wasmbin.Module) error {
			m.Memories = nil
			return m.SetMemoryLimits(1, 1)
		}, "0 memories"},
		"data beyond the memory": {func(m *wasmbin.Module) error {
			return m.ReplaceData(make([]byte, wasmbin.PageSize+1))
		}, "data of 65537 bytes"},
		"a table entry for no function": {func(m *wasmbin.Module) error {
			_, err := m.AppendTableEntry(5)
			return err
		}, "function 5 of 5"},
		"a table entry after a gap": {func(m *wasmbin.Module) error {
			m.Tables[0].Min = 9
			_, err := m.AppendTableEntry(1)
			return err
		}, "up to its end"},
		"a table entry without a table": {func(m *wasmbin.Module) error {
			m.Tables = nil
			_, err := m.AppendTableEntry(1)
			return err
		}, "0 tables"},
		"a global of another type": {func(m *wasmbin.Module) error {
			return m.SetGlobalInit(0, wasmbin.I64ConstExpr(0))
		}, "global 0 of i32"},
		"a missing global": {func(m *wasmbin.Module) error {
			return m.SetGlobalInit(2, wasmbin.I64ConstExpr(0))
		}, "global 2 of 2"},
		"a new global without a value": {func(m *wasmbin.Module) error {
			_, err := m.AddGlobal(wasmbin.Global{Type: wasmbin.I32})
			return err
		}, "global of i32"},
		"the type of no function": {func(m *wasmbin.Module) error {
			_, err := m.FunctionType(5)
			return err
		}, "function 5 of 5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tc.edit(smallModule())
			require.ErrorIs(t, err, wasmbin.ErrInvalidEdit)
			assert.ErrorContains(t, err, tc.text)
		})
	}
}

func TestAnErrorWhileImportsAreAddedLeavesTheModule(t *testing.T) {
	t.Parallel()
	m := smallModule()
	m.Codes[2].Body = []byte{byte(wasmbin.OpCall)}
	before := m.Encode()
	_, err := m.AddFunctionImports(moreImports)
	require.ErrorIs(t, err, wasmbin.ErrMalformed)
	assert.ErrorContains(t, err, "function 3")
	assert.Equal(t, before, m.Encode())
}
