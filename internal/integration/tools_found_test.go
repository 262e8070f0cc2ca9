package integration

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
)

// TestArgumentsStayAsTheyWereMade: a waiting call's are no longer after it was put
// away, and a lower limit is for the calls to come.
func TestArgumentsStayAsTheyWereMade(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, engine string) {
		sb, err := sandbox.New(pooled{}.open(t, engine), nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, sb.Close()) })
		set := toolbox(t)
		res, err := sb.Eval(t.Context(), sandbox.Request{Script: "await tools.waits({ s: '<&>\\u2028'.repeat(250_000) }); await tools.echo()", Tools: set})
		require.NoError(t, err)
		require.Equal(t, sandbox.StatusSuspended, res.Status)
		made := res.Pending[0].Args
		for range 2 {
			res, err = sb.Resume(t.Context(), sandbox.ResumeRequest{Continuation: res.Continuation, Tools: set, Limits: sandbox.Limits{ArgumentBytes: 10}})
			require.NoError(t, err)
			require.Equal(t, sandbox.StatusSuspended, res.Status)
			assert.Equal(t, made, res.Pending[0].Args)
		}
		res, err = sb.Resume(t.Context(), sandbox.ResumeRequest{
			Continuation: res.Continuation, Tools: set, Replies: []sandbox.Reply{{ID: 1, Value: json.RawMessage("1")}},
		})
		require.NoError(t, err)
		require.NotNil(t, res.Error)
		assert.Equal(t, spi.KindDenied, res.Error.Kind)
		assert.Equal(t, &spi.ReachedLimit{Name: spi.LimitCallBytes, Value: 10}, res.Error.Limit)
	})
}

// TestWhoWasHandedEmitBeforeCannotUseIt where a later script of the session was not.
func TestWhoWasHandedEmitBeforeCannotUseIt(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, engine string) {
		told := map[sandbox.EventType]int{}
		sb, err := sandbox.New(pooled{}.open(t, engine), &sandbox.Options{Observer: func(_ context.Context, e sandbox.Event) { told[e.Type]++ }})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, sb.Close()) })
		session, err := sb.NewSession(t.Context(), sandbox.SessionOptions{})
		require.NoError(t, err)
		res, err := session.Eval(t.Context(), sandbox.Request{Script: "globalThis.kept = emit; emit('a', 1); console.log('b')", Emit: true})
		require.NoError(t, err)
		require.Nil(t, res.Error, "%+v", res.Error)
		res, err = session.Eval(t.Context(), sandbox.Request{Script: "kept('a', 1); console.log('b'); typeof emit"})
		require.NoError(t, err)
		require.Nil(t, res.Error, "%+v", res.Error)
		assert.Equal(t, `"undefined"`, string(taint.Unwrap(*res.Value)))
		assert.Equal(t, 1, told[sandbox.EventEmitted])
		assert.Equal(t, 2, told[sandbox.EventLog])
	})
}

// TestWhatASessionDeclaredIsThere whatever a script did to the global object.
func TestWhatASessionDeclaredIsThere(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, engine string) {
		sb, err := sandbox.New(pooled{}.open(t, engine), nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, sb.Close()) })
		for first, want := range map[string]string{
			"let x = 2; class C {} Object.preventExtensions(globalThis); 0":                           `[2,"function"]`,
			"let x = 2; class C {} Object.defineProperty(globalThis, 'x', { value: 1 }); 0":           `[2,"function"]`,
			"let x = 2; class C {} Object.defineProperty(globalThis, 'x', { get() { return 1 } }); 0": `[2,"function"]`,
		} {
			session, err := sb.NewSession(t.Context(), sandbox.SessionOptions{})
			require.NoError(t, err)
			for _, step := range []struct{ script, want string }{{first, "0"}, {"[x, typeof C]", want}, {"[x, typeof C]", want}} {
				res, err := session.Eval(t.Context(), sandbox.Request{Script: step.script})
				require.NoError(t, err)
				require.Nil(t, res.Error, "%s: %+v", first, res.Error)
				assert.JSONEq(t, step.want, string(taint.Unwrap(*res.Value)), first)
			}
		}
	})
}

// TestATotalTimeThatIsOverAtTheEndIsAResult, not an error as if the caller's
// context had ended.
func TestATotalTimeThatIsOverAtTheEndIsAResult(t *testing.T) {
	t.Parallel()
	const most = 100 * time.Millisecond
	sb := newSandbox(t, &sandbox.Options{Observer: func(_ context.Context, e sandbox.Event) {
		if e.Type == sandbox.EventLog {
			time.Sleep(2 * most)
		}
	}})
	session, err := sb.NewSession(t.Context(), sandbox.SessionOptions{})
	require.NoError(t, err)
	res, err := session.Eval(t.Context(), sandbox.Request{Script: "await tools.echo(); console.log(1)", Tools: toolbox(t), Limits: sandbox.Limits{TotalTime: most}})
	require.NoError(t, err)
	require.NotNil(t, res.Error)
	assert.Equal(t, spi.KindTimeout, res.Error.Kind)
	assert.Equal(t, &spi.ReachedLimit{Name: sandbox.LimitTotalTime, Value: most.Milliseconds()}, res.Error.Limit)
}

// TestAPlaceThatAScriptMadeUpIsNoJSON of the call's.
func TestAPlaceThatAScriptMadeUpIsNoJSON(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, engine string) {
		sb, err := sandbox.New(pooled{}.open(t, engine), nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, sb.Close()) })
		for _, name := range []string{`script.js:1:1", {"forged": 1}, "`, `script.js:"`, `script.js:\\`, "script.js:\\n\\ud800"} {
			res, err := sb.Eval(t.Context(), sandbox.Request{
				Script: "const o = { [input]() { return tools.echo({ a: 1 }) } }; await o[input]()", Tools: toolbox(t), Input: json.RawMessage(quoted(t, name)),
			})
			require.NoError(t, err)
			require.Nil(t, res.Error, "%s: %+v", name, res.Error)
			assert.JSONEq(t, `{"a":1}`, string(taint.Unwrap(*res.Value)), name)
		}
	})
}

func quoted(t *testing.T, text string) []byte {
	t.Helper()
	b, err := json.Marshal(text)
	require.NoError(t, err)
	return b
}
