package wasmhost

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
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

	mu       sync.Mutex
	idle     []*guest       // guarded by mu; the one used last at the end
	timer    *time.Timer    // guarded by mu; runs while there is something to trim
	closed   bool           // guarded by mu
	trimming sync.WaitGroup // Add under mu while not closed
}

// guest is an instance and what is known of its memory.
type guest struct {
	Instance
	memory *pristine.Guest
	since  time.Time // when it became idle
	worn   bool      // to be refreshed when it is idle
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
		if err := p.give(p.guestOf(inst), quickjs.WearNone); err != nil {
			return nil, errors.Join(err, p.close())
		}
	}
	return p, nil
}

func (p *pool) guestOf(inst Instance) *guest {
	return &guest{Instance: inst, memory: p.memory.Guest(inst.Memory(), p.way)}
}

// take lends a pristine guest to a host.
func (p *pool) take(h *quickjs.Host, maxBytes int64) (*guest, error) {
	if g := p.reuse(h, maxBytes); g != nil {
		return g, nil
	}
	inst, err := p.module.Instantiate(max(maxBytes, minReserveBytes))
	if err != nil && p.empty() { // what is idle may hold what a new one lacks
		inst, err = p.module.Instantiate(max(maxBytes, minReserveBytes))
	}
	if err != nil {
		return nil, err
	}
	if !inst.Lend(h, maxBytes) {
		return nil, errors.Join(fmt.Errorf("a new instance cannot have %d bytes of memory", maxBytes), inst.Close())
	}
	return p.guestOf(inst), nil
}

// empty closes all that is idle, and reports whether there was anything.
func (p *pool) empty() bool {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, g := range idle {
		_ = g.Close() // nobody is left to tell; it holds no guest
	}
	return len(idle) > 0
}

func (p *pool) reuse(h *quickjs.Host, maxBytes int64) *guest {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.idle) - 1; i >= 0; i-- {
		if g := p.idle[i]; g.Lend(h, maxBytes) {
			p.idle = slices.Delete(p.idle, i, i+1)
			return g
		}
	}
	return nil
}

// give takes a guest back, in whatever state. A memory that has grown cannot
// shrink: such a guest is not kept.
func (p *pool) give(g *guest, wear quickjs.Wear) error {
	if wear == quickjs.WearBroken || len(g.Memory()) != len(p.memory.Content()) {
		return g.Close()
	}
	if err := p.restore(g); err != nil {
		return errors.Join(err, g.Close())
	}
	sooner := false // there is something to trim that nobody waits for
	switch wear {
	case quickjs.WearSome:
		// Refreshing now would cost the next eval a tenth of its time.
		sooner, g.worn = !g.worn, true
	case quickjs.WearMuch:
		g.refresh()
	}
	p.mu.Lock()
	if p.closed || len(p.idle) >= p.keep {
		p.mu.Unlock()
		return g.Close()
	}
	g.since = time.Now()
	p.idle = append(p.idle, g)
	if p.timer == nil || sooner {
		p.setTimer(g.since)
	}
	p.mu.Unlock()
	return nil
}

func (g *guest) refresh() {
	g.Refresh()
	g.worn = false
}

// restore makes memory and globals what they were.
func (p *pool) restore(g *guest) error {
	for i, v := range p.globals {
		g.SetGlobal(quickjs.Global(i), v)
	}
	if err := g.memory.Restore(); err != nil {
		return err
	}
	if !p.check {
		return nil
	}
	for i, v := range p.globals {
		if g.Global(quickjs.Global(i)) != v {
			return fmt.Errorf("global %s was not restored", quickjs.Globals()[i])
		}
	}
	return p.memory.Check(g.Memory())
}

// trim closes what has been idle for too long, refreshes what has been for a
// while, and comes again while there is anything to do.
func (p *pool) trim() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.trimming.Add(1) // close waits: the module goes away after it
	defer p.trimming.Done()
	var old []*guest
	now := time.Now()
	for len(p.idle) > p.warm && now.Sub(p.idle[0].since) >= p.timeout {
		old, p.idle = append(old, p.idle[0]), slices.Delete(p.idle, 0, 1)
	}
	for _, g := range p.idle {
		if g.worn && now.Sub(g.since) >= p.rest() {
			g.refresh()
		}
	}
	p.setTimer(now)
	p.mu.Unlock()
	for _, i := range old {
		_ = i.Close() // nobody is left to tell; it holds no guest
	}
}

// setTimer has trim called when there is something to do again, if there ever is
// as things are. It is called with mu held.
func (p *pool) setTimer(now time.Time) {
	wait, ok := p.timeout, len(p.idle) > p.warm
	if ok {
		wait -= now.Sub(p.idle[0].since)
	}
	for _, g := range p.idle { // in order of since
		if g.worn {
			wait, ok = min(wait, p.rest()-now.Sub(g.since)), true
			break
		}
	}
	wait = max(wait, time.Millisecond)
	switch {
	case !ok:
		p.timer = nil
	case p.timer == nil:
		p.timer = time.AfterFunc(wait, p.trim)
	default:
		p.timer.Reset(wait)
	}
}

// rest is how long a worn guest idles before it is refreshed.
func (p *pool) rest() time.Duration { return min(p.timeout, time.Second) }

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
	p.trimming.Wait()
	return errors.Join(append(errs, p.memory.Close())...)
}
