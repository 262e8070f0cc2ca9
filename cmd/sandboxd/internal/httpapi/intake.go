package httpapi

import (
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// uploaded is what huma hands on of a body: nothing of its own, as it would keep a
// copy until the answer is written.
type uploaded struct{ upload *upload }

// Resolve implements huma.Resolver.
func (in *uploaded) Resolve(ctx huma.Context) []error {
	in.upload = ctx.BodyReader().(*upload)
	return nil
}

// upload is a body that has been read, in the place of the request's own.
type upload struct {
	io.ReadCloser
	text []byte
	hold *hold
}

// admit reads a body of at most so many bytes and finds it a place, before huma
// begins: huma would read regardless, and refuse in its own words.
func (a *API) admit(most int64) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(ctx)
		h := &hold{budget: &a.bytes}
		defer h.settle(0)
		text, p := a.receive(w, r, most, h)
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
}

func (a *API) receive(w http.ResponseWriter, r *http.Request, most int64, h *hold) ([]byte, *problem) {
	if _, p := a.state(); p != nil {
		return nil, p
	}
	if detail := unsupported(r.Header); detail != "" {
		return nil, newProblem(http.StatusUnsupportedMediaType, detail)
	}
	return a.read(w, r, most, h)
}
