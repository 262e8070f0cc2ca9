package wasmhost

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
)

// Defaults of [PoolOptions].
const (
	DefaultIdleTimeout = 30 * time.Second
	minReserveBytes    = 64 << 20 // what most evals are capped at
)

// DefaultIdle is how many idle isolates are kept unless told otherwise: twice the
// number of processors, and 16 at least.
func DefaultIdle() int { return max(16, 2*runtime.GOMAXPROCS(0)) }

// PoolOptions say how isolates are kept between evals. The zero value is the default.
type PoolOptions struct {
	// Idle is the most isolates that are kept while nobody uses them; zero means
	// [DefaultIdle], below zero none.
	Idle int
	// Warm is how many are made at the start, and kept however long they idle;
	// at most Idle. The others are made when they are needed.
	Warm int
	// IdleTimeout is how long one that is not warm is kept; zero means
	// [DefaultIdleTimeout].
	IdleTimeout time.Duration
	// Check compares the whole memory with the image after each restore. What
	// differs is never used again, and closing the isolate is an error.
	Check bool
}

// pool keeps instances whose memory and globals are pristine. An instance is
// restored as soon as its isolate is closed, so that nothing of one script lies
// about until the next.
type pool struct {
	module  Module
	memory  *pristine.Image
	way     pristine.Way
	globals [quickjs.GlobalCount]uint64 // of a pristine instance
	keep    int
	warm    int
	timeout time.Duration
	check   bool

	mu     sync.Mutex
	idle   []idleInstance // guarded by mu; the one used last at the end
	timer  *time.Timer    // guarded by mu; runs while more than warm are idle
	closed bool           // guarded by mu
}

type idleInstance struct {
	Instance
	since time.Time
}

// newPool takes memory over. It makes one instance at least, on which it learns
// how instances can be restored.
func newPool(module Module, memory *pristine.Image, o PoolOptions) (*pool, error) {
	p := &pool{module: module, memory: memory, keep: o.Idle, timeout: o.IdleTimeout, check: o.Check}
	if p.keep == 0 {
		p.keep = DefaultIdle()
	}
	p.keep = max(p.keep, 0)
	p.warm = min(max(o.Warm, 0), p.keep)
	if p.timeout <= 0 {
		p.timeout = DefaultIdleTimeout
	}
	for i := range max(p.warm, 1) {
		inst, err := module.Instantiate(minReserveBytes)
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		if i == 0 {
			p.way = memory.WayOf(inst.Memory())
			for g := range p.globals {
				p.globals[g] = inst.Global(quickjs.Global(g))
			}
		}
		if err := p.give(inst, false); err != nil {
			return nil, errors.Join(err, p.close())
		}
	}
	return p, nil
}

// take lends a pristine instance to a host.
func (p *pool) take(h *quickjs.Host, maxBytes int64) (Instance, error) {
	if inst := p.reuse(h, maxBytes); inst != nil {
		return inst, nil
	}
	inst, err := p.module.Instantiate(max(maxBytes, minReserveBytes))
	if err != nil {
		return nil, err
	}
	if !inst.Lend(h, maxBytes) {
		return nil, errors.Join(fmt.Errorf("a new instance cannot have %d bytes of memory", maxBytes), inst.Close())
	}
	return inst, nil
}

func (p *pool) reuse(h *quickjs.Host, maxBytes int64) Instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.idle) - 1; i >= 0; i-- {
		inst := p.idle[i].Instance
		if inst.Lend(h, maxBytes) {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			return inst
		}
	}
	return nil
}

// give takes an instance back, in whatever state. A memory that has grown cannot
// shrink: such an instance is not kept.
func (p *pool) give(inst Instance, worn bool) error {
	if int64(len(inst.Memory())) != int64(len(p.memory.Content())) {
		return inst.Close()
	}
	if err := p.restore(inst); err != nil {
		return errors.Join(err, inst.Close())
	}
	if worn {
		inst.Refresh()
	}
	p.mu.Lock()
	if p.closed || len(p.idle) >= p.keep {
		p.mu.Unlock()
		return inst.Close()
	}
	p.idle = append(p.idle, idleInstance{inst, time.Now()})
	if len(p.idle) > p.warm && p.timer == nil {
		p.timer = time.AfterFunc(p.timeout, p.trim)
	}
	p.mu.Unlock()
	return nil
}

// restore makes memory and globals what they were.
func (p *pool) restore(inst Instance) error {
	for g, v := range p.globals {
		inst.SetGlobal(quickjs.Global(g), v)
	}
	if err := p.memory.Restore(inst.Memory(), p.way); err != nil {
		return err
	}
	if !p.check {
		return nil
	}
	for g, v := range p.globals {
		if inst.Global(quickjs.Global(g)) != v {
			return fmt.Errorf("global %s was not restored", quickjs.Globals()[g])
		}
	}
	return p.memory.Check(inst.Memory())
}

// trim closes what has been idle for too long, and comes again while anything is
// left that may be closed.
func (p *pool) trim() {
	p.mu.Lock()
	var old []idleInstance
	until := time.Now().Add(-p.timeout)
	for len(p.idle) > p.warm && !p.idle[0].since.After(until) {
		old, p.idle = append(old, p.idle[0]), p.idle[1:]
	}
	switch {
	case p.closed || len(p.idle) <= p.warm:
		p.timer = nil
	default:
		p.timer.Reset(max(p.idle[0].since.Sub(until), time.Millisecond))
	}
	p.mu.Unlock()
	for _, i := range old {
		_ = i.Close() // nobody is left to tell; it holds no guest
	}
}

// close releases all idle instances. Those that are lent are closed when they
// come back.
func (p *pool) close() error {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	var errs []error
	for _, i := range idle {
		errs = append(errs, i.Close())
	}
	return errors.Join(append(errs, p.memory.Close())...)
}
