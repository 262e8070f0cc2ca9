package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

// echo answers with all that an eval was given, or fails for a script that says so.
func echo(_ context.Context, cfg *spi.Config, req *spi.Request) (*spi.Outcome, error) {
	out := &spi.Outcome{
		Logs:  []spi.LogLine{{Level: spi.LevelInfo, Text: "ran"}},
		Usage: spi.Usage{Fuel: 11, MemoryPeakBytes: 22, LogBytes: 4},
	}
	if strings.Contains(req.Source, "throw") {
		out.Error = &spi.ScriptError{Kind: spi.KindException, Name: "Error", Message: req.Source, Line: 3, Column: 9}
		return out, nil
	}
	value, err := json.Marshal([]any{cfg, req})
	out.Value, out.ValueType = value, spi.TypeArray
	return out, err
}

// backends are those on which a prepared script must give what an eval gives.
func backends() map[string]func() spi.Backend {
	refusing := func() *fakePreparer {
		b := preparing()
		b.eval = echo
		b.prepare = func(context.Context, *spi.Limits, string) error { return spi.ErrNotPrepared }
		return b
	}
	return map[string]func() spi.Backend{
		"that prepares": func() spi.Backend {
			b := preparing()
			b.eval = echo
			return b
		},
		"that does not": func() spi.Backend {
			b := fake()
			b.eval = echo
			return b
		},
		"that says so and does not": func() spi.Backend {
			b := fake()
			b.eval, b.descriptor.Prepares = echo, true
			return b
		},
		"that cannot prepare the script":     func() spi.Backend { return refusing() },
		"whose snapshots are too large":      func() spi.Backend { b := refusing(); b.prepare, b.bytes = nil, 1<<40; return b },
		"whose snapshots have no size":       func() spi.Backend { b := refusing(); b.prepare, b.bytes = nil, -1; return b },
		"whose snapshots cannot be opened":   func() spi.Backend { b := refusing(); b.prepare = nil; b.open = failing; return b },
		"whose snapshots open to nothing":    func() spi.Backend { b := refusing(); b.prepare, b.openNothing = nil, true; return b },
		"whose snapshots cannot be released": func() spi.Backend { b := refusing(); b.prepare, b.closeErr = nil, errFake; return b },
	}
}

// unnamed is a result without what no two have in common.
func unnamed(r *Result) *Result {
	if r == nil {
		return nil
	}
	own := *r
	own.EvalID = ""
	return &own
}

func failing(context.Context) error { return errFake }

func TestAPreparedScriptGivesWhatAnEvalGives(t *testing.T) {
	t.Parallel()
	run := RunRequest{Input: json.RawMessage(`{"a":1}`), Now: time.UnixMilli(1_700_000_000_123), Seed: "s"}
	for name, c := range map[string]struct {
		script   string
		language string
		change   func(*RunRequest)
	}{
		"a value":               {script: "input"},
		"fenced":                {script: "```js\n#!x\ninput\n```", language: "js"},
		"an exception":          {script: "throw 1", language: "auto"},
		"limits":                {script: "1", change: func(r *RunRequest) { r.Limits = Limits{Fuel: 5, Timeout: time.Second, OutputBytes: 999} }},
		"source over its limit": {script: "12345", change: func(r *RunRequest) { r.Limits.SourceBytes = 4 }},
		"input over its limit":  {script: "1", change: func(r *RunRequest) { r.Limits.InputBytes = 4 }},
		"no input":              {script: "1", change: func(r *RunRequest) { r.Input = nil }},
		"input not JSON":        {script: "1", change: func(r *RunRequest) { r.Input = json.RawMessage("{") }},
		"a time out of range":   {script: "1", change: func(r *RunRequest) { r.Now = time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC) }},
		"a seed too long":       {script: "1", change: func(r *RunRequest) { r.Seed = strings.Repeat("x", MaxSeedBytes+1) }},
		"an absurd limit":       {script: "1", change: func(r *RunRequest) { r.Limits.MemoryBytes = -1 }},
		"output over its limit": {script: "1", change: func(r *RunRequest) { r.Limits.OutputBytes = 5 }},
	} {
		run := run
		if c.change != nil {
			c.change(&run)
		}
		for backend, create := range backends() {
			plain := newTest(t, create(), nil)
			want, wantErr := plain.Eval(t.Context(), Request{
				Script: c.script, Language: c.language, Input: run.Input, Limits: run.Limits, Now: run.Now, Seed: run.Seed,
			})
			s := newTest(t, create(), nil)
			p, err := s.Prepare(t.Context(), PrepareRequest{Script: c.script, Language: c.language})
			require.NoError(t, err, "%s, %s", name, backend)
			for range 3 {
				got, err := p.Eval(t.Context(), run)
				assert.Equal(t, wantErr, err, "%s, %s", name, backend)
				assert.Equal(t, unnamed(want), unnamed(got), "%s, %s", name, backend)
			}
			repeating := newTest(t, create(), &Options{PrepareRepeated: true})
			for range 4 {
				got, err := repeating.Eval(t.Context(), Request{
					Script: c.script, Language: c.language, Input: run.Input, Limits: run.Limits, Now: run.Now, Seed: run.Seed,
				})
				assert.Equal(t, wantErr, err, "%s, %s", name, backend)
				assert.Equal(t, unnamed(want), unnamed(got), "%s, %s", name, backend)
			}
		}
	}
}

func TestPrepareRefusesWhatEvalRefuses(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, create := range backends() {
		s := newTest(t, create(), nil)
		for _, r := range []PrepareRequest{
			{Script: " "}, {Script: "\xff"}, {Script: "1", Language: "ts"}, {Script: "1", Language: "cobol"},
			{Script: "1", Limits: Limits{Timeout: -1}}, {Script: "1", Limits: Limits{Fuel: -1}}, {Script: "1", Limits: Limits{InputBytes: -1}},
		} {
			_, want := s.Eval(t.Context(), Request{Script: r.Script, Language: r.Language, Limits: r.Limits})
			p, err := s.Prepare(t.Context(), r)
			require.Error(t, want)
			assert.Equal(t, want, err, "%s: %+v", name, r)
			assert.Nil(t, p, name)
		}
		p, err := s.Prepare(ended, PrepareRequest{Script: "1"})
		assert.ErrorIs(t, err, context.Canceled, name)
		assert.Nil(t, p, name)
		_ = s.Close() // it may not be able to release its snapshots
		_, err = s.Prepare(t.Context(), PrepareRequest{Script: "1"})
		assert.ErrorIs(t, err, ErrClosed, name)
	}
}

func TestASourceOverTheLimitOfThePreparingIsAResultOfTheRun(t *testing.T) {
	t.Parallel()
	b := preparing()
	s := newTest(t, b, nil)
	p, err := s.Prepare(t.Context(), PrepareRequest{Script: "\xff2345", Limits: Limits{SourceBytes: 4}})
	require.NoError(t, err, "what is over is not looked at")
	res, err := p.Eval(t.Context(), RunRequest{})
	require.NoError(t, err)
	assert.Equal(t, &spi.ReachedLimit{Name: spi.LimitSource, Value: 4}, res.Error.Limit)
	_, err = p.Eval(t.Context(), RunRequest{Limits: Limits{SourceBytes: 5}})
	assert.ErrorContains(t, err, "is not valid UTF-8")

	p, err = s.Prepare(t.Context(), PrepareRequest{Script: "12345", Limits: Limits{SourceBytes: 4}})
	require.NoError(t, err)
	res, err = p.Eval(t.Context(), RunRequest{Limits: Limits{SourceBytes: 5}})
	require.NoError(t, err)
	assert.Equal(t, StatusOK, res.Status)
	prepared, _, _ := b.seen()
	assert.Empty(t, prepared)

	long := strings.Repeat("x", int(DefaultSourceBytes)+1)
	p, err = s.Prepare(t.Context(), PrepareRequest{Script: long, Limits: Limits{SourceBytes: MaxSourceBytes}})
	require.NoError(t, err)
	res, err = p.Eval(t.Context(), RunRequest{})
	require.NoError(t, err)
	assert.Equal(t, StatusOK, res.Status, "a run has the source limit of the preparing")
}

func TestAScriptIsParsedOnceAndRunManyTimes(t *testing.T) {
	t.Parallel()
	b := preparing()
	var got spi.Limits
	b.prepare = func(_ context.Context, l *spi.Limits, _ string) error { got = *l; return nil }
	s := newTest(t, b, &Options{Ceilings: Limits{Fuel: 1000}})
	p, err := s.Prepare(t.Context(), PrepareRequest{Script: "#!x\n1", Limits: Limits{Timeout: time.Second, MemoryBytes: 3 << 20, Fuel: 5000}})
	require.NoError(t, err)
	assert.Equal(t, spi.Limits{Timeout: time.Second, MemoryBytes: 3 << 20, Fuel: 1000, OutputBytes: DefaultOutputBytes, LogBytes: DefaultLogBytes}, got)
	for i := range 5 {
		res, err := p.Eval(t.Context(), RunRequest{Input: json.RawMessage(fmt.Sprint(i))})
		require.NoError(t, err)
		assert.Equal(t, StatusOK, res.Status)
	}
	_, err = s.Prepare(t.Context(), PrepareRequest{Script: "```\n//x\n1\n```"})
	require.NoError(t, err)
	_, err = s.Prepare(t.Context(), PrepareRequest{Script: "#!x\n1", Limits: Limits{Fuel: 7}})
	require.NoError(t, err, "what was prepared does not depend on the limits")
	prepared, opened, closed := b.seen()
	assert.Equal(t, []string{"//x\n1", "\n//x\n1\n"}, prepared)
	assert.Len(t, opened, 5)
	assert.Empty(t, closed)

	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	alive, over := b.alive()
	assert.Zero(t, alive)
	assert.False(t, over)
	_, err = p.Eval(t.Context(), RunRequest{})
	assert.ErrorIs(t, err, ErrClosed)
}

func TestWhatCannotBePreparedIsNotTriedAtEachRun(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*fakePreparer){
		"refused": func(b *fakePreparer) {
			b.prepare = func(context.Context, *spi.Limits, string) error { return fmt.Errorf("no: %w", spi.ErrNotPrepared) }
		},
		"too large":    func(b *fakePreparer) { b.bytes = DefaultPreparedBytes },
		"without size": func(b *fakePreparer) { b.bytes = -5 },
	} {
		b := preparing()
		spoil(b)
		s := newTest(t, b, &Options{PrepareRepeated: true})
		p, err := s.Prepare(t.Context(), PrepareRequest{Script: "1"})
		require.NoError(t, err, name)
		for range 3 {
			_, err := p.Eval(t.Context(), RunRequest{})
			require.NoError(t, err, name)
		}
		prepared, opened, _ := b.seen()
		assert.Len(t, prepared, 1, name)
		assert.Empty(t, opened, name)
		for range 5 {
			_, err := s.Eval(t.Context(), Request{Script: "2"})
			require.NoError(t, err, name)
		}
		prepared, _, _ = b.seen()
		assert.Equal(t, []string{"1", "2"}, prepared, name)
		require.NoError(t, s.Close())
		alive, over := b.alive()
		assert.Zero(t, alive, name)
		assert.False(t, over, name)
	}
}

func TestABackendThatFailsToPrepareIsAnErrorOfPrepareOnly(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*fakePreparer){
		"an error": func(b *fakePreparer) {
			b.prepare = func(context.Context, *spi.Limits, string) error { return errFake }
		},
		"nothing at all": func(b *fakePreparer) { b.prepareNothing = true },
		"a context's error that is not ours": func(b *fakePreparer) {
			b.prepare = func(context.Context, *spi.Limits, string) error { return context.Canceled }
		},
		"closed": func(b *fakePreparer) {
			b.prepare = func(context.Context, *spi.Limits, string) error { return spi.ErrClosed }
		},
	} {
		b := preparing()
		s := newTest(t, b, &Options{PrepareRepeated: true, PreparedBytes: 150})
		p, err := s.Prepare(t.Context(), PrepareRequest{Script: "1"})
		require.NoError(t, err)
		_, err = s.Prepare(t.Context(), PrepareRequest{Script: "in its place"})
		require.NoError(t, err)
		spoil(b)
		_, err = s.Prepare(t.Context(), PrepareRequest{Script: "2"})
		var failed *BackendError
		require.ErrorAs(t, err, &failed, name)
		assert.Equal(t, "fake", failed.Backend)
		_, err = p.Eval(t.Context(), RunRequest{})
		require.NoError(t, err, "%s: the eval itself works", name)
		for range 3 {
			_, err = s.Eval(t.Context(), Request{Script: "3"})
			require.NoError(t, err, name)
		}
		require.NoError(t, s.Close())
	}
}

func TestASnapshotThatCannotBeOpenedIsMadeAnew(t *testing.T) {
	t.Parallel()
	b := preparing()
	s := newTest(t, b, nil)
	p, err := s.Prepare(t.Context(), PrepareRequest{Script: "1"})
	require.NoError(t, err)
	b.open = failing
	_, err = p.Eval(t.Context(), RunRequest{})
	require.NoError(t, err)
	b.open = nil
	for range 2 {
		_, err = p.Eval(t.Context(), RunRequest{})
		require.NoError(t, err)
	}
	prepared, opened, closed := b.seen()
	assert.Len(t, prepared, 2)
	assert.Len(t, opened, 3)
	assert.Len(t, closed, 1)

	ctx, cancel := context.WithCancel(t.Context())
	b.open = func(ctx context.Context) error { cancel(); return ctx.Err() }
	_, err = p.Eval(ctx, RunRequest{})
	require.NoError(t, err, "this fake does not look at its context")
	prepared, _, closed = b.seen()
	assert.Len(t, prepared, 2, "it is not the snapshot's fault")
	assert.Len(t, closed, 1)

	b.openErr = errFake // the backend as a whole
	_, err = p.Eval(t.Context(), RunRequest{})
	assert.ErrorIs(t, err, errFake)
}

func TestASnapshotThatCannotBeReleasedIsAnErrorOfClose(t *testing.T) {
	t.Parallel()
	b := preparing()
	b.closeErr = errFake
	s := newTest(t, b, &Options{PreparedBytes: 150})
	for _, script := range []string{"1", "2"} {
		_, err := s.Prepare(t.Context(), PrepareRequest{Script: script})
		require.NoError(t, err)
	}
	err := s.Close()
	require.ErrorIs(t, err, errFake)
	var failed *BackendError
	require.ErrorAs(t, err, &failed)
	alive, over := b.alive()
	assert.Zero(t, alive)
	assert.False(t, over)
}

func TestBytesForPreparedScriptsAreChecked(t *testing.T) {
	t.Parallel()
	_, err := New(preparing(), &Options{PreparedBytes: -1})
	assert.ErrorContains(t, err, "Options.PreparedBytes is -1; allowed is 1 or more, or 0 for 67108864")
}
