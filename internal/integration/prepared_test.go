package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

// onePrepared is a backend of isolates of one script.
type onePrepared struct {
	spi.Backend

	prepared spi.Prepared
}

func (b *onePrepared) Open(ctx context.Context, cfg *spi.Config) (spi.Isolate, error) {
	return b.prepared.Open(ctx, cfg)
}

// preparedFor prepares the first script of a trial within its limits, or in as
// much memory and fuel as there may be.
func preparedFor(b preparer, tr *trial, roomy bool) (*onePrepared, error) {
	limits := tr.config.Limits
	if roomy {
		limits.MemoryBytes, limits.Fuel = 512<<20, 0
	}
	p, err := b.Prepare(context.Background(), &limits, tr.requests[0].Source, spi.JavaScript)
	if err != nil {
		return nil, err
	}
	return &onePrepared{b, p}, nil
}

// requireLikePlain demands that a prepared script gives what a plain one does,
// down to the bytes of its memory.
func requireLikePlain(t *testing.T, b preparer, p *onePrepared, tr *trial) *verdict {
	t.Helper()
	plain, err := judge(b, tr)
	require.NoError(t, err, "%s", tr)
	got, err := judge(p, tr)
	require.NoError(t, err, "prepared: %s", tr)
	require.Empty(t, difference(plain, got), "plain (-) and prepared (+)\n%s", tr)
	return plain
}

const (
	// preparedFuel lets ordinary scripts end by themselves.
	preparedFuel = 400_000
	// Once more would be the same for most scripts.
	onceMoreEvery = 4
)

func TestAPreparedScriptGivesWhatAPlainOneGives(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, engine string) {
		b := pooled{IdleIsolates: 3, CheckRestored: true}.open(t, engine)
		done, refused := 0, 0
		for _, g := range []trialGroup{{"cases", 0, caseTrials}, {"rows", 0, rowTrials}} {
			for _, tr := range g.sorted(t) {
				tr := tr.onlyFuelEnds(preparedFuel)
				p, err := preparedFor(b, &tr, false)
				if errors.Is(err, spi.ErrNotPrepared) {
					refused++
					requireUnpreparable(t, b, &tr)
					continue
				}
				require.NoError(t, err, "%s", &tr)
				plain := requireLikePlain(t, b, p, &tr)
				if done%onceMoreEvery == 0 {
					again, err := judge(p, &tr)
					require.NoError(t, err)
					require.Empty(t, difference(plain, again), "prepared, the second time\n%s", &tr)
				}
				require.NoError(t, p.prepared.Close())
				done++
			}
		}
		assert.Greater(t, done, 300)
		assert.Positive(t, refused)
		assert.Less(t, refused, 60)
	})
}

// requireUnpreparable demands of a script that was refused that parsing it is
// what fails, or comes to a limit.
func requireUnpreparable(t *testing.T, b preparer, tr *trial) {
	t.Helper()
	plain, err := judge(b, tr)
	require.NoError(t, err)
	switch kind := kindOf(&plain.Outcomes[0]); kind {
	case spi.KindSyntax, spi.KindMemory, spi.KindFuel, spi.KindStackOverflow, spi.KindInputTooLarge:
	default:
		t.Errorf("not prepared, though its kind is %q\n%s", kind, tr)
	}
}

func TestOnePreparedScriptServesAnyInputSeedAndClock(t *testing.T) {
	t.Parallel()
	scripts := []string{
		"[input, Math.random(), Date.now()]",
		"console.log(input, Math.random()); return { at: new Date(), input }",
		"await new Promise((r) => setTimeout(r, 50)); [performance.now(), new Date().toISOString(), Math.random()]",
		"throw Object.assign(new TypeError(JSON.stringify(input)), { at: Date.now() })",
		"let n = 0; for (const c of JSON.stringify(input)) n += c.charCodeAt(0) * Math.random(); n",
		"class A { #x = Math.random(); get x() { return this.#x } } new A().x",
		"return (function f(n) { return n ? [f(n - 1)] : input })(50)",
	}
	inputs := []string{"null", "{}", `{"a":[1,2,{"b":"\u00e4"}]}`, `"` + strings.Repeat("x", 15<<10) + `"`, "[" + strings.Repeat("123456789,", 20<<10) + "0]"}
	forEachEngine(t, func(t *testing.T, engine string) {
		b := pooled{IdleIsolates: 2, CheckRestored: true}.open(t, engine)
		for _, source := range scripts {
			tr := newTrial("", source)
			tr = tr.onlyFuelEnds(verdictFuel)
			p, err := preparedFor(b, &tr, false)
			require.NoError(t, err)
			seen := map[string]bool{}
			for i, input := range inputs {
				tr.config.Seed = uint64(i * i)
				tr.config.Now = noon().Add(time.Duration(i) * 1000 * time.Hour)
				tr.requests[0].Input = json.RawMessage(input)
				tr.requests = append(tr.requests[:1], spi.Request{Source: "[typeof input, Math.random()]", Language: spi.JavaScript, Input: json.RawMessage("[]")})
				v := requireLikePlain(t, b, p, &tr)
				require.Len(t, v.Outcomes, 2)
				o := v.Outcomes[0]
				seen[fmt.Sprintf("%s %v", o.Value, o.Error)] = true
			}
			require.Greater(t, len(seen), 1, "the inputs, seeds and clocks are not told apart")
		}
	})
}

// sized is a script of a size that does little.
func sized(bytes int, head string) string {
	const tail = "*/ input"
	return head + strings.Repeat("x", max(0, bytes-len(head)-len(tail))) + tail
}

func TestALargeScriptCanBePrepared(t *testing.T) {
	t.Parallel()
	sizes := []int{16<<10 - 1, 16 << 10, 16<<10 + 1, 64<<10 - 2, 64<<10 - 1, 64 << 10, 64<<10 + 1, 200 << 10, 1 << 20, 3 << 20}
	forEachEngine(t, func(t *testing.T, engine string) {
		b := pooled{IdleIsolates: 2, CheckRestored: true}.open(t, engine)
		image := b.Describe().MinMemoryBytes
		grew := 0
		try := func(name, source string) {
			tr := newTrial(name, source)
			tr = tr.onlyFuelEnds(100 * verdictFuel)
			p, err := preparedFor(b, &tr, false)
			require.NoError(t, err, name)
			v := requireLikePlain(t, b, p, &tr)
			require.Nil(t, v.Outcomes[0].Error, name)
			assert.GreaterOrEqual(t, p.prepared.Bytes(), int64(len(source)), name)
			peak := v.Outcomes[0].Usage.MemoryPeakBytes
			if peak == image {
				return
			}
			grew++
			// The memory that the script comes to, and what lies just below.
			for _, size := range []int64{peak - 64<<10 - 1, peak - 64<<10, peak - 1, peak, peak + 1, image, (image + peak) / 2} {
				tr.config.Limits.MemoryBytes = max(size, image)
				tr.ends = false
				requireLikePlain(t, b, p, &tr)
				within, err := preparedFor(b, &tr, false)
				if !errors.Is(err, spi.ErrNotPrepared) {
					require.NoError(t, err)
					requireLikePlain(t, b, within, &tr)
				}
			}
		}
		for _, size := range sizes {
			try(fmt.Sprintf("comment of %d", size), sized(size, "/*"))
		}
		try("many statements", strings.Repeat("var x = { a: [1, 2, 3], b: 'text' };\n", 5000)+"x")
		try("many functions", strings.Repeat("{ function f() { return [1, 2, 3].map((x) => x * 2) } }\n", 5000)+"f()")
		assert.GreaterOrEqual(t, grew, 3, "scripts so large that parsing makes the memory grow")
	})
}

func TestFuelThatParsingBurntCountsForAPreparedScript(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, engine string) {
		b := pooled{IdleIsolates: 2, CheckRestored: true}.open(t, engine)
		for name, source := range map[string]string{
			"tiny":             "1",
			"a loop":           "let s = 0; for (let i = 0; i < 3000; i++) s += i; console.log(s); s",
			"more than a tick": strings.Repeat("var x = { a: [1, 2, 3], b: 'text' };\n", 200) + "let n = 0; for (let i = 0; i < 9000; i++) n += i; n",
		} {
			tr := newTrial(name, source)
			tr = tr.onlyFuelEnds(verdictFuel)
			p, err := preparedFor(b, &tr, true)
			require.NoError(t, err)
			parsing, all := parsingFuel(t, b, tr), requireLikePlain(t, b, p, &tr).Outcomes[0].Usage.Fuel
			require.Positive(t, parsing)
			require.Less(t, parsing, all)
			for _, fuel := range []int64{
				1, parsing - 1, parsing, parsing + 1, parsing + 50, 20_000, 20_001, 100_001,
				(parsing + all) / 2, all - 1, all, all + 1,
			} {
				tr.config.Limits.Fuel = fuel
				v := requireLikePlain(t, b, p, &tr)
				kind := kindOf(&v.Outcomes[0])
				assert.Equal(t, fuel < all, kind == spi.KindFuel, "%s with %d of %d: %q", name, fuel, all, kind)
				within, err := preparedFor(b, &tr, false)
				if fuel < parsing {
					assert.ErrorIs(t, err, spi.ErrNotPrepared)
					continue
				}
				require.NoError(t, err)
				requireLikePlain(t, b, within, &tr)
			}
		}
	})
}

// parsingFuel is the least fuel that a script can be prepared with.
func parsingFuel(t *testing.T, b preparer, tr trial) int64 {
	t.Helper()
	low, high := int64(1), int64(verdictFuel)
	for low < high {
		tr.config.Limits.Fuel = (low + high) / 2
		_, err := preparedFor(b, &tr, false)
		switch {
		case err == nil:
			high = tr.config.Limits.Fuel
		case errors.Is(err, spi.ErrNotPrepared):
			low = tr.config.Limits.Fuel + 1
		default:
			require.NoError(t, err)
		}
	}
	return low
}

func TestWhatDoesNotParseIsNotPrepared(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, engine string) {
		b := pooled{IdleIsolates: 1, CheckRestored: true}.open(t, engine)
		for _, source := range []string{"let = ;", "(", "'", "return return", "await = 1; return 1", "/(/", "}", strings.Repeat("(", 1e5), "import 'x'"} {
			tr := newTrial(source[:1], source)
			tr = tr.onlyFuelEnds(verdictFuel)
			_, err := preparedFor(b, &tr, false)
			require.ErrorIs(t, err, spi.ErrNotPrepared, "%.20s", source)
			requireUnpreparable(t, b, &tr)
		}
		// Nothing of a failed parse is left.
		tr := newTrial("probe", probeScript)
		tr = tr.onlyFuelEnds(verdictFuel)
		p, err := preparedFor(b, &tr, false)
		require.NoError(t, err)
		requireLikePlain(t, b, p, &tr)
	})
}

// TestAPreparedIsolateIsRestoredThoughNothingRanInIt: what preparing left is put
// into memory by the host, and there by no eval.
func TestAPreparedIsolateIsRestoredThoughNothingRanInIt(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, engine string) {
		b := pooled{IdleIsolates: 2, CheckRestored: true}.open(t, engine)
		tr := newTrial("", strings.Repeat("var x = { a: [1, 2, 3], b: 'text' };\n", 400)+"x")
		tr = tr.onlyFuelEnds(verdictFuel)
		p, err := preparedFor(b, &tr, false)
		require.NoError(t, err)
		open := func(from spi.Backend) spi.Isolate {
			iso, err := from.Open(t.Context(), &tr.config)
			require.NoError(t, err)
			return iso
		}
		parsed := open(b) // where the script was parsed, whose pages are its own since
		defer parsed.Close()
		require.NoError(t, open(b).Close())
		for range 3 { // the one that nothing was ever written to
			require.NoError(t, open(p).Close())
			require.NoError(t, open(b).Close())
		}
		requireLikePlain(t, b, p, &tr)
	})
}
