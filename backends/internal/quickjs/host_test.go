package quickjs

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"
	"github.com/loom-sandbox/sandboxd/spi"
)

// fakeInstance is a guest without code: memory and globals that a test moves.
type fakeInstance struct {
	memory  []byte
	globals [GlobalCount]uint64
	call    func(stack []uint64) error
}

func (f *fakeInstance) Call(stack []uint64) error {
	if f.call == nil {
		return errors.New("no code")
	}
	return f.call(stack)
}
func (f *fakeInstance) Memory() []byte               { return f.memory }
func (f *fakeInstance) Global(g Global) uint64       { return f.globals[g] }
func (f *fakeInstance) SetGlobal(g Global, v uint64) { f.globals[g] = v }

func testLimits() spi.Limits {
	return spi.Limits{Timeout: time.Hour, MemoryBytes: 1 << 20, OutputBytes: 64, LogBytes: 32}
}

func newTestHost(memory int, limits spi.Limits) (*Host, *fakeInstance) {
	inst := &fakeInstance{memory: make([]byte, memory)}
	h := NewHost(&spi.Config{Limits: limits, Now: time.UnixMilli(1_700_000_000_123), Seed: 7})
	h.inst = inst
	h.begin(0)
	return h, inst
}

// burn moves the fuel as a guest does, with a tick when it is below zero.
func burn(t *testing.T, h *Host, inst *fakeInstance, units int64) error {
	t.Helper()
	for ; units > 0; units-- {
		inst.globals[GlobalFuel]--
		if int64(inst.globals[GlobalFuel]) < 0 {
			if err := h.tick(); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestFuelIsExactToTheUnit(t *testing.T) {
	t.Parallel()
	for _, limit := range []int64{1, Slice - 1, Slice, Slice + 1, 3*Slice + 7} {
		limits := testLimits()
		limits.Fuel = limit
		h, inst := newTestHost(0, limits)
		require.NoError(t, burn(t, h, inst, limit), "limit %d", limit)
		assert.Equal(t, limit, h.burnt())
		require.ErrorIs(t, burn(t, h, inst, 1), errStopped, "limit %d", limit)
		assert.Equal(t, spi.KindFuel, h.cause)
	}
}

func TestOverdrawnFuelIsAccountedFor(t *testing.T) {
	t.Parallel()
	h, inst := newTestHost(0, testLimits())
	inst.globals[GlobalFuel] -= Slice + 1_000_000 // a bulk move
	require.NoError(t, h.tick())
	assert.EqualValues(t, Slice+1_000_000, h.burnt())
	assert.EqualValues(t, Slice, inst.globals[GlobalFuel])
}

func TestTheFirstReasonToStopStays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stop func(h *Host)
		want spi.Kind
	}{
		"deadline":           {func(h *Host) { h.deadline = time.Now() }, spi.KindTimeout},
		"caller's deadline":  {func(h *Host) { h.stopFor(context.DeadlineExceeded) }, spi.KindTimeout},
		"cancelled":          {func(h *Host) { h.stopFor(context.Canceled) }, spi.KindCancelled},
		"killed":             {func(h *Host) { h.Kill() }, spi.KindKilled},
		"killed beats later": {func(h *Host) { h.Kill(); h.deadline = time.Now() }, spi.KindKilled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _ := newTestHost(0, testLimits())
			require.NoError(t, h.tick())
			c.stop(h)
			require.ErrorIs(t, h.tick(), errStopped)
			assert.Equal(t, c.want, h.cause)
			h.deadline, h.limits.Fuel = time.Now(), 1
			require.ErrorIs(t, h.tick(), errStopped)
			assert.Equal(t, c.want, h.cause, "once stopped, always stopped, for the same reason")
		})
	}
}

func TestKillOutlastsTheEvalItEnded(t *testing.T) {
	t.Parallel()
	h, _ := newTestHost(0, testLimits())
	h.Kill()
	h.end()
	h.begin(0)
	assert.True(t, h.stopNow())
}

func TestClockRunsOnFuelAndTimersOnly(t *testing.T) {
	t.Parallel()
	h, inst := newTestHost(64, testLimits())
	clock := answer(wasiModule, "clock_time_get")
	read := func(id uint64) uint64 {
		stack := []uint64{id, 0, 0xdeadbeef<<32 | 8} // garbage above an i32
		require.NoError(t, clock(h, stack))
		require.EqualValues(t, errnoSuccess, stack[0])
		return binary.LittleEndian.Uint64(inst.memory[8:])
	}
	assert.Zero(t, read(clockMonotonic))
	assert.EqualValues(t, 1_700_000_000_123_000_000, read(clockRealtime))
	require.NoError(t, burn(t, h, inst, 1000))
	assert.EqualValues(t, 1000*nanosPerFuel, read(clockMonotonic))
	h.advance(5)
	assert.EqualValues(t, 5_000_000, read(clockMonotonic))
	for _, ms := range []float64{4, -1, math.NaN(), math.Inf(-1), 0} {
		h.advance(ms) // never back
		assert.EqualValues(t, 5_000_000, read(clockMonotonic), "advance to %v", ms)
	}
	h.end()
	h.begin(0) // the next eval of the isolate goes on
	assert.EqualValues(t, 5_000_000, read(clockMonotonic))
	h.advance(math.Inf(1))
	assert.Less(t, read(clockMonotonic), uint64(math.MaxInt64))
}

func TestEveryImportDeniesByDefault(t *testing.T) {
	t.Parallel()
	want := map[string]uint64{
		"environ_get": errnoSuccess, "environ_sizes_get": errnoSuccess, "clock_time_get": errnoSuccess, "fd_prestat_get": errnoBadf,
	}
	source, _ := DefaultSource()
	m, err := wasmbin.Decode(source)
	require.NoError(t, err)
	imports := importsOf(m)
	require.Len(t, imports, 21)
	for _, im := range imports {
		h, inst := newTestHost(1024, testLimits())
		stack := make([]uint64, 16)
		if err := h.Call(&im, stack); im.Name == "proc_exit" {
			require.ErrorIs(t, err, errStopped)
			continue
		} else {
			require.NoError(t, err, im.Name)
		}
		answered, ok := want[im.Name]
		if !ok {
			answered = errnoNosys
		}
		assert.Equal(t, answered, stack[0], im.Name)
		if im.Name != "clock_time_get" {
			assert.Equal(t, make([]byte, 1024), inst.memory, "%s writes nothing but zeros", im.Name)
		}
	}
}

// FuzzHostImports: a guest that is owned calls any import with any arguments
// and any memory. The host survives, writes inside the guest's memory only, and
// no limit moves.
func FuzzHostImports(f *testing.F) {
	f.Add(uint8(0), uint64(0), uint64(0), uint64(0), uint64(0), uint32(0), []byte(nil))
	f.Add(uint8(2), uint64(1), uint64(0), uint64(math.MaxUint32), uint64(math.MaxUint64), uint32(65536), []byte("x"))
	f.Add(uint8(21), uint64(0), uint64(16), uint64(9), uint64(1)<<40, uint32(100), []byte("0123456789abcdefhello world"))
	f.Add(uint8(22), uint64(64), uint64(0), uint64(4), uint64(0), uint32(4), []byte("true"))
	f.Add(uint8(22), uint64(16), uint64(0), uint64(3), uint64(0), uint32(8), []byte("1e9"))
	f.Add(uint8(23), uint64(5), uint64(1<<32-1), uint64(2), uint64(0), uint32(70000), []byte("9"))
	source, _ := DefaultSource()
	m, err := wasmbin.Decode(source)
	require.NoError(f, err)
	imports := importsOf(m)
	for _, name := range []string{"tick", "emit"} {
		imports = append(imports, Import{Module: hostModule, Name: name, call: answer(hostModule, name)})
	}
	for _, name := range []string{"random_get", "args_get", "args_sizes_get", "clock_res_get", "sched_yield", "sock_send"} {
		imports = append(imports, Import{Module: wasiModule, Name: name, call: answer(wasiModule, name)})
	}
	f.Fuzz(func(t *testing.T, which uint8, a, b, c, d uint64, size uint32, content []byte) {
		limits := testLimits()
		limits.Fuel = 3 * Slice
		h, inst := newTestHost(int(size%(2<<16)), limits)
		inst.globals[GlobalFinishing] = a % 2
		copy(inst.memory, content)
		inst.globals[GlobalFuel] = d
		before := len(inst.memory)
		im := imports[int(which)%len(imports)]
		for range 3 {
			stack := []uint64{a, b, c, d, 0, 0, 0, 0, 0, 0}
			if err := h.Call(&im, stack); err != nil {
				require.ErrorIs(t, err, errStopped)
			}
		}
		require.Len(t, inst.memory, before)
		require.Equal(t, limits, h.limits)
		require.LessOrEqual(t, h.sink.logBytes, limits.LogBytes)
		require.LessOrEqual(t, int64(len(h.sink.value)), limits.OutputBytes)
		require.GreaterOrEqual(t, h.skipped, time.Duration(0))
		require.True(t, h.cause == "" || h.cause == spi.KindFuel, "only fuel can have run out")
	})
}
