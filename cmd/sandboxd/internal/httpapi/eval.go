package httpapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/loom-sandbox/sandboxd/sandbox"
)

// evalInput is what huma reads of an eval.
type evalInput struct {
	RawBody []byte // huma uses the bytes again once eval has returned
	unread  error  // why RawBody is not the whole body
}

// Resolve implements huma.Resolver.
func (in *evalInput) Resolve(ctx huma.Context) []error {
	in.unread = ctx.BodyReader().(*upload).err
	return nil
}

// upload is a body that ends where it cannot be read on, and keeps why: huma
// would answer that, and a body of just its limit, in its own words.
type upload struct {
	io.Closer
	r   io.Reader
	err error
}

func (u *upload) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err != nil && err != io.EOF {
		u.err, err = err, io.EOF
	}
	return n, err
}

// admit finds an eval a place before huma reads its body, and refuses what huma
// would read regardless or refuse in its own words.
func (a *API) admit(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	if _, closing := a.state(); closing {
		unavailable("the server is stopping").write(w)
		return
	}
	if !a.places.TryAcquire(1) {
		unavailable("too many evals are waiting").write(w)
		return
	}
	defer a.places.Release(1)

	if detail := unsupported(r.Header); detail != "" {
		newProblem(http.StatusUnsupportedMediaType, detail).write(w)
		return
	}
	limited := http.MaxBytesReader(w, r.Body, a.opts.MaxBodyBytes())
	body := bufio.NewReader(limited)
	if _, err := body.Peek(1); err != nil {
		unreadable(err).write(w)
		return
	}
	r.Body = &upload{Closer: limited, r: body}
	next(ctx)
}

// unsupported says what is wrong with the form of a body, if anything.
func unsupported(h http.Header) string {
	mediaType, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset, hasCharset := params["charset"]
	if err != nil || mediaType != "application/json" || hasCharset && !strings.EqualFold(charset, "utf-8") {
		return "Content-Type must be application/json"
	}
	if enc := h.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return "Content-Encoding must be identity or absent"
	}
	return ""
}

func unreadable(err error) *problem {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return newProblem(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is too large; allowed is %d bytes", tooLarge.Limit))
	case err == io.EOF:
		return newProblem(http.StatusBadRequest, "the body is not strict JSON: it is empty")
	default:
		return newProblem(http.StatusBadRequest, "the body could not be read to its end")
	}
}

func (a *API) eval(ctx context.Context, in *evalInput) (*answer, error) {
	if in.unread != nil {
		return nil, unreadable(in.unread)
	}
	backend, request, p := a.decoder.decode(in.RawBody)
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
	kind := "ok"
	if result.Error != nil {
		kind = string(result.Error.Kind)
	}
	a.opts.Logger.Info("eval", "backend", backend, "outcome", kind, "wall", result.Usage.Wall, "fuel", result.Usage.Fuel)
	return answerWith("application/json", out), nil
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

// failed answers for everything that is not a result.
func (a *API) failed(backend string, err error) *problem {
	var bad *sandbox.RequestError
	switch {
	case errors.As(err, &bad):
		return unprocessable([]fault{faultOf(bad)})
	case errors.Is(err, errBusy):
		return unavailable("no turn came within the queue's time")
	case errors.Is(err, sandbox.ErrClosed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		// The client has gone, or the server no longer waits for anything.
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
