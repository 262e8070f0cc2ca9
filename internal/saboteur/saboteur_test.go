package saboteur_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/internal/saboteur"
	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/spi/conformance"
)

func TestEveryDefectIsWellDescribed(t *testing.T) {
	t.Parallel()
	defects := saboteur.Defects()
	require.GreaterOrEqual(t, len(defects), 100)
	checks := map[string]bool{}
	for _, c := range conformance.Checks() {
		checks[c.ID] = true
	}
	names, sentences := map[string]bool{}, map[string]bool{}
	for _, d := range defects {
		assert.Regexp(t, regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`), d.Name)
		assert.False(t, names[d.Name], "%s is there twice", d.Name)
		assert.False(t, sentences[d.Wrong], "%s: another defect is wrong in the same way", d.Name)
		names[d.Name], sentences[d.Wrong] = true, true
		assert.True(t, strings.HasSuffix(d.Wrong, "."), "%s: %q is no sentence", d.Name, d.Wrong)
		assert.NotEmpty(t, d.CaughtBy, d.Name)
		assert.NotEmpty(t, d.Seen, d.Name)
		for _, id := range d.CaughtBy {
			assert.True(t, checks[id], "%s: there is no check %s", d.Name, id)
		}
	}
}

func TestWithoutDefectEverythingIsPassedOn(t *testing.T) {
	t.Parallel()
	good := &recorder{}
	b := saboteur.Defect{}.Wrap(good)
	assert.Equal(t, good.Describe(), b.Describe())

	cfg := &spi.Config{
		Limits: spi.Limits{Timeout: time.Second, MemoryBytes: 1, Fuel: 2, OutputBytes: 3, LogBytes: 4},
		Now:    time.Unix(5, 6), Seed: 7,
	}
	iso, err := b.Open(t.Context(), cfg)
	require.NoError(t, err)
	assert.Equal(t, *cfg, good.config)

	req := &spi.Request{Source: "1", Language: spi.JavaScript, Input: json.RawMessage("null")}
	out, err := iso.Eval(t.Context(), req)
	require.NoError(t, err)
	assert.Equal(t, *req, good.request)
	assert.Equal(t, spoken(), out)

	assert.ErrorIs(t, iso.Close(), errIsolate)
	assert.ErrorIs(t, b.Close(), errBackend)
	_, err = b.Open(t.Context(), cfg)
	assert.ErrorIs(t, err, spi.ErrClosed)
}

func TestWithoutDefectPreparingIsPassedOn(t *testing.T) {
	t.Parallel()
	limits := &spi.Limits{Timeout: time.Second, MemoryBytes: 1, Fuel: 2, OutputBytes: 3, LogBytes: 4}
	_, err := saboteur.Defect{}.Wrap(&recorder{}).Prepare(t.Context(), limits, "1", spi.JavaScript)
	require.ErrorIs(t, err, spi.ErrUnsupported, "the good one does not prepare")

	good := &preparingRecorder{}
	b := saboteur.Defect{}.Wrap(good)
	p, err := b.Prepare(t.Context(), limits, "1", spi.JavaScript)
	require.NoError(t, err)
	assert.Equal(t, *limits, good.limits)
	assert.Equal(t, "1", good.source)
	assert.EqualValues(t, 77, p.Bytes())
	cfg := &spi.Config{Limits: *limits, Seed: 7}
	iso, err := p.Open(t.Context(), cfg)
	require.NoError(t, err)
	assert.Equal(t, *cfg, good.config)
	assert.True(t, good.fromPrepared)
	req := &spi.Request{Source: "1", Language: spi.JavaScript, Input: json.RawMessage("null")}
	out, err := iso.Eval(t.Context(), req)
	require.NoError(t, err)
	assert.Equal(t, *req, good.request)
	assert.Equal(t, spoken(), out)
	assert.ErrorIs(t, iso.Close(), errIsolate)
	assert.ErrorIs(t, p.Close(), errPrepared)
	assert.ErrorIs(t, b.Close(), errBackend)
	iso, err = p.Open(t.Context(), cfg)
	assert.ErrorIs(t, err, spi.ErrClosed)
	assert.Nil(t, iso)
	_, err = b.Prepare(t.Context(), limits, "1", spi.JavaScript)
	assert.ErrorIs(t, err, spi.ErrClosed)
}

func TestWithoutDefectSuspendingIsPassedOn(t *testing.T) {
	t.Parallel()
	plain := saboteur.Defect{}.Wrap(&recorder{})
	iso, err := plain.Open(t.Context(), &spi.Config{})
	require.NoError(t, err)
	_, err = iso.(spi.Suspender).Suspend(t.Context(), 1)
	require.ErrorIs(t, err, spi.ErrUnsupported, "the good one does not suspend")
	_, err = iso.(spi.Caller).Continue(t.Context(), nil)
	require.ErrorIs(t, err, spi.ErrUnsupported, "nor does it call")
	_, err = plain.Resume(t.Context(), &spi.Resumption{})
	require.ErrorIs(t, err, spi.ErrUnsupported)

	good := &suspendingRecorder{}
	seed := uint64(8)
	r := &spi.Resumption{State: []byte("state"), Limits: spi.Limits{Timeout: time.Second, MemoryBytes: 1, HostCalls: 3}, Now: time.Unix(5, 6), Seed: &seed}
	iso, err = saboteur.Defect{}.Wrap(good).Resume(t.Context(), r)
	require.NoError(t, err)
	assert.Equal(t, *r, good.resumed)
	state, err := iso.(spi.Suspender).Suspend(t.Context(), 99)
	require.NoError(t, err)
	assert.Equal(t, "99", string(state))
	out, err := iso.(spi.Caller).Continue(t.Context(), []spi.Reply{{ID: 4}})
	require.NoError(t, err)
	assert.Equal(t, []spi.Reply{{ID: 4}}, good.replies)
	assert.Equal(t, spoken(), out)
	assert.ErrorIs(t, iso.Close(), errIsolate)
}

// suspendingRecorder is a recorder for one isolate that is resumed.
type suspendingRecorder struct {
	recorder
	resumed spi.Resumption
	replies []spi.Reply
}

func (r *suspendingRecorder) Resume(_ context.Context, given *spi.Resumption) (spi.Isolate, error) {
	r.resumed = *given
	return &suspendingIsolate{recorderIsolate: (*recorderIsolate)(&r.recorder), r: r}, nil
}

type suspendingIsolate struct {
	*recorderIsolate
	r *suspendingRecorder
}

func (*suspendingIsolate) Suspend(_ context.Context, maxBytes int64) ([]byte, error) {
	return strconv.AppendInt(nil, maxBytes, 10), nil
}

func (i *suspendingIsolate) Continue(_ context.Context, replies []spi.Reply) (*spi.Outcome, error) {
	i.r.replies = replies
	return spoken(), nil
}

// preparingRecorder is a recorder for one script.
type preparingRecorder struct {
	recorder
	limits       spi.Limits
	source       string
	fromPrepared bool
}

var errPrepared = errors.New("the script's close")

func (r *preparingRecorder) Prepare(_ context.Context, limits *spi.Limits, source string, _ spi.Language) (spi.Prepared, error) {
	if r.closed {
		return nil, spi.ErrClosed
	}
	r.limits, r.source = *limits, source
	return recordedScript{r}, nil
}

type recordedScript struct{ r *preparingRecorder }

func (p recordedScript) Open(ctx context.Context, cfg *spi.Config) (spi.Isolate, error) {
	p.r.fromPrepared = true
	return p.r.Open(ctx, cfg)
}
func (recordedScript) Bytes() int64 { return 77 }
func (recordedScript) Close() error { return errPrepared }

func TestADefectLeavesTheCallersRequestAndConfigAlone(t *testing.T) {
	t.Parallel()
	for _, d := range saboteur.Defects() {
		if d.Hangs || d.Meddles {
			continue
		}
		b := d.Wrap(&preparingRecorder{})
		cfg := spi.Config{Limits: spi.Limits{Timeout: time.Second, MemoryBytes: 8 << 20, OutputBytes: 100, LogBytes: 100}, Seed: 9}
		req := spi.Request{Source: "1", Language: spi.JavaScript, Input: json.RawMessage("[1]")}
		sameConfig, sameRequest := cfg, req
		iso, err := b.Open(t.Context(), &cfg)
		require.NoError(t, err, d.Name)
		_, _ = iso.Eval(t.Context(), &req)
		if p, err := b.Prepare(t.Context(), &cfg.Limits, "1", spi.JavaScript); err == nil {
			iso, err := p.Open(t.Context(), &cfg)
			require.NoError(t, err, d.Name)
			_, _ = iso.Eval(t.Context(), &req)
		}
		assert.Equal(t, sameConfig, cfg, d.Name)
		assert.Equal(t, sameRequest, req, d.Name)
		assert.ErrorIs(t, b.Release(), errBackend, d.Name)
	}
}

func TestReleaseLetsGoOfWhatHangs(t *testing.T) {
	t.Parallel()
	for _, d := range saboteur.Defects() {
		if d.Name != "close-hangs" {
			continue
		}
		b := d.Wrap(&recorder{})
		iso, err := b.Open(t.Context(), &spi.Config{})
		require.NoError(t, err)
		closed := make(chan error, 1)
		go func() { closed <- iso.Close() }()
		select {
		case <-closed:
			require.Fail(t, "Close returned before the release")
		case <-time.After(20 * time.Millisecond):
		}
		assert.ErrorIs(t, b.Release(), errBackend)
		assert.ErrorIs(t, b.Release(), errBackend)
		<-closed
		return
	}
	require.Fail(t, "there is no such defect")
}

var (
	errIsolate = errors.New("the isolate's close")
	errBackend = errors.New("the backend's close")
)

// recorder is a good backend for one isolate.
type recorder struct {
	config  spi.Config
	request spi.Request
	closed  bool
}

func (r *recorder) Describe() spi.Descriptor {
	return spi.Descriptor{
		Name: "recorder", Languages: []spi.Language{spi.JavaScript}, MinMemoryBytes: 1 << 20, MaxMemoryBytes: 1 << 30,
		Enforces: []spi.Enforcement{{Limit: spi.LimitTimeout, Granularity: 1}},
	}
}

func (r *recorder) Open(_ context.Context, cfg *spi.Config) (spi.Isolate, error) {
	if r.closed {
		return nil, spi.ErrClosed
	}
	r.config = *cfg
	return (*recorderIsolate)(r), nil
}

func (r *recorder) Close() error {
	r.closed = true
	return errBackend
}

type recorderIsolate recorder

func (i *recorderIsolate) Eval(_ context.Context, req *spi.Request) (*spi.Outcome, error) {
	i.request = *req
	return spoken(), nil
}

func (i *recorderIsolate) Close() error { return errIsolate }

func spoken() *spi.Outcome {
	return &spi.Outcome{
		Error: &spi.ScriptError{
			Kind: spi.KindMemory, Limit: &spi.ReachedLimit{Name: spi.LimitMemory, Value: 1},
			Name: "MemoryError", Message: "no", Stack: "at 1:2", Line: 1, Column: 2,
		},
		Logs:  []spi.LogLine{{Level: spi.LevelWarn, Text: "here"}},
		Usage: spi.Usage{Fuel: 2, Wall: 3, MemoryPeakBytes: 1, LogBytes: 5},
	}
}

func TestWithoutDefectCallingIsPassedOn(t *testing.T) {
	t.Parallel()
	cfg := &spi.Config{Limits: spi.Limits{Timeout: time.Second, MemoryBytes: 1, OutputBytes: 3, HostCalls: 4, CallBytes: 5}}
	plain, err := saboteur.Defect{}.Wrap(&recorder{}).Open(t.Context(), cfg)
	require.NoError(t, err)
	_, err = plain.(spi.Caller).Continue(t.Context(), nil)
	require.ErrorIs(t, err, spi.ErrUnsupported, "the good one does not call")

	good := &callingRecorder{}
	iso, err := saboteur.Defect{}.Wrap(good).Open(t.Context(), cfg)
	require.NoError(t, err)
	replies := []spi.Reply{{ID: 1, Value: json.RawMessage("2")}, {ID: 3, Error: &spi.CallError{Name: "n", Message: "m", Denied: true}}}
	out, err := iso.(spi.Caller).Continue(t.Context(), replies)
	require.NoError(t, err)
	assert.Equal(t, replies, good.replies)
	assert.Equal(t, spoken(), out)
}

func TestADefectLeavesTheCallersRepliesAlone(t *testing.T) {
	t.Parallel()
	list := func() []spi.Reply {
		return []spi.Reply{
			{ID: 3, Value: json.RawMessage(`{"__proto__":1,"b":2}`)}, {ID: 1, Error: &spi.CallError{Name: "n", Message: "m", Denied: true}},
			{ID: 2, Value: json.RawMessage(`"` + strings.Repeat("x", 1<<17) + `"`)},
		}
	}
	for _, d := range saboteur.Defects() {
		if d.Hangs || d.Meddles {
			continue
		}
		b := d.Wrap(&callingRecorder{})
		iso, err := b.Open(t.Context(), &spi.Config{Limits: spi.Limits{Timeout: time.Second, MemoryBytes: 8 << 20, OutputBytes: 100}})
		require.NoError(t, err, d.Name)
		replies := list()
		_, _ = iso.(spi.Caller).Continue(t.Context(), replies)
		assert.Equal(t, list(), replies, d.Name)
		assert.ErrorIs(t, b.Release(), errBackend, d.Name)
	}
}

// callingRecorder is a recorder whose isolate is a caller.
type callingRecorder struct {
	recorder
	replies []spi.Reply
}

func (r *callingRecorder) Open(ctx context.Context, cfg *spi.Config) (spi.Isolate, error) {
	iso, err := r.recorder.Open(ctx, cfg)
	return &callingIsolate{iso, r}, err
}

type callingIsolate struct {
	spi.Isolate
	r *callingRecorder
}

func (i *callingIsolate) Continue(_ context.Context, replies []spi.Reply) (*spi.Outcome, error) {
	i.r.replies = replies
	return spoken(), nil
}
