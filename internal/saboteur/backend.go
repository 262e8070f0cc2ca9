package saboteur

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// hooks are the places where a defect can sit. Each is called instead of what
// it is named after or, if it only takes a pointer, on the way in or out; nil
// passes on what is good.
type hooks struct {
	describe func(d *spi.Descriptor)
	config   func(b *Backend, cfg *spi.Config) // what the good isolate is opened with
	open     openFunc
	request  func(i *isolate, req *spi.Request)
	eval     evalFunc
	outcome  func(i *isolate, out *spi.Outcome)
	goOn     goOnFunc
	close    func(i *isolate) error
	closeAll func(b *Backend) error

	prepare       prepareFunc
	openPrepared  openPreparedFunc
	bytesPrepared func(p *prepared) int64
	closePrepared func(p *prepared) error

	suspend suspendFunc
	resume  resumeFunc
}

// Backend is a good one with a defect. It implements [spi.Backend] and, if the
// good one does, [spi.Preparer] and [spi.Resumer]; its isolates are as much of a
// [spi.Caller] as those of the good one.
type Backend struct {
	good  spi.Backend
	hooks hooks

	once       sync.Once
	release    chan struct{}  // closed by Release
	background sync.WaitGroup // goroutines of a defect
	opened     atomic.Int64
	closes     atomic.Int64
}

// Release lets go of whatever hangs and closes the good backend, which ends
// whatever runs. It is idempotent. Closing alone may not be enough: that may be
// the defect.
func (b *Backend) Release() error {
	b.once.Do(func() { close(b.release) })
	err := b.good.Close()
	b.background.Wait()
	return err
}

// hang returns when the backend is released.
func (b *Backend) hang() { <-b.release }

// Describe implements [spi.Backend].
func (b *Backend) Describe() spi.Descriptor {
	d := b.good.Describe()
	if b.hooks.describe != nil {
		b.hooks.describe(&d)
	}
	return d
}

// Open implements [spi.Backend].
func (b *Backend) Open(ctx context.Context, cfg *spi.Config) (spi.Isolate, error) {
	if b.hooks.open != nil {
		return b.hooks.open(ctx, b, cfg)
	}
	return b.open(ctx, cfg)
}

// open opens a good isolate and puts the hooks on it.
func (b *Backend) open(ctx context.Context, cfg *spi.Config) (spi.Isolate, error) {
	i := &isolate{backend: b, asked: *cfg, opened: time.Now()}
	if err := i.renew(ctx); err != nil {
		return nil, err
	}
	b.opened.Add(1)
	return i, nil
}

// Close implements [spi.Backend].
func (b *Backend) Close() error {
	b.closes.Add(1)
	if b.hooks.closeAll != nil {
		return b.hooks.closeAll(b)
	}
	return b.good.Close()
}

// isolate is a good one with the backend's hooks on it. It is an [spi.Caller] and
// an [spi.Suspender] if the good one is.
type isolate struct {
	backend *Backend
	asked   spi.Config      // what the caller wanted
	from    *prepared       // nil unless it is of a prepared script
	state   *spi.Resumption // nil unless it was resumed
	opened  time.Time
	closes  atomic.Int64
	evals   atomic.Int64
	running sync.Mutex // held by evals that are waited for

	// What hooks may use; an isolate runs one eval at a time.
	ran    spi.Request   // the request as the caller made it
	noted  atomic.Bool   // what a defect remembers of the last eval
	lines  []spi.LogLine // and of all of them
	sum    int64
	last   int64    // ID of a call
	handed []string // functions of the eval before

	mu   sync.Mutex
	good spi.Isolate // guarded by mu; see renew
}

func (i *isolate) whole() spi.Isolate {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.good
}

// renew puts a pristine isolate in the place of the one that was there.
func (i *isolate) renew(ctx context.Context) error {
	cfg := i.asked
	if i.backend.hooks.config != nil {
		i.backend.hooks.config(i.backend, &cfg)
	}
	good, err := i.openGood(ctx, &cfg)
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.good != nil {
		_ = i.good.Close() // it was given up
	}
	i.good = good
	return nil
}

func (i *isolate) openGood(ctx context.Context, cfg *spi.Config) (spi.Isolate, error) {
	if i.state != nil {
		return i.resumeGood(ctx, cfg)
	}
	if i.from != nil && i.from.good != nil {
		return i.from.good.Open(ctx, cfg)
	}
	return i.backend.good.Open(ctx, cfg)
}

// Eval implements [spi.Isolate].
func (i *isolate) Eval(ctx context.Context, req *spi.Request) (*spi.Outcome, error) {
	h := &i.backend.hooks
	i.evals.Add(1)
	i.ran = *req
	changed := *req
	if h.request != nil {
		h.request(i, &changed)
	}
	eval := h.eval
	if eval == nil {
		eval = run
	}
	out, err := eval(ctx, i, &changed)
	if err == nil && h.outcome != nil {
		h.outcome(i, out)
	}
	return out, err
}

// run is the good eval.
func run(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
	out, err := i.whole().Eval(ctx, req)
	return i.asAsked(out, err)
}

// asAsked is an outcome in which a limit that a hook changed does not give itself
// away.
func (i *isolate) asAsked(out *spi.Outcome, err error) (*spi.Outcome, error) {
	if err == nil && out.Error != nil && out.Error.Limit != nil {
		name := out.Error.Limit.Name
		if value, ok := limitOf(&i.asked.Limits, name); ok {
			out.Error.Limit = &spi.ReachedLimit{Name: name, Value: value}
		}
	}
	return out, err
}

// Close implements [spi.Isolate].
func (i *isolate) Close() error {
	i.closes.Add(1)
	if i.backend.hooks.close != nil {
		return i.backend.hooks.close(i)
	}
	return i.whole().Close()
}

// limitOf is a limit in the unit of its name, for those that a caller sets.
func limitOf(l *spi.Limits, name spi.LimitName) (int64, bool) {
	switch name {
	case spi.LimitTimeout:
		return l.Timeout.Milliseconds(), true
	case spi.LimitMemory:
		return l.MemoryBytes, true
	case spi.LimitFuel:
		return l.Fuel, true
	case spi.LimitOutput:
		return l.OutputBytes, true
	case spi.LimitLogs:
		return l.LogBytes, true
	case spi.LimitHostCalls:
		return l.HostCalls, true
	case spi.LimitCallBytes:
		return l.CallBytes, true
	}
	return 0, false
}
