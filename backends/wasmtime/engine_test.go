//go:build cgo && linux && amd64

package wasmtime

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	wt "github.com/bytecodealliance/wasmtime-go/v39"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
	"github.com/loom-sandbox/sandboxd/spi"
)

func TestProposalsThatTheImageDoesNotUseAreOff(t *testing.T) {
	t.Parallel()
	engine := wt.NewEngineWithConfig(configure(wt.OptLevelNone))
	defer engine.Close()
	all := wt.NewEngine()
	defer all.Close()
	for name, text := range map[string]string{
		"threads":               `(module (memory 1 1 shared))`,
		"SIMD":                  `(module (func (result v128) (v128.const i64x2 0 0)))`,
		"several memories":      `(module (memory 1) (memory 1))`,
		"64-bit memories":       `(module (memory i64 1))`,
		"tail calls":            `(module (func $f return_call $f))`,
		"references":            `(module (func (param externref)))`,
		"function references":   `(module (type $t (func)) (func (param (ref $t))))`,
		"garbage collection":    `(module (type (struct (field i32))))`,
		"exceptions":            `(module (tag) (func (throw 0)))`,
		"wide arithmetic":       `(module (func (param i64 i64 i64 i64) (result i64 i64) local.get 0 local.get 1 local.get 2 local.get 3 i64.add128))`,
		"a table of references": `(module (table 1 externref))`,
	} {
		wasm, err := wt.Wat2Wasm(text)
		require.NoError(t, err, name)
		m, err := wt.NewModule(engine, wasm)
		if !assert.Error(t, err, "%s is on", name) {
			m.Close()
		}
	}
	wasm, err := wt.Wat2Wasm(`(module (memory 1) (func (result i32 i32) i32.const 1 i32.const 2) (func i32.const 0 i32.const 0 i32.const 1 memory.copy))`)
	require.NoError(t, err)
	m, err := wt.NewModule(engine, wasm)
	require.NoError(t, err, "what the image does use must stay on")
	m.Close()
}

func TestNothingThatWasmtimeSaysLeaves(t *testing.T) {
	t.Parallel()
	host := quickjs.NewHost(&spi.Config{})
	_, _, err := engine{}.Boot(t.Context(), []byte("\x00asm\x01\x00\x00\x00\xff"), nil, host)
	require.ErrorIs(t, err, errCompile)
	assert.Equal(t, errCompile.Error(), err.Error())
	// A module whose start traps, with more imports than are linked.
	for _, text := range []string{
		`(module (func $f unreachable) (start $f))`, `(module (import "a" "b" (func)))`,
	} {
		wasm, err := wt.Wat2Wasm(text)
		require.NoError(t, err)
		_, _, err = engine{}.Boot(t.Context(), wasm, nil, host)
		require.ErrorIs(t, err, errInstantiate)
		assert.NotContains(t, err.Error(), "/")
	}
}

func TestAnImageThatDoesNotFitItsMemoryCapIsNotInstantiated(t *testing.T) {
	t.Parallel()
	m := newModule(configure(wt.OptLevelNone))
	defer m.Close()
	wasm, err := wt.Wat2Wasm(`(module (memory (export "memory") 100))`)
	require.NoError(t, err)
	require.NoError(t, m.compile(t.Context(), wasm, nil))
	_, err = m.Instantiate(50 * 64 << 10)
	require.ErrorIs(t, err, errInstantiate)
}

func TestAnotherEngineImageNeedsItsHash(t *testing.T) {
	t.Parallel()
	_, err := New(t.Context(), &Options{EngineImage: []byte("junk")})
	require.ErrorIs(t, err, ErrEngineImage)
	require.ErrorContains(t, err, "needs its sha256")
	_, err = New(t.Context(), &Options{EngineImage: []byte("junk"), EngineImageSHA256: "ab"})
	require.ErrorIs(t, err, ErrEngineImage)
	_, err = New(t.Context(), &Options{EngineImageSHA256: "ab"})
	require.ErrorIs(t, err, ErrEngineImage)
}

func TestACancelledStartStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := New(ctx, nil)
	require.ErrorIs(t, err, context.Canceled)
}

// TestThreadStacksAreLookedAt starts this test again under other limits.
func TestThreadStacksAreLookedAt(t *testing.T) {
	t.Parallel()
	if os.Getenv("SANDBOXD_TEST_STACK") != "" {
		_, err := New(t.Context(), nil)
		require.ErrorIs(t, err, ErrUnavailable)
		t.Log(Unavailable())
		return
	}
	require.Empty(t, Unavailable(), "these tests need thread stacks of 8 MiB")
	// Where there is no limit, the C library takes 2 MiB.
	for limit, want := range map[string]string{"4096": "are too small; allowed is a limit of 8192 KiB or more", "unlimited": "are too small"} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "ulimit -s "+limit+` && exec "$0" -test.run '^TestThreadStacksAreLookedAt$' -test.v`, os.Args[0])
		cmd.Env = append(os.Environ(), "SANDBOXD_TEST_STACK=1")
		out, err := cmd.CombinedOutput()
		if limit == "unlimited" && err != nil && strings.Contains(string(out), "ulimit") {
			continue // the limit of this machine cannot be raised
		}
		require.NoError(t, err, "%s", out)
		assert.Contains(t, string(out), want)
	}
}

// TestAGuestUnderForcedCollection is quick, so that it also runs under the
// engine's debug build tag, which collects garbage at each use of an object.
func TestAGuestUnderForcedCollection(t *testing.T) {
	b := open(t)
	iso, err := b.Open(t.Context(), &spi.Config{
		Limits: spi.Limits{Timeout: time.Hour, MemoryBytes: 16 << 20, OutputBytes: 1 << 20, LogBytes: 1 << 10, Fuel: 200_000},
		Now:    time.Unix(1_700_000_000, 0),
	})
	require.NoError(t, err)
	for _, step := range []struct {
		script, value string
		kind          spi.Kind
	}{
		{"console.log('x'); input.map((n) => n * n)", "[1,4,9]", ""},
		{"throw new Error('x')", "", spi.KindException},
		{"await Promise.resolve(7)", "7", ""},
		{"for (;;) ;", "", spi.KindFuel},
	} {
		out, err := iso.Eval(t.Context(), &spi.Request{Source: step.script, Language: spi.JavaScript, Input: json.RawMessage("[1,2,3]")})
		require.NoError(t, err, step.script)
		if step.kind == "" {
			require.Nil(t, out.Error, step.script)
			assert.JSONEq(t, step.value, string(out.Value))
		} else {
			require.NotNil(t, out.Error, step.script)
			assert.Equal(t, step.kind, out.Error.Kind)
		}
	}
	_, err = iso.Eval(t.Context(), &spi.Request{Source: "1", Language: spi.JavaScript, Input: json.RawMessage("null")})
	require.ErrorIs(t, err, spi.ErrIsolateSpent)
	require.NoError(t, iso.Close())
	_, err = iso.Eval(t.Context(), &spi.Request{Source: "1", Language: spi.JavaScript, Input: json.RawMessage("null")})
	require.ErrorIs(t, err, spi.ErrClosed)
	require.NoError(t, b.Close())
}

func TestGlobalsKeepTheirWidth(t *testing.T) {
	t.Parallel()
	b := open(t)
	defer b.Close()
	m, err := engine{}.Compile(t.Context(), b.host.Image(), nil, nil)
	require.NoError(t, err)
	defer m.Close()
	inst, err := m.Instantiate(64 << 20)
	require.NoError(t, err)
	defer inst.Close()
	for _, v := range []uint64{0, 1, math.MaxInt64, 1 << 63} {
		inst.SetGlobal(quickjs.GlobalFuel, v)
		assert.Equal(t, v, inst.Global(quickjs.GlobalFuel))
	}
	for _, v := range []uint64{0, 1, math.MaxInt32, 1 << 31} {
		inst.SetGlobal(quickjs.GlobalDepth, v)
		assert.Equal(t, v, inst.Global(quickjs.GlobalDepth))
	}
}

func TestAThreadWithoutRoomCallsNothing(t *testing.T) {
	t.Parallel()
	m := newModule(configure(wt.OptLevelNone))
	defer m.Close()
	wasm, err := wt.Wat2Wasm(`(module (memory (export "m") 1) (func (export "f") (param i64) (result i64)
		i32.const 0 i32.const 1 i32.store (i64.add (local.get 0) (i64.const 1))))`)
	require.NoError(t, err)
	require.NoError(t, m.compile(t.Context(), wasm, nil))
	store := wt.NewStore(m.engine)
	defer store.Close()
	made, err := m.linker.Instantiate(store, m.compiled)
	require.NoError(t, err)
	f, memory := functionOf(made.GetFunc(store, "f")), made.GetExport(store, "m").Memory()

	words := []uint64{41}
	assert.Equal(t, endCramped, f.call(store, words, 1<<40))
	assert.Equal(t, endCramped, f.call(store, make([]uint64, maxWords+1), 0))
	assert.Zero(t, memory.UnsafeData(store)[0])
	assert.Equal(t, endReturned, onAnotherThread(func() ending { return f.call(store, words, needStackBytes) }))
	assert.EqualValues(t, 42, words[0])
	assert.EqualValues(t, 1, memory.UnsafeData(store)[0])
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	assert.NotEqual(t, syscall.Gettid(), onAnotherThread(syscall.Gettid))
}

func TestAPanicOfAHostFunctionComesOutOfTheCall(t *testing.T) {
	t.Parallel()
	m := newModule(configure(wt.OptLevelNone))
	defer m.Close()
	wasm, err := wt.Wat2Wasm(`(module (import "sandboxd" "tick" (func $tick)) (func (export "f") call $tick))`)
	require.NoError(t, err)
	require.NoError(t, m.compile(t.Context(), wasm, nil))
	require.NoError(t, m.linker.FuncNew("sandboxd", "tick", wt.NewFuncType(nil, nil), hostFunction(&quickjs.Import{})))
	i := &instance{} // without a host: calling it panics
	i.store = wt.NewStoreWithData(m.engine, i)
	defer i.store.Close()
	made, err := m.linker.Instantiate(i.store, m.compiled)
	require.NoError(t, err)
	i.invoke = functionOf(made.GetFunc(i.store, "f"))
	assert.Panics(t, func() { _ = i.Call(make([]uint64, 1)) })
}
