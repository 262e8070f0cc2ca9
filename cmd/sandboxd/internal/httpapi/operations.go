package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Paths of the operations that read a body.
const (
	pathEval   = "/v1/eval"
	pathResume = "/v1/resume"
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
	result, status := ref[evalResult](reg), ref[probe](reg)
	bodies := map[string]*huma.Schema{pathEval: ref[evalRequest](reg), pathResume: ref[resumeRequest](reg)}
	ref[problem](reg) // before it is filled
	fill(o, reg)

	route(api, mux, huma.Operation{
		OperationID: "eval", Method: http.MethodPost, Path: pathEval, Summary: "Run a script",
		Description: fmt.Sprintf("Each eval starts in pristine state, and nothing of it is kept for the next one. Answers 200 with the result, also when the script failed or is suspended. A limit above the operator's ceiling is capped. A body may have %d bytes, and tools %d of them. "+
			"While the backend is starting, an eval waits for it. A client that disconnects ends its eval, unless it has sent more bytes after the request: then this is not noticed.", o.MaxEvalBytes(), o.MaxToolBytes),
		Responses:   responses(reg, "The result.", "application/json", result, bodyProblems(nil)),
		Middlewares: huma.Middlewares{a.admit(o.MaxEvalBytes())},
	}, a.eval)
	route(api, mux, huma.Operation{
		OperationID: "resume", Method: http.MethodPost, Path: pathResume, Summary: "Go on with a suspended script",
		Description: fmt.Sprintf("Goes on from a continuation with replies to calls of tools, and answers like an eval: usage is of all parts together. A body may have %d bytes, and a continuation %d before it is base64. "+
			"Nothing of a suspended script is on the server: any server with the same key, audience and guest image can go on.", o.MaxResumeBytes(), o.MaxContinuationBytes),
		Responses: responses(reg, "The result.", "application/json", result, bodyProblems(map[int]string{
			409: "The continuation is for another audience or guest image (code continuation_foreign).",
			410: "The continuation has expired (code continuation_expired).",
			413: "The body is too large, or the continuation (code continuation_too_large).",
			422: "A member is unknown or out of range, a reply is to no pending call, or the continuation cannot be opened (code continuation_unreadable).",
		})),
		Middlewares: huma.Middlewares{a.admit(o.MaxResumeBytes())},
	}, a.resume)
	// Described after they were registered, so that huma does not read them: admit
	// reads, as huma keeps copies, and decoder validates, as huma repeats values.
	for path, body := range bodies {
		api.OpenAPI().Paths[path].Post.RequestBody = &huma.RequestBody{
			Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: body}},
		}
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

// bodyProblems are those of every operation that reads a body and runs scripts,
// with more of them, or other words.
func bodyProblems(more map[int]string) map[int]string {
	all := map[int]string{
		400: "The body is not strict JSON: syntax, duplicate names, invalid UTF-8.",
		403: "A browser called from another origin.",
		408: "The body did not come in time.",
		413: "The body is too large.",
		415: "The body is not application/json.",
		422: "A member is unknown or out of range.",
		500: "The backend failed.",
		503: "No turn in time, too much is waiting already, the backend did not start, or the server is stopping. Retry-After says when to come back.",
	}
	maps.Copy(all, more)
	return all
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
