package wasmbin_test

import (
	"bytes"
	"strings"
	"testing"

	quickjswasi "github.com/aperturerobotics/go-quickjs-wasi-reactor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"
)

func TestTheRealModuleComesBackByteForByte(t *testing.T) {
	t.Parallel()
	m := decode(t, quickjswasi.QuickJSWASM)
	assert.True(t, bytes.Equal(quickjswasi.QuickJSWASM, m.Encode()))
	assert.Len(t, m.Codes, len(m.Functions))
	assert.NotEmpty(t, m.Customs)
}

func TestASmallModuleComesBackFieldByField(t *testing.T) {
	t.Parallel()
	want := smallModule()
	wasm := want.Encode()
	got := decode(t, wasm)
	assert.Equal(t, want.Types[0], got.Types[0])
	assert.True(t, want.Types[2].Equal(got.Types[2]))
	assert.Equal(t, want.Imports, got.Imports)
	assert.Equal(t, want.Functions, got.Functions)
	assert.Equal(t, want.Tables, got.Tables)
	assert.Equal(t, want.Memories, got.Memories)
	assert.Equal(t, want.Globals, got.Globals)
	assert.Equal(t, want.Exports, got.Exports)
	assert.Equal(t, want.Start, got.Start)
	assert.Equal(t, want.Elements, got.Elements)
	assert.Equal(t, want.HasDataCount, got.HasDataCount)
	assert.Equal(t, want.Data, got.Data)
	require.Len(t, got.Codes, len(want.Codes))
	assert.Equal(t, want.Codes[1].Body, got.Codes[1].Body)
	assert.Equal(t, want.Codes[3], got.Codes[3])
	require.Len(t, got.Customs, 3)
	assert.Equal(t, want.Customs[1], got.Customs[1])
	assert.Equal(t, wasm, got.Encode())
}

func TestAModuleCutShortIsMalformed(t *testing.T) {
	t.Parallel()
	m := smallModule()
	m.Customs = nil // a custom section may be missing without harm
	wasm := m.Encode()
	for n := range wasm {
		_, err := wasmbin.Decode(wasm[:n])
		if endsBeforeFunctions(wasm, n) {
			require.NoError(t, err, "%d bytes", n)
			continue
		}
		require.ErrorIs(t, err, wasmbin.ErrMalformed, "%d bytes", n)
	}
}

// endsBeforeFunctions reports whether the first n bytes of the small module end with a section before that of functions, and
// so are a module of their own. Any longer part lacks bodies or data.
func endsBeforeFunctions(wasm []byte, n int) bool {
	pos := 8
	for pos < len(wasm) && wasm[pos] < byte(wasmbin.SectionFunction) {
		if pos == n {
			return true
		}
		pos += 2 + int(wasm[pos+1]) // sections of the small module are shorter than 128 bytes
	}
	return pos == n
}

// Not parallel: it counts allocations.
func TestAHugeCountIsRefusedBeforeMemoryIsTaken(t *testing.T) {
	for id := wasmbin.SectionType; id <= wasmbin.SectionDataCount; id++ {
		if id == wasmbin.SectionStart || id == wasmbin.SectionDataCount {
			continue
		}
		wasm := "\x00asm\x01\x00\x00\x00" + string(rune(id)) + "\x05\xff\xff\xff\xff\x0f"
		allocations := testing.AllocsPerRun(1, func() {
			_, err := wasmbin.Decode([]byte(wasm))
			assert.ErrorIs(t, err, wasmbin.ErrMalformed, id.String())
			assert.ErrorContains(t, err, "more than 0 bytes can hold")
		})
		assert.Less(t, allocations, 100.0)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(smallModule().Encode())
	f.Add([]byte("\x00asm\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := wasmbin.Decode(wasm)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "wasmbin: "), err.Error())
			var e *wasmbin.Error
			require.ErrorAs(t, err, &e)
			return
		}
		require.Equal(t, wasm, m.Encode())
		_, err = m.UsedOpcodes()
		require.NoError(t, err)

		_, err = m.AddFunctionImport("env", "tick", wasmbin.FuncType{})
		require.NoError(t, err)
		edited := m.Encode()
		again, err := wasmbin.Decode(edited)
		require.NoError(t, err)
		require.Equal(t, edited, again.Encode())
	})
}

func BenchmarkDecode(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(quickjswasi.QuickJSWASM)))
	for b.Loop() {
		if _, err := wasmbin.Decode(quickjswasi.QuickJSWASM); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	b.ReportAllocs()
	m := decode(b, quickjswasi.QuickJSWASM)
	for b.Loop() {
		m.Encode()
	}
}

func BenchmarkAddFunctionImports(b *testing.B) {
	b.ReportAllocs()
	m := decode(b, quickjswasi.QuickJSWASM)
	for b.Loop() {
		if _, err := m.AddFunctionImport("env", "tick", wasmbin.FuncType{}); err != nil {
			b.Fatal(err)
		}
	}
}
