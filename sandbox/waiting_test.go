package sandbox

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
	"github.com/loom-sandbox/sandboxd/tools"
)

func TestWhileToolsWorkTheTurnIsFree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := tools.Tool{Name: "slow", Handler: func(context.Context, *tools.Call) (any, error) {
			time.Sleep(10 * time.Second)
			return 1, nil
		}}
		b := calling(map[string]script{
			"calls": func(g *guest) (any, error) { return g.do("tools.slow", `[]`) },
			"busy":  func(*guest) (any, error) { time.Sleep(time.Second); return 2, nil },
		})
		s := newTest(t, b, &Options{MaxConcurrent: 1})
		start := time.Now()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				res, err := s.Eval(t.Context(), Request{Script: "calls", Tools: set(t, slow)})
				assert.NoError(t, err)
				assert.Equal(t, StatusOK, res.Status)
			})
		}
		synctest.Wait()
		for range 3 {
			wg.Go(func() {
				_, err := s.Eval(t.Context(), Request{Script: "busy"})
				assert.NoError(t, err)
			})
		}
		wg.Wait()
		assert.Equal(t, 10*time.Second, time.Since(start))
	})
}

// forever is a tool that ends when its context does, or never.
func forever(name string, heeds bool, release <-chan struct{}) tools.Tool {
	return tools.Tool{Name: name, Timeout: time.Hour, Handler: func(ctx context.Context, _ *tools.Call) (any, error) {
		if heeds {
			select {
			case <-ctx.Done():
			case <-release:
			}
		} else {
			<-release
		}
		return 1, ctx.Err()
	}}
}

func TestWaitingEndsWithTheTotalTimeTheContextAndTheSandbox(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		heeds bool
		limit time.Duration
		end   func(s *Sandbox, cancel context.CancelFunc)
		after time.Duration
		kind  spi.Kind
		name  spi.LimitName
	}{
		"total time":                 {true, 5 * time.Second, nil, 5 * time.Second, spi.KindTimeout, LimitTotalTime},
		"total time, a deaf tool":    {false, 5 * time.Second, nil, 5 * time.Second, spi.KindTimeout, LimitTotalTime},
		"total time by default":      {true, 0, nil, time.Minute, spi.KindTimeout, LimitTotalTime},
		"cancelled":                  {true, 0, func(_ *Sandbox, cancel context.CancelFunc) { cancel() }, time.Second, spi.KindCancelled, ""},
		"cancelled, a deaf tool":     {false, 0, func(_ *Sandbox, cancel context.CancelFunc) { cancel() }, time.Second, spi.KindCancelled, ""},
		"the caller's deadline":      {true, 0, nil, 3 * time.Second, spi.KindTimeout, ""},
		"sandbox closed":             {true, 0, func(s *Sandbox, _ context.CancelFunc) { assert.NoError(t, s.Close()) }, time.Second, spi.KindKilled, ""},
		"sandbox closed, deaf tool":  {false, 0, func(s *Sandbox, _ context.CancelFunc) { assert.NoError(t, s.Close()) }, time.Second, spi.KindKilled, ""},
		"a total time over its cap":  {true, 2 * time.Hour, nil, time.Hour, spi.KindTimeout, LimitTotalTime},
		"more time than total alone": {true, -1, nil, 30 * time.Minute, spi.KindTimeout, LimitTotalTime},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := one(func(g *guest) (any, error) {
					g.log("before")
					g.call("tools.t", `[]`)
					return g.do("tools.t", `[]`)
				})
				s := newTest(t, b, &Options{Ceilings: Limits{TotalTime: time.Hour}})
				ctx, cancel := context.WithCancel(t.Context())
				if name == "the caller's deadline" {
					ctx, cancel = context.WithTimeout(t.Context(), 3*time.Second)
				}
				defer cancel()
				release := make(chan struct{})
				limits := Limits{TotalTime: c.limit}
				if c.limit < 0 {
					limits = Limits{Timeout: 30 * time.Minute}
				}
				if c.end != nil {
					go func() { time.Sleep(time.Second); c.end(s, cancel) }()
				}
				start := time.Now()
				res, err := s.Eval(ctx, Request{Script: "s", Tools: set(t, forever("t", c.heeds, release)), Limits: limits})
				require.NoError(t, err)
				assert.Equal(t, c.after, time.Since(start))
				require.NotNil(t, res.Error)
				assert.Equal(t, c.kind, res.Error.Kind)
				if c.name != "" {
					assert.Equal(t, &spi.ReachedLimit{Name: c.name, Value: c.after.Milliseconds()}, res.Error.Limit)
				} else {
					assert.Nil(t, res.Error.Limit)
				}
				assert.JSONEq(t, `[{"level":"log","text":"before"}]`, string(taint.Unwrap(res.Logs)))
				assert.Equal(t, int64(1), b.closes.Load())
				assert.Empty(t, res.Warnings, "the script had no chance to wait")
				close(release)
			})
		})
	}
}

func TestTotalTimeEndsAScriptThatRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := one(func(g *guest) (any, error) {
			if _, err := g.do("tools.t", `[]`); err != nil {
				return nil, err
			}
			<-g.ctx.Done()
			return nil, &guestError{kind: spi.KindTimeout}
		})
		res := evalOne(t, b, nil, Request{Tools: set(t, says("t", 1)), Limits: Limits{TotalTime: 3 * time.Second}})
		require.NotNil(t, res.Error)
		assert.Equal(t, &spi.ReachedLimit{Name: LimitTotalTime, Value: 3000}, res.Error.Limit)
		assert.Equal(t, 3*time.Second, res.Usage.Total)
	})
}

func TestWaitingForTheNextTurnCountsForTheTotalTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := calling(map[string]script{
			"calls": func(g *guest) (any, error) { return g.do("tools.t", `[]`) },
			"busy":  func(*guest) (any, error) { time.Sleep(time.Hour); return 2, nil },
		})
		slow := tools.Tool{Name: "t", Handler: func(context.Context, *tools.Call) (any, error) {
			time.Sleep(time.Second)
			return 1, nil
		}}
		s := newTest(t, b, &Options{MaxConcurrent: 1})
		var wg sync.WaitGroup
		wg.Go(func() {
			start := time.Now()
			res, err := s.Eval(t.Context(), Request{Script: "calls", Tools: set(t, slow), Limits: Limits{TotalTime: 9 * time.Second}})
			assert.NoError(t, err)
			assert.Equal(t, spi.KindTimeout, res.Error.Kind)
			assert.Equal(t, 9*time.Second, time.Since(start))
		})
		synctest.Wait()
		wg.Go(func() {
			_, err := s.Eval(t.Context(), Request{Script: "busy"})
			assert.NoError(t, err)
		})
		wg.Wait()
	})
}

func TestCallsThatNobodyAwaitedAreCancelledAndToldOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var cancelled atomic.Int64
		quick := tools.Tool{Name: "quick", Handler: func(context.Context, *tools.Call) (any, error) {
			time.Sleep(time.Second)
			return 2, nil
		}}
		slow := tools.Tool{Name: "slow", Handler: func(ctx context.Context, _ *tools.Call) (any, error) {
			<-ctx.Done()
			cancelled.Add(1)
			return nil, ctx.Err()
		}}
		b := one(func(g *guest) (any, error) {
			g.call("tools.slow", `[]`)
			g.call("tools.slow", `[]`)
			g.call("tools.ask", `[]`)
			v, err := g.do("tools.quick", `[]`)
			g.call("tools.slow", `[]`)
			g.call("tools.nobody", `[]`)
			return v, err
		})
		opts := &Options{Policy: func(_ context.Context, c *tools.Call) tools.Decision {
			if c.Tool == "ask" {
				return tools.Suspend()
			}
			return tools.Allow()
		}}
		res := evalOne(t, b, opts, Request{
			Tools: set(t, slow, says("ask", 1), quick), Limits: Limits{HostCallsAtOnce: 3},
		})
		assert.Equal(t, "2", valueOf(t, res))
		synctest.Wait()
		assert.Equal(t, int64(2), cancelled.Load())
		assert.Equal(t, []Warning{
			{WarningNotAwaited, "slow", 1, "call 1, of slow, was not awaited: it was cancelled, and may have had its effect"},
			{WarningNotAwaited, "slow", 2, "call 2, of slow, was not awaited: it was cancelled, and may have had its effect"},
			{WarningNotAwaited, "ask", 3, "call 3, of ask, was not awaited: it was not decided, and did not run"},
			{WarningNotAwaited, "slow", 5, "call 5, of slow, was not awaited: it had not begun, and did not run"},
			{WarningNotAwaited, "", 6, "call 6, of a function that the script was not handed, was not awaited: it had not begun, and did not run"},
		}, res.Warnings)
		out, err := json.Marshal(res)
		require.NoError(t, err)
		assert.Contains(t, string(out), `"warnings":[{"code":"call_not_awaited","tool":"slow","callId":1,"message":"`)
	})
}

func TestManyWarningsAreBounded(t *testing.T) {
	t.Parallel()
	b := one(func(g *guest) (any, error) {
		for range 100 {
			g.call("tools.t", `[]`)
		}
		return 1, nil
	})
	res := evalOne(t, b, nil, Request{Tools: set(t, says("t", 1))})
	require.Len(t, res.Warnings, 32)
	assert.Equal(t, "69 more calls were not awaited", res.Warnings[31].Message)
}

func TestWhatSomebodyRepliesForATrustedToolHasALabel(t *testing.T) {
	t.Parallel()
	s := newTest(t, one(func(g *guest) (any, error) {
		v, err := g.do("tools.ask", `[]`)
		return json.RawMessage(v), err
	}), &Options{Policy: asks})
	trusted, remote := says("ask", 7), tools.Remote("ask", "", nil)
	trusted.DangerouslyTrustResults, remote.DangerouslyTrustResults = true, true
	for _, c := range []struct {
		tool  tools.Tool
		reply Reply
		want  string
	}{
		{trusted, value(1, `"from elsewhere"`), "sandbox, tool:ask"},
		{trusted, Reply{ID: 1, Error: &ReplyError{Message: "from elsewhere"}}, "sandbox, tool:ask"},
		{trusted, Reply{ID: 1, Allow: true}, "sandbox"},
		{remote, value(1, `"of the client"`), "sandbox"},
	} {
		granted := set(t, c.tool)
		first := suspendOne(t, s, Request{Tools: granted})
		res, err := s.Resume(t.Context(), ResumeRequest{Continuation: first.Continuation, Tools: granted, Replies: []Reply{c.reply}})
		require.NoError(t, err)
		assert.Equal(t, c.want, res.Logs.Origin)
	}
}
