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

func TestASessionExpiresWhenNobodyUsesIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTest(t, counting(), nil)
		byDefault, short := newSession(t, s, SessionOptions{}), newSession(t, s, SessionOptions{IdleTimeout: 2 * time.Second})
		for range 3 {
			time.Sleep(2*time.Second - 1)
			in(t, short, "slow") // half of the time again, in which it is used
		}
		_, err := short.Save()
		require.NoError(t, err)
		time.Sleep(2*time.Second + 1)
		_, err = short.Eval(t.Context(), Request{Script: "count"})
		require.ErrorIs(t, err, ErrSessionExpired)
		_, err = short.Save()
		require.ErrorIs(t, err, ErrSessionExpired)
		assert.Nil(t, short.state)
		assert.Equal(t, "1", valueOf(t, in(t, byDefault, "count")))
		time.Sleep(30*time.Minute - 1)
		assert.Equal(t, "2", valueOf(t, in(t, byDefault, "count")))
		time.Sleep(30*time.Minute + 1)
		_, err = byDefault.Eval(t.Context(), Request{Script: "count"})
		require.ErrorIs(t, err, ErrSessionExpired)
		require.NoError(t, byDefault.Close())
		_, err = byDefault.Eval(t.Context(), Request{Script: "count"})
		require.ErrorIs(t, err, ErrSessionExpired, "the first reason stays")
	})
}

func TestWhatASessionKeepsIsBounded(t *testing.T) {
	t.Parallel()
	b := counting()
	s := newTest(t, b, nil)
	x := newSession(t, s, SessionOptions{MaxBytes: 10_000})
	assert.Equal(t, "1", valueOf(t, in(t, x, "count")))
	b.suspendBytes = 100_000
	res := in(t, x, "count")
	require.NotNil(t, res.Error)
	assert.Equal(t, spi.KindOutputTooLarge, res.Error.Kind)
	assert.Equal(t, &spi.ReachedLimit{Name: LimitSessionBytes, Value: 10_000}, res.Error.Limit)
	assert.Nil(t, res.Value)
	b.suspendBytes = 0
	assert.Equal(t, "2", valueOf(t, in(t, x, "count")), "it is as it was")
}

func TestASavedSessionIsRestoredElsewhere(t *testing.T) {
	t.Parallel()
	opts := &Options{Continuations: &Continuations{Keys: keysOf(t, "0123456789abcdef0123456789abcdef"), Audience: "a"}}
	here, there := newTest(t, counting(), opts), newTest(t, counting(), opts)
	x := newSession(t, here, SessionOptions{Busy: SessionRefuse, MaxBytes: 5000})
	fresh, err := x.Save()
	require.NoError(t, err)
	in(t, x, "count", func(r *Request) {
		r.Input = json.RawMessage(`{"__loomTainted":{"origin":"mail"},"value":1}`)
		r.Seed = "s"
	})
	saved, err := x.Save()
	require.NoError(t, err)
	in(t, x, "count")
	for range 2 {
		y, err := there.RestoreSession(t.Context(), saved)
		require.NoError(t, err)
		assert.Equal(t, SessionOptions{SessionRefuse, 30 * time.Minute, 5000}, y.options)
		res := in(t, y, "count")
		assert.Equal(t, "2", valueOf(t, res))
		assert.Equal(t, "sandbox, mail", res.Value.Origin)
		assert.Equal(t, "s", res.Run.Seed)
		require.NoError(t, y.Close())
	}
	y, err := there.RestoreSession(t.Context(), fresh)
	require.NoError(t, err)
	assert.Equal(t, "1", valueOf(t, in(t, y, "count")))
	require.NoError(t, y.Close())

	stranger := newTest(t, counting(), &Options{Continuations: &Continuations{Keys: opts.Continuations.Keys, Audience: "b"}})
	_, err = stranger.RestoreSession(t.Context(), saved)
	require.ErrorIs(t, err, ErrContinuationForeign)
	_, err = newTest(t, counting(), nil).RestoreSession(t.Context(), saved)
	require.ErrorIs(t, err, ErrContinuationUnreadable)
	for _, bad := range []any{&savedSession{}, &savedSession{ID: "a", State: "b", Options: SessionOptions{Busy: "?"}}} {
		sealed, err := there.sealer.seal("session", bad, nil)
		require.NoError(t, err)
		_, err = there.RestoreSession(t.Context(), sealed)
		require.ErrorIs(t, err, ErrContinuationUnreadable)
	}
	_, err = there.Resume(t.Context(), ResumeRequest{Continuation: saved})
	require.ErrorIs(t, err, ErrContinuationForeign)
	small := newTest(t, counting(), &Options{Continuations: &Continuations{MaxBytes: 100}})
	z := newSession(t, small, SessionOptions{})
	_, err = z.Save()
	require.ErrorIs(t, err, ErrSessionTooLarge)
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

func TestSessionsAreRefused(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s := newTest(t, counting(), nil)
	for want, o := range map[string]SessionOptions{
		"SessionOptions.Busy is not known; allowed is wait or refuse": {Busy: "queue"},
		"SessionOptions.IdleTimeout is -1ns; allowed is up to 720h":   {IdleTimeout: -1},
		"SessionOptions.MaxBytes is -1; allowed is up to":             {MaxBytes: -1},
	} {
		_, err := s.NewSession(t.Context(), o)
		var refused *RequestError
		require.ErrorAs(t, err, &refused)
		assert.ErrorContains(t, err, want)
	}
	_, err := s.NewSession(ended, SessionOptions{})
	require.ErrorIs(t, err, context.Canceled)
	_, err = newTest(t, fake(), nil).NewSession(t.Context(), SessionOptions{})
	require.ErrorContains(t, err, "session is not possible: backend fake cannot put a script away")
	_, err = newTest(t, fake(), nil).RestoreSession(t.Context(), nil)
	require.ErrorContains(t, err, "session is not possible")
	require.NoError(t, s.Close())
	_, err = s.NewSession(t.Context(), SessionOptions{})
	require.ErrorIs(t, err, ErrClosed)
}

func TestAResultThatIsNotDeliveredMovesNothing(t *testing.T) {
	t.Parallel()
	b := counting()
	spoiled := &closesBadly{fakeCaller: b}
	x := newSession(t, newTest(t, spoiled, nil), SessionOptions{})
	assert.Equal(t, "1", valueOf(t, in(t, x, "count")))
	spoiled.err.Store(true)
	_, err := x.Eval(t.Context(), Request{Script: "count"})
	require.ErrorIs(t, err, errFake)
	spoiled.err.Store(false)
	assert.Equal(t, "2", valueOf(t, in(t, x, "count")))
}

// closesBadly is a backend whose isolates may fail to close.
type closesBadly struct {
	*fakeCaller
	err atomic.Bool
}

func (b *closesBadly) Resume(ctx context.Context, r *spi.Resumption) (spi.Isolate, error) {
	iso, err := b.fakeCaller.Resume(ctx, r)
	if err != nil {
		return nil, err
	}
	return &badlyClosed{iso.(*callingIsolate), b}, nil
}

type badlyClosed struct {
	*callingIsolate
	by *closesBadly
}

func (i *badlyClosed) Close() error {
	if err := i.callingIsolate.Close(); err != nil || !i.by.err.Load() {
		return err
	}
	return errFake
}
