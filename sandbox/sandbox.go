package sandbox

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/tools"
)

// Sandbox runs scripts on one backend.
type Sandbox struct {
	backend    spi.Backend
	descriptor spi.Descriptor
	fields     []field
	defaults   Limits
	ceilings   Limits
	turns      *semaphore.Weighted
	unlabelled bool
	clock      func() time.Time
	policy     tools.Policy
	observer   Observer
	sealer     *sealer
	snapshots  *snapshots // nil where the backend does not prepare
	repeats    *repeats   // nil unless Eval prepares what is repeated

	// cannotSuspend says why no eval can be suspended; empty where one can.
	cannotSuspend string

	lifetime    context.Context // until Close
	endLifetime context.CancelFunc

	mu      sync.Mutex
	closed  bool           // guarded by mu
	running sync.WaitGroup // Add under mu while not closed
}

// New makes a sandbox on backend, which it does not own: close the sandbox
// first, then the backend. nil options mean the defaults. What the backend does
// not offer is refused here with a [*RequestError].
func New(backend spi.Backend, opts *Options) (*Sandbox, error) {
	if backend == nil {
		return nil, &RequestError{"backend", "must not be nil"}
	}
	if opts == nil {
		opts = &Options{}
	}
	d := backend.Describe()
	s := &Sandbox{
		backend: backend, descriptor: d, fields: fields(d), ceilings: opts.Ceilings,
		unlabelled: opts.DangerouslyMarshalWithoutTaintLabel, clock: time.Now,
		policy: opts.Policy, observer: opts.Observer,
	}
	s.lifetime, s.endLifetime = context.WithCancel(context.Background())
	if err := opts.check(&d, s.fields, &s.defaults); err != nil {
		return nil, err
	}
	s.sealer = newSealer(opts.Continuations, s)
	if !d.Suspends {
		s.cannotSuspend = "backend " + d.Name + " cannot put a script away"
	}
	// A wrapper may pass the descriptor on and not the method.
	if preparer, ok := backend.(spi.Preparer); ok && d.Prepares {
		s.snapshots = newSnapshots(preparer, cmp.Or(opts.PreparedBytes, DefaultPreparedBytes))
		if opts.PrepareRepeated {
			s.repeats = newRepeats(maxRepeats)
		}
	}
	n := opts.MaxConcurrent
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
	}
	s.turns = semaphore.NewWeighted(int64(n))
	return s, nil
}

// Descriptor says what the backend is and promises.
func (s *Sandbox) Descriptor() spi.Descriptor { return s.descriptor }

// Close refuses further evals, also those that wait for their turn, and waits
// for those that run to end; cancel their contexts to hurry them. Those that wait
// for tools are ended ([spi.KindKilled]). It is
// idempotent and does not close the backend. Prepared scripts are released; the
// error, a [*BackendError], is from that only.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		s.endLifetime()
	}
	s.mu.Unlock()
	s.running.Wait()
	if s.snapshots == nil {
		return nil
	}
	if err := s.snapshots.close(); err != nil {
		return &BackendError{Backend: s.descriptor.Name, Err: err}
	}
	return nil
}

func (s *Sandbox) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.running.Add(1)
	return nil
}

// Eval runs one script in pristine state and returns its labelled result. See
// the package documentation for what is an error and what is a result. The
// script ends at the earliest of ctx's end and its own limits.
func (s *Sandbox) Eval(ctx context.Context, req Request) (*Result, error) {
	if s.repeats == nil {
		return s.eval(ctx, &req, s.unprepared)
	}
	return s.eval(ctx, &req, s.whenRepeated)
}

// finder finds the snapshot that an eval may go on from, in use for the caller,
// or nil. It is called during the eval's turn.
type finder func(ctx context.Context, j *job) *snapshot

func (s *Sandbox) unprepared(context.Context, *job) *snapshot { return nil }

func (s *Sandbox) eval(ctx context.Context, req *Request, find finder) (*Result, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.running.Done()
	j, err := s.admit(req)
	if err != nil {
		return nil, err
	}
	if j.tooLarge != nil {
		return s.tooLarge(j), nil
	}
	p := s.newPart(ctx, j, newLedger(0))
	return p.run(ctx, EventStarted,
		func(ctx context.Context) (spi.Isolate, error) { return s.open(ctx, j, p.events.notices(), find) },
		func(ctx context.Context, iso spi.Isolate) (*spi.Outcome, error) { return iso.Eval(ctx, &j.request) })
}

// failed is the error for what went wrong in the backend: the context's, if that
// is what it is.
func (s *Sandbox) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return ctx.Err()
	}
	return &BackendError{Backend: s.descriptor.Name, Err: err}
}

// turn waits in order until one of MaxConcurrent is free, ctx ends or the
// sandbox is closed.
func (s *Sandbox) turn(ctx context.Context) error {
	if s.turns.TryAcquire(1) {
		return nil
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.lifetime, cancel)()
	err := s.turns.Acquire(waiting, 1)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	default:
		return ErrClosed
	}
}

// open opens an isolate from the snapshot that find gives, or else anew: a
// snapshot that is of no use is no reason to fail.
func (s *Sandbox) open(ctx context.Context, j *job, observer spi.Observer, find finder) (spi.Isolate, error) {
	j.config.Observer = observer
	if snap := find(ctx, j); snap != nil {
		if iso := s.snapshots.open(ctx, snap, &j.config); iso != nil {
			return iso, nil
		}
	}
	return s.backend.Open(ctx, &j.config)
}
