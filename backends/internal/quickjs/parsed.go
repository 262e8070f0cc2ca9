package quickjs

import (
	"context"
	"fmt"

	"github.com/loom-sandbox/sandboxd/spi"
)

// Parsed is a script that was parsed in one instance and can run in every
// instance with the same memory. It is immutable.
type Parsed struct {
	source  string
	program program
	fuel    int64
	again   bool // parse it again
}

// Again is the script for an isolate of a pristine instance, which parses it
// anew: for limits that parsing would reach.
func (p *Parsed) Again() *Parsed { return &Parsed{source: p.source, again: true} }

// Fuel is what parsing burnt.
func (p *Parsed) Fuel() int64 { return p.fuel }

// SourceBytes is the size of the script.
func (p *Parsed) SourceBytes() int64 { return int64(len(p.source)) }

func (e *eval) parseOnly(ctx context.Context, source string) (program, error) {
	defer e.h.watch(ctx)()
	return e.compile(source)
}

// Parse has a pristine instance, whose host must be h, parse a script within h's
// limits. Afterwards the instance's memory is what isolates for the script start
// with, and the globals are as they were. watch is as for [NewIsolate]. Errors are
// or wrap [spi.ErrNotPrepared] or ctx's.
func Parse(ctx context.Context, img *Image, inst Instance, h *Host, watch Watch, source string) (*Parsed, error) {
	h.inst, h.running, h.watcher = inst, &img.running, watch
	watch.Begin()
	defer watch.End()
	h.running.Add(1)
	defer h.running.Add(-1)
	h.begin(0)
	e := &eval{img: img, inst: inst, h: h}
	p, err := e.parseOnly(ctx, source)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%w: %w", spi.ErrNotPrepared, err)
	case inst.Global(GlobalGrowRefused) != 0 || inst.Global(GlobalStackLow) != 0:
		// What such a parser left behind shows in the verdict of the eval.
		return nil, fmt.Errorf("%w: parsing came near a limit", spi.ErrNotPrepared)
	}
	fuel := h.burnt()
	if h.limits.Fuel > 0 && fuel > h.limits.Fuel {
		return nil, fmt.Errorf("%w: parsing burns more fuel than allowed", spi.ErrNotPrepared)
	}
	h.end()
	return &Parsed{source: source, program: p, fuel: fuel}, nil
}
