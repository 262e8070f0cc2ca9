package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/loom-sandbox/sandboxd/sandbox"
)

// evalInput is what huma hands on of an eval: nothing of its own, as it would
// keep a copy of the body until the answer is written.
type evalInput struct{ upload *upload }

// Resolve implements huma.Resolver.
func (in *evalInput) Resolve(ctx huma.Context) []error {
	in.upload = ctx.BodyReader().(*upload)
	return nil
}

// upload is a body that has been read, in the place of the request's own.
type upload struct {
	io.ReadCloser
	text []byte
	hold *hold
}

// admit reads the body of an eval and finds it a place, before huma begins: huma
// would read regardless, and refuse in its own words.
func (a *API) admit(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	h := &hold{budget: &a.bytes}
	defer h.settle(0)
	text, p := a.receive(w, r, h)
	if p != nil {
		// What has not been read will not be: the answer must not wait for it.
		w.Header().Set("Connection", "close")
		p.write(w)
		return
	}
	if !a.places.TryAcquire(1) {
		unavailable("too many evals are waiting").write(w)
		return
	}
	defer a.places.Release(1)
	r.Body = &upload{r.Body, text, h}
	next(ctx)
}

func (a *API) receive(w http.ResponseWriter, r *http.Request, h *hold) ([]byte, *problem) {
	if _, p := a.state(); p != nil {
		return nil, p
	}
	if detail := unsupported(r.Header); detail != "" {
		return nil, newProblem(http.StatusUnsupportedMediaType, detail)
	}
	return a.read(w, r, h)
}

func (a *API) eval(ctx context.Context, in *evalInput) (*answer, error) {
	backend, request, p := a.decode(ctx, in.upload)
	if p != nil {
		return nil, p
	}
	result, err := a.run(ctx, backend, request)
	if err != nil {
		return nil, a.failed(backend, err)
	}
	out, err := result.MarshalJSON()
	if err != nil {
		return nil, a.failed(backend, err)
	}
	in.upload.hold.settle(int64(len(out)))
	kind := "ok"
	if result.Error != nil {
		kind = string(result.Error.Kind)
	}
	a.opts.Logger.Info("eval", "backend", backend, "outcome", kind, "wall", result.Usage.Wall, "fuel", result.Usage.Fuel)
	return answerWith("application/json", out), nil
}

// decode reads a request, of which one copy is left afterwards: it may wait for
// long. As decoding needs several times the text, few do so at once.
func (a *API) decode(ctx context.Context, u *upload) (string, sandbox.Request, *problem) {
	if err := a.decoders.Acquire(ctx, 1); err != nil {
		return "", sandbox.Request{}, a.failed("", err)
	}
	defer a.decoders.Release(1)
	text := u.text
	u.text = nil
	backend, r, p := a.decoder.decode(text)
	if p != nil {
		return "", r, p
	}
	kept := int64(cap(text))                          // by the input, which is a part of it
	if own := int64(len(r.Input)); kept > own+own/4 { // more would be kept than is needed
		r.Input = bytes.Clone(r.Input)
		kept = int64(len(r.Input))
	}
	u.hold.settle(kept + int64(len(r.Script)))
	return backend, r, nil
}

// errBusy: no turn came in time.
var errBusy = errors.New("httpapi: no turn within the queue timeout")

// run waits for the backend and for a turn, then evaluates.
func (a *API) run(ctx context.Context, backend string, req sandbox.Request) (*sandbox.Result, error) {
	select {
	case <-a.ready:
	case <-a.startup.Done():
		return nil, a.startupRefusal()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := a.turn(ctx); err != nil {
		return nil, err
	}
	defer a.turns.Release(1)
	return a.evaluators[backend].Eval(ctx, req)
}

// turn waits for a turn, which the caller releases unless there is an error. A
// free one is taken however short the queue's time is.
func (a *API) turn(ctx context.Context) error {
	if a.turns.TryAcquire(1) {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, a.opts.QueueTimeout)
	defer cancel()
	err := a.turns.Acquire(waiting, 1)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return errBusy
	}
}

// failed answers for everything that is not a result.
func (a *API) failed(backend string, err error) *problem {
	var (
		bad *sandbox.RequestError
		own *problem
	)
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &bad):
		return unprocessable([]fault{faultOf(bad)})
	case errors.Is(err, errBusy):
		return unavailable("no turn came within the queue's time")
	case errors.Is(err, sandbox.ErrClosed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		// The server no longer waits for anything, or the client has gone.
		if _, refusal := a.state(); refusal != nil {
			return refusal
		}
		return unavailable("the eval was cancelled before the script started")
	default:
		a.opts.Logger.Error("eval failed", "backend", backend, "error", err)
		return newProblem(http.StatusInternalServerError, "the backend failed; the server's log says more")
	}
}

// faultOf passes on what the sandbox refuses. Its words on limits hold the
// value; those were checked before, so this says no more than where to look.
func faultOf(bad *sandbox.RequestError) fault {
	if strings.HasPrefix(bad.Field, "limits.") {
		return fault{bad.Field, "is out of range; see /openapi.json"}
	}
	return fault{bad.Field, bad.Problem}
}
