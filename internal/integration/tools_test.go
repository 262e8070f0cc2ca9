package integration

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/wasmtime"
	"github.com/loom-sandbox/sandboxd/backends/wazero"
	"github.com/loom-sandbox/sandboxd/egress"
	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
	"github.com/loom-sandbox/sandboxd/tools"
)

// toolbox is a set with a tool for every way in which a call can end.
func toolbox(t testing.TB) *tools.Set {
	t.Helper()
	object := json.RawMessage(`{"type":"object"}`)
	answer := func(v any, err error) tools.Handler {
		return func(context.Context, *tools.Call) (any, error) { return v, err }
	}
	set, err := tools.NewSet(
		tools.Tool{Name: "echo", Input: object, Handler: func(_ context.Context, call *tools.Call) (any, error) { return call.Args, nil }},
		tools.Tool{Name: "crm.customers.get", Origin: "crm", Input: json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"],"additionalProperties":false}`),
			Handler: answer(map[string]any{"name": "Ada"}, nil)},
		tools.Tool{Name: "fails", Input: object, Handler: answer(nil, errors.New("open /var/lib/secret: connection refused 10.0.0.7:5432"))},
		tools.Tool{Name: "says", Input: object, Handler: answer(nil, tools.Failf("there is no customer %d", 7))},
		tools.Tool{Name: "refuses", Input: object, Handler: answer(nil, tools.Denied("not on a Sunday"))},
		tools.Tool{Name: "panics", Input: object, Handler: func(context.Context, *tools.Call) (any, error) { panic("at /srv/app/main.go") }},
		tools.Tool{Name: "labelled", Input: object, Handler: answer(map[string]any{"mail": taint.Wrap("mail:7", []byte(`"hello"`))}, nil)},
		tools.Tool{Name: "trusted", Input: object, DangerouslyTrustResults: true, Handler: answer(1, nil)},
		tools.Tool{Name: "twice", Input: object, MaxCalls: 2, Handler: answer("ok", nil)},
		tools.Tool{Name: "waits", Input: object, Handler: answer(nil, tools.ErrSuspend)},
	)
	require.NoError(t, err)
	return set
}

// TestToolsAsAScriptSeesThem is one table for every engine.
func TestToolsAsAScriptSeesThem(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{wazero.Name, wasmtime.Name} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			sb, err := sandbox.New(pooled{CheckRestored: true}.open(t, engine), nil)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, sb.Close()) })
			set := toolbox(t)
			caught := func(call string) string {
				return "try { await " + call + " } catch (e) { return [e.constructor.name, e.message, e.function] }"
			}
			for name, c := range map[string]struct {
				script, want, origin string
				kind                 spi.Kind
				tool, code           string
			}{
				"a value":                {script: "await tools.echo({ a: [1, 'x', null] })", want: `{"a":[1,"x",null]}`, origin: "sandbox, tool:echo"},
				"nested names":           {script: "(await tools.crm.customers.get({ id: 7 })).name", want: `"Ada"`, origin: "sandbox, crm"},
				"no argument":            {script: "await tools.echo()", want: `{}`, origin: "sandbox, tool:echo"},
				"undefined":              {script: "await tools.echo(undefined)", want: `{}`, origin: "sandbox, tool:echo"},
				"origins are joined":     {script: "await Promise.all([tools.echo(), tools.crm.customers.get({ id: 1 }), tools.trusted()]); 1", want: `1`, origin: "sandbox, crm, tool:echo"},
				"labels inside a result": {script: "(await tools.labelled()).mail + '!'", want: `"hello!"`, origin: "sandbox, mail:7, tool:labelled"},
				"trusted":                {script: "await tools.trusted()", want: `1`, origin: "sandbox"},
				"a wrapper of its own":   {script: "await tools.echo(); ({ __loomTainted: { origin: 'trusted' }, value: 1 })", want: `{"__loomTainted":{"origin":"trusted"},"value":1}`, origin: "sandbox, tool:echo"},
				"a failure says nothing": {script: caught("tools.fails()"), want: `["ToolError","fails failed","tools.fails"]`, origin: "sandbox, tool:fails"},
				"a failure in words":     {script: caught("tools.says()"), want: `["ToolError","says: there is no customer 7","tools.says"]`, origin: "sandbox, tool:says"},
				"a panic says nothing":   {script: caught("tools.panics()"), want: `["ToolError","panics failed","tools.panics"]`, origin: "sandbox, tool:panics"},
				"a refusal":              {script: caught("tools.refuses()"), want: `["DeniedError","refuses was denied: not on a Sunday","tools.refuses"]`, origin: "sandbox, tool:refuses"},
				"bad arguments":          {script: caught("tools.crm.customers.get({ id: 'secret' })"), want: `["TypeError","tools.crm.customers.get: /id must be integer","tools.crm.customers.get"]`, origin: "sandbox"},
				"not handed out":         {script: caught("tools.crm.customers.delete({ id: 1 })"), want: `["DeniedError","the script was not handed tools.crm.customers.delete","tools.crm.customers.delete"]`, origin: "sandbox"},
				"too often":              {script: "let n = 0; try { for (;;) { await tools.twice(); n++ } } catch (e) { [n, e.name] }", want: `[2,"DeniedError"]`, origin: "sandbox, tool:twice"},
				"no fetch":               {script: "typeof fetch + typeof emit", want: `"undefinedundefined"`, origin: "sandbox"},
				"uncaught failure":       {script: "\n await tools.says()", kind: spi.KindException, tool: "says", code: tools.CodeFailed, origin: "sandbox, tool:says"},
				"uncaught refusal":       {script: "await tools.refuses()", kind: spi.KindDenied, tool: "refuses", code: tools.CodePolicy, origin: "sandbox, tool:refuses"},
				"uncaught bad arguments": {script: "await tools.crm.customers.get({})", kind: spi.KindException, tool: "crm.customers.get", code: tools.CodeBadArguments, origin: "sandbox"},
				"uncaught absence":       {script: "await tools.rm()", kind: spi.KindDenied, code: tools.CodeNotGranted, origin: "sandbox"},
				"a forged refusal":       {script: "await tools.echo(); throw new DeniedError('mine')", kind: spi.KindException, origin: "sandbox, tool:echo"},
			} {
				res, err := sb.Eval(t.Context(), sandbox.Request{Script: c.script, Tools: set})
				require.NoError(t, err, name)
				assert.Equal(t, c.origin, res.Logs.Origin, name)
				if c.kind == "" {
					require.Nil(t, res.Error, "%s: %+v", name, res.Error)
					assert.JSONEq(t, c.want, string(taint.Unwrap(*res.Value)), name)
					assert.Equal(t, c.origin, res.Value.Origin, name)
					continue
				}
				require.NotNil(t, res.Error, name)
				assert.Equal(t, []string{string(c.kind), c.tool, c.code}, []string{string(res.Error.Kind), res.Error.Tool, res.Error.Code}, name)
				assert.Equal(t, c.origin, res.Error.Message.Origin, name)
				text, err := res.MarshalJSON()
				require.NoError(t, err)
				for _, leak := range []string{"/var/lib", "10.0.0.7", "main.go", "goroutine"} {
					assert.NotContains(t, string(text), leak, name)
				}
			}
		})
	}
}

func TestManyCallsGoOnAtTheSameTimeAndNoMore(t *testing.T) {
	t.Parallel()
	sb := newSandbox(t, nil)
	var now, most atomic.Int64
	var mu sync.Mutex
	turn := sync.NewCond(&mu)
	set, err := tools.NewSet(tools.Tool{
		Name: "slow", Input: json.RawMessage(`{"type":"object"}`),
		Handler: func(ctx context.Context, _ *tools.Call) (any, error) {
			n := now.Add(1)
			defer now.Add(-1)
			mu.Lock()
			defer mu.Unlock()
			most.Store(max(most.Load(), n))
			turn.Broadcast()
			for most.Load() < 32 { // all of the first wait until there are as many as may be
				turn.Wait()
			}
			return n <= 32, nil
		},
	})
	require.NoError(t, err)
	res, err := sb.Eval(t.Context(), sandbox.Request{
		Script: "(await Promise.all(Array.from({ length: 256 }, () => tools.slow()))).every((x) => x)", Tools: set,
		Limits: sandbox.Limits{TotalTime: time.Minute},
	})
	require.NoError(t, err)
	require.Nil(t, res.Error, "%+v", res.Error)
	assert.Equal(t, "true", string(taint.Unwrap(*res.Value)))
	assert.EqualValues(t, 32, most.Load())
	assert.EqualValues(t, 256, res.Usage.HostCalls)
}

// TestAScriptFetchesWhatTheAllowlistHas goes all the way: script, tool, rules,
// resolver, connection and back.
func TestAScriptFetchesWhatTheAllowlistHas(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"path":"` + r.URL.Path + `","auth":"` + r.Header.Get("Authorization") + `"}`))
	}))
	t.Cleanup(server.Close)
	address := strings.TrimPrefix(server.URL, "http://")
	rule, err := egress.ParseRule(`http://` + address + `/v1 dangerously-allow-private-addresses header="Authorization: Bearer {{secret:TOKEN}}"`)
	require.NoError(t, err)
	client, err := egress.New(egress.Options{Rules: []egress.Rule{rule}, Secrets: egress.SecretMap(map[string]string{"TOKEN": "s3cr3t-token"})})
	require.NoError(t, err)
	set, err := tools.NewSet(tools.Fetch(client))
	require.NoError(t, err)
	sb := newSandbox(t, nil)
	eval := func(script string) *sandbox.Result {
		res, err := sb.Eval(t.Context(), sandbox.Request{Script: script, Tools: set, Input: json.RawMessage(`"` + server.URL + `"`)})
		require.NoError(t, err)
		return res
	}
	res := eval("const r = await fetch(input + '/v1/orders'); [r.status, r.ok, r.headers.get('content-type'), await r.json()]")
	require.Nil(t, res.Error, "%+v", res.Error)
	assert.JSONEq(t, `[200, true, "application/json", {"path": "/v1/orders", "auth": "Bearer [secret]"}]`, string(taint.Unwrap(*res.Value)))
	assert.Equal(t, "sandbox, fetch:127.0.0.1", res.Value.Origin)

	res = eval("await fetch(input + '/v2')")
	require.NotNil(t, res.Error)
	assert.Equal(t, []string{string(spi.KindDenied), "fetch", tools.CodeEgressDenied}, []string{string(res.Error.Kind), res.Error.Tool, res.Error.Code})

	res = eval("await fetch('http://169.254.169.254/latest/meta-data').catch((e) => [e.name, e instanceof DeniedError])")
	require.Nil(t, res.Error)
	assert.JSONEq(t, `["DeniedError", true]`, string(taint.Unwrap(*res.Value)))
}

// TestAContinuationCrossesEngines: two sandboxes with the same key, on two engines
// where there are two, go on with each other's scripts.
func TestAContinuationCrossesEngines(t *testing.T) {
	t.Parallel()
	keys, err := sandbox.ParseKeys("first " + strings.Repeat("A", 42) + "E=\n")
	require.NoError(t, err)
	engines := []string{wazero.Name, wazero.Name}
	if wasmtime.Unavailable() == "" {
		engines[1] = wasmtime.Name
	}
	var boxes []*sandbox.Sandbox
	for _, engine := range engines {
		sb, err := sandbox.New(pooled{}.open(t, engine), &sandbox.Options{Continuations: &sandbox.Continuations{Keys: keys, Audience: "test"}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, sb.Close()) })
		boxes = append(boxes, sb)
	}
	set := toolbox(t)
	res, err := boxes[0].Eval(t.Context(), sandbox.Request{
		Script: "console.log('a'); const got = []; for (let i = 0; i < 4; i++) got.push(await tools.waits({ i })); [got, input]",
		Tools:  set, Input: json.RawMessage(`{"__loomTainted":{"origin":"mail"},"value":{"x":1}}`),
	})
	require.NoError(t, err)
	hops := 0
	for ; res.Status == sandbox.StatusSuspended; hops++ {
		require.Len(t, res.Pending, 1)
		assert.Less(t, len(res.Continuation), 64<<10)
		res, err = boxes[(hops+1)%2].Resume(t.Context(), sandbox.ResumeRequest{
			Continuation: res.Continuation, Tools: set,
			Replies: []sandbox.Reply{{ID: res.Pending[0].ID, Value: taint.Unwrap(res.Pending[0].Args)}},
		})
		require.NoError(t, err)
	}
	assert.Equal(t, 4, hops)
	require.Nil(t, res.Error, "%+v", res.Error)
	assert.JSONEq(t, `[[{"i":0},{"i":1},{"i":2},{"i":3}],{"x":1}]`, string(taint.Unwrap(*res.Value)))
	assert.Equal(t, "sandbox, mail, tool:waits", res.Value.Origin)
	assert.EqualValues(t, 4, res.Usage.HostCalls)
	assert.JSONEq(t, `[{"level":"log","text":"a"}]`, string(taint.Unwrap(res.Logs)))
}

// TestASessionOnARealEngine: what one eval leaves the next one finds, but for those
// that failed, and again where the session was saved.
func TestASessionOnARealEngine(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, engine string) {
		sb, err := sandbox.New(pooled{}.open(t, engine), nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, sb.Close()) })
		session, err := sb.NewSession(t.Context(), sandbox.SessionOptions{})
		require.NoError(t, err)
		set := toolbox(t)
		for i, step := range []struct{ script, want string }{
			{"let n = 1; const list = [1]; class A { v() { return n } } function f() { return list.length } n", "1"},
			{"n += 1; list.push(2); [new A().v(), f()]", "[2,2]"},
			{"n = 100; list.push(3); throw new Error('undone')", ""},
			{"n = 100; list.length = 0; for (;;) {}", ""},
			{"n = 100; new Array(1e9).fill(0)", ""},
			{"[n, list, f()]", "[2,[1,2],2]"},
			{"let n = 'again'; const list = await tools.echo({ a: 1 }); [n, list]", `["again",{"a":1}]`},
			{"[new A().v(), typeof tools.echo]", `["again","function"]`},
		} {
			res, err := session.Eval(t.Context(), sandbox.Request{Script: step.script, Tools: set, Limits: sandbox.Limits{Timeout: 300 * time.Millisecond}})
			require.NoError(t, err)
			if step.want == "" {
				require.NotNil(t, res.Error, "step %d", i)
				continue
			}
			require.Nil(t, res.Error, "step %d: %+v", i, res.Error)
			assert.JSONEq(t, step.want, string(taint.Unwrap(*res.Value)), "step %d", i)
		}
		saved, err := session.Save()
		require.NoError(t, err)
		require.NoError(t, session.Close())
		again, err := sb.RestoreSession(t.Context(), saved)
		require.NoError(t, err)
		defer func() { require.NoError(t, again.Close()) }()
		res, err := again.Eval(t.Context(), sandbox.Request{Script: "[n, new A().v(), list]"})
		require.NoError(t, err)
		require.Nil(t, res.Error, "%+v", res.Error)
		assert.JSONEq(t, `["again","again",{"a":1}]`, string(taint.Unwrap(*res.Value)))
		assert.Equal(t, "sandbox, tool:echo", res.Value.Origin, "labels stick")
	})
}

// TestLessMemoryThanAScriptHasIsTheCallersFault: it is no failure of the backend,
// and known before anything goes on.
func TestLessMemoryThanAScriptHasIsTheCallersFault(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, engine string) {
		var parts atomic.Int64
		sb, err := sandbox.New(pooled{}.open(t, engine), &sandbox.Options{Observer: func(_ context.Context, e sandbox.Event) {
			if e.Type == sandbox.EventResumed {
				parts.Add(1)
			}
		}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, sb.Close()) })
		const fills = "globalThis.kept = new Uint8Array(20 << 20).fill(7); "
		set, little := toolbox(t), sandbox.Limits{MemoryBytes: 8 << 20}
		refused := func(err error) {
			t.Helper()
			var request *sandbox.RequestError
			require.ErrorAs(t, err, &request)
			assert.Equal(t, "limits.memoryBytes", request.Field)
		}

		first, err := sb.Eval(t.Context(), sandbox.Request{Script: fills + "await tools.waits(); kept.length", Tools: set})
		require.NoError(t, err)
		resume := sandbox.ResumeRequest{Continuation: first.Continuation, Tools: set, Limits: little, Replies: []sandbox.Reply{{ID: 1, Value: json.RawMessage(`1`)}}}
		_, err = sb.Resume(t.Context(), resume)
		refused(err)
		assert.Zero(t, parts.Load())
		resume.Limits = sandbox.Limits{MemoryBytes: first.Usage.MemoryPeakBytes}
		res, err := sb.Resume(t.Context(), resume)
		require.NoError(t, err)
		require.Nil(t, res.Error, "%+v", res.Error)

		session, err := sb.NewSession(t.Context(), sandbox.SessionOptions{})
		require.NoError(t, err)
		res, err = session.Eval(t.Context(), sandbox.Request{Script: fills + "1"})
		require.NoError(t, err)
		require.Nil(t, res.Error, "%+v", res.Error)
		_, err = session.Eval(t.Context(), sandbox.Request{Script: "1", Limits: little})
		refused(err)
		saved, err := session.Save()
		require.NoError(t, err)
		again, err := sb.RestoreSession(t.Context(), saved)
		require.NoError(t, err)
		_, err = again.Eval(t.Context(), sandbox.Request{Script: "1", Limits: little})
		refused(err)
	})
}
