package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/stub"
	"github.com/loom-sandbox/sandboxd/spi"
)

type schema struct {
	Ref                  string             `json:"$ref"`
	Type                 any                `json:"type"`
	Properties           map[string]*schema `json:"properties"`
	Required             []string           `json:"required"`
	Items                *schema            `json:"items"`
	Enum                 []any              `json:"enum"`
	Maximum              *float64           `json:"maximum"`
	Pattern              string             `json:"pattern"`
	Description          string             `json:"description"`
	AdditionalProperties any                `json:"additionalProperties"`
}

type openAPI struct {
	OpenAPI    string
	Info       struct{ Version string }
	Components struct{ Schemas map[string]*schema }
	Paths      map[string]map[string]struct {
		RequestBody struct {
			Content map[string]struct{ Schema schema }
		}
		Responses map[string]response
	}
}

type response struct {
	Content map[string]struct{ Schema schema }
}

func (d *openAPI) resolve(s *schema) *schema {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return d.Components.Schemas[name]
	}
	return s
}

// covers reports members of v that the schema does not describe, and members
// that it requires and v lacks.
func (d *openAPI) covers(t *testing.T, path string, s *schema, v any) {
	t.Helper()
	s = d.resolve(s)
	require.NotNil(t, s, path)
	switch v := v.(type) {
	case map[string]any:
		if s.Properties == nil { // the script's own value
			return
		}
		for name, member := range v {
			if assert.Contains(t, s.Properties, name, path) {
				d.covers(t, path+"."+name, s.Properties[name], member)
			}
		}
		for _, name := range s.Required {
			assert.Contains(t, v, name, path)
		}
	case []any:
		for _, item := range v {
			d.covers(t, path+"[]", s.Items, item)
		}
	case string:
		if len(s.Enum) > 0 {
			assert.Contains(t, s.Enum, v, path)
		}
		assert.Contains(t, []any{"string", nil}, s.Type, path)
	}
}

func TestTheDescriptionIsOpenAPI31AndCoversWhatIsReallyAnswered(t *testing.T) {
	t.Parallel()
	api, _ := ready(t, &stub.Backend{}, nil)
	w := do(api, httptest.NewRequest(http.MethodGet, "http://localhost/openapi.json", nil))
	require.Equal(t, 200, w.Code)
	assert.Equal(t, "application/openapi+json", w.Header().Get("Content-Type"))
	var doc openAPI
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &doc))
	assert.True(t, strings.HasPrefix(doc.OpenAPI, "3.1."))
	assert.Equal(t, "1.2.3", doc.Info.Version)

	eval := doc.Paths["/v1/eval"]["post"]
	resumed := doc.Paths["/v1/resume"]["post"]
	pending := `{"script":"call crm.lookup {\"id\":1}","tools":[` + lookup + `]}`
	answers := func(path string, responses map[string]response, body string) {
		w := do(api, postTo(path, body))
		var v any
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &v))
		response, ok := responses[strconv.Itoa(w.Code)]
		require.True(t, ok, w.Code)
		content, ok := response.Content[w.Header().Get("Content-Type")]
		require.True(t, ok, body)
		doc.covers(t, "answer to "+body, &content.Schema, v)
	}
	for _, body := range []string{
		pending, `{"script":"call crm.drop {}","tools":[` + lookup + `]}`, `{"script":"value {\"x\":1}"}`, `{"script":"log warn hi"}`, `{"script":"throw E m"}`, `{"script":"end timeout"}`,
		`{"script":"end killed"}`, `{"script":5}`, `{`,
	} {
		answers("/v1/eval", eval.Responses, body)
	}
	continuation := resultOf(t, do(api, post(pending))).Continuation
	for _, rest := range []string{
		`"replies":[]`, `"replies":[{"id":1,"value":1}]`, `"replies":[{"id":1,"error":{"name":"DeniedError","message":"no"}}]`, `"replies":[{"id":2,"value":1}]`, `"replies":5`,
	} {
		answers("/v1/resume", resumed.Responses, `{"continuation":"`+continuation+`",`+rest+`}`)
	}
	answers("/v1/resume", resumed.Responses, `{"continuation":"AAAA","replies":[]}`)
	for _, status := range []string{"409", "410", "413", "422"} {
		assert.Contains(t, resumed.Responses, status)
	}
	assert.Len(t, doc.Components.Schemas["Problem"].Properties["code"].Enum, 4)

	// The request's schema names what the decoder knows, and nothing else.
	content := eval.RequestBody.Content["application/json"]
	request := doc.resolve(&content.Schema)
	assert.Equal(t, []string{"script"}, request.Required)
	assert.Equal(t, false, request.AdditionalProperties)
	assert.Equal(t, []any{"auto", "js"}, request.Properties["language"].Enum)
	assert.Equal(t, []any{"stub"}, request.Properties["backend"].Enum)
	names := problemOf(t, do(api, post(`{"script":"input","?":1}`))).Errors[0].Problem
	for name := range request.Properties {
		assert.Contains(t, names, name)
	}
	content = resumed.RequestBody.Content["application/json"]
	again := doc.resolve(&content.Schema)
	assert.Equal(t, []string{"continuation", "replies"}, again.Required)
	assert.Equal(t, false, again.AdditionalProperties)
	names = problemOf(t, resume(api, continuation, `"replies":[],"?":1`)).Errors[0].Problem
	for name := range again.Properties {
		assert.Contains(t, names, name)
	}
	reply := doc.resolve(again.Properties["replies"].Items)
	names = problemOf(t, resume(api, continuation, `"replies":[{"id":1,"value":1,"?":1}]`)).Errors[0].Problem
	for name := range reply.Properties {
		assert.Contains(t, names, name)
	}
	tool := doc.resolve(request.Properties["tools"].Items)
	assert.ElementsMatch(t, []string{"name", "inputSchema"}, tool.Required)
	names = problemOf(t, do(api, post(`{"script":"input","tools":[{"name":"a","inputSchema":{},"?":1}]}`))).Errors[0].Problem
	for name := range tool.Properties {
		assert.Contains(t, names, name)
	}

	limits := doc.resolve(request.Properties["limits"])
	names = problemOf(t, do(api, post(`{"script":"input","limits":{"?":1}}`))).Errors[0].Problem
	assert.Len(t, limits.Properties, 9)
	for name := range limits.Properties {
		assert.Contains(t, names, name)
	}
	assert.Equal(t, false, limits.AdditionalProperties)
	assert.Equal(t, `\S`, request.Properties["script"].Pattern)
	assert.Contains(t, request.Properties["seed"].Description, "128 bytes of UTF-8")
	assert.Contains(t, w.Body.String(), `"maximum":9223372036854775807`)
	assert.Contains(t, w.Body.String(), "unless it has sent more bytes")
	assert.InDelta(t, 3600000, *limits.Properties["timeoutMs"].Maximum, 0)

	// Every kind is listed, in its documented order.
	var kinds []any
	for _, k := range spi.Kinds() {
		kinds = append(kinds, string(k))
	}
	assert.Equal(t, kinds, doc.Components.Schemas["EvalError"].Properties["kind"].Enum)
	wrapper := doc.Components.Schemas["EvalResult"].Properties["value"]
	assert.True(t, slices.Contains(wrapper.Required, "__loomTainted") && slices.Contains(wrapper.Required, "value"))
}

func TestTheDescriptionIsThereAsYAML(t *testing.T) {
	t.Parallel()
	api, _ := ready(t, &stub.Backend{}, nil)
	w := do(api, httptest.NewRequest(http.MethodGet, "http://localhost/openapi.yaml", nil))
	assert.Equal(t, 200, w.Code)
	assert.Contains(t, w.Body.String(), "openapi: 3.1.0\n")
	assert.Contains(t, w.Body.String(), "maximum: 9223372036854775807\n")
}
