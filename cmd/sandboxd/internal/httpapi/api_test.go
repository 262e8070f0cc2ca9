package httpapi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/httpapi"
	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/stub"
	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logBuffer may be read while the server writes.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func options(log io.Writer) httpapi.Options {
	return httpapi.Options{
		Version: "1.2.3", Backends: []spi.Descriptor{stub.Describe()},
		MaxTimeout: 30 * time.Second, MaxSourceBytes: 1 << 10, MaxInputBytes: 4 << 10, MaxToolBytes: 8 << 10,
		MaxContinuationBytes: 16 << 10, MaxReplyBytes: 4 << 10,
		MaxConcurrent: 2, MaxQueue: 128, MaxQueueBytes: 64 << 20, QueueTimeout: 30 * time.Second,
		Hosts: httpapi.NewHosts("box.example"), Logger: slog.New(slog.NewTextHandler(log, nil)),
	}
}

// ready is an API that evaluates on b.
func ready(t *testing.T, b *stub.Backend, change func(*httpapi.Options)) (*httpapi.API, *logBuffer) {
	t.Helper()
	log := &logBuffer{}
	opts := options(log)
	if change != nil {
		change(&opts)
	}
	api, err := httpapi.New(opts)
	require.NoError(t, err)
	// Twice as many turns: it is the API that must hold the line.
	sb, err := sandbox.New(b, &sandbox.Options{MaxConcurrent: 2 * opts.MaxConcurrent})
	require.NoError(t, err)
	api.Ready(map[string]httpapi.Evaluator{"stub": sb})
	return api, log
}

func post(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/eval", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return r
}

func do(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

type problem struct {
	Title  string
	Status int
	Detail string
	Code   string
	Errors []struct{ Field, Problem string }
}

func problemOf(t *testing.T, w *httptest.ResponseRecorder) problem {
	t.Helper()
	assert.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	var p problem
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p), w.Body.String())
	assert.Equal(t, w.Code, p.Status)
	assert.Equal(t, http.StatusText(w.Code), p.Title)
	assert.NotEmpty(t, p.Detail)
	return p
}

func TestAScriptIsAnswered200WithALabelledResultAlsoWhenItFails(t *testing.T) {
	t.Parallel()
	api, log := ready(t, &stub.Backend{}, nil)
	for script, want := range map[string]string{
		`value {\"a\":1}`:   `"value":{"__loomTainted":{"origin":"sandbox"},"value":{"a":1}}`,
		"throw E secretive": `"message":{"__loomTainted":{"origin":"sandbox"},"value":"secretive"}`,
		"end timeout":       `"kind":"timeout","limit":{"name":"timeoutMs","value":2000}`,
	} {
		w := do(api, post(`{"script":"`+script+`"}`))
		assert.Equal(t, 200, w.Code)
		assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
		assert.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
		assert.Contains(t, w.Body.String(), want)
	}
	assert.Contains(t, log.String(), "outcome=exception")
	assert.NotContains(t, log.String(), "secretive")
}

func TestEveryMemberOfARequestArrives(t *testing.T) {
	t.Parallel()
	api, _ := ready(t, &stub.Backend{}, nil)
	w := do(api, post(`{"script":"limits","input":[1],"language":"js","backend":"stub","now":"2026-01-02T03:04:05.678+02:00","seed":"s",
		"tools":[{"name":"crm.lookup","description":"d","inputSchema":{}}],
		"limits":{"timeoutMs":1500,"memoryBytes":2097152,"fuel":7,"outputBytes":1000,"logBytes":10,"hostCalls":3,"callBytes":30,"replyBytes":40,"totalMs":1600}}`))
	require.Equal(t, 200, w.Code, w.Body.String())
	var r struct {
		Value struct{ Value json.RawMessage }
		Run   map[string]string
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &r))
	assert.JSONEq(t, `{"Timeout":1500000000,"MemoryBytes":2097152,"Fuel":7,"OutputBytes":1000,"LogBytes":10,"HostCalls":3,"CallBytes":30}`, string(r.Value.Value))
	assert.Equal(t, "2026-01-02T01:04:05.678Z", r.Run["now"])
	assert.Equal(t, "s", r.Run["seed"])

	w = do(api, post(`{"script":"input","input":{"big":12345678901234567890.0}}`))
	assert.Contains(t, w.Body.String(), "12345678901234567890.0")
}

func TestWhatIsWrongWithARequestIsAProblemThatNamesTheMemberAndNeverEchoesAValue(t *testing.T) {
	t.Parallel()
	api, log := ready(t, &stub.Backend{}, nil)
	const secret = "hunter2"
	for name, c := range map[string]struct {
		body   string
		status int
		field  string
		says   string
	}{
		"empty body":             {"", 400, "", "not strict JSON"},
		"no JSON":                {secret, 400, "", "not strict JSON"},
		"cut off":                {`{"script":"` + secret, 400, "", "byte 18"},
		"trailing data":          {`{"script":"input"} "` + secret + `"`, 400, "", "white space"},
		"duplicate names":        {`{"script":"` + secret + `","script":"x"}`, 400, "", "unique"},
		"nested duplicate names": {`{"script":"input","input":{"` + secret + `":1,"` + secret + `":2}}`, 400, "", "unique"},
		"invalid UTF-8":          {"{\"script\":\"" + secret + "\xff\"}", 400, "", "UTF-8"},
		"too deep":               {`{"script":"input","input":` + strings.Repeat("[", 2000) + `"` + secret, 400, "", "strict JSON"},
		"array":                  {`["` + secret + `"]`, 422, "body", "object"},
		"null":                   {`null`, 422, "body", "object"},
		"no script":              {`{"input":"` + secret + `"}`, 422, "script", "missing"},
		"script of another type": {`{"script":["` + secret + `"]}`, 422, "script", "string"},
		"null script":            {`{"script":null,"seed":"` + secret + `"}`, 422, "script", "string"},
		"empty script":           {`{"script":" \n","seed":"` + secret + `"}`, 422, "script", "empty"},
		"empty fence":            {"{\"script\":\"```" + secret + "\\n```\"}", 422, "script", "empty"},
		"unknown language":       {`{"script":"input","language":"` + secret + `"}`, 422, "language", "auto or js"},
		"reserved language":      {`{"script":"input","language":"ts"}`, 422, "language", "auto or js"},
		"language in capitals":   {`{"script":"input","language":"JS"}`, 422, "language", "auto or js"},
		"unknown backend":        {`{"script":"input","backend":"` + secret + `"}`, 422, "backend", "stub"},
		"backend of other type":  {`{"script":"input","backend":5}`, 422, "backend", "stub"},
		"no time":                {`{"script":"input","now":"` + secret + `"}`, 422, "now", "RFC 3339"},
		"time as a number":       {`{"script":"input","now":5}`, 422, "now", "RFC 3339"},
		"comma in a time":        {`{"script":"input","now":"2026-01-02T03:04:05,5Z"}`, 422, "now", "RFC 3339"},
		"offset of a day":        {`{"script":"input","now":"2026-01-02T03:04:05-24:00"}`, 422, "now", "RFC 3339"},
		"offset of 60 minutes":   {`{"script":"input","now":"2026-01-02T03:04:05+00:60"}`, 422, "now", "RFC 3339"},
		"fraction in powers":     {`{"script":"input","limits":{"timeoutMs":313375e-1}}`, 422, "limits.timeoutMs", "whole number"},
		"zero time":              {`{"script":"input","now":"0001-01-01T00:00:00Z"}`, 422, "now", "1970"},
		"time out of range":      {`{"script":"input","now":"1950-01-01T00:00:00Z"}`, 422, "now", "1970"},
		"long seed":              {`{"script":"input","seed":"` + secret + strings.Repeat("s", 128) + `"}`, 422, "seed", "128"},
		"seed as a number":       {`{"script":"input","seed":31337}`, 422, "seed", "string"},
		"limits no object":       {`{"script":"input","limits":"` + secret + `"}`, 422, "limits", "object"},
		"limits null":            {`{"script":"input","limits":null}`, 422, "limits", "object"},
		"limit as text":          {`{"script":"input","limits":{"timeoutMs":"` + secret + `"}}`, 422, "limits.timeoutMs", "from 1 to 3600000"},
		"negative limit":         {`{"script":"input","limits":{"timeoutMs":-31337}}`, 422, "limits.timeoutMs", "from 1 to 3600000"},
		"zero limit":             {`{"script":"input","limits":{"outputBytes":0}}`, 422, "limits.outputBytes", "from 1 to"},
		"fraction":               {`{"script":"input","limits":{"timeoutMs":31337.5}}`, 422, "limits.timeoutMs", "whole number"},
		"absurd limit":           {`{"script":"input","limits":{"memoryBytes":3133700000000}}`, 422, "limits.memoryBytes", "from 1048576 to 1073741824"},
		"limit that overflows":   {`{"script":"input","limits":{"fuel":31337000000000000000000}}`, 422, "limits.fuel", "whole number"},
		"null limit":             {`{"script":"input","limits":{"logBytes":null}}`, 422, "limits.logBytes", "whole number"},
		"unknown limit":          {`{"script":"input","limits":{"timeout":"` + secret + `"}}`, 422, "limits.timeout", "timeoutMs"},
		"unknown member":         {`{"script":"input","code":"` + secret + `"}`, 422, "code", "known are"},
		"member in capitals":     {`{"script":"input","Input":"` + secret + `"}`, 422, "Input", "known are"},
		"hostile member":         {`{"script":"input","\u001b[31m\n":"` + secret + `"}`, 422, `\x1b[31m\n`, "known are"},
		"long member":            {`{"script":"input","` + strings.Repeat("é", 500) + `":1}`, 422, strings.Repeat(`\u00e9`, 10) + `\...`, "known are"},
	} {
		t.Run(name, func(t *testing.T) {
			w := do(api, post(c.body))
			require.Equal(t, c.status, w.Code, w.Body.String())
			p := problemOf(t, w)
			assert.Contains(t, p.Detail, c.says)
			if c.field != "" {
				require.Len(t, p.Errors, 1)
				assert.Equal(t, c.field, p.Errors[0].Field)
				assert.LessOrEqual(t, len(p.Errors[0].Field), len("limits.")+64)
				assert.Contains(t, p.Errors[0].Problem, c.says)
			}
			for _, hidden := range []string{secret, "31337"} {
				assert.NotContains(t, w.Body.String(), hidden)
			}
		})
	}
	assert.NotContains(t, log.String(), secret)
}

func TestAllFaultsAreListedUpToABound(t *testing.T) {
	t.Parallel()
	api, _ := ready(t, &stub.Backend{}, nil)
	p := problemOf(t, do(api, post(`{"seed":1,"now":2,"limits":{"fuel":-1}}`)))
	var fields []string
	for _, e := range p.Errors {
		fields = append(fields, e.Field)
	}
	assert.Equal(t, []string{"script", "limits.fuel", "now", "seed"}, fields)
	assert.Len(t, problemOf(t, do(api, post(`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1}`))).Errors, 8)
}

func TestAScriptAtItsCeilingFitsHoweverItIsEscapedAndABiggerBodyIs413(t *testing.T) {
	t.Parallel()
	api, _ := ready(t, &stub.Backend{}, nil)
	escaped := strings.Repeat(`\u0020`, 1<<10-5) + "input"
	big := `"` + strings.Repeat("x", 4<<10-2) + `"`
	assert.Equal(t, 200, do(api, post(`{"script":"`+escaped+`","input":`+big+`}`)).Code)

	opts := options(io.Discard)
	most := int(opts.MaxEvalBytes())
	assert.Equal(t, 6<<10+4<<10+8<<10+64<<10, most)
	exact := `{"script":"input"}`
	assert.Equal(t, 200, do(api, post(exact+strings.Repeat(" ", most-len(exact)))).Code)
	w := do(api, post(exact+strings.Repeat(" ", most-len(exact)+1)))
	assert.Equal(t, 413, w.Code)
	assert.Contains(t, problemOf(t, w).Detail, "83968 bytes")
}

func TestOnlyJSONIsRead(t *testing.T) {
	t.Parallel()
	api, _ := ready(t, &stub.Backend{}, nil)
	for contentType, status := range map[string]int{
		"application/json": 200, "application/json; charset=UTF-8": 200, "Application/JSON": 200,
		"": 415, "text/plain": 415, "application/json; charset=latin1": 415, "application/x-www-form-urlencoded": 415, "application/json;;": 415, "application/jsonx": 415,
	} {
		r := post(`{"script":"input"}`)
		r.Header.Set("Content-Type", contentType)
		w := do(api, r)
		assert.Equal(t, status, w.Code, contentType)
		if status != 200 {
			problemOf(t, w)
		}
	}
	for _, c := range []struct {
		header string
		values []string
		status int
	}{
		{"Content-Encoding", []string{"gzip"}, 415},
		{"Content-Encoding", []string{"identity", "gzip"}, 415},
		{"Content-Encoding", []string{"identity, gzip"}, 415},
		{"Content-Encoding", []string{"identity", "Identity"}, 200},
		{"Content-Type", []string{"application/json", "text/plain"}, 415},
		{"Content-Type", []string{"application/json", "application/json"}, 415},
	} {
		r := post(`{"script":"input"}`)
		r.Header[c.header] = c.values
		assert.Equal(t, c.status, do(api, r).Code, c.values)
	}
}

func TestOtherPathsAndMethodsAreProblems(t *testing.T) {
	t.Parallel()
	api, _ := ready(t, &stub.Backend{}, nil)
	for _, path := range []string{"/", "/v1", "/v1/eval/x", "/metrics"} {
		w := do(api, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
		assert.Equal(t, 404, w.Code, path)
		problemOf(t, w)
	}
	w := do(api, httptest.NewRequest(http.MethodGet, "http://localhost/v1/eval", nil))
	assert.Equal(t, 405, w.Code)
	assert.Equal(t, "POST", w.Header().Get("Allow"))
	problemOf(t, w)
	w = do(api, httptest.NewRequest(http.MethodPost, "http://localhost/healthz", nil))
	assert.Equal(t, 405, w.Code)
	assert.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
}

func TestABrowserOfAnotherOriginIsRefused(t *testing.T) {
	t.Parallel()
	api, _ := ready(t, &stub.Backend{}, nil)
	for name, headers := range map[string]map[string]string{
		"fetch metadata": {"Sec-Fetch-Site": "cross-site"},
		"same site":      {"Sec-Fetch-Site": "same-site"},
		"origin":         {"Origin": "https://evil.example"},
	} {
		r := post(`{"script":"input"}`)
		for k, v := range headers {
			r.Header.Set(k, v)
		}
		w := do(api, r)
		assert.Equal(t, 403, w.Code, name)
		problemOf(t, w)
	}
	r := post(`{"script":"input"}`)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	assert.Equal(t, 200, do(api, r).Code)
}

func TestOnlyAllowedHostsAreAnswered(t *testing.T) {
	t.Parallel()
	api, _ := ready(t, &stub.Backend{}, nil)
	anyHost, _ := ready(t, &stub.Backend{}, func(o *httpapi.Options) { o.Hosts = nil })
	for host, status := range map[string]int{
		"localhost": 200, "localhost:8080": 200, "LOCALHOST.": 200, "127.0.0.1:1": 200, "127.9.9.9": 200, "[::1]": 200, "[::1]:80": 200, "box.example:80": 200,
		"": 421, "evil.example": 421, "localhost.evil.example": 421, "10.0.0.1": 421, "0.0.0.0": 421, "2130706433": 421, "[::ffff:10.0.0.1]": 421, "a:b:c": 421,
	} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/healthz", nil)
		r.Host = host
		w := do(api, r)
		assert.Equal(t, status, w.Code, host)
		if status != 200 {
			problemOf(t, w)
		}
		assert.Equal(t, 200, do(anyHost, r).Code, host)
	}
}

func TestAFaultOfTheBackendIsToldToTheLogOnly(t *testing.T) {
	t.Parallel()
	api, log := ready(t, &stub.Backend{}, nil)
	w := do(api, post(`{"script":"fault /secret/path is broken"}`))
	assert.Equal(t, 500, w.Code)
	problemOf(t, w)
	assert.NotContains(t, w.Body.String(), "secret")
	assert.Contains(t, log.String(), "/secret/path is broken")
}
