package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// answer is what every operation answers with 200: bytes as they are.
type answer struct {
	ContentType   string `header:"Content-Type" hidden:"true"`
	ContentLength int    `header:"Content-Length" hidden:"true"`
	Body          []byte
}

func answerWith(mediaType string, body []byte) *answer { return &answer{mediaType, len(body), body} }

// oneForm answers everybody alike: huma's negotiation panics at an Accept header
// such as ";,0".
type oneForm struct{ huma.API }

// Negotiate implements huma.API.
func (oneForm) Negotiate(string) (string, error) { return "application/json", nil }

// register puts every operation on mux. The OpenAPI document is written once,
// of what was registered; huma's own handler of it fills a cache unlocked.
func (a *API) register(mux humago.Mux) error {
	o := &a.opts
	reg := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	// huma describes its own model of errors, which nothing answers with.
	reg.RegisterTypeAlias(reflect.TypeFor[huma.ErrorModel](), reflect.TypeFor[problem]())
	api := oneForm{humago.New(mux, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{Title: "sandboxd", Version: o.Version,
				Description: "Runs scripts that nobody has to trust. What a script returns, logs or throws is labelled as untrusted."},
			Components: &huma.Components{Schemas: reg},
		},
		Formats: map[string]huma.Format{"json": {Marshal: writeJSON}}, // of problem+json; huma marshals nothing else
	})}
	request, result, status := ref[evalRequest](reg), ref[evalResult](reg), ref[probe](reg)
	fillRequest(o, reg)

	route(api, mux, huma.Operation{
		OperationID: "eval", Method: http.MethodPost, Path: "/v1/eval", Summary: "Run a script",
		Description: fmt.Sprintf("Answers 200 with the result, also when the script failed. A limit above the operator's ceiling is capped. A body may have %d bytes. "+
			"While the backend is starting, an eval waits for it. A client that disconnects ends its eval, unless it has sent more bytes after the request: then this is not noticed.", o.MaxBodyBytes()),
		Responses: responses(reg, "The result.", "application/json", result, map[int]string{
			400: "The body is not strict JSON: syntax, duplicate names, invalid UTF-8.",
			403: "A browser called from another origin.",
			408: "The body did not come in time.",
			413: "The body is too large.",
			415: "The body is not application/json.",
			422: "A member is unknown or out of range.",
			500: "The backend failed.",
			503: "No turn in time, too much is waiting already, the backend did not start, or the server is stopping. Retry-After says when to come back.",
		}),
		Middlewares: huma.Middlewares{a.admit},
	}, a.eval)
	// Described after it was registered, so that huma does not read it: admit
	// reads, as huma keeps copies, and decoder validates, as huma repeats values.
	api.OpenAPI().Paths["/v1/eval"].Post.RequestBody = &huma.RequestBody{
		Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: request}},
	}

	route(api, mux, huma.Operation{
		OperationID: "healthz", Method: http.MethodGet, Path: "/healthz", Summary: "Is the process alive",
		Responses: responses(reg, "Always.", "application/json", status, nil),
	}, a.healthz)
	route(api, mux, huma.Operation{
		OperationID: "readyz", Method: http.MethodGet, Path: "/readyz", Summary: "Can scripts be run",
		Responses: responses(reg, "The backend runs scripts.", "application/json", status,
			map[int]string{503: "The backend is starting or did not start, or the server is stopping."}),
	}, a.readyz)

	asJSON, asYAML := answerWith("application/openapi+json", nil), answerWith("application/openapi+yaml", nil)
	for form, document := range map[string]*answer{"json": asJSON, "yaml": asYAML} {
		route(api, mux, huma.Operation{
			OperationID: "openapi-" + form, Method: http.MethodGet, Path: "/openapi." + form, Summary: "This description",
			Responses: responses(reg, "OpenAPI 3.1.", document.ContentType, &huma.Schema{}, nil),
		}, func(context.Context, *struct{}) (*answer, error) { return document, nil })
	}
	var err error
	if asJSON.Body, err = json.Marshal(api.OpenAPI()); err != nil {
		return err
	}
	asYAML.Body, err = api.OpenAPI().YAML()
	asJSON.ContentLength, asYAML.ContentLength = len(asJSON.Body), len(asYAML.Body)
	return err
}

// route registers op, and answers every other method on its path with 405.
func route[I any](api huma.API, mux humago.Mux, op huma.Operation, h func(context.Context, *I) (*answer, error)) {
	huma.Register(api, op, h)
	allow := op.Method
	if allow == http.MethodGet {
		allow = "GET, HEAD"
	}
	mux.HandleFunc(op.Path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", allow)
		newProblem(http.StatusMethodNotAllowed, "the method is not allowed; allowed is "+allow).write(w)
	})
}

// responses describes 200, the given problems, and the one that all can have.
func responses(reg huma.Registry, doc, mediaType string, s *huma.Schema, problems map[int]string) map[string]*huma.Response {
	r := map[string]*huma.Response{}
	add := func(status int, doc, mediaType string, s *huma.Schema) {
		r[strconv.Itoa(status)] = &huma.Response{Description: doc, Content: map[string]*huma.MediaType{mediaType: {Schema: s}}}
	}
	add(http.StatusOK, doc, mediaType, s)
	faulty := ref[problem](reg)
	add(http.StatusMisdirectedRequest, "The request is for another host.", "application/problem+json", faulty)
	for status, doc := range problems {
		add(status, doc, "application/problem+json", faulty)
	}
	return r
}
