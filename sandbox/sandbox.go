package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
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
	}
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
			v = f.fallback
			if v > f.max { // a backend with less memory than our default
				v = f.max
			}
		}
		*f.get(&s.defaults) = v
		if _, ok := d.EnforcementOf(f.name); !ok && v != 0 && enforcedByBackend(f.name) {
			errs = append(errs, &RequestError{"backend", fmt.Sprintf("%s does not enforce %s", d.Name, f.name)})
		}
	}
	if opts.MaxConcurrent < 0 {
		errs = append(errs, &RequestError{"Options.MaxConcurrent", fmt.Sprintf("is %d; allowed is 1 or more, or 0 for the number of CPUs", opts.MaxConcurrent)})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	n := opts.MaxConcurrent
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
	}
	s.turns = semaphore.NewWeighted(int64(n))
	return s, nil
}

// enforcedByBackend tells the backend's limits from those that the sandbox
// checks before it calls.
func enforcedByBackend(name spi.LimitName) bool {
	return name != spi.LimitSource && name != spi.LimitInput
}

// Descriptor says what the backend is and promises.
func (s *Sandbox) Descriptor() spi.Descriptor { return s.descriptor }

// Close refuses further evals and waits for those that run to end; cancel their
// contexts to hurry them. It is idempotent and does not close the backend.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.running.Wait()
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
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.running.Done()
	j, err := s.prepare(&req)
	if err != nil {
		return nil, err
	}
	if j.tooLarge != nil {
		return s.tooLarge(j), nil
	}
	if err := s.turns.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer s.turns.Release(1)

	iso, err := s.backend.Open(ctx, &j.config)
	if err != nil {
		return nil, s.backendError(ctx, err)
	}
	out, err := iso.Eval(ctx, &j.request)
	cerr := iso.Close()
	if err != nil {
		return nil, s.backendError(ctx, err)
	}
	if cerr != nil {
		return nil, s.backendError(ctx, cerr)
	}
	return s.label(j, out)
}

func (s *Sandbox) backendError(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return ctx.Err()
	}
	return &BackendError{Backend: s.descriptor.Name, Err: err}
}

// label turns an outcome into a result in which all guest data is wrapped.
func (s *Sandbox) label(j *job, out *spi.Outcome) (*Result, error) {
	if (out.Value == nil) == (out.Error == nil) {
		return nil, &BackendError{s.descriptor.Name, errors.New("outcome has not exactly one of value and error")}
	}
	logs := out.Logs
	if logs == nil {
		logs = []spi.LogLine{}
	}
	labelledLogs, err := taint.WrapValue(taint.OriginSandbox, logs)
	if err != nil {
		return nil, &BackendError{s.descriptor.Name, fmt.Errorf("logs: %w", err)}
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
	value := taint.Wrap(taint.OriginSandbox, out.Value)
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

// text labels a string. Marshalling a string cannot fail: encoding/json
// replaces what is not valid UTF-8.
func text(s string) taint.Tainted {
	b, _ := json.Marshal(s)
	return taint.Tainted{Origin: taint.OriginSandbox, Value: b}
}

func (s *Sandbox) tooLarge(j *job) *Result {
	what := "script"
	if j.tooLarge.Name == spi.LimitInput {
		what = "input"
	}
	empty, _ := taint.WrapValue(taint.OriginSandbox, []spi.LogLine{})
	return &Result{
		Status: StatusError, Logs: empty, Run: j.run, unlabelled: s.unlabelled,
		Error: labelError(&spi.ScriptError{
			Kind: spi.KindInputTooLarge, Limit: j.tooLarge, Name: "LimitError",
			Message: fmt.Sprintf("the %s is larger than %s of %d", what, j.tooLarge.Name, j.tooLarge.Value),
		}),
	}
}
