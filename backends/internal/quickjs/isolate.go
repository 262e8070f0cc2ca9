package quickjs

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// Isolate is an [spi.Isolate] over an instance of an image, for any engine.
type Isolate struct {
	host  *Host
	img   *Image
	close func(Wear) error

	mu    sync.Mutex // held while an eval runs, and while closing
	spent bool       // guarded by mu
	done  bool       // guarded by mu
	wear  Wear       // guarded by mu

	parsed *Parsed // of the first eval, nil otherwise; guarded by mu
	seed   uint64  // of Math.random, to be written before the first eval, or 0; guarded by mu
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

// NewIsolate makes an isolate of an instance whose host must be h: a pristine one,
// or with parsed not nil one whose memory is as [Parse] left it, unless it is to be
// parsed [Parsed.Again]. release is called once, when no eval runs. Nothing is
// written to the memory but in evals, which tell watch.
func NewIsolate(img *Image, inst Instance, h *Host, watch Watch, parsed *Parsed, release func(Wear) error) *Isolate {
	h.inst, h.running, h.watcher = inst, &img.running, watch
	// xorshift64* has a state of zero that it never leaves.
	return &Isolate{host: h, img: img, close: release, parsed: parsed, seed: h.random.next() | 1}
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
	return i.close(i.wear)
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
	fresh := i.seed != 0
	if fresh {
		state, ok := window(h.inst.Memory(), i.img.handles.RandomState, 8)
		if !ok {
			return nil, errors.New("quickjs: instance is smaller than its image")
		}
		binary.LittleEndian.PutUint64(state, i.seed)
		i.seed = 0
	}
	h.running.Add(1)
	defer h.running.Add(-1)
	if parsed != nil {
		h.begin(parsed.fuel)
	} else {
		h.begin(0)
	}
	// Until there is an outcome: a host function may panic.
	wear := i.wear
	i.spent, i.wear = true, WearBroken
	e := &eval{img: i.img, inst: h.inst, h: h}
	failure := e.attempt(ctx, req, parsed, fresh)
	// What was stopped in the middle is not whole. The same goes for a guest
	// that contradicts its own driver, and for an interpreter that ran out of
	// memory: its error paths are the least tried.
	i.spent = errors.Is(failure, errTrapped) || errors.Is(failure, errCorrupt) || h.inst.Global(GlobalGrowRefused) != 0
	out := e.outcome(failure, req.Source)
	switch {
	case i.spent || h.ticks > 0:
		wear = WearMuch
	case out.Usage.Fuel >= someFuel:
		wear = max(wear, WearSome)
	}
	i.wear = wear
	return out, nil
}

// attempt runs the script under watch of its context.
func (e *eval) attempt(ctx context.Context, req *spi.Request, parsed *Parsed, fresh bool) error {
	h := e.h
	defer h.watch(ctx)()
	if err := ctx.Err(); err != nil {
		h.stopFor(err) // the watch may not have run yet
	}
	if h.stopNow() {
		return errNotStarted
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
	input := req.Input
	if fresh && string(input) == "null" {
		input = nil // the image has it
	}
	return e.run(p, input)
}

// outcome is what the host reports. Success needs an explicit completion.
func (e *eval) outcome(failure error, source string) *spi.Outcome {
	h := e.h
	s := &h.sink
	out := &spi.Outcome{}
	out.Usage.Wall = time.Since(h.start)
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
	out.Logs, out.LogsTruncated = s.logs, s.truncated
	out.Usage.Fuel = h.burnt()
	if h.limits.Fuel > 0 {
		out.Usage.Fuel = min(out.Usage.Fuel, h.limits.Fuel)
	}
	out.Usage.MemoryPeakBytes = int64(len(h.inst.Memory()))
	out.Usage.LogBytes = s.logBytes
	h.end()
	h.sink = sink{}
	return out
}
