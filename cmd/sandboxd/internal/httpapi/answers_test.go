package httpapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/httpapi"
	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/stub"
	"github.com/loom-sandbox/sandboxd/sandbox"
)

// broken is a body that can be read up to a point.
type broken struct{ io.Reader }

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil {
		err = errors.New("hunter2 hung up")
	}
	return n, err
}

func TestABodyThatIsEmptyOrBreaksOffIsAProblemThatRepeatsNoError(t *testing.T) {
	t.Parallel()
	api, _ := ready(t, &stub.Backend{}, nil)
	for name, c := range map[string]struct {
		body io.Reader
		says string
	}{
		"none":                 {nil, "not strict JSON"},
		"of no declared size":  {io.MultiReader(), "not strict JSON"},
		"broken at once":       {broken{strings.NewReader("")}, "to its end"},
		"broken in the middle": {broken{strings.NewReader(`{"script":"input"`)}, "to its end"},
		"broken at the end":    {broken{strings.NewReader(`{"script":"input"}`)}, "to its end"},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/eval", c.body)
		r.Header.Set("Content-Type", "application/json")
		w := do(api, r)
		assert.Equal(t, 400, w.Code, name)
		assert.Contains(t, problemOf(t, w).Detail, c.says, name)
		assert.NotContains(t, w.Body.String(), "hunter2", name)
	}
}

func TestAnswersHaveOneFormAndTheirLengthWhateverAClientAccepts(t *testing.T) {
	t.Parallel()
	api, _ := ready(t, &stub.Backend{}, nil)
	unready, err := httpapi.New(options(io.Discard))
	require.NoError(t, err)
	for _, accept := range []string{"", "*/*", "text/html", "application/cbor", "json", "application/json;q=0", "hunter2, a/b;q=x", ";,0", ";"} {
		r := post(`{"script":"input","input":"` + strings.Repeat("x", 3000) + `"}`)
		r.Header.Set("Accept", accept)
		w := do(api, r)
		assert.Equal(t, 200, w.Code, accept)
		assert.Equal(t, "application/json", w.Header().Get("Content-Type"), accept)
		assert.Equal(t, strconv.Itoa(w.Body.Len()), w.Header().Get("Content-Length"), accept)

		r = post(`{"script":"input","<b>":1}`)
		r.Header.Set("Accept", accept)
		w = do(api, r)
		assert.Equal(t, 422, w.Code, accept)
		assert.Equal(t, "<b>", problemOf(t, w).Errors[0].Field)
		assert.NotContains(t, w.Body.String(), "<b>", "markup in an answer")
		assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))

		r = httptest.NewRequest(http.MethodGet, "http://localhost/readyz", nil)
		r.Header.Set("Accept", accept)
		w = do(unready, r)
		assert.Equal(t, 503, w.Code, accept)
		problemOf(t, w)
		assert.Equal(t, []string{"1"}, w.Header().Values("Retry-After"))
	}
}

// panics is an evaluator at fault.
type panics struct{}

func (panics) Eval(context.Context, sandbox.Request) (*sandbox.Result, error) { panic("at fault") }

func (panics) Resume(context.Context, sandbox.ResumeRequest) (*sandbox.Result, error) {
	panic("at fault")
}

func TestAPanicGivesPlaceAndTurnBack(t *testing.T) {
	t.Parallel()
	opts := options(io.Discard)
	opts.MaxConcurrent, opts.MaxQueue = 1, 0
	api, err := httpapi.New(opts)
	require.NoError(t, err)
	api.Ready(map[string]httpapi.Evaluator{"stub": panics{}})
	for range 2 { // net/http answers by closing the connection
		assert.PanicsWithValue(t, "at fault", func() { do(api, post(`{"script":"input"}`)) })
	}
}
