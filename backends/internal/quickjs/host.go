package quickjs

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// Slice is the fuel that a guest burns between two looks at the clock, 0.1 to
// 0.3 ms of running. The engines' compiled code is no safe point for Go's
// garbage collector, so a tick also bounds how long the guest can hold up the
// whole process.
const Slice = 20_000

// yieldTicks is how often a tick yields the processor while there are others:
// every 2 ms. Yielding costs some microseconds, since another thread takes over.
// With a guest on every processor each tick yields.
const yieldTicks = 16

// nanosPerFuel is how fast the guest's clock runs: about as fast as real time
// on a common machine, so that a busy-wait ends.
const nanosPerFuel = 6

// errStopped makes the engine abandon the guest. Why is in [Host.cause].
var errStopped = errors.New("quickjs: guest stopped")

// stopReason is what another goroutine asks of a running guest.
type stopReason = uint32

const (
	running stopReason = iota
	stopCancelled
	stopContextDeadline
	stopKilled
)

// Host is the other side of one isolate's imports: it meters, tells the time
// and takes what the guest emits. One goroutine at a time, except Kill.
type Host struct {
	inst Instance

	stop   atomic.Uint32 // stopReason, set from outside
	killed atomic.Bool   // sticky, unlike stop

	// Of the eval that runs.
	cause    spi.Kind // why the host stopped the guest; "" while it did not
	limits   spi.Limits
	start    time.Time     // of this part of it
	spent    time.Duration // by earlier parts
	deadline time.Time
	granted  int64 // fuel handed out in all
	ticks    uint64
	worked   int64 // since the clock was looked at for it

	units      int64         // of a slice
	running    *atomic.Int32 // evals of the same image
	watcher    Watch         // nil in a boot
	processors int32
	sink       sink
	calls      hostCalls
	source     string       // of the script, for places in it
	observer   spi.Observer // nil for nobody

	// The guest's clock, which goes on from one eval to the next.
	epoch   time.Time     // where it started
	skipped time.Duration // by timers
	earlier int64         // fuel of earlier evals

	random splitMix
	frozen bool // the clock stands at its start
}

// NewHost makes the host side of one isolate. cfg is what the isolate is
// opened with.
func NewHost(cfg *spi.Config) *Host {
	return &Host{
		epoch: cfg.Now, limits: cfg.Limits, random: splitMix(cfg.Seed), observer: cfg.Observer,
		units: Slice, running: new(atomic.Int32),
	}
}

// SetSlice makes slices longer or shorter than [Slice], before the first eval:
// for engines whose guests do not hold up the process. It changes when the host
// looks, and nothing that a script can see.
func (h *Host) SetSlice(units int64) { h.units = units }

// Kill ends the running eval, and every later one at once. It may be called
// from any goroutine.
func (h *Host) Kill() { h.killed.Store(true) }

// Moved says that the guest goes on on another thread, or may do so.
func (h *Host) Moved() {
	if h.watcher != nil {
		h.watcher.Lost()
	}
}

// Call runs a host function for the engine: arguments are in stack, and so is
// the result afterwards. After an error the guest must be abandoned.
func (h *Host) Call(im *Import, stack []uint64) error { return im.call(h, stack) }

// begin arms the limits for one eval, of which burnt units are spent already. The
// clock starts here.
func (h *Host) begin(burnt int64) {
	h.earlier += h.granted
	h.sink = sink{maxOutput: h.limits.OutputBytes, maxLogs: h.limits.LogBytes}
	h.calls.begin()
	h.spent = 0
	h.inst.SetGlobal(GlobalStackLow, 0)
	h.inst.SetGlobal(GlobalGrowRefused, 0)
	h.inst.SetGlobal(GlobalFinishing, 0)
	h.inst.SetGlobal(GlobalWaiting, 0)
	h.arm(burnt)
}

// arm arms the limits for a part of an eval: the whole, or what comes after the
// script waited.
func (h *Host) arm(burnt int64) {
	h.cause = ""
	h.stop.Store(running)
	h.processors = int32(runtime.GOMAXPROCS(0))
	h.start = time.Now()
	h.deadline = h.start.Add(h.limits.Timeout - h.spent)
	fuel := h.slice(burnt)
	h.granted = burnt + fuel
	h.inst.SetGlobal(GlobalFuel, uint64(fuel))
}

// end settles the fuel account, so that the clock goes on from what was burnt.
func (h *Host) end() {
	h.granted = h.burnt()
	h.inst.SetGlobal(GlobalFuel, 0)
}

// watch makes the end of ctx stop the guest at its next tick. The returned
// function ends the watching; afterwards ctx stops nothing any more.
func (h *Host) watch(ctx context.Context) (end func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		h.stopFor(ctx.Err())
		close(done)
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

// stopFor asks the guest to stop for the reason that a context ended.
func (h *Host) stopFor(err error) {
	if errors.Is(err, context.DeadlineExceeded) {
		h.stop.Store(stopContextDeadline)
	} else {
		h.stop.Store(stopCancelled)
	}
}

// slice is how much fuel to hand out when burnt is used up.
func (h *Host) slice(burnt int64) int64 {
	if h.limits.Fuel > 0 {
		return min(h.units, h.limits.Fuel-burnt)
	}
	return h.units
}

// burnt is the fuel used since begin. A bulk move may overdraw the account.
func (h *Host) burnt() int64 { return h.granted - int64(h.inst.Global(GlobalFuel)) }

// tick is called by the guest when its fuel is below zero.
func (h *Host) tick() error {
	// Go cannot preempt the engine's compiled code; what else is waiting for a
	// processor, the garbage collector included, gets one here.
	if h.ticks++; h.ticks%yieldTicks == 0 || h.running.Load() >= h.processors {
		h.Moved()
		runtime.Gosched()
	}
	burnt := h.burnt()
	if h.stopNow() {
		return errStopped
	}
	if h.limits.Fuel > 0 && burnt > h.limits.Fuel {
		h.cause = spi.KindFuel
		return errStopped
	}
	fuel := h.slice(burnt)
	h.granted = burnt + fuel
	h.inst.SetGlobal(GlobalFuel, uint64(fuel))
	return nil
}

// workBytes is how much the host reads or writes for a guest between two looks at
// the clock: some milliseconds at most. The guest pays no fuel for that.
const workBytes = 1 << 20

// work accounts for what the host does for the guest within a slice.
func (h *Host) work(bytes int64) error {
	if h.worked += bytes; h.worked < workBytes {
		return nil
	}
	h.worked = 0
	if h.stopNow() {
		return errStopped
	}
	return nil
}

// stopNow looks at everything that ends an eval but fuel, and keeps the first
// cause: once stopped, a guest stays stopped.
func (h *Host) stopNow() bool {
	if h.cause != "" {
		return true
	}
	switch reason := h.stop.Load(); {
	case h.killed.Load():
		h.cause = spi.KindKilled
	case reason == stopCancelled:
		h.cause = spi.KindCancelled
	case reason == stopContextDeadline, !time.Now().Before(h.deadline):
		h.cause = spi.KindTimeout
	}
	return h.cause != ""
}

// elapsed is the guest's time since its clock started: fuel burnt, and what
// timers skipped. It depends on nothing of the machine.
func (h *Host) elapsed() time.Duration {
	if h.frozen {
		return 0
	}
	return time.Duration(h.earlier+h.burnt())*nanosPerFuel + h.skipped
}

// advance moves the guest's clock forward to a time since its start, given in
// milliseconds. It never goes back, and not beyond what a clock can show.
func (h *Host) advance(ms float64) {
	const most = 250 * 365 * 24 * time.Hour
	if !(ms > 0) { // NaN too
		return
	}
	to := most
	if ns := ms * 1e6; ns < float64(most) {
		to = time.Duration(ns)
	}
	if now := h.elapsed(); to > now {
		h.skipped += to - now
	}
}

// splitMix is SplitMix64 (Steele, Lea, Flood 2014): any seed gives a good
// sequence, so that neighbouring seeds do not give similar scripts similar luck.
type splitMix uint64

func (s *splitMix) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
