package sandbox

import (
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
)

// keysOf is one key of 32 bytes.
func keysOf(t *testing.T, secret string) *Keys {
	t.Helper()
	keys, err := ParseKeys("k " + base64.StdEncoding.EncodeToString([]byte(secret)))
	require.NoError(t, err)
	return keys
}

func TestAContinuationIsRefusedBeforeTheEngineIsReached(t *testing.T) {
	t.Parallel()
	ours := keysOf(t, "0123456789abcdef0123456789abcdef")
	script := func(g *guest) (any, error) { return g.do("tools.ask", `[]`) }
	granted := set(t, says("ask", 1))
	maker := newTest(t, one(script), &Options{Policy: asks, Continuations: &Continuations{Keys: ours, Audience: "a"}})
	good := suspendOne(t, maker, Request{Tools: granted}).Continuation
	session, err := maker.sealer.seal("session", &suspended{}, nil)
	require.NoError(t, err)
	ofSession, err := maker.sealer.seal("continuation", &suspended{Ledger: newLedger(0), Session: &sessionMark{}}, nil)
	require.NoError(t, err)
	headless, err := maker.sealer.seal("continuation", "no header", nil)
	require.NoError(t, err)
	empty, err := maker.sealer.seal("continuation", &struct{}{}, nil)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		sealed   []byte
		settings Continuations
		image    string
		after    time.Duration
		want     error
	}{
		"as it is":              {good, Continuations{Keys: ours, Audience: "a"}, "", 0, nil},
		"to the last moment":    {good, Continuations{Keys: ours, Audience: "a"}, "", 24*time.Hour - time.Minute, nil},
		"expired":               {good, Continuations{Keys: ours, Audience: "a"}, "", 24 * time.Hour, ErrContinuationExpired},
		"nothing":               {nil, Continuations{Keys: ours, Audience: "a"}, "", 0, ErrContinuationUnreadable},
		"another key":           {good, Continuations{Keys: keysOf(t, "another key of thirty-two bytes!"), Audience: "a"}, "", 0, ErrContinuationUnreadable},
		"a random key":          {good, Continuations{Audience: "a"}, "", 0, ErrContinuationUnreadable},
		"another audience":      {good, Continuations{Keys: ours, Audience: "b"}, "", 0, ErrContinuationForeign},
		"another image":         {good, Continuations{Keys: ours, Audience: "a"}, "sha256:01", 0, ErrContinuationForeign},
		"too large":             {good, Continuations{Keys: ours, Audience: "a", MaxBytes: int64(len(good)) - 1}, "", 0, ErrContinuationTooLarge},
		"a session":             {session, Continuations{Keys: ours, Audience: "a"}, "", 0, ErrContinuationForeign},
		"an eval of a session":  {ofSession, Continuations{Keys: ours, Audience: "a"}, "", 0, ErrContinuationForeign},
		"another header":        {headless, Continuations{Keys: ours, Audience: "a"}, "", 0, ErrContinuationUnreadable},
		"a header with nothing": {empty, Continuations{Keys: ours, Audience: "a"}, "", 0, ErrContinuationUnreadable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := one(script)
			if c.image != "" {
				b.descriptor.Image = c.image
			}
			var told recorder
			s := newTest(t, b, &Options{Continuations: &c.settings, Observer: told.observe})
			s.sealer.clock = func() time.Time { return time.Now().Add(c.after) }
			res, err := s.Resume(t.Context(), ResumeRequest{Continuation: c.sealed, Tools: granted, Replies: []Reply{value(1, `7`)}})
			if c.want == nil {
				require.NoError(t, err)
				assert.Equal(t, "7", valueOf(t, res))
				return
			}
			require.ErrorIs(t, err, c.want)
			assert.Zero(t, b.resumes.Load())
			assert.Empty(t, told.told())
		})
	}
	t.Run("any byte changed", func(t *testing.T) {
		t.Parallel()
		b := one(script)
		s := newTest(t, b, &Options{Continuations: &Continuations{Keys: ours, Audience: "a"}})
		for i := range good {
			changed := append([]byte(nil), good...)
			changed[i] ^= 1 << (i % 8)
			_, err := s.Resume(t.Context(), ResumeRequest{Continuation: changed, Tools: granted})
			require.ErrorIs(t, err, ErrContinuationUnreadable, "byte %d", i)
			_, err = s.Resume(t.Context(), ResumeRequest{Continuation: good[:i], Tools: granted})
			require.ErrorIs(t, err, ErrContinuationUnreadable, "cut at %d", i)
		}
		assert.Zero(t, b.resumes.Load())
	})
}

func TestAStateThatIsTooLargeEndsTheEval(t *testing.T) {
	t.Parallel()
	var told recorder
	b := one(func(g *guest) (any, error) { g.log("x"); return g.do("tools.ask", `[]`) })
	b.suspendBytes = 100_000
	for name, opts := range map[string]*Options{
		"sealed": {Continuations: &Continuations{MaxBytes: 20_000}},
		"raw":    {Ceilings: Limits{MemoryBytes: 1 << 20}},
	} {
		opts.Policy, opts.Observer = asks, told.observe
		if name == "raw" {
			b.suspendBytes = 30 << 20
		}
		s := newTest(t, b, opts)
		res, err := s.Eval(t.Context(), Request{Script: "s", Tools: set(t, says("ask", 1))})
		require.NoError(t, err)
		require.NotNil(t, res.Error, name)
		assert.Equal(t, spi.KindOutputTooLarge, res.Error.Kind)
		assert.Equal(t, LimitContinuationBytes, res.Error.Limit.Name)
		assert.Nil(t, res.Continuation)
		assert.Contains(t, string(taint.Unwrap(res.Logs)), "x")
		last := told.events()[len(told.events())-1]
		assert.Equal(t, EventFinished, last.Type)
		assert.NotContains(t, told.told(), "SUSPENDED")
	}
}

func TestSettingsOfContinuationsAreChecked(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Continuations{
		"Options.Continuations.Expiry is -1":                 {Expiry: -time.Nanosecond},
		"Options.Continuations.Expiry is 8808h":              {Expiry: 367 * 24 * time.Hour},
		"Options.Continuations.MaxBytes is -1":               {MaxBytes: -1},
		"Options.Continuations.Audience is too long":         {Audience: string(make([]byte, 1025))},
		"Options.Continuations.Keys must come from ParseKey": {Keys: &Keys{}},
	} {
		_, err := New(fake(), &Options{Continuations: &c})
		assert.ErrorContains(t, err, want)
	}
	const secret = "c2VjcmV0"
	_, err := ParseKeys("k1 " + secret)
	require.ErrorContains(t, err, "line 1")
	assert.NotContains(t, err.Error(), secret)
	keys := keysOf(t, "0123456789abcdef0123456789abcdef")
	assert.Equal(t, "keys keys keys", fmt.Sprintf("%v %+v %x", keys, keys, keys))
}
