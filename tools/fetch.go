package tools

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"github.com/loom-sandbox/sandboxd/egress"
	"github.com/loom-sandbox/sandboxd/taint"
)

// Fetch is the script's global fetch, of what the client's rules allow; it is
// named "fetch". A request that is refused is a DeniedError in the script, with
// [CodeEgressDenied]. A response carries the label of the host that gave it, and
// of those that redirected to it, also where the tool says that its results are
// trusted; [Tool.Origin] is the label of failures. The client's own timeout holds.
// Without a client it cannot be granted.
func Fetch(c *egress.Client) Tool {
	t := Tool{
		Name:           fetchName,
		Description:    "The web's fetch, of what the host allows.",
		Input:          json.RawMessage(fetchInput),
		Origin:         fetchName,
		Timeout:        MaxTimeout,
		MaxResultBytes: MaxResultBytes,
		kind:           kindFetch,
	}
	if c != nil {
		t.Handler = func(ctx context.Context, call *Call) (any, error) { return fetch(ctx, c, call) }
	}
	return t
}

// fetchInput is what the guest's fetch calls with.
const fetchInput = `{
	"type": "object",
	"properties": {
		"url": {"type": "string"},
		"method": {"type": "string"},
		"headers": {"type": "array", "items": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "string"}], "items": false, "minItems": 2}},
		"body": {"type": "string"},
		"bodyBase64": {"type": "string", "pattern": "^[A-Za-z0-9+/]*={0,2}$"},
		"redirect": {"enum": ["follow", "error", "manual"]}
	},
	"required": ["url"],
	"not": {"required": ["body", "bodyBase64"]},
	"additionalProperties": false
}`

// fetchRequest is a request as the guest writes it.
type fetchRequest struct {
	URL        string      `json:"url"`
	Method     string      `json:"method"`
	Headers    [][2]string `json:"headers"`
	Body       string      `json:"body"`
	BodyBase64 string      `json:"bodyBase64"`
	Redirect   string      `json:"redirect"`
}

// fetchResponse is a response as the guest reads it. Without a body it has
// neither of the two.
type fetchResponse struct {
	URL        string      `json:"url"`
	Status     int         `json:"status"`
	StatusText string      `json:"statusText"`
	Redirected bool        `json:"redirected"`
	Headers    [][2]string `json:"headers"`
	Body       string      `json:"body,omitempty"`
	BodyBase64 string      `json:"bodyBase64,omitempty"`
}

func fetch(ctx context.Context, c *egress.Client, call *Call) (any, error) {
	var asked fetchRequest
	if err := json.Unmarshal(call.Args, &asked); err != nil {
		return nil, err
	}
	request := &egress.Request{
		URL: asked.URL, Method: asked.Method, Headers: asked.Headers, Body: []byte(asked.Body), Redirect: asked.Redirect,
	}
	if asked.BodyBase64 != "" {
		body, err := base64.StdEncoding.Strict().DecodeString(asked.BodyBase64)
		if err != nil {
			return nil, Failf("bodyBase64 is not base64")
		}
		request.Body = body
	}
	got, err := c.Fetch(ctx, request)
	if err != nil {
		return nil, err
	}
	response := fetchResponse{
		URL: got.URL, Status: got.Status, StatusText: got.StatusText, Redirected: got.Redirected,
		Headers: append([][2]string{}, got.Headers...), // never null
	}
	if utf8.Valid(got.Body) && writtenBytes(got.Body) <= 2*len(got.Body) {
		response.Body = string(got.Body)
	} else {
		response.BodyBase64 = base64.StdEncoding.EncodeToString(got.Body)
	}
	return fromOrigin{value: response, origin: got.Origin}, nil
}

// writtenBytes is the length of text as a JSON string, as [json.Marshal] writes it.
// A body of control characters or brackets is six times as long as it came, and a
// server can send very much of it in few bytes: base64 bounds that.
func writtenBytes(text []byte) int {
	n := len(text)
	for i, c := range text {
		switch {
		case c == '"', c == '\\', c == '\n', c == '\r', c == '\t', c == '\b', c == '\f':
			n++
		case c < ' ', c == '<', c == '>', c == '&':
			n += 5
		case c == 0xe2 && i+2 < len(text) && text[i+1] == 0x80 && text[i+2]&^1 == 0xa8: // line separators
			n += 3
		}
	}
	return n
}

// MarshalJSON writes the label, for a handler that calls that of [Fetch] and puts
// what it returns into a result of its own.
func (f fromOrigin) MarshalJSON() ([]byte, error) {
	labelled, err := taint.WrapValue(f.origin, f.value)
	if err != nil {
		return nil, err
	}
	return labelled.MarshalJSON()
}
