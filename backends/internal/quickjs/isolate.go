package quickjs

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// Isolate is an [spi.Isolate] over an instance of an image, for any engine.
type Isolate struct {
	host  *Host
	img   *Image
	lease Lease

	mu    sync.Mutex // held while an eval runs, and while closing
	spent bool       // guarded by mu
	done  bool       // guarded by mu
	wear  Wear       // guarded by mu

	parsed   *Parsed // of the first eval, nil otherwise; guarded by mu
	seed     uint64  // of Math.random, to be written before the next part, or 0; guarded by mu
	begun    bool    // a script has run; guarded by mu
	handed   bool    // and was handed functions; guarded by mu
	waiting  *string // source of the script that waits for replies; guarded by mu
	leftover bool    // a result lies in the guest that nobody needs; guarded by mu
}

// Wear is how much an engine may hold for an instance that it would not hold for a
// fresh one: a native stack, above all, which grows with the depth of calls.
type Wear int

// Wear of an instance.
const (
	WearNone   Wear = iota
	WearSome        // a stack of some MiB is possible, not likely
	WearMuch        // it ran for long, or was stopped in the middle
	WearBroken      // the host failed in the middle: not to be used again
)

// someFuel is the fuel of an eval from which WearSome begins: a plain call burns
// about twenty units and takes 8 KiB of wazero's stack.
const someFuel = 2000

// Watch is told of everything that writes to an instance's memory, by the thread
// that does. An eval is bound to its thread between Begin and Lost or End,
// whichever is first; Begin without either is followed by End.
type Watch interface {
	Begin()
	Lost()
	End()
}

// Lease is an instance for an isolate, and what becomes of it.
type Lease struct {
	// Instance is pristine, or its memory is as [Parse] or [Isolate.Suspend] left
	// it. Its host is the isolate's.
	Instance Instance
	// Watch is told of everything that is written to the memory; nothing is but in
	// evals.
	Watch Watch
	// Save appends how the memory differs from the image, leaving out the given
	// parts of it, in order.
	Save func(out []byte, dead [][2]int64) []byte
	// Release is called once, when no eval runs.
	Release func(Wear) error
}

// NewIsolate makes an isolate of a leased instance whose host is h. With parsed
// not nil the memory is as [Parse] left it, unless it is to be parsed
// [Parsed.Again].
func NewIsolate(img *Image, lease Lease, h *Host, parsed *Parsed) *Isolate {
	h.inst, h.running, h.watcher = lease.Instance, &img.running, lease.Watch
	// xorshift64* has a state of zero that it never leaves.
	return &Isolate{host: h, img: img, lease: lease, parsed: parsed, seed: h.random.next() | 1}
}

// Close implements [spi.Isolate].
func (i *Isolate) Close() error {
	i.host.Kill()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.done {
		return nil
	}
	i.done = true
	return i.lease.Release(i.wear)
}

// HeapSHA256 is a digest of all that the guest is between two evals: its memory,
// and its globals but for the fuel. Two isolates with the same digest answer
// alike from there on. It is for tests that compare engines; on a closed isolate
// it is [spi.ErrClosed].
func (i *Isolate) HeapSHA256() ([sha256.Size]byte, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.done {
		return [sha256.Size]byte{}, spi.ErrClosed
	}
	h := sha256.New()
	for g := range GlobalCount {
		if g != GlobalFuel {
			fmt.Fprintln(h, g, i.host.inst.Global(g))
		}
	}
	h.Write(i.host.inst.Memory())
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// Eval implements [spi.Isolate].
func (i *Isolate) Eval(ctx context.Context, req *spi.Request) (*spi.Outcome, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.done:
		return nil, spi.ErrClosed
	case i.spent:
		return nil, spi.ErrIsolateSpent
	case req.Language != spi.JavaScript:
		return nil, fmt.Errorf("quickjs: language %q: %w; allowed is %s", req.Language, spi.ErrUnsupported, spi.JavaScript)
	}
	parsed := i.parsed
	if parsed != nil && req.Source != parsed.source {
		return nil, fmt.Errorf("quickjs: source: %w; allowed is the one that was prepared", spi.ErrUnsupported)
	}
	i.parsed = nil
	h := i.host
	h.watcher.Begin()
	defer h.watcher.End()
	fresh := !i.begun
	i.begun = true
	if err := i.plant(); err != nil {
		return nil, err
	}
	burnt := int64(0)
	if parsed != nil {
		burnt = parsed.fuel
	}
	h.begin(burnt)
	h.calls.handed = len(req.Functions) > 0
	grant := i.handed || len(req.Functions) > 0
	i.handed = len(req.Functions) > 0
	return i.part(ctx, req.Source, func(e *eval) error {
		if !fresh {
			if err := i.tidy(e); err != nil {
				return err
			}
		}
		return e.first(req, parsed, fresh, grant)
	})
}

// plant writes the seed of Math.random, if there is one.
func (i *Isolate) plant() error {
	if i.seed == 0 {
		return nil
	}
	state, ok := window(i.host.inst.Memory(), i.img.handles.RandomState, 8)
	if !ok {
		return errors.New("quickjs: instance is smaller than its image")
	}
	binary.LittleEndian.PutUint64(state, i.seed)
	i.seed = 0
	return nil
}

// Continue implements [spi.Caller].
func (i *Isolate) Continue(ctx context.Context, replies []spi.Reply) (*spi.Outcome, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	h := i.host
	switch {
	case i.done:
		return nil, spi.ErrClosed
	case i.spent:
		return nil, spi.ErrIsolateSpent
	case i.waiting == nil:
		return nil, spi.ErrNotWaiting
	}
	if err := h.calls.checkReplies(replies); err != nil {
		return nil, err
	}
	h.watcher.Begin()
	defer h.watcher.End()
	if err := i.plant(); err != nil {
		return nil, err
	}
	h.arm(h.granted)
	text := h.settle(replies)
	return i.part(ctx, *i.waiting, func(e *eval) error { return e.goOn(text) })
}

// part runs a part of an eval whose limits are armed. It is called with mu held.
func (i *Isolate) part(ctx context.Context, source string, run func(*eval) error) (*spi.Outcome, error) {
	h := i.host
	h.source = source
	h.running.Add(1)
	defer h.running.Add(-1)
	// Until there is an outcome: a host function may panic.
	wear := i.wear
	i.spent, i.wear, i.waiting = true, WearBroken, nil
	e := &eval{img: i.img, inst: h.inst, h: h}
	failure := e.attempt(ctx, run)
	// What was stopped in the middle is not whole. The same goes for a guest
	// that contradicts its own driver, and for an interpreter that ran out of
	// memory: its error paths are the least tried.
	refused := h.inst.Global(GlobalGrowRefused) != 0
	i.spent = errors.Is(failure, errTrapped) || errors.Is(failure, errCorrupt) || refused && !errors.Is(failure, errWaits)
	var out *spi.Outcome
	if errors.Is(failure, errWaits) {
		i.waiting = &source
		out = e.rest()
	} else {
		i.leftover = failure == nil
		out = e.outcome(failure, source)
	}
	switch {
	case i.spent || h.ticks > 0:
		wear = WearMuch
	case out.Usage.Fuel >= someFuel:
		wear = max(wear, WearSome)
	}
	i.wear = wear
	return out, nil
}

// attempt runs a part of a script under watch of its context.
func (e *eval) attempt(ctx context.Context, run func(*eval) error) error {
	h := e.h
	defer h.watch(ctx)()
	if err := ctx.Err(); err != nil {
		h.stopFor(err) // the watch may not have run yet
	}
	if h.stopNow() {
		return errNotStarted
	}
	return run(e)
}

// first is the first part of an eval.
func (e *eval) first(req *spi.Request, parsed *Parsed, fresh, grant bool) error {
	if !fresh {
		if err := e.loosen(); err != nil {
			return err
		}
	}
	var p program
	if parsed != nil && !parsed.again {
		p = parsed.program
	} else {
		var err error
		if p, err = e.compile(req.Source); err != nil {
			return err
		}
	}
	if grant {
		if err := e.grant(req.Functions); err != nil {
			return err
		}
	}
	input := req.Input
	if fresh && string(input) == "null" {
		input = nil // the image has it
	}
	return e.run(p, input)
}

// loosen lets a script declare again what an earlier one has declared.
func (e *eval) loosen() error {
	v, err := e.callJS(e.img.handles.Loosen, e.img.handles.Lexical)
	switch {
	case err != nil:
		return err
	case isException(v):
		return e.throw(errThrown)
	}
	return nil
}

// tidy frees what earlier scripts have left and nobody can reach, so that an
// isolate does not fill up, nor its state, from eval to eval. No script pays for it.
func (i *Isolate) tidy(e *eval) error {
	return e.unpaid(func() error {
		if i.leftover {
			i.leftover = false
			if _, err := e.call(fnFreeValue, uint64(i.img.handles.Context), e.inst.Global(GlobalPromise)); err != nil {
				return err
			}
		}
		_, err := e.call(fnRunGC, uint64(i.img.handles.Runtime))
		return err
	})
}

// unpaid lets the guest do something that counts as no fuel, within the time.
func (e *eval) unpaid(do func() error) error {
	h := e.h
	burnt, limit := h.burnt(), h.limits.Fuel
	h.limits.Fuel = 0
	err := do()
	h.limits.Fuel = limit
	fuel := h.slice(burnt)
	h.granted = burnt + fuel
	h.inst.SetGlobal(GlobalFuel, uint64(fuel))
	return err
}

// rest is what the host reports of a script that waits.
func (e *eval) rest() *spi.Outcome {
	h := e.h
	out := &spi.Outcome{}
	e.account(out)
	h.spent = out.Usage.Wall
	h.end()
	return out
}

// account writes what there is on every path.
func (e *eval) account(out *spi.Outcome) {
	h := e.h
	s, u := &h.sink, &out.Usage
	u.Wall = h.spent + time.Since(h.start)
	out.Logs, out.LogsTruncated, out.EventsTruncated = slices.Clip(s.logs), s.truncated, s.eventsTruncated
	out.Pending = slices.Clone(h.calls.pending)
	u.Fuel = h.burnt()
	if h.limits.Fuel > 0 {
		u.Fuel = min(u.Fuel, h.limits.Fuel)
	}
	u.MemoryPeakBytes = int64(len(h.inst.Memory()))
	u.LogBytes = s.logBytes
	u.HostCalls, u.CallBytes = h.calls.made, h.calls.bytes
}

// outcome is what the host reports of a script that has ended. Success needs an
// explicit completion.
func (e *eval) outcome(failure error, source string) *spi.Outcome {
	h := e.h
	s := &h.sink
	out := &spi.Outcome{}
	e.account(out)
	if failure == nil && s.completed && !s.tooLarge {
		value, err := checkValue(s.value)
		if err == nil && int64(len(value)) > h.limits.OutputBytes { // U+FFFD is shorter than an escape, but be sure
			err, failure = errTooLarge, errTooLarge
		} else if err != nil {
			s.thrown.message, failure = err.Error(), errUnserializable
		}
		if err == nil {
			out.Value, out.ValueType = value, s.valueType
			out.Usage.OutputBytes = int64(len(value))
		}
	} else if failure == nil {
		failure = errCorrupt
	}
	if failure != nil {
		out.Error = e.verdict(failure, source)
	}
	h.end()
	h.sink = sink{}
	h.calls.begin()
	return out
}
