package httpapi_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/httpapi"
	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/stub"
	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/tools"
)

func TestWhatIsWrongWithADeclaredToolIsAProblemThatNamesTheMemberAndNeverEchoesAValue(t *testing.T) {
	t.Parallel()
	api, log := ready(t, &stub.Backend{}, func(o *httpapi.Options) { o.MaxToolBytes = 1 << 20 })
	const secret = "hunter2"
	tool := func(name, schema string) string { return fmt.Sprintf(`{"name":%q,"inputSchema":%s}`, name, schema) }
	var many []string
	for i := range 65 {
		many = append(many, tool(fmt.Sprintf("t%d", i), "{}"))
	}
	for name, c := range map[string]struct {
		tools string
		field string
		says  string
	}{
		"no array":              {`{"` + secret + `":1}`, "tools", "array"},
		"null":                  {`null`, "tools", "array"},
		"65 tools":              {`[` + strings.Join(many, ",") + `]`, "tools", "at most 64"},
		"too many bytes":        {`[` + strings.Repeat(" ", 1<<20) + `]`, "tools", "at most 1048576 bytes"},
		"a string":              {`["` + secret + `"]`, "tools[0]", "object"},
		"no name":               {`[{"inputSchema":{},"description":"` + secret + `"}]`, "tools[0].name", "missing"},
		"no schema":             {`[{"name":"` + secret + `"}]`, "tools[0].inputSchema", "missing"},
		"name of another type":  {`[{"name":31337,"inputSchema":{}}]`, "tools[0].name", "string"},
		"name with a space":     {`[` + tool(secret+" x", "{}") + `]`, "tools[0].name", "identifiers"},
		"name of the language":  {`[` + tool(secret+".then", "{}") + `]`, "tools[0].name", "identifiers"},
		"fetch":                 {`[` + tool("fetch", "{}") + `]`, "tools[0].name", "not fetch or emit"},
		"longest name and one":  {`[` + tool(strings.Repeat("n", 123), "{}") + `]`, "tools[0].name", "at most 122 bytes"},
		"same name twice":       {`[` + tool(secret, "{}") + `,` + tool(secret, "{}") + `]`, "tools[1].name", "before it"},
		"beginning of another":  {`[` + tool(secret+".a", "{}") + `,` + tool(secret, "{}") + `]`, "tools[1].name", "beginning"},
		"description no text":   {`[{"name":"a","inputSchema":{},"description":31337}]`, "tools[0].description", "string"},
		"long description":      {`[{"name":"a","inputSchema":{},"description":"` + secret + strings.Repeat("d", tools.MaxDescriptionBytes) + `"}]`, "tools[0].description", "8192"},
		"unknown member":        {`[{"name":"a","inputSchema":{},"handler":"` + secret + `"}]`, "tools[0].handler", "description, inputSchema, name and outputSchema"},
		"schema that is a text": {`[` + tool("a", `"`+secret+`"`) + `]`, "tools[0].inputSchema", "JSON Schema"},
		"null schema":           {`[` + tool("a", `null`) + `]`, "tools[0].inputSchema", "JSON Schema"},
		"schema of no object":   {`[` + tool("a", `{"type":"string","const":"`+secret+`"}`) + `]`, "tools[0].inputSchema", "JSON Schema"},
		"false":                 {`[` + tool("a", `false`) + `]`, "tools[0].inputSchema", "JSON Schema"},
		"second schema":         {`[` + tool("a", `{}`) + `,` + tool("b", `{"type":"`+secret+`"}`) + `]`, "tools[1].inputSchema", "JSON Schema"},
		"output schema":         {`[{"name":"a","inputSchema":{},"outputSchema":{"type":"` + secret + `"}}]`, "tools[0].outputSchema", "JSON Schema"},
		"schema of elsewhere":   {`[` + tool("a", `{"$ref":"http://`+secret+`/x"}`) + `]`, "tools[0].inputSchema", "nothing but itself"},
		"bad pattern":           {`[` + tool("a", `{"properties":{"p":{"pattern":"(`+secret+`"}}}`) + `]`, "tools[0].inputSchema", "JSON Schema"},
		"large schema":          {`[` + tool("a", `{"description":"`+secret+strings.Repeat("d", tools.MaxSchemaBytes)+`"}`) + `]`, "tools[0].inputSchema", "65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			w := do(api, post(`{"script":"input","tools":`+c.tools+`}`))
			require.Equal(t, 422, w.Code, w.Body.String())
			p := problemOf(t, w)
			require.Len(t, p.Errors, 1)
			assert.Equal(t, c.field, p.Errors[0].Field)
			assert.Contains(t, p.Errors[0].Problem, c.says)
			for _, hidden := range []string{secret, "31337"} {
				assert.NotContains(t, w.Body.String(), hidden)
			}
		})
	}
	assert.NotContains(t, log.String(), secret)
	assert.Len(t, problemOf(t, do(api, post(`{"script":"input","tools":[`+strings.Repeat("1,", 20)+`1]}`))).Errors, 8)
}

func TestToolsUpToTheirBoundsAreTaken(t *testing.T) {
	t.Parallel()
	api, _ := ready(t, &stub.Backend{}, nil)
	var many []string
	for i := range 64 {
		many = append(many, fmt.Sprintf(`{"name":"t%d","inputSchema":{}}`, i))
	}
	longest := strings.Repeat("n", 122)
	for _, declared := range []string{`[]`, `[` + strings.Join(many, ",") + `]`, `[{"inputSchema":{},"name":"` + longest + `"}]`} {
		assert.Equal(t, 200, do(api, post(`{"script":"value 1","tools":`+declared+`}`)).Code, declared)
	}
	w := do(api, post(`{"script":"call `+longest+` {}","tools":[{"inputSchema":{},"name":"`+longest+`"}]}`))
	assert.Equal(t, "suspended", resultOf(t, w).Status)
}

func TestACallThatItsSchemaDoesNotAllowFailsInTheScriptAndIsNotPending(t *testing.T) {
	t.Parallel()
	api, _ := ready(t, &stub.Backend{}, nil)
	r := resultOf(t, do(api, post(`{"script":"call crm.lookup {\"id\":\"x\"}","tools":[`+lookup+`]}`)))
	assert.Equal(t, "exception", r.Error.Kind)
	assert.Equal(t, "crm.lookup", r.Error.Tool)
	r = resultOf(t, do(api, post(`{"script":"call crm.drop {\"id\":1}","tools":[`+lookup+`]}`)))
	assert.Equal(t, "denied", r.Error.Kind)
	assert.Equal(t, "NOT_GRANTED", r.Error.Code)
}

func TestAReplyThatItsOutputSchemaDoesNotAllowIsRefusedAlsoAfterAnotherSuspension(t *testing.T) {
	t.Parallel()
	api := keyed(t, firstKey, nil)
	r := resultOf(t, do(api, post(`{"script":"call ask {}","tools":[{"name":"ask","inputSchema":{},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}]}`)))
	r = resultOf(t, resume(api, r.Continuation, `"replies":[]`))
	p := problemOf(t, resume(api, r.Continuation, `"replies":[{"id":1,"value":{"n":"hunter2"}}]`))
	assert.Equal(t, 422, p.Status)
	assert.Equal(t, "replies[0].value", p.Errors[0].Field)
	assert.NotContains(t, p.Detail, "hunter2")
	assert.Equal(t, "ok", resultOf(t, resume(api, r.Continuation, `"replies":[{"id":1,"value":{"n":5}}]`)).Status)
}

func TestToolsAreRefusedWhereTheBackendHasNoHostCalls(t *testing.T) {
	t.Parallel()
	api, err := httpapi.New(options(io.Discard))
	require.NoError(t, err)
	sb, err := sandbox.New(deaf{&stub.Backend{}}, nil)
	require.NoError(t, err)
	api.Ready(map[string]httpapi.Evaluator{"stub": sb})
	p := problemOf(t, do(api, post(`{"script":"input","tools":[`+lookup+`]}`)))
	assert.Equal(t, 422, p.Status)
	assert.Equal(t, "tools", p.Errors[0].Field)
	p = problemOf(t, do(api, post(`{"script":"input","limits":{"hostCalls":5}}`)))
	assert.Equal(t, "limits.hostCalls", p.Errors[0].Field)
}

// deaf is a stub without host calls.
type deaf struct{ *stub.Backend }

func (deaf) Describe() spi.Descriptor {
	d := stub.Describe()
	d.HostCalls, d.Suspends = false, false
	return d
}
