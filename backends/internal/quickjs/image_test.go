package quickjs

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"
)

func noEngine(context.Context, []byte, []Import, *Host) (Instance, func() error, error) {
	return nil, nil, errors.New("no engine here")
}

func TestAnotherSourceThanExpectedIsRefusedWithBothHashes(t *testing.T) {
	t.Parallel()
	source, want := DefaultSource()
	other := append(slices.Clone(source), 0)
	_, err := Build(t.Context(), other, want, noEngine)
	var mismatch *SourceMismatchError
	require.ErrorAs(t, err, &mismatch)
	assert.Equal(t, want, mismatch.Want)
	assert.Equal(t, sum(other), mismatch.Got)
	assert.ErrorContains(t, err, want)
	assert.ErrorContains(t, err, sum(other))
}

func TestABuildThatTheDriverCannotUseIsRefusedByName(t *testing.T) {
	t.Parallel()
	drop := func(names ...string) func(m *wasmbin.Module) {
		return func(m *wasmbin.Module) {
			m.Exports = slices.DeleteFunc(m.Exports, func(e wasmbin.Export) bool { return slices.Contains(names, e.Name) })
		}
	}
	for name, c := range map[string]struct {
		spoil func(m *wasmbin.Module)
		want  []string
	}{
		"missing exports": {drop("JS_Eval2", "malloc"), []string{"exports missing: malloc, JS_Eval2"}},
		"another type": {func(m *wasmbin.Module) {
			drop("JS_RunGC")(m)
			index, _ := m.ExportedFunction("malloc")
			require.NoError(t, m.AddExport("JS_RunGC", wasmbin.ExternFunction, index))
		}, []string{"exports with an unexpected type: JS_RunGC"}},
		"foreign import": {func(m *wasmbin.Module) { m.Imports[0].Module = "env" }, []string{"import env.environ_get is not known"}},
		"strange WASI": {func(m *wasmbin.Module) {
			m.Imports[0].Name, m.Imports[0].TypeIndex = "fd_tell", m.TypeIndex(funcType("i:"))
		}, []string{"import wasi_snapshot_preview1.fd_tell does not answer an error number"}},
		"another clock":    {func(m *wasmbin.Module) { m.Imports[2].TypeIndex = m.Imports[0].TypeIndex }, []string{"clock_time_get has an unexpected type"}},
		"much memory":      {func(m *wasmbin.Module) { m.Memories[0].Min = 1025 }, []string{"asks for 1025 pages"}},
		"no stack pointer": {func(m *wasmbin.Module) { m.Globals[0].Mutable = false }, []string{"no stack pointer"}},
		"hidden state":     {func(m *wasmbin.Module) { m.Globals[1].Mutable = true }, []string{"global 1 is mutable"}},
		"start function":   {func(m *wasmbin.Module) { i, _ := m.ExportedFunction("_initialize"); m.Start = &i }, []string{"has a start function"}},
		"state in tables": {func(m *wasmbin.Module) {
			var a wasmbin.Assembler
			a.I32Const(0).I32Const(0).I32Const(0).U32x2(wasmbin.OpTableCopy, 0, 0).End()
			m.AddFunction(wasmbin.FuncType{}, wasmbin.Code{Body: a.Bytes()})
		}, []string{"uses table.copy"}},
		"several at once": {func(m *wasmbin.Module) { drop("free")(m); m.Imports[0].Module = "x" }, []string{"exports missing: free", "import x.environ_get"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, _ := DefaultSource()
			m, err := wasmbin.Decode(slices.Clone(source))
			require.NoError(t, err)
			c.spoil(m)
			spoilt := m.Encode()
			_, err = Build(t.Context(), spoilt, sum(spoilt), noEngine)
			var unusable *BuildError
			require.ErrorAs(t, err, &unusable)
			for _, want := range c.want {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}

func TestWhatIsNoModuleIsRefused(t *testing.T) {
	t.Parallel()
	for _, junk := range [][]byte{nil, []byte("hello"), []byte("\x00asm\x01\x00\x00\x00"), []byte("\x00asm\x0d\x00\x01\x00")} {
		_, err := Build(t.Context(), junk, sum(junk), noEngine)
		var unusable *BuildError
		require.ErrorAs(t, err, &unusable)
	}
}

func TestTheRewrittenModuleExportsOnlyWhatTheDriverUses(t *testing.T) {
	t.Parallel()
	source, _ := DefaultSource()
	m, _, err := rewrite(source, true)
	require.NoError(t, err)
	var names []string
	for _, e := range m.Exports {
		names = append(names, e.Name)
	}
	assert.ElementsMatch(t, append(Globals(), MemoryExport, InvokeExport), names)
	assert.Empty(t, m.Customs)
	_, err = wasmbin.Decode(m.Encode())
	require.NoError(t, err)
}

func TestAStoredImageIsReadBack(t *testing.T) {
	t.Parallel()
	source, hash := DefaultSource()
	m, l, err := rewrite(source, true)
	require.NoError(t, err)
	memory := make([]byte, 10*4096)
	memory[5*4096+7], memory[6*4096], memory[9*4096+4095] = 1, 2, 3
	img := &Image{WASM: m.Encode(), Imports: importsOf(m), SourceSHA256: hash, Memory: memory, layout: *l, handles: handles{Fail: 5}}
	img.SHA256 = img.sum()
	data, err := img.Marshal()
	require.NoError(t, err)

	got, err := Load(data, hash)
	require.NoError(t, err)
	assert.Equal(t, img.layout, got.layout)
	assert.Equal(t, img.handles, got.handles)
	assert.Equal(t, img.ID(), got.ID())
	assert.Equal(t, img.Memory, got.Memory)
	require.Len(t, got.Imports, 23)
	for i := range got.Imports {
		assert.NotNil(t, got.Imports[i].call)
	}

	for name, spoil := range map[string]func() []byte{
		"another byte":   func() []byte { d := slices.Clone(data); d[len(d)-1]++; return d },
		"truncated":      func() []byte { return data[:len(data)-1] },
		"no header":      func() []byte { return img.WASM },
		"nothing":        func() []byte { return nil },
		"another format": func() []byte { return slices.Concat([]byte(`{"Format":0}`), []byte("\n"), img.WASM) },
	} {
		_, err := Load(spoil(), hash)
		require.ErrorIs(t, err, errStored, name)
	}
	_, err = Load(data, "other source")
	require.ErrorIs(t, err, errStored)
}

func TestTheKeyFollowsTheSource(t *testing.T) {
	t.Parallel()
	a, err := Key("a")
	require.NoError(t, err)
	b, err := Key("b")
	require.NoError(t, err)
	again, err := Key("a")
	require.NoError(t, err)
	assert.NotEqual(t, a, b)
	assert.Equal(t, a, again)
	assert.Regexp(t, "^[0-9a-f]{32}$", a)
}
