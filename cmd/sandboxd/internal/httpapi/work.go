package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/loom-sandbox/sandboxd/sandbox"
)

// work is what a body asks for: to run a script, or to go on with one.
type work interface {
	// verb is how the log names it.
	verb() string
	// keep cuts loose what is needed of a body that takes so many bytes, and says
	// how many bytes are kept.
	keep(body int64) int64
	// run does it, during a turn, and says which backend did.
	run(ctx context.Context, evaluators map[string]Evaluator) (backend string, res *sandbox.Result, err error)
}

// run implements work.
func (e *evaluation) run(ctx context.Context, evaluators map[string]Evaluator) (string, *sandbox.Result, error) {
	res, err := evaluators[e.backend].Eval(ctx, e.request)
	return e.backend, res, err
}

func (a *API) eval(ctx context.Context, in *uploaded) (*answer, error) {
	return a.answer(ctx, in.upload, a.decoder.eval)
}

func (a *API) resume(ctx context.Context, in *uploaded) (*answer, error) {
	return a.answer(ctx, in.upload, a.decoder.resume)
}

// answer decodes a body, does what it asks for and answers with the result.
func (a *API) answer(ctx context.Context, u *upload, decode func([]byte) (work, *problem)) (*answer, error) {
	w, p := a.decode(ctx, u, decode)
	if p != nil {
		return nil, p
	}
	backend, result, err := a.inTurn(ctx, w)
	if err != nil {
		return nil, a.failed(backend, err)
	}
	out, err := result.MarshalJSON()
	if err != nil {
		return nil, a.failed(backend, err)
	}
	u.hold.settle(int64(len(out)))
	outcome := string(result.Status)
	if result.Error != nil {
		outcome = string(result.Error.Kind)
	}
	a.opts.Logger.Info(w.verb(), "evalId", result.EvalID, "backend", backend, "outcome", outcome,
		"wall", result.Usage.Wall, "fuel", result.Usage.Fuel, "calls", result.Usage.HostCalls, "pending", len(result.Pending))
	return answerWith("application/json", out), nil
}

// decode reads a request, of which one copy is left afterwards: it may wait for
// long. As decoding needs several times the text, few do so at once.
func (a *API) decode(ctx context.Context, u *upload, decode func([]byte) (work, *problem)) (work, *problem) {
	if err := a.decoders.Acquire(ctx, 1); err != nil {
		return nil, a.failed("", err)
	}
	defer a.decoders.Release(1)
	text := u.text
	u.text = nil
	w, p := decode(text)
	if p != nil {
		return nil, p
	}
	u.hold.settle(w.keep(int64(cap(text))))
	return w, nil
}

// errBusy: no turn came in time.
var errBusy = errors.New("httpapi: no turn within the queue timeout")

// inTurn waits for the backend and for a turn, then works.
func (a *API) inTurn(ctx context.Context, w work) (backend string, res *sandbox.Result, err error) {
	select {
	case <-a.ready:
	case <-a.startup.Done():
		return "", nil, a.startupRefusal()
	case <-ctx.Done():
		return "", nil, ctx.Err()
	}
	if err := a.turn(ctx); err != nil {
		return "", nil, err
	}
	defer a.turns.Release(1)
	return w.run(ctx, a.evaluators)
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
	}
	if refused := refusedContinuation(err); refused != nil {
		return refused
	}
	a.opts.Logger.Error("eval failed", "backend", backend, "error", err)
	return newProblem(http.StatusInternalServerError, "the backend failed; the server's log says more")
}

// faultOf passes on what the sandbox refuses. Its words on limits hold the
// value; those were checked before, so this says no more than where to look.
func faultOf(bad *sandbox.RequestError) fault {
	if strings.HasPrefix(bad.Field, "limits.") {
		return fault{bad.Field, "is out of range; see /openapi.json"}
	}
	return fault{bad.Field, bad.Problem}
}
