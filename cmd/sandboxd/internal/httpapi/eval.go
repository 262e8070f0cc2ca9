package httpapi

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/loom-sandbox/sandboxd/sandbox"
)

func (a *API) eval(w http.ResponseWriter, r *http.Request) {
	if _, closing := a.state(); closing {
		unavailable("the server is stopping").write(w)
		return
	}
	if !a.places.TryAcquire(1) {
		unavailable("too many evals are waiting").write(w)
		return
	}
	defer a.places.Release(1)

	body, p := a.read(w, r)
	if p != nil {
		p.write(w)
		return
	}
	backend, request, p := a.decoder.decode(body)
	if p != nil {
		p.write(w)
		return
	}
	result, err := a.run(r.Context(), backend, request)
	if err != nil {
		a.failed(w, backend, err)
		return
	}
	out, err := result.MarshalJSON()
	if err != nil {
		a.failed(w, backend, err)
		return
	}
	kind := "ok"
	if result.Error != nil {
		kind = string(result.Error.Kind)
	}
	a.opts.Logger.Info("eval", "backend", backend, "outcome", kind, "wall", result.Usage.Wall, "fuel", result.Usage.Fuel)
	respond(w, http.StatusOK, "application/json", out)
}

// errBusy: no turn came in time.
var errBusy = errors.New("httpapi: no turn within the queue timeout")

// run waits for the backend and for a turn, then evaluates.
func (a *API) run(ctx context.Context, backend string, req sandbox.Request) (*sandbox.Result, error) {
	select {
	case <-a.ready:
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

// read takes the body, or says why not.
func (a *API) read(w http.ResponseWriter, r *http.Request) ([]byte, *problem) {
	mediaType, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, hasCharset := params["charset"]
	if err != nil || mediaType != "application/json" || hasCharset && !strings.EqualFold(charset, "utf-8") {
		return nil, &problem{Status: http.StatusUnsupportedMediaType, Detail: "Content-Type must be application/json"}
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return nil, &problem{Status: http.StatusUnsupportedMediaType, Detail: "Content-Encoding must be identity or absent"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a.opts.MaxBodyBytes()))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, tooLargeBody(a.opts.MaxBodyBytes())
	case err != nil:
		return nil, &problem{Status: http.StatusBadRequest, Detail: "the body could not be read to its end"}
	}
	return body, nil
}

// failed answers for everything that is not a result.
func (a *API) failed(w http.ResponseWriter, backend string, err error) {
	var bad *sandbox.RequestError
	switch {
	case errors.As(err, &bad):
		unprocessable([]fault{faultOf(bad)}).write(w)
	case errors.Is(err, errBusy):
		unavailable("no turn came within the queue's time").write(w)
	case errors.Is(err, sandbox.ErrClosed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		// The client has gone, or the server no longer waits for anything.
		unavailable("the eval was cancelled before the script started").write(w)
	default:
		a.opts.Logger.Error("eval failed", "backend", backend, "error", err)
		problem{Status: http.StatusInternalServerError, Detail: "the backend failed; the server's log says more"}.write(w)
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
