package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
)

// Options of a [Sandbox]. The zero value is the safest.
type Options struct {
	// Defaults are used where a request leaves a limit open.
	Defaults Limits
	// Ceilings cap what a request may ask for; zero fields mean the hard maxima.
	Ceilings Limits
	// MaxConcurrent is how many evals run at once; zero means the number of
	// CPUs. More wait in order.
	MaxConcurrent int
	// PreparedBytes bounds the memory that prepared scripts hold together; what
	// was used least recently is given up first. Zero means
	// [DefaultPreparedBytes]. A script that needs more alone is not kept. The
	// process may grow by two to three times that until Go has collected what was
	// given up.
	PreparedBytes int64
	// PrepareRepeated makes Eval prepare a script when it comes for the second
	// time, and go on from the prepared state from then on. Preparing then takes
	// at most a quarter of the eval's Timeout, before that begins; where
	// PreparedBytes are used up, a script is kept only if it comes more often than
	// what would have to go. It has no effect on a backend that does not prepare.
	// Results are the same, but their time tells
	// whoever may use this sandbox whether somebody ran the same script before:
	// leave it off where callers must not learn that of each other.
	PrepareRepeated bool
	// DangerouslyMarshalWithoutTaintLabel makes results marshal their values,
	// logs and error texts bare. Whoever reads the JSON can then no longer tell
	// what a script wrote from what the host wrote.
	DangerouslyMarshalWithoutTaintLabel bool
}

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
	noLogs     taint.Tainted
	snapshots  *snapshots // nil where the backend does not prepare
	repeats    *repeats   // nil unless Eval prepares what is repeated

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
		backend: backend, descriptor: d, fields: fields(d),
		ceilings: opts.Ceilings, unlabelled: opts.DangerouslyMarshalWithoutTaintLabel, clock: time.Now,
		noLogs: taint.Wrap(taint.OriginSandbox, []byte("[]")),
	}
	s.lifetime, s.endLifetime = context.WithCancel(context.Background())
	var errs []error
	if !d.Speaks(spi.JavaScript) {
		errs = append(errs, &RequestError{"backend", fmt.Sprintf("%s does not run language js", d.Name)})
	}
	for i := range s.fields {
		f := &s.fields[i]
		for _, part := range []struct {
			name string
			l    *Limits
		}{{"Options.Defaults.", &opts.Defaults}, {"Options.Ceilings.", &opts.Ceilings}} {
			if err := f.check(*f.get(part.l)); err != nil {
				err.Field = part.name + string(f.name)
				errs = append(errs, err)
			}
		}
		v := *f.get(&opts.Defaults)
		if v == 0 {
			if v = f.fallback; v != 0 { // a backend may have less, or need more
				v = min(max(v, f.min), f.max)
			}
			if v != 0 && f.missing != "" {
				errs = append(errs, &RequestError{"backend", fmt.Sprintf("%s does not enforce %s", d.Name, f.name)})
			}
		}
		*f.get(&s.defaults) = v
	}
	if opts.MaxConcurrent < 0 {
		errs = append(errs, &RequestError{"Options.MaxConcurrent", fmt.Sprintf("is %d; allowed is 1 or more, or 0 for the number of CPUs", opts.MaxConcurrent)})
	}
	if opts.PreparedBytes < 0 {
		errs = append(errs, &RequestError{"Options.PreparedBytes", fmt.Sprintf("is %d; allowed is 1 or more, or 0 for %d", opts.PreparedBytes, DefaultPreparedBytes)})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
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
// for those that run to end; cancel their contexts to hurry them. It is
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
	if err := s.turn(ctx); err != nil {
		return nil, err
	}
	defer s.turns.Release(1)
	out, err := s.run(ctx, j, find)
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	return s.label(j, out)
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

// run opens an isolate, evaluates and closes it again.
func (s *Sandbox) run(ctx context.Context, j *job, find finder) (out *spi.Outcome, err error) {
	iso, err := s.open(ctx, j, find)
	if err != nil {
		return nil, err
	}
	if iso == nil {
		return nil, errors.New("opened no isolate, without an error")
	}
	defer func() { err = errors.Join(err, iso.Close()) }()
	if out, err = iso.Eval(ctx, &j.request); err != nil {
		return nil, err
	}
	return out, checkOutcome(out, &j.config.Limits)
}

// open opens an isolate from the snapshot that find gives, or else anew: a
// snapshot that is of no use is no reason to fail.
func (s *Sandbox) open(ctx context.Context, j *job, find finder) (spi.Isolate, error) {
	if snap := find(ctx, j); snap != nil {
		if iso := s.snapshots.open(ctx, snap, &j.config); iso != nil {
			return iso, nil
		}
	}
	return s.backend.Open(ctx, &j.config)
}

// checkOutcome holds a backend to what [spi.Outcome] promises: anybody may have
// written it.
func checkOutcome(out *spi.Outcome, limits *spi.Limits) error {
	switch {
	case out == nil:
		return errors.New("gave no outcome, without an error")
	case (len(out.Value) == 0) == (out.Error == nil):
		return errors.New("outcome has not exactly one of value and error")
	case out.Error != nil && !slices.Contains(spi.Kinds(), out.Error.Kind):
		return fmt.Errorf("outcome has the unknown kind %.40q", out.Error.Kind)
	case int64(len(out.Value)) > limits.OutputBytes:
		return fmt.Errorf("outcome has a value of %d bytes, over %s of %d", len(out.Value), spi.LimitOutput, limits.OutputBytes)
	}
	return nil
}

// label turns an outcome into a result in which all guest data is wrapped.
func (s *Sandbox) label(j *job, out *spi.Outcome) (*Result, error) {
	labelledLogs := s.noLogs
	if len(out.Logs) > 0 {
		var err error
		if labelledLogs, err = taint.WrapValue(taint.OriginSandbox, out.Logs); err != nil {
			return nil, &BackendError{s.descriptor.Name, fmt.Errorf("logs: %w", err)}
		}
	}
	r := &Result{
		Status: StatusOK, Logs: labelledLogs, Run: j.run,
		Usage: Usage{
			Fuel: out.Usage.Fuel, Wall: out.Usage.Wall, MemoryPeakBytes: out.Usage.MemoryPeakBytes,
			OutputBytes: out.Usage.OutputBytes, LogBytes: out.Usage.LogBytes,
		},
		Truncated:  Truncated{Logs: out.LogsTruncated},
		unlabelled: s.unlabelled,
	}
	if out.Error != nil {
		r.Status = StatusError
		r.Error = labelError(out.Error)
		return r, nil
	}
	value, err := taint.WrapStrict(taint.OriginSandbox, out.Value)
	switch {
	case errors.Is(err, taint.ErrTooDeep):
		value = taint.Wrap(taint.OriginSandbox, out.Value) // its text
	case err != nil:
		return nil, &BackendError{s.descriptor.Name, errors.New("outcome has a value that is not strict JSON")}
	}
	r.Value, r.ValueType = &value, out.ValueType
	return r, nil
}

func labelError(e *spi.ScriptError) *Error {
	labelled := &Error{
		Kind: e.Kind, Limit: e.Limit, Line: e.Line, Column: e.Column,
		Name: text(e.Name), Message: text(e.Message),
	}
	if e.Stack != "" {
		stack := text(e.Stack)
		labelled.Stack = &stack
	}
	return labelled
}

// text labels a string. Marshalling a string cannot fail: what is not valid
// UTF-8 is replaced first.
func text(s string) taint.Tainted {
	t, _ := taint.WrapValue(taint.OriginSandbox, strings.ToValidUTF8(s, "\ufffd"))
	return t
}

func (s *Sandbox) tooLarge(j *job) *Result {
	what := "script"
	if j.tooLarge.Name == spi.LimitInput {
		what = "input"
	}
	return &Result{
		Status: StatusError, Logs: s.noLogs, Run: j.run, unlabelled: s.unlabelled,
		Error: labelError(&spi.ScriptError{
			Kind: spi.KindInputTooLarge, Limit: j.tooLarge, Name: "LimitError",
			Message: fmt.Sprintf("the %s is larger than %s of %d", what, j.tooLarge.Name, j.tooLarge.Value),
		}),
	}
}
