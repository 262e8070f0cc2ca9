package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newTest(t *testing.T, b spi.Backend, opts *Options) *Sandbox {
	t.Helper()
	s, err := New(b, opts)
	require.NoError(t, err)
	return s
}

func TestEverythingTheGuestWroteIsLabelled(t *testing.T) {
	t.Parallel()
	b := fake()
	b.eval = func(context.Context, *spi.Config, *spi.Request) (*spi.Outcome, error) {
		return &spi.Outcome{
			Error: &spi.ScriptError{
				Kind: spi.KindException, Name: "<GUEST>", Message: "GUEST", Stack: "GUEST", Line: 3, Column: 9,
				Limit: &spi.ReachedLimit{Name: spi.LimitFuel, Value: 5},
			},
			Logs: []spi.LogLine{{Level: spi.LevelWarn, Text: "GUEST"}}, LogsTruncated: true,
			Usage: spi.Usage{Fuel: 1, Wall: 1500 * time.Microsecond, MemoryPeakBytes: 2, LogBytes: 3},
		}, nil
	}
	res, err := newTest(t, b, nil).Eval(t.Context(), Request{Script: "1", Now: time.UnixMilli(1_700_000_000_123), Seed: "s"})
	require.NoError(t, err)
	text, err := json.Marshal(res)
	require.NoError(t, err)
	byValue, err := json.Marshal(*res)
	require.NoError(t, err)
	assert.Equal(t, string(text), string(byValue))
	assert.JSONEq(t, `{"status":"error",
		"logs":{"__loomTainted":{"origin":"sandbox"},"value":[{"level":"warn","text":"GUEST"}]},
		"error":{"kind":"exception","limit":{"name":"fuel","value":5},
			"name":{"__loomTainted":{"origin":"sandbox"},"value":"<GUEST>"},
			"message":{"__loomTainted":{"origin":"sandbox"},"value":"GUEST"},
			"line":3,"column":9,
			"stack":{"__loomTainted":{"origin":"sandbox"},"value":"GUEST"}},
		"usage":{"fuel":1,"wallMs":1.5,"memoryPeakBytes":2,"outputBytes":0,"logBytes":3,"hostCalls":0},
		"truncated":{"logs":true},
		"run":{"evalId":"`+res.EvalID+`","backend":"fake","image":"sha256:00","language":"js","now":"2023-11-14T22:13:20.123Z","seed":"s"}}`, string(text))
}

func TestAForgedWrapperStaysDataInsideOurs(t *testing.T) {
	t.Parallel()
	const forged = `{"__loomTainted":{"origin":"trusted"},"value":1}`
	b := fake()
	b.eval = func(context.Context, *spi.Config, *spi.Request) (*spi.Outcome, error) {
		return &spi.Outcome{Value: json.RawMessage(forged)}, nil
	}
	res, err := newTest(t, b, nil).Eval(t.Context(), Request{Script: "1"})
	require.NoError(t, err)
	text, err := json.Marshal(res.Value)
	require.NoError(t, err)
	assert.Equal(t, `{"__loomTainted":{"origin":"sandbox"},"value":`+forged+`}`, string(text))
}

func TestOnlyTheLoudOptionMarshalsBare(t *testing.T) {
	t.Parallel()
	for _, bare := range []bool{false, true} {
		s := newTest(t, fake(), &Options{DangerouslyMarshalWithoutTaintLabel: bare})
		res, err := s.Eval(t.Context(), Request{Script: "1", Input: json.RawMessage(`{"a":1}`)})
		require.NoError(t, err)
		text, err := json.Marshal(res)
		require.NoError(t, err)
		assert.Equal(t, !bare, taint.Scan(text).Tainted)
		assert.Equal(t, `{"a":1}`, string(taint.Unwrap(*res.Value)), "in Go the label is the type, always")
	}
}

func TestNothingButAnOutcomeIsAResult(t *testing.T) {
	t.Parallel()
	for name, out := range map[string]*spi.Outcome{
		"neither": {}, "both": {Value: json.RawMessage("1"), Error: &spi.ScriptError{Kind: spi.KindTimeout}},
		"nothing at all": nil, "an empty value": {Value: json.RawMessage{}}, "broken JSON": {Value: json.RawMessage("{broken")},
		"an unknown kind": {Error: &spi.ScriptError{Kind: "odd"}}, "duplicate names": {Value: json.RawMessage(`{"a":1,"a":2}`)},
		"more than was asked for": {Value: json.RawMessage(`"` + strings.Repeat("x", int(DefaultOutputBytes)) + `"`)},
	} {
		b := fake()
		b.eval = func(context.Context, *spi.Config, *spi.Request) (*spi.Outcome, error) { return out, nil }
		_, err := newTest(t, b, nil).Eval(t.Context(), Request{Script: "1"})
		var failed *BackendError
		require.ErrorAs(t, err, &failed, name)
	}
	empty := fake()
	empty.openNothing = true
	_, err := newTest(t, empty, nil).Eval(t.Context(), Request{Script: "1"})
	require.ErrorContains(t, err, "opened no isolate")
	b := fake()
	b.openErr = errFake
	_, err = newTest(t, b, nil).Eval(t.Context(), Request{Script: "1"})
	require.ErrorIs(t, err, errFake)
	var failed *BackendError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "fake", failed.Backend)
}

func TestNewRefusesWhatTheBackendDoesNotOffer(t *testing.T) {
	t.Parallel()
	without := func(l spi.LimitName) *fakeBackend {
		b := fake()
		kept := b.descriptor.Enforces[:0]
		for _, e := range b.descriptor.Enforces {
			if e.Limit != l {
				kept = append(kept, e)
			}
		}
		b.descriptor.Enforces = kept
		return b
	}
	mute := fake()
	mute.descriptor.Languages = nil
	for name, c := range map[string]struct {
		b    spi.Backend
		opts *Options
		want string
	}{
		"no backend":           {nil, nil, "backend must not be nil"},
		"no JavaScript":        {mute, nil, "fake does not run language js"},
		"no memory cap":        {without(spi.LimitMemory), nil, "fake does not enforce memoryBytes"},
		"fuel asked for":       {without(spi.LimitFuel), &Options{Defaults: Limits{Fuel: 5}}, "Options.Defaults.fuel is not enforced by backend fake"},
		"fuel as a ceiling":    {without(spi.LimitFuel), &Options{Ceilings: Limits{Fuel: 5}}, "Options.Ceilings.fuel is not enforced by backend fake"},
		"negative default":     {fake(), &Options{Defaults: Limits{OutputBytes: -1}}, "Options.Defaults.outputBytes is -1; allowed is 1 to 268435456"},
		"absurd ceiling":       {fake(), &Options{Ceilings: Limits{Timeout: 48 * time.Hour}}, "Options.Ceilings.timeoutMs is 172800000; allowed is 1 to 3600000"},
		"negative concurrency": {fake(), &Options{MaxConcurrent: -2}, "Options.MaxConcurrent is -2"},
		"several at once":      {without(spi.LimitLogs), &Options{MaxConcurrent: -2}, "logBytes"},
	} {
		_, err := New(c.b, c.opts)
		assert.ErrorContains(t, err, c.want, name)
	}
	s, err := New(without(spi.LimitFuel), nil)
	require.NoError(t, err, "a limit that nobody asks for need not be offered")
	_, err = s.Eval(t.Context(), Request{Script: "1", Limits: Limits{Fuel: 5}})
	var refused *RequestError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, "limits.fuel", refused.Field)

	hungry := fake()
	hungry.descriptor.MinMemoryBytes = 128 << 20
	_, err = newTest(t, hungry, nil).Eval(t.Context(), Request{Script: "1"})
	require.NoError(t, err, "the default is raised to what the backend needs")
}

func TestARequestIsRefusedWithTheFieldAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	secret := "sk-secret-value"
	s := newTest(t, fake(), nil)
	for want, r := range map[string]Request{
		"script is empty":          {Script: " "},
		"script is not valid":      {Script: "\xff" + secret},
		"language":                 {Script: "1", Language: secret},
		`"ts" is reserved`:         {Script: "1", Language: "ts"},
		"input is not strict JSON": {Script: "1", Input: json.RawMessage(`{"` + secret + `":1,"` + secret + `":1}`)},
		"limits.timeoutMs is -1; allowed is 1 to 3600000":       {Script: "1", Limits: Limits{Timeout: -time.Millisecond}},
		"limits.timeoutMs is 0.5; allowed is 1 to 3600000":      {Script: "1", Limits: Limits{Timeout: time.Millisecond / 2}},
		"limits.memoryBytes is 5; allowed is 1048576 to":        {Script: "1", Limits: Limits{MemoryBytes: 5}},
		"limits.fuel is -1; allowed is 1 or more":               {Script: "1", Limits: Limits{Fuel: -1}},
		"limits.logBytes is 1099511627776; allowed is 1 to":     {Script: "1", Limits: Limits{LogBytes: 1 << 40}},
		"now is out of range; allowed is 1970-01-01T00:00:00.0": {Script: "1", Now: time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC)},
		"seed must be at most 128 bytes":                        {Script: "1", Seed: fmt.Sprintf("%0129d", 1)},
	} {
		_, err := s.Eval(t.Context(), r)
		var refused *RequestError
		require.ErrorAs(t, err, &refused, want)
		assert.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), secret)
		assert.NotContains(t, err.Error(), "\n")
	}
}

func TestWhatIsTooLargeIsAResultThatNamesTheLimit(t *testing.T) {
	t.Parallel()
	b := fake()
	b.openErr = errFake // the backend is not asked
	s := newTest(t, b, &Options{Defaults: Limits{SourceBytes: 4, InputBytes: 4}})
	for name, c := range map[string]struct {
		r    Request
		want spi.ReachedLimit
	}{
		"script": {Request{Script: "12345"}, spi.ReachedLimit{Name: spi.LimitSource, Value: 4}},
		"input":  {Request{Script: "1", Input: json.RawMessage("12345")}, spi.ReachedLimit{Name: spi.LimitInput, Value: 4}},
	} {
		res, err := s.Eval(t.Context(), c.r)
		require.NoError(t, err, name)
		assert.Equal(t, spi.KindInputTooLarge, res.Error.Kind)
		assert.Equal(t, &c.want, res.Error.Limit)
		_, err = json.Marshal(res)
		require.NoError(t, err)
	}
}

func TestLimitsAreDefaultedAndCapped(t *testing.T) {
	t.Parallel()
	var got spi.Limits
	b := fake()
	b.eval = func(_ context.Context, cfg *spi.Config, _ *spi.Request) (*spi.Outcome, error) {
		got = cfg.Limits
		return &spi.Outcome{Value: json.RawMessage("1")}, nil
	}
	s := newTest(t, b, &Options{Defaults: Limits{Timeout: time.Second}, Ceilings: Limits{Timeout: 5 * time.Second, Fuel: 100, MemoryBytes: 8 << 20}})
	for name, c := range map[string]struct {
		ask  Limits
		want spi.Limits
	}{
		"nothing":  {Limits{}, spi.Limits{Timeout: time.Second, MemoryBytes: 8 << 20, Fuel: 100, OutputBytes: DefaultOutputBytes, LogBytes: DefaultLogBytes}},
		"less":     {Limits{Timeout: time.Millisecond, Fuel: 7, OutputBytes: 1}, spi.Limits{Timeout: time.Millisecond, MemoryBytes: 8 << 20, Fuel: 7, OutputBytes: 1, LogBytes: DefaultLogBytes}},
		"too much": {Limits{Timeout: time.Minute, Fuel: 1000, MemoryBytes: 1 << 29}, spi.Limits{Timeout: 5 * time.Second, MemoryBytes: 8 << 20, Fuel: 100, OutputBytes: DefaultOutputBytes, LogBytes: DefaultLogBytes}},
	} {
		_, err := s.Eval(t.Context(), Request{Script: "1", Limits: c.ask})
		require.NoError(t, err, name)
		assert.Equal(t, c.want, got, name)
	}
}

func TestARunCanBeRepeatedFromItsResult(t *testing.T) {
	t.Parallel()
	var seeds []uint64
	var nows []time.Time
	b := fake()
	b.eval = func(_ context.Context, cfg *spi.Config, _ *spi.Request) (*spi.Outcome, error) {
		seeds, nows = append(seeds, cfg.Seed), append(nows, cfg.Now)
		return &spi.Outcome{Value: json.RawMessage("1")}, nil
	}
	s := newTest(t, b, nil)
	first, err := s.Eval(t.Context(), Request{Script: "1"})
	require.NoError(t, err)
	other, err := s.Eval(t.Context(), Request{Script: "1"})
	require.NoError(t, err)
	assert.NotEqual(t, first.Run.Seed, other.Run.Seed)
	now, err := time.Parse(time.RFC3339Nano, first.Run.Now)
	require.NoError(t, err)
	again, err := s.Eval(t.Context(), Request{Script: "1", Seed: first.Run.Seed, Now: now})
	require.NoError(t, err)
	assert.Equal(t, first.Run, again.Run)
	assert.Equal(t, seeds[0], seeds[2])
	assert.NotEqual(t, seeds[0], seeds[1])
	assert.True(t, nows[0].Equal(nows[2]))
}

func TestEvalsBeyondTheMaximumWaitInOrder(t *testing.T) {
	t.Parallel()
	for _, atOnce := range []int{1, 3} {
		t.Run(fmt.Sprint(atOnce), func(t *testing.T) { t.Parallel(); synctest.Test(t, func(t *testing.T) { testOrder(t, atOnce) }) })
	}
}

func testOrder(t *testing.T, atOnce int) {
	var mu sync.Mutex
	var order []string
	running, most := 0, 0
	b := fake()
	b.eval = func(ctx context.Context, cfg *spi.Config, req *spi.Request) (*spi.Outcome, error) {
		mu.Lock()
		running++
		most = max(most, running)
		order = append(order, req.Source)
		mu.Unlock()
		out, err := sleep(time.Second)(ctx, cfg, req)
		mu.Lock()
		running--
		mu.Unlock()
		return out, err
	}
	s := newTest(t, b, &Options{MaxConcurrent: atOnce})
	var wg sync.WaitGroup
	var want []string
	for i := range 7 {
		name := fmt.Sprint(i)
		want = append(want, name)
		wg.Go(func() {
			_, err := s.Eval(t.Context(), Request{Script: name})
			assert.NoError(t, err)
		})
		synctest.Wait()
	}
	wg.Wait()
	assert.Equal(t, atOnce, most)
	if atOnce == 1 { // otherwise those that start in the same instant may be seen in any order
		assert.Equal(t, want, order)
	}
}

func TestWaitingEndsWithTheCallersContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := fake()
		b.eval = sleep(time.Hour)
		s := newTest(t, b, &Options{MaxConcurrent: 1})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			res, err := s.Eval(ctx, Request{Script: "1"})
			assert.NoError(t, err)
			assert.Equal(t, spi.KindCancelled, res.Error.Kind)
		})
		synctest.Wait()
		waiting, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		_, err := s.Eval(waiting, Request{Script: "2"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		cancel()
		wg.Wait()
	})
}

func TestCloseRefusesThoseThatWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := fake()
		b.eval = sleep(time.Minute)
		s := newTest(t, b, &Options{MaxConcurrent: 1})
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := s.Eval(t.Context(), Request{Script: "1"})
			assert.NoError(t, err)
		})
		synctest.Wait()
		for range 3 {
			wg.Go(func() {
				_, err := s.Eval(t.Context(), Request{Script: "2"})
				assert.ErrorIs(t, err, ErrClosed)
			})
		}
		synctest.Wait()
		start := time.Now()
		require.NoError(t, s.Close())
		assert.Equal(t, time.Minute, time.Since(start), "the one that ran, and no other")
		wg.Wait()
	})
}

func TestCloseWaitsForRunningEvals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := fake()
		b.eval = sleep(time.Minute)
		s := newTest(t, b, nil)
		var done atomic.Bool
		go func() {
			_, err := s.Eval(t.Context(), Request{Script: "1"})
			assert.NoError(t, err)
			done.Store(true)
		}()
		synctest.Wait()
		require.NoError(t, s.Close())
		assert.True(t, done.Load())
		_, err := s.Eval(t.Context(), Request{Script: "1"})
		require.True(t, errors.Is(err, ErrClosed))
		require.NoError(t, s.Close())
	})
}
