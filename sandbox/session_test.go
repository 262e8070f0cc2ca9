package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/tools"
)

// counter scripts count in the heap of an isolate.
func counting() *fakeCaller {
	count := func(g *guest) int { g.i.heap["n"]++; return g.i.heap["n"] }
	return calling(map[string]script{
		"count": func(g *guest) (any, error) { return count(g), nil },
		"throw": func(g *guest) (any, error) { count(g); return nil, errors.New("thrown") },
		"time":  func(g *guest) (any, error) { return []any{g.tick(), g.random()}, nil },
		"slow":  func(g *guest) (any, error) { n := count(g); time.Sleep(time.Second); return n, nil },
		"hang": func(g *guest) (any, error) {
			count(g)
			<-g.ctx.Done()
			return nil, &guestError{kind: spi.KindCancelled}
		},
		"call": func(g *guest) (any, error) {
			n := count(g)
			v, err := g.do("tools.t", `[]`)
			return []any{n, v}, err
		},
		"ask": func(g *guest) (any, error) {
			count(g)
			v, err := g.do("tools.ask", `[]`)
			return []any{count(g), v}, err
		},
		"leave": func(g *guest) (any, error) { g.call("tools.t", `[]`); g.call("tools.t", `[]`); return count(g), nil },
		"stale": func(g *guest) (any, error) {
			// A backend that still knows of the calls of the script before.
			for id := range int64(2) {
				g.pending[id+1] = spi.HostCall{ID: id + 1, Function: "tools.t", Args: json.RawMessage(`[]`)}
			}
			v, err := g.do("tools.t", `[]`)
			return []any{v, g.i.last}, err
		},
	})
}

func newSession(t *testing.T, s *Sandbox, opts SessionOptions) *Session {
	t.Helper()
	x, err := s.NewSession(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, x.Close()) })
	return x
}

// in runs a script in a session.
func in(t *testing.T, x *Session, script string, change ...func(*Request)) *Result {
	t.Helper()
	req := Request{Script: script}
	for _, c := range change {
		c(&req)
	}
	res, err := x.Eval(t.Context(), req)
	require.NoError(t, err)
	return res
}

func TestASessionGoesOnFromTheLastEvalThatSucceeded(t *testing.T) {
	t.Parallel()
	b := counting()
	s := newTest(t, b, nil)
	x, other := newSession(t, s, SessionOptions{}), newSession(t, s, SessionOptions{})
	assert.Equal(t, "1", valueOf(t, in(t, x, "count")))
	assert.Equal(t, "2", valueOf(t, in(t, x, "count")))
	assert.Equal(t, "1", valueOf(t, in(t, other, "count")), "sessions share nothing")
	assert.Equal(t, spi.KindException, in(t, x, "throw").Error.Kind)
	assert.Equal(t, spi.KindSyntax, in(t, x, "no such").Error.Kind)
	assert.Equal(t, spi.KindInputTooLarge, in(t, x, "count", func(r *Request) { r.Limits.InputBytes = 1; r.Input = json.RawMessage("12") }).Error.Kind)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	res, err := x.Eval(ctx, Request{Script: "hang"})
	require.NoError(t, err)
	assert.Equal(t, spi.KindCancelled, res.Error.Kind)
	_, err = x.Eval(t.Context(), Request{Script: " "})
	var refused *RequestError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, "3", valueOf(t, in(t, x, "count")))
	eval, err := s.Eval(t.Context(), Request{Script: "count"})
	require.NoError(t, err)
	assert.Equal(t, "1", valueOf(t, eval), "without a session nothing is kept")
}

func TestClockAndRandomNumbersOfASessionGoOn(t *testing.T) {
	t.Parallel()
	x := newSession(t, newTest(t, counting(), nil), SessionOptions{})
	random := func(seed string, n int) uint64 {
		v := seedOf(seed)
		for range n {
			v = seedOf(fmt.Sprint(v))
		}
		return v
	}
	set := func(r *Request) { r.Now, r.Seed = time.UnixMilli(1000), "a" }
	first := in(t, x, "time", set)
	assert.Equal(t, fmt.Sprintf("[1001,%d]", random("a", 1)), valueOf(t, first))
	second := in(t, x, "time")
	assert.Equal(t, fmt.Sprintf("[1002,%d]", random("a", 2)), valueOf(t, second))
	assert.Equal(t, first.Run, second.Run)
	third := in(t, x, "time", func(r *Request) { r.Now = time.UnixMilli(5000) })
	assert.Equal(t, fmt.Sprintf("[5001,%d]", random("a", 3)), valueOf(t, third))
	fourth := in(t, x, "time", func(r *Request) { r.Seed = "b" })
	assert.Equal(t, fmt.Sprintf("[5002,%d]", random("b", 1)), valueOf(t, fourth))
	assert.Equal(t, "b", fourth.Run.Seed)
	assert.Equal(t, third.Run.Now, fourth.Run.Now)
}

func TestLabelsOfASessionStick(t *testing.T) {
	t.Parallel()
	x := newSession(t, newTest(t, counting(), nil), SessionOptions{})
	granted := set(t, says("t", 1))
	res := in(t, x, "call", func(r *Request) { r.Tools = granted })
	assert.Equal(t, "sandbox, tool:t", res.Value.Origin)
	in(t, x, "throw", func(r *Request) { r.Input = json.RawMessage(`{"__loomTainted":{"origin":"lost"},"value":1}`) })
	assert.Equal(t, "sandbox, tool:t", in(t, x, "count").Value.Origin, "what failed left nothing")
	in(t, x, "count", func(r *Request) { r.Input = json.RawMessage(`{"__loomTainted":{"origin":"mail"},"value":1}`) })
	res = in(t, x, "throw")
	assert.Equal(t, "sandbox, mail, tool:t", res.Error.Message.Origin)
	assert.Equal(t, "sandbox, mail, tool:t", res.Logs.Origin)
}

func TestCallsOfTheScriptBeforeAreNotThoseOfTheNext(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	var told recorder
	x := newSession(t, newTest(t, counting(), &Options{Observer: told.observe}), SessionOptions{})
	granted := func(r *Request) { r.Tools = set(t, counted("t", &ran)) }
	res := in(t, x, "leave", granted)
	assert.Len(t, res.Warnings, 2)
	res = in(t, x, "stale", granted)
	assert.Equal(t, `[1,3]`, valueOf(t, res))
	assert.Equal(t, int64(1), ran.Load())
	assert.Empty(t, res.Warnings)
	assert.Equal(t, []string{"EVAL_STARTED", "EVAL_FINISHED", "EVAL_STARTED", "TOOL_CALLED 3", "TOOL_ANSWERED 3", "EVAL_FINISHED"}, told.told())
}

func TestWhatAnEvalBeforeWasHandedIsNotThereForTheNext(t *testing.T) {
	t.Parallel()
	x := newSession(t, newTest(t, counting(), nil), SessionOptions{})
	in(t, x, "call", func(r *Request) { r.Tools = set(t, says("t", 1)) })
	for _, change := range []func(*Request){
		func(*Request) {},
		func(r *Request) { r.Tools = set(t, says("other", 1)) },
	} {
		res := in(t, x, "call", change)
		require.NotNil(t, res.Error)
		assert.Equal(t, spi.KindDenied, res.Error.Kind)
		assert.Equal(t, tools.CodeNotGranted, res.Error.Code)
	}
}

func TestEvalsOfASessionRunOneAfterTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTest(t, counting(), &Options{MaxConcurrent: 10})
		x := newSession(t, s, SessionOptions{})
		start := time.Now()
		var mu sync.Mutex
		var values []string
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				res := in(t, x, "slow")
				mu.Lock()
				defer mu.Unlock()
				values = append(values, valueOf(t, res))
			})
		}
		wg.Wait()
		assert.Equal(t, []string{"1", "2", "3", "4", "5"}, values)
		assert.Equal(t, 5*time.Second, time.Since(start))

		refusing := newSession(t, s, SessionOptions{Busy: SessionRefuse})
		wg.Go(func() { assert.Equal(t, "1", valueOf(t, in(t, refusing, "slow"))) })
		synctest.Wait()
		_, err := refusing.Eval(t.Context(), Request{Script: "slow"})
		require.ErrorIs(t, err, ErrSessionBusy)
		wg.Wait()
		assert.Equal(t, "2", valueOf(t, in(t, refusing, "slow")))
	})
}

func TestWhoWaitsForASessionGoesWithItsContextTheSessionOrTheSandbox(t *testing.T) {
	t.Parallel()
	for want, end := range map[error]func(*Sandbox, *Session, context.CancelFunc){
		context.Canceled: func(_ *Sandbox, _ *Session, cancel context.CancelFunc) { cancel() },
		ErrSessionClosed: func(_ *Sandbox, x *Session, _ context.CancelFunc) { assert.NoError(t, x.Close()) },
		ErrClosed:        func(s *Sandbox, _ *Session, _ context.CancelFunc) { assert.NoError(t, s.Close()) },
	} {
		t.Run(want.Error(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newTest(t, counting(), nil)
				x := newSession(t, s, SessionOptions{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var wg sync.WaitGroup
				wg.Go(func() { assert.Equal(t, "1", valueOf(t, in(t, x, "slow"))) })
				synctest.Wait()
				wg.Go(func() {
					start := time.Now()
					_, err := x.Eval(ctx, Request{Script: "slow"})
					assert.ErrorIs(t, err, want)
					assert.Zero(t, time.Since(start))
				})
				synctest.Wait()
				end(s, x, cancel)
				wg.Wait()
				_, err := x.Eval(t.Context(), Request{Script: "count"})
				if want == context.Canceled {
					assert.NoError(t, err)
				} else {
					assert.ErrorIs(t, err, want)
				}
			})
		})
	}
}

func TestASuspendedEvalOfASessionGoesOnThereWhileNothingHasMoved(t *testing.T) {
	t.Parallel()
	s := newTest(t, counting(), &Options{Policy: asks})
	granted := set(t, says("ask", 0), says("t", 1))
	x, other := newSession(t, s, SessionOptions{}), newSession(t, s, SessionOptions{})
	use := func(r *Request) { r.Tools = granted }
	in(t, x, "count")
	waits := in(t, x, "ask", use)
	require.Equal(t, StatusSuspended, waits.Status)
	resume := func(x *Session, c []byte, replies ...Reply) (*Result, error) {
		return x.Resume(t.Context(), ResumeRequest{Continuation: c, Tools: granted, Replies: replies})
	}
	_, err := resume(other, waits.Continuation, value(1, `5`))
	require.ErrorIs(t, err, ErrContinuationForeign)
	_, err = s.Resume(t.Context(), ResumeRequest{Continuation: waits.Continuation, Tools: granted})
	require.ErrorIs(t, err, ErrContinuationForeign)

	// A refusal, a failure and another suspension leave the session as it is.
	_, err = resume(x, waits.Continuation, value(9, `5`))
	require.Error(t, err)
	res, err := resume(x, waits.Continuation, Reply{ID: 1, Error: &ReplyError{Message: "no"}})
	require.NoError(t, err)
	require.Equal(t, StatusError, res.Status)
	again, err := resume(x, waits.Continuation)
	require.NoError(t, err)
	require.Equal(t, StatusSuspended, again.Status)

	res, err = resume(x, again.Continuation, value(1, `5`))
	require.NoError(t, err)
	assert.Equal(t, `[3,5]`, valueOf(t, res))
	assert.Equal(t, "sandbox, tool:ask", in(t, x, "count").Value.Origin)
	_, err = resume(x, again.Continuation, value(1, `5`))
	require.ErrorIs(t, err, ErrSessionMoved)
	_, err = resume(x, waits.Continuation, value(1, `5`))
	require.ErrorIs(t, err, ErrSessionMoved)

	waits = in(t, x, "ask", use)
	in(t, x, "throw")
	res, err = resume(x, waits.Continuation, value(waits.Pending[0].ID, `5`))
	require.NoError(t, err, "what failed did not move it")
	assert.Equal(t, `[6,5]`, valueOf(t, res))
	waits = in(t, x, "ask", use)
	in(t, x, "count")
	_, err = resume(x, waits.Continuation, value(waits.Pending[0].ID, `5`))
	require.ErrorIs(t, err, ErrSessionMoved)
}
