package httpapi_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/httpapi"
	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/stub"
	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
)

const (
	firstKey  = "first AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	secondKey = "second ICECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
)

// lookup is a tool, as a request declares it.
const lookup = `{"name":"crm.lookup","description":"Finds a customer.","inputSchema":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"],"additionalProperties":false}}`

// result is what the tests look at.
type result struct {
	Status string
	Value  *struct {
		Tainted struct{ Origin string } `json:"__loomTainted"`
		Value   json.RawMessage
	}
	Error   *struct{ Kind, Tool, Code string }
	Pending []struct {
		ID   int64
		Tool string
		Args struct {
			Tainted struct{ Origin string } `json:"__loomTainted"`
			Value   json.RawMessage
		}
	}
	Continuation string
	Run          struct{ EvalID, Backend string }
	Usage        struct{ HostCalls, ReplyBytes int64 }
}

func resultOf(t *testing.T, w *httptest.ResponseRecorder) result {
	t.Helper()
	require.Equal(t, 200, w.Code, w.Body.String())
	var r result
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &r))
	return r
}

func postTo(path, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return r
}

func resume(api http.Handler, continuation, rest string) *httptest.ResponseRecorder {
	return do(api, postTo("/v1/resume", fmt.Sprintf(`{"continuation":%q,%s}`, continuation, rest)))
}

// keyed is a server of its own with these keys; change may change the rest.
func keyed(t *testing.T, keys string, change func(*sandbox.Continuations)) *httpapi.API {
	t.Helper()
	parsed, err := sandbox.ParseKeys(keys)
	require.NoError(t, err)
	sealing := &sandbox.Continuations{Keys: parsed, Audience: "tests", MaxBytes: 16 << 10}
	if change != nil {
		change(sealing)
	}
	api, err := httpapi.New(options(io.Discard))
	require.NoError(t, err)
	sb, err := sandbox.New(&stub.Backend{}, &sandbox.Options{Continuations: sealing})
	require.NoError(t, err)
	api.Ready(map[string]httpapi.Evaluator{"stub": sb})
	return api
}

// suspended runs a script that calls crm.lookup with each of ids.
func suspended(t *testing.T, api http.Handler, ids ...int) result {
	t.Helper()
	calls := make([]string, len(ids))
	for i, id := range ids {
		calls[i] = fmt.Sprintf(`crm.lookup {\"id\":%d}`, id)
	}
	r := resultOf(t, do(api, post(`{"script":"call `+strings.Join(calls, " | ")+`","tools":[`+lookup+`]}`)))
	require.Equal(t, "suspended", r.Status)
	require.Len(t, r.Pending, len(ids))
	return r
}

func TestACallOfAClientsToolSuspendsTheScriptAndAReplyGoesOnWithIt(t *testing.T) {
	t.Parallel()
	api, log := ready(t, &stub.Backend{}, nil)
	r := suspended(t, api, 7)
	assert.Equal(t, int64(1), r.Pending[0].ID)
	assert.Equal(t, "crm.lookup", r.Pending[0].Tool)
	assert.Equal(t, "sandbox", r.Pending[0].Args.Tainted.Origin)
	assert.JSONEq(t, `{"id":7}`, string(r.Pending[0].Args.Value))
	assert.Nil(t, r.Value)

	done := resultOf(t, resume(api, r.Continuation, `"replies":[{"id":1,"value":{"name":"hunter2"}}]`))
	assert.Equal(t, "ok", done.Status)
	assert.JSONEq(t, `{"name":"hunter2"}`, string(done.Value.Value))
	assert.Equal(t, "sandbox, tool:crm.lookup", done.Value.Tainted.Origin)
	assert.Equal(t, r.Run, done.Run, "one eval")
	assert.Equal(t, int64(1), done.Usage.HostCalls)
	assert.Empty(t, done.Continuation)

	assert.Contains(t, log.String(), "msg=eval evalId="+r.Run.EvalID+" backend=stub outcome=suspended")
	assert.Contains(t, log.String(), "pending=1")
	assert.Contains(t, log.String(), "msg=resume evalId="+r.Run.EvalID+" backend=stub outcome=ok")
	assert.NotContains(t, log.String(), "hunter2")
}

func TestAContinuationGivesTheSameTwiceAndNothingOfItIsOnTheServer(t *testing.T) {
	t.Parallel()
	one, other := keyed(t, firstKey, nil), keyed(t, secondKey+"\n"+firstKey, nil)
	r := suspended(t, one, 7)
	for _, api := range []*httpapi.API{one, other, one} {
		done := resultOf(t, resume(api, r.Continuation, `"replies":[{"id":1,"value":5}]`))
		assert.Equal(t, "5", string(done.Value.Value))
		assert.Equal(t, r.Run.EvalID, done.Run.EvalID)
	}
}

func TestCallsMadeAtOnceCanBeRepliedToOneByOne(t *testing.T) {
	t.Parallel()
	api := keyed(t, firstKey, nil)
	r := suspended(t, api, 7, 8)
	half := resultOf(t, resume(api, r.Continuation, `"replies":[{"id":2,"value":"b"}]`))
	assert.Equal(t, "suspended", half.Status)
	require.Len(t, half.Pending, 1)
	assert.Equal(t, int64(1), half.Pending[0].ID)
	assert.Equal(t, "sandbox, tool:crm.lookup", half.Pending[0].Args.Tainted.Origin, "the script knows a result by now")
	done := resultOf(t, resume(api, half.Continuation, `"replies":[{"id":1,"value":"a"}]`))
	assert.JSONEq(t, `["a","b"]`, string(done.Value.Value))
	assert.Equal(t, int64(6), done.Usage.ReplyBytes, "of both parts")

	again := resultOf(t, resume(api, r.Continuation, `"replies":[]`))
	assert.Equal(t, "suspended", again.Status)
	assert.Len(t, again.Pending, 2)
}

func TestAReplyCanSayThatACallFailed(t *testing.T) {
	t.Parallel()
	api := keyed(t, firstKey, nil)
	r := suspended(t, api, 7)
	for reply, want := range map[string]struct{ kind, code string }{
		`{"name":"DeniedError","message":"not today"}`: {"denied", "POLICY"},
		`{"name":"NotFound","message":"no such"}`:      {"exception", "FAILED"},
		`{"message":""}`: {"exception", "FAILED"},
	} {
		done := resultOf(t, resume(api, r.Continuation, `"replies":[{"id":1,"error":`+reply+`}]`))
		assert.Equal(t, "error", done.Status)
		require.NotNil(t, done.Error, reply)
		assert.Equal(t, want.kind, done.Error.Kind, reply)
		assert.Equal(t, want.code, done.Error.Code, reply)
		assert.Equal(t, "crm.lookup", done.Error.Tool)
	}
}

func TestLabelsInRepliesGoOnToTheLabelOfTheResult(t *testing.T) {
	t.Parallel()
	api := keyed(t, firstKey, nil)
	r := suspended(t, api, 7)
	done := resultOf(t, resume(api, r.Continuation, `"replies":[{"id":1,"value":[{"__loomTainted":{"origin":"web:example.com"},"value":"hi"}]}]`))
	assert.JSONEq(t, `["hi"]`, string(done.Value.Value))
	assert.Equal(t, "sandbox, tool:crm.lookup, web:example.com", done.Value.Tainted.Origin)
}

func TestAContinuationThatIsRefusedHasACodeOfItsOwn(t *testing.T) {
	t.Parallel()
	api := keyed(t, firstKey, nil)
	good := suspended(t, api, 7).Continuation
	raw, err := base64.StdEncoding.DecodeString(good)
	require.NoError(t, err)
	changed := slices.Clone(raw)
	changed[len(changed)-1] ^= 1
	expiring := keyed(t, firstKey, func(c *sandbox.Continuations) { c.Expiry = time.Nanosecond })
	fleeting := suspended(t, expiring, 7).Continuation
	elsewhere := keyed(t, firstKey, func(c *sandbox.Continuations) { c.Audience = "others" })

	for name, c := range map[string]struct {
		api          *httpapi.API
		continuation string
		status       int
		code         string
	}{
		"changed":             {api, base64.StdEncoding.EncodeToString(changed), 422, "continuation_unreadable"},
		"cut off":             {api, base64.StdEncoding.EncodeToString(raw[:40]), 422, "continuation_unreadable"},
		"empty":               {api, "", 422, "continuation_unreadable"},
		"no base64":           {api, "hunter2!", 422, "continuation_unreadable"},
		"base64 for URLs":     {api, "-_-_", 422, "continuation_unreadable"},
		"without its padding": {api, strings.TrimRight(base64.StdEncoding.EncodeToString(raw[:40]), "="), 422, "continuation_unreadable"},
		"another key":         {keyed(t, secondKey, nil), good, 422, "continuation_unreadable"},
		"another audience":    {elsewhere, good, 409, "continuation_foreign"},
		"expired":             {api, fleeting, 410, "continuation_expired"},
		"too large":           {api, base64.StdEncoding.EncodeToString(make([]byte, 16<<10+1)), 413, "continuation_too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := resume(c.api, c.continuation, `"replies":[{"id":1,"value":1}]`)
			require.Equal(t, c.status, w.Code, w.Body.String())
			p := problemOf(t, w)
			assert.Equal(t, c.code, p.Code)
			assert.NotContains(t, w.Body.String(), "hunter2")
		})
	}
	lines := strings.Join([]string{good[:20], good[20:]}, `\n`)
	assert.Equal(t, "continuation_unreadable", problemOf(t, do(api, postTo("/v1/resume", `{"continuation":"`+lines+`","replies":[]}`))).Code)
	escaped := strings.ReplaceAll(good, "/", `\/`) // as some writers of JSON do
	assert.Equal(t, 200, do(api, postTo("/v1/resume", `{"continuation":"`+escaped+`","replies":[]}`)).Code)
}

func TestWhatIsWrongWithAResumptionIsAProblemThatNamesTheMemberAndNeverEchoesAValue(t *testing.T) {
	t.Parallel()
	api := keyed(t, firstKey, nil)
	good := suspended(t, api, 7).Continuation
	const secret = "hunter2"
	for name, c := range map[string]struct {
		rest  string
		field string
		says  string
	}{
		"replies of another type": {`"replies":{"` + secret + `":1}`, "replies", "array"},
		"too many replies":        {`"replies":[` + strings.Repeat("1,", 2000) + `{}]`, "replies[0]", "object"},
		"reply of another type":   {`"replies":["` + secret + `"]`, "replies[0]", "object"},
		"no ID":                   {`"replies":[{"value":"` + secret + `"}]`, "replies[0].id", "missing"},
		"ID as text":              {`"replies":[{"id":"` + secret + `","value":1}]`, "replies[0].id", "whole number"},
		"unknown ID":              {`"replies":[{"id":31337,"value":1}]`, "replies[0].id", "pending call"},
		"ID of no call":           {`"replies":[{"id":0,"value":1}]`, "replies[0].id", "pending call"},
		"same ID twice":           {`"replies":[{"id":1,"value":1},{"id":1,"value":2}]`, "replies[1].id", "one reply"},
		"neither":                 {`"replies":[{"id":1}]`, "replies[0]", "exactly one"},
		"both":                    {`"replies":[{"id":1,"value":"` + secret + `","error":{"message":"m"}}]`, "replies[0]", "exactly one"},
		"unknown member of reply": {`"replies":[{"id":1,"value":1,"allow":true}]`, "replies[0].allow", "error, id and value"},
		"error of another type":   {`"replies":[{"id":1,"error":"` + secret + `"}]`, "replies[0].error", "object"},
		"error without message":   {`"replies":[{"id":1,"error":{"name":"` + secret + `"}}]`, "replies[0].error.message", "missing"},
		"message as a number":     {`"replies":[{"id":1,"error":{"message":31337}}]`, "replies[0].error.message", "string"},
		"name that is none":       {`"replies":[{"id":1,"error":{"name":"` + secret + ` ","message":""}}]`, "replies[0].error.name", "identifier"},
		"long message":            {`"replies":[{"id":1,"error":{"message":"` + secret + strings.Repeat("m", spi.MaxErrorMessageBytes) + `"}}]`, "replies[0].error.message", "bytes of UTF-8"},
		"unknown member of error": {`"replies":[{"id":1,"error":{"message":"","stack":"` + secret + `"}}]`, "replies[0].error.stack", "message and name"},
		"result over its limit":   {`"limits":{"replyBytes":5},"replies":[{"id":1,"value":"` + secret + `"}]`, "replies[0].value", "replyBytes of 5"},
		"unknown member":          {`"replies":[],"script":"` + secret + `"`, "script", "known are"},
		"unknown limit":           {`"replies":[],"limits":{"calls":31337}`, "limits.calls", "hostCalls"},
		"absurd limit":            {`"replies":[],"limits":{"hostCalls":313370000}`, "limits.hostCalls", "from 1 to 100000"},
		"no time":                 {`"replies":[],"now":"` + secret + `"`, "now", "RFC 3339"},
		"long seed":               {`"replies":[],"seed":"` + secret + strings.Repeat("s", 128) + `"`, "seed", "128"},
		"unknown backend":         {`"replies":[],"backend":"` + secret + `"`, "backend", "stub"},
	} {
		t.Run(name, func(t *testing.T) {
			w := resume(api, good, c.rest)
			require.Equal(t, 422, w.Code, w.Body.String())
			p := problemOf(t, w)
			require.NotEmpty(t, p.Errors)
			assert.Equal(t, c.field, p.Errors[0].Field)
			assert.Contains(t, p.Errors[0].Problem, c.says)
			assert.LessOrEqual(t, len(p.Errors), 8)
			assert.Empty(t, p.Code)
			for _, hidden := range []string{secret, "31337", good[:40]} {
				assert.NotContains(t, w.Body.String(), hidden)
			}
		})
	}
	p := problemOf(t, do(api, postTo("/v1/resume", `{}`)))
	assert.Equal(t, "continuation is missing; replies is missing", p.Detail)
	assert.Equal(t, 400, do(api, postTo("/v1/resume", `{"continuation":"`+secret)).Code)
	assert.Equal(t, 405, do(api, httptest.NewRequest(http.MethodGet, "http://localhost/v1/resume", nil)).Code)
}

func TestTheLargestContinuationAndResultFitAndABiggerBodyIs413(t *testing.T) {
	t.Parallel()
	opts := options(io.Discard)
	most := int(opts.MaxResumeBytes())
	assert.Equal(t, (16<<10+2)/3*4+4<<10+256<<10, most)
	api := keyed(t, firstKey, nil)
	whole := func(pad int) string {
		body := fmt.Sprintf(`{"continuation":%q,"replies":[{"id":1,"value":1}]`, suspended(t, api, 7).Continuation)
		return body + strings.Repeat(" ", most-len(body)-1+pad) + "}"
	}
	assert.Equal(t, 200, do(api, postTo("/v1/resume", whole(0))).Code)
	w := do(api, postTo("/v1/resume", whole(1)))
	assert.Equal(t, 413, w.Code)
	assert.Contains(t, problemOf(t, w).Detail, fmt.Sprintf("allowed is %d bytes", most))
}

func TestWhatDoesNotFitIntoAContinuationIsAnErrorOfTheScript(t *testing.T) {
	t.Parallel()
	api := keyed(t, firstKey, func(c *sandbox.Continuations) { c.MaxBytes = 100 })
	r := resultOf(t, do(api, post(`{"script":"call crm.lookup {\"id\":7}","tools":[`+lookup+`]}`)))
	assert.Equal(t, "output_too_large", r.Error.Kind)
	assert.Empty(t, r.Continuation)
}

// second is a stub with a name and an image of its own.
type second struct {
	*stub.Backend
	image string
}

func (s second) Describe() spi.Descriptor {
	d := stub.Describe()
	d.Name, d.Image = "second", s.image
	return d
}

func TestTheFirstBackendThatHasTheImageGoesOn(t *testing.T) {
	t.Parallel()
	keys, err := sandbox.ParseKeys(firstKey)
	require.NoError(t, err)
	opts := options(io.Discard)
	two := second{&stub.Backend{}, "sha256:2"}
	three := stub.Describe()
	three.Name, three.Suspends = "third", false
	opts.Backends = append(opts.Backends, two.Describe(), three)
	api, err := httpapi.New(opts)
	require.NoError(t, err)
	evaluators := map[string]httpapi.Evaluator{}
	for name, b := range map[string]spi.Backend{"stub": &stub.Backend{}, "second": two} {
		sb, err := sandbox.New(b, &sandbox.Options{Continuations: &sandbox.Continuations{Keys: keys}})
		require.NoError(t, err)
		evaluators[name] = sb
	}
	api.Ready(evaluators)
	r := resultOf(t, do(api, post(`{"backend":"second","script":"call crm.lookup {\"id\":7}","tools":[`+lookup+`]}`)))
	assert.Equal(t, 200, resume(api, r.Continuation, `"replies":[]`).Code)
	assert.Equal(t, 200, resume(api, r.Continuation, `"replies":[],"backend":"second"`).Code)
	w := resume(api, r.Continuation, `"replies":[],"backend":"stub"`)
	assert.Equal(t, 409, w.Code)
	assert.Equal(t, "continuation_foreign", problemOf(t, w).Code)
	w = resume(api, r.Continuation, `"replies":[],"backend":"third"`)
	assert.Equal(t, 422, w.Code)
	assert.Equal(t, "is not known; allowed is stub or second", problemOf(t, w).Errors[0].Problem)
}

func TestWhereNoBackendSuspendsNothingCanBeResumed(t *testing.T) {
	t.Parallel()
	opts := options(io.Discard)
	opts.Backends[0].Suspends = false
	api, err := httpapi.New(opts)
	require.NoError(t, err)
	sb, err := sandbox.New(&stub.Backend{}, nil)
	require.NoError(t, err)
	api.Ready(map[string]httpapi.Evaluator{"stub": sb})
	assert.Equal(t, 409, resume(api, "AAAA", `"replies":[]`).Code)
	assert.Contains(t, problemOf(t, resume(api, "AAAA", `"replies":[],"backend":"stub"`)).Detail, "allowed is none")
}

func TestAResumptionWaitsForItsTurnAndHoldsItsBytesLikeAnEval(t *testing.T) {
	t.Parallel()
	b := &stub.Backend{Started: make(chan struct{}), Release: make(chan struct{})}
	api, _ := ready(t, b, func(o *httpapi.Options) { o.MaxConcurrent, o.MaxQueue, o.QueueTimeout = 1, 1, time.Millisecond })
	r := suspended(t, api, 7)
	running := make(chan int)
	go func() { running <- do(api, post(`{"script":"wait"}`)).Code }()
	<-b.Started
	w := resume(api, r.Continuation, `"replies":[]`)
	assert.Equal(t, 503, w.Code)
	assert.Contains(t, problemOf(t, w).Detail, "no turn")
	close(b.Release)
	assert.Equal(t, 200, <-running)

	tight, _ := ready(t, &stub.Backend{}, func(o *httpapi.Options) {
		o.MaxInputBytes = 1 << 20
		o.MaxQueueBytes = o.MinQueueBytes()
	})
	for range 50 { // everything is given back
		assert.Equal(t, 422, resume(tight, base64.StdEncoding.EncodeToString(make([]byte, 16<<10)), `"replies":[{"id":1,"value":"`+strings.Repeat("x", 200<<10)+`"}]`).Code)
	}
	assert.Equal(t, 200, do(tight, post(`{"script":"input","input":"`+strings.Repeat("x", 1<<20-2)+`"}`)).Code)
	api.Closing()
	assert.Equal(t, 503, resume(api, r.Continuation, `"replies":[]`).Code)
}
