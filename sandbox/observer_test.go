package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
	"github.com/loom-sandbox/sandboxd/tools"
)

func TestEventsComeInOrderWithTheirNumbers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := one(func(g *guest) (any, error) {
			g.log("one")
			g.emit("progress", `{"done":1}`)
			v, err := g.do("tools.slow", `[{"GUEST":1}]`)
			if err != nil {
				return nil, err
			}
			g.log("two")
			_, _ = g.do("tools.nobody", `[]`)
			return v, nil
		})
		slow := tools.Tool{Name: "slow", Handler: func(context.Context, *tools.Call) (any, error) {
			time.Sleep(2 * time.Second)
			return 1, nil
		}}
		type key struct{}
		var told recorder
		var values []any
		s := newTest(t, b, &Options{Observer: func(ctx context.Context, e Event) {
			values = append(values, ctx.Value(key{}))
			told.observe(ctx, e)
		}})
		s.clock = func() time.Time { return time.UnixMilli(1_700_000_000_123) }
		ctx := context.WithValue(t.Context(), key{}, "of the caller")
		res, err := s.Eval(ctx, Request{Script: "s", Tools: set(t, slow), Emit: true})
		require.NoError(t, err)
		assert.Equal(t, []string{
			"EVAL_STARTED", "LOG", "EMITTED", "TOOL_CALLED 1", "TOOL_ANSWERED 1", "LOG",
			"TOOL_CALLED 2", "TOOL_DENIED 2 NOT_GRANTED", "EVAL_FINISHED",
		}, told.told())
		events := told.events()
		for i, e := range events {
			assert.Equal(t, int64(i+1), e.Sequence)
			assert.Equal(t, res.EvalID, e.EvalID)
			assert.Equal(t, int64(1_700_000_000_123), e.Time.UnixMilli())
			assert.Equal(t, "of the caller", values[i])
			if e.Data != nil {
				assert.True(t, strings.HasPrefix(e.Data.Origin, taint.OriginSandbox))
			}
		}
		assert.Equal(t, "sandbox", events[1].Data.Origin)
		assert.Equal(t, "sandbox, tool:slow", events[5].Data.Origin, "it may tell what the tool said")
		assert.Equal(t, 2*time.Second, events[4].Duration)
		assert.Equal(t, 2*time.Second, events[8].Duration)
		assert.Equal(t, StatusOK, events[8].Status)
		text, err := json.Marshal(events[3])
		require.NoError(t, err)
		assert.JSONEq(t, `{"evalId":"`+res.EvalID+`","sequence":4,"time":"2023-11-14T22:13:20.123Z","type":"TOOL_CALLED","callId":1,"tool":"slow",
			"data":{"__loomTainted":{"origin":"sandbox"},"value":{"function":"tools.slow","args":[{"GUEST":1}]}}}`, string(text))
		text, err = json.Marshal(events[2])
		require.NoError(t, err)
		assert.Contains(t, string(text), `"value":{"type":"progress","data":{"done":1}}`)
	})
}

func TestTheLastEventComesWhateverHappens(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		script script
		spoil  func(b *fakeCaller)
		req    Request
		want   []string
		kind   spi.Kind
	}{
		"a value":              {script: func(*guest) (any, error) { return 1, nil }, want: []string{"EVAL_STARTED", "EVAL_FINISHED"}},
		"an exception":         {script: func(*guest) (any, error) { return nil, errFake }, want: []string{"EVAL_STARTED", "EVAL_FINISHED"}, kind: spi.KindException},
		"a backend that fails": {spoil: func(b *fakeCaller) { b.openErr = errFake }, want: []string{"EVAL_STARTED", "EVAL_FINISHED"}, kind: spi.KindBackend},
		"a backend that panics": {
			script: func(*guest) (any, error) { panic("fake") }, want: []string{"EVAL_STARTED", "EVAL_FINISHED"}, kind: spi.KindBackend,
		},
		"a backend that fails later": {
			script: func(g *guest) (any, error) { return g.do("tools.t", `[]`) }, spoil: func(b *fakeCaller) { b.continueErr = errFake },
			want: []string{"EVAL_STARTED", "TOOL_CALLED 1", "TOOL_ANSWERED 1", "EVAL_FINISHED"}, kind: spi.KindBackend,
		},
		"too large a script": {req: Request{Limits: Limits{InputBytes: 1}, Input: json.RawMessage("12")}},
		"a bad request":      {req: Request{Language: "cobol"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := one(c.script)
			if c.spoil != nil {
				c.spoil(b)
			}
			var told recorder
			s := newTest(t, b, &Options{Observer: told.observe})
			c.req.Script, c.req.Tools = "s", set(t, says("t", 1))
			func() {
				defer func() { _ = recover() }()
				_, _ = s.Eval(t.Context(), c.req)
			}()
			assert.Equal(t, c.want, told.told())
			if n := len(told.events()); n > 0 {
				assert.Equal(t, c.kind, told.events()[n-1].Kind)
			}
			require.NoError(t, s.Close(), "and nothing is held")
		})
	}
	var told recorder
	s := newTest(t, one(nil), &Options{Observer: told.observe, MaxConcurrent: 1})
	require.True(t, s.turns.TryAcquire(1))
	_, err := s.Eval(ended, Request{Script: "s"})
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, told.told(), "it never started")
}

func TestAnObserverThatPanicsBreaksNothing(t *testing.T) {
	t.Parallel()
	b := one(func(g *guest) (any, error) { g.log("x"); return g.do("tools.t", `[]`) })
	var told recorder
	res := evalOne(t, b, &Options{Observer: func(ctx context.Context, e Event) {
		if e.Type == EventLog || e.Type == EventFinished {
			panic("observer")
		}
		told.observe(ctx, e)
	}}, Request{Tools: set(t, says("t", 7))})
	assert.Equal(t, "7", valueOf(t, res))
	assert.Equal(t, []string{"EVAL_STARTED", "TOOL_CALLED 1", "TOOL_ANSWERED 1"}, told.told())
	assert.Equal(t, int64(4), told.events()[2].Sequence, "what was lost leaves a gap")
	assert.Equal(t, []Warning{{Code: WarningObserver, Message: "the observer panicked; it was not told 2 events"}}, res.Warnings)
}

func TestLogsOfABackendWithoutHostCallsAreToldAtTheEnd(t *testing.T) {
	t.Parallel()
	b := fake()
	b.eval = func(_ context.Context, cfg *spi.Config, _ *spi.Request) (*spi.Outcome, error) {
		return &spi.Outcome{Value: json.RawMessage("1"), Logs: []spi.LogLine{{Level: spi.LevelLog, Text: "a"}, {Level: spi.LevelLog, Text: "b"}}}, nil
	}
	var told recorder
	evalOne(t, b, &Options{Observer: told.observe}, Request{})
	assert.Equal(t, []string{"EVAL_STARTED", "LOG", "LOG", "EVAL_FINISHED"}, told.told())
}

func TestWhatABackendTellsNeedNotBeJSON(t *testing.T) {
	t.Parallel()
	b := one(func(g *guest) (any, error) { g.emit("a\xff", `{broken`); return 1, nil })
	var told recorder
	evalOne(t, b, &Options{Observer: told.observe}, Request{Emit: true})
	text, err := json.Marshal(told.events()[1])
	require.NoError(t, err)
	assert.Contains(t, string(text), `"data":{"__loomTainted":{"origin":"sandbox"},"value":null}`)
}

func TestARequestThatIsRefusedByTheNetworkIsAnEventOfItsOwn(t *testing.T) {
	t.Parallel()
	var told recorder
	s := newTest(t, one(nil), &Options{Observer: told.observe})
	p := s.newPart(t.Context(), &job{limits: Limits{HostCallsAtOnce: 1}}, newLedger(0))
	refused := &call{id: 1, tool: "fetch"}
	p.calls.running = 1
	p.calls.take(finishedCall{refused, tools.Answer{Failure: &tools.Failure{Name: tools.NameDenied, Denied: true, Code: tools.CodeEgressDenied}}, 0})
	assert.Equal(t, []string{"EGRESS_DENIED 1 EGRESS_DENIED"}, told.told())
	assert.Equal(t, failure{"fetch", tools.CodeEgressDenied}, p.calls.ledger.Failed[1])
}

func TestOperatorsHearWhyACallFailedAndFromWhereItsArgumentsAre(t *testing.T) {
	t.Parallel()
	cause := errors.New("dial 10.0.0.7:5432: refused")
	var heard []Event
	var origins []string
	s := newTest(t, one(func(g *guest) (any, error) {
		if _, err := g.do("tools.first", `[]`); err != nil {
			return nil, err
		}
		return g.do("tools.second", `[]`)
	}), &Options{Observer: func(_ context.Context, e Event) { heard = append(heard, e) }})
	note := func(v any, err error) tools.Handler {
		return func(_ context.Context, call *tools.Call) (any, error) {
			origins = append(origins, call.ArgsOrigin)
			return v, err
		}
	}
	res, err := s.Eval(t.Context(), Request{Script: "s", Input: []byte(`{"__loomTainted":{"origin":"mail"},"value":1}`), Tools: set(t,
		tools.Tool{Name: "first", Handler: note(1, nil)}, tools.Tool{Name: "second", Handler: note(nil, cause)})})
	require.NoError(t, err)
	require.NotNil(t, res.Error)
	assert.Equal(t, []string{"sandbox, mail", "sandbox, mail, tool:first"}, origins)
	causes := 0
	for _, e := range heard {
		text, err := json.Marshal(e)
		require.NoError(t, err)
		assert.NotContains(t, string(text), "10.0.0.7")
		if e.Cause != nil {
			causes++
			require.ErrorIs(t, e.Cause, cause)
			assert.Equal(t, "second", e.Tool)
		}
	}
	assert.Equal(t, 1, causes)
}
