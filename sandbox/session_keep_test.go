package sandbox

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

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

func TestASessionIsGoneWithItsSandbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTest(t, counting(), nil)
		x := newSession(t, s, SessionOptions{})
		in(t, x, "count")
		require.NoError(t, s.Close())
		synctest.Wait()
		assert.Nil(t, x.state)
		_, err := x.Save()
		require.ErrorIs(t, err, ErrClosed)
		_, err = x.Resume(t.Context(), ResumeRequest{})
		require.ErrorIs(t, err, ErrClosed)
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
	assert.Equal(t, "sandbox: backend fake: "+errFake.Error(), err.Error())
	b.continueErr = spi.ErrReply
	_, err = x.Eval(t.Context(), Request{Script: "call", Tools: set(t, says("t", 1))})
	require.ErrorIs(t, err, errFake)
	require.ErrorIs(t, err, spi.ErrReply)
	assert.Equal(t, 1, strings.Count(err.Error(), "backend fake"))
	b.continueErr = nil
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

// The end of a session and the turn of an eval that waits can come at the same
// moment: here the turn is first.
func TestASessionThatEndsAsATurnComesHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTest(t, counting(), nil)
		x := newSession(t, s, SessionOptions{})
		require.True(t, x.turn.TryAcquire(1))
		failed := make(chan error, 1)
		go func() {
			_, err := x.Eval(t.Context(), Request{Script: "count"})
			failed <- err
		}()
		synctest.Wait() // it waits for its turn
		x.mu.Lock()
		x.state, x.why = nil, ErrSessionClosed
		x.mu.Unlock()
		x.turn.Release(1)
		require.ErrorIs(t, <-failed, ErrSessionClosed)
		assert.True(t, x.turn.TryAcquire(1))
		x.mu.Lock()
		defer x.mu.Unlock()
		assert.Zero(t, x.users)
	})
}
