package wazero

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	wz "github.com/tetratelabs/wazero"
	"go.uber.org/goleak"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmhost"
	"github.com/loom-sandbox/sandboxd/spi"
)

// shared is one backend for all tests of the package: compiling takes a while.
var shared *Backend

func TestMain(m *testing.M) {
	code := func() int {
		dir, err := os.MkdirTemp("", "sandboxd-test-*")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		if shared, err = New(context.Background(), &Options{CacheDir: dir + "/cache"}); err != nil {
			panic(err)
		}
		defer shared.Close()
		return m.Run()
	}()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

func testConfig() *spi.Config {
	return &spi.Config{
		Limits: spi.Limits{Timeout: 20 * time.Second, MemoryBytes: 64 << 20, OutputBytes: 1 << 20, LogBytes: 64 << 10},
		Now:    time.UnixMilli(1_700_000_000_000), Seed: 1,
	}
}

func script(source string) *spi.Request {
	return &spi.Request{Source: source, Language: spi.JavaScript, Input: json.RawMessage("null")}
}

// run evaluates one script in an isolate of its own.
func run(t *testing.T, b *Backend, cfg *spi.Config, source string) *spi.Outcome {
	t.Helper()
	iso, err := b.Open(t.Context(), cfg)
	require.NoError(t, err)
	defer iso.Close()
	out, err := iso.Eval(t.Context(), script(source))
	require.NoError(t, err)
	return out
}

func requireValue(t *testing.T, out *spi.Outcome, want string) {
	t.Helper()
	if out.Error != nil {
		require.Failf(t, "script failed", "%s: %s: %s\n%s", out.Error.Kind, out.Error.Name, out.Error.Message, out.Error.Stack)
	}
	require.JSONEq(t, want, string(out.Value))
}

func TestOpenRefusesWhatCannotBeEnforced(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*spi.Config){
		"memory below the image":    func(c *spi.Config) { c.Limits.MemoryBytes = shared.Describe().MinMemoryBytes - 1 },
		"memory above the greatest": func(c *spi.Config) { c.Limits.MemoryBytes = MaxMemoryBytes + 1 },
		"no timeout":                func(c *spi.Config) { c.Limits.Timeout = 0 },
		"negative fuel":             func(c *spi.Config) { c.Limits.Fuel = -1 },
	} {
		cfg := testConfig()
		change(cfg)
		_, err := shared.Open(t.Context(), cfg)
		require.Error(t, err, name)
	}
	cfg := testConfig()
	cfg.Limits.MemoryBytes = MaxMemoryBytes + 1
	_, err := shared.Open(t.Context(), cfg)
	require.ErrorIs(t, err, spi.ErrUnsupported)
}

func TestTheSmallestMemoryIsTheImages(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Limits.MemoryBytes = shared.Describe().MinMemoryBytes
	out := run(t, shared, cfg, "1 + 1")
	requireValue(t, out, "2")
	assert.Equal(t, cfg.Limits.MemoryBytes, out.Usage.MemoryPeakBytes)
}

func TestMemoryIsCappedToThePage(t *testing.T) {
	t.Parallel()
	for _, capBytes := range []int64{8 << 20, 8<<20 + 1, 8<<20 + 64<<10 - 1, 16 << 20} {
		cfg := testConfig()
		cfg.Limits.MemoryBytes = capBytes
		out := run(t, shared, cfg, "const held = []; for (;;) held.push(new Uint8Array(10000));")
		require.NotNil(t, out.Error)
		assert.Equal(t, spi.KindMemory, out.Error.Kind)
		assert.Equal(t, &spi.ReachedLimit{Name: spi.LimitMemory, Value: capBytes}, out.Error.Limit)
		assert.Equal(t, capBytes/wasmhost.PageBytes*wasmhost.PageBytes, out.Usage.MemoryPeakBytes)
	}
}

func TestAGrowthTheEngineItselfRefusesIsSeen(t *testing.T) {
	t.Parallel()
	out := run(t, shared, testConfig(), "new ArrayBuffer(2000000000)")
	require.NotNil(t, out.Error)
	assert.Equal(t, spi.KindMemory, out.Error.Kind)
}

func TestARefusedGrowthThatTheScriptSurvivesIsNoFailure(t *testing.T) {
	t.Parallel()
	out := run(t, shared, testConfig(), "let caught = 0; try { new ArrayBuffer(1e9) } catch { caught++ } caught")
	requireValue(t, out, "1")
}

func TestAnIsolateThatWasStoppedIsSpent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source string
		spent  bool
	}{
		"deadline":                {"for (;;) {}", true},
		"trap":                    {"let p = {}; for (let i = 0; i < 100000; i++) p = new Proxy(p, {}); p.x", true},
		"refused growth":          {"try { new ArrayBuffer(1e9) } catch {}", true},
		"a RangeError of its own": {"(function dive() { dive(); })()", false},
		"an exception":            {"throw 1", false},
		"a deadlock":              {"await new Promise(() => {})", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := testConfig()
			cfg.Limits.Timeout = 3 * time.Second
			iso, err := shared.Open(t.Context(), cfg)
			require.NoError(t, err)
			defer iso.Close()
			_, err = iso.Eval(t.Context(), script(c.source))
			require.NoError(t, err)
			out, err := iso.Eval(t.Context(), script("1"))
			if c.spent {
				require.ErrorIs(t, err, spi.ErrIsolateSpent)
				return
			}
			require.NoError(t, err)
			requireValue(t, out, "1")
		})
	}
	t.Run("not where nothing ran", func(t *testing.T) {
		t.Parallel()
		iso, err := shared.Open(t.Context(), testConfig())
		require.NoError(t, err)
		defer iso.Close()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		out, err := iso.Eval(ended, script("1"))
		require.NoError(t, err)
		require.NotNil(t, out.Error)
		assert.Equal(t, spi.KindCancelled, out.Error.Kind)
		out, err = iso.Eval(t.Context(), script("1"))
		require.NoError(t, err)
		requireValue(t, out, "1")
	})
}

func TestALanguageThatIsNotListedIsRefused(t *testing.T) {
	t.Parallel()
	iso, err := shared.Open(t.Context(), testConfig())
	require.NoError(t, err)
	defer iso.Close()
	_, err = iso.Eval(t.Context(), &spi.Request{Source: "1", Language: "ts", Input: json.RawMessage("null")})
	require.ErrorIs(t, err, spi.ErrUnsupported)
	require.ErrorContains(t, err, `language "ts"`)
}

func TestADescriptorIsItsReaders(t *testing.T) {
	t.Parallel()
	d := shared.Describe()
	d.Enforces[0].Limit, d.Languages[0] = "spoilt", "spoilt"
	assert.NotEqual(t, d.Enforces[0], shared.Describe().Enforces[0])
	assert.True(t, shared.Describe().Speaks(spi.JavaScript))
	assert.LessOrEqual(t, shared.Describe().MinMemoryBytes, Describe().MinMemoryBytes, "what is promised before the start holds after it")
}

func TestCloseEndsARunningEval(t *testing.T) {
	t.Parallel()
	iso, err := shared.Open(t.Context(), testConfig())
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		out, err := iso.Eval(context.Background(), script("for (;;) {}"))
		if errors.Is(err, spi.ErrClosed) {
			return // Close was first
		}
		if assert.NoError(t, err) && assert.NotNil(t, out.Error) {
			assert.Equal(t, spi.KindKilled, out.Error.Kind)
		}
	}()
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, iso.Close())
	require.NoError(t, iso.Close())
	<-done
	_, err = iso.Eval(t.Context(), script("1"))
	require.ErrorIs(t, err, spi.ErrClosed)
}

func TestCancellationIsToldFromADeadline(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ctx  func() (context.Context, context.CancelFunc)
		kind spi.Kind
	}{
		"cancelled while running": {func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(10*time.Millisecond, cancel)
			return ctx, cancel
		}, spi.KindCancelled},
		"cancelled before": {func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			return ctx, cancel
		}, spi.KindCancelled},
		"deadline while running": {func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), 10*time.Millisecond)
		}, spi.KindTimeout},
		"deadline before": {func() (context.Context, context.CancelFunc) {
			return context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
		}, spi.KindTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			iso, err := shared.Open(context.Background(), testConfig())
			require.NoError(t, err)
			defer iso.Close()
			ctx, cancel := c.ctx()
			defer cancel()
			out, err := iso.Eval(ctx, script("for (;;) {}"))
			require.NoError(t, err)
			require.NotNil(t, out.Error)
			assert.Equal(t, c.kind, out.Error.Kind)
			assert.Nil(t, out.Error.Limit, "no limit of ours was reached")
		})
	}
}

func TestIsolatesRunSideBySideAndAlike(t *testing.T) {
	t.Parallel()
	const source = "let s = 0; for (let i = 0; i < 2e4; i++) s += Math.random(); [s, Date.now(), performance.now()]"
	want := run(t, shared, testConfig(), source)
	require.Nil(t, want.Error)
	var wg sync.WaitGroup
	for range 4 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			iso, err := shared.Open(context.Background(), testConfig())
			if !assert.NoError(t, err) {
				return
			}
			defer iso.Close()
			got, err := iso.Eval(context.Background(), script(source))
			if assert.NoError(t, err) {
				assert.Equal(t, string(want.Value), string(got.Value))
				assert.Equal(t, want.Usage.Fuel, got.Usage.Fuel)
				assert.Equal(t, want.Usage.MemoryPeakBytes, got.Usage.MemoryPeakBytes)
			}
		})
	}
	wg.Wait()
}

func TestAnIsolateKeepsItsGlobalsUntilItIsClosed(t *testing.T) {
	t.Parallel()
	iso, err := shared.Open(t.Context(), testConfig())
	require.NoError(t, err)
	defer iso.Close()
	for _, step := range []struct{ source, want string }{
		{"globalThis.n = 1", "1"}, {"throw 1", ""}, {"n += 1", "2"}, {"return n", "2"},
	} {
		out, err := iso.Eval(t.Context(), script(step.source))
		require.NoError(t, err)
		if step.want == "" {
			require.NotNil(t, out.Error)
			continue
		}
		requireValue(t, out, step.want)
	}
	requireValue(t, run(t, shared, testConfig(), "typeof n"), `"undefined"`)
}

func TestOpenAndCloseMayRace(t *testing.T) {
	t.Parallel()
	b, err := New(t.Context(), &Options{Interpreter: true})
	require.NoError(t, err)
	// Backends on the same engine, so that many rounds are cheap to start.
	for range 60 {
		round, err := wasmhost.Assemble(t.Context(), engine{wz.NewRuntimeConfigInterpreter()}, b.host.Image(), nil, Describe(), wasmhost.PoolOptions{})
		require.NoError(t, err)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for {
					iso, err := round.Open(context.Background(), testConfig())
					if err != nil {
						assert.ErrorIs(t, err, spi.ErrClosed)
						return
					}
					assert.NoError(t, iso.Close())
				}
			})
		}
		runtime.Gosched()
		require.NoError(t, round.Close())
		wg.Wait()
	}
	require.NoError(t, b.Close())
}

func TestAClosedBackendOpensNothing(t *testing.T) {
	t.Parallel()
	b, err := New(t.Context(), &Options{Interpreter: true})
	require.NoError(t, err)
	iso, err := b.Open(t.Context(), testConfig())
	require.NoError(t, err)
	require.NoError(t, b.Close())
	require.NoError(t, b.Close())
	_, err = b.Open(t.Context(), testConfig())
	require.ErrorIs(t, err, spi.ErrClosed)
	_, err = iso.Eval(t.Context(), script("1"))
	require.ErrorIs(t, err, spi.ErrClosed)
	require.NoError(t, iso.Close())
}
