package wazero

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"

	quickjswasi "github.com/aperturerobotics/go-quickjs-wasi-reactor"
	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheImageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	_, source := quickjs.DefaultSource()
	assert.Equal(t, source, shared.host.Image().SourceSHA256)
	assert.Equal(t, "sha256:"+shared.host.Image().SHA256, shared.Describe().Image)
	assert.Regexp(t, `\{"format":\d+,"source":"sha256:`+source+`"\}`, string(shared.host.Image().WASM))
}

func TestBulkMovesAreRightAtAnySizeAndOverlap(t *testing.T) {
	t.Parallel()
	const source = `
		const bad = [];
		const n = 5 << 20;
		const u = new Uint8Array(n);
		for (let i = 0; i < n; i += 997) u[i] = i % 251 + 1;
		for (const [to, from, length] of [[1, 0, n - 1], [0, 1, n - 1], [3 << 20, 0, 2 << 20], [0, 3 << 20, 2 << 20],
			[(1 << 20) + 1, 0, 1 << 20], [7, 0, (2 << 20) + 3], [0, 7, (2 << 20) + 3], [5, 5, 4 << 20], [0, 1, 0]]) {
			const before = u.slice();
			u.copyWithin(to, from, from + length);
			for (let i = 0; i < n; i += 499) {
				const want = i >= to && i < to + length ? before[i - to + from] : before[i];
				if (u[i] !== want) { bad.push([to, from, length, i]); break; }
			}
			u.set(before);
		}
		const f = new Uint8Array(n).fill(7, 3, n - 3);
		for (let i = 0; i < n; i += 499) if (f[i] !== (i < 3 || i >= n - 3 ? 0 : 7)) { bad.push(['fill', i]); break; }
		bad`
	cfg := testConfig()
	cfg.Limits.MemoryBytes = 128 << 20
	requireValue(t, run(t, shared, cfg, source), "[]")
}

func TestABulkMoveIsPaidForInFuel(t *testing.T) {
	t.Parallel()
	fuel := func(bytes string) int64 {
		out := run(t, shared, testConfig(), "const u = new Uint8Array(16 << 20); u.copyWithin(1, 0, "+bytes+"); 1")
		require.Nil(t, out.Error)
		return out.Usage.Fuel
	}
	small, large := fuel("1024"), fuel("8 << 20")
	assert.InEpsilon(t, (8<<20-1024)>>6, large-small, 0.01, "one unit for each 64 bytes")
}

func TestTheInterpreterGivesTheSameAnswers(t *testing.T) {
	t.Parallel()
	b, err := New(t.Context(), &Options{Interpreter: true})
	require.NoError(t, err)
	defer b.Close()
	assert.Equal(t, shared.Describe().Image, b.Describe().Image, "booting is deterministic")
	cfg := testConfig()
	cfg.Limits.Fuel = 50_000_000
	for _, source := range []string{
		"[1,2,3].map(x => x * x)", "return await Promise.resolve(7)", "throw new TypeError('x')", "let x = ;", "await new Promise(() => {})",
		"console.log({ a: 1 }); [Math.random(), Date.now()]", "({ a: 1n })", "JSON.parse(JSON.stringify({ s: 'x'.repeat(1000) })).s.length",
	} {
		got, want := run(t, b, cfg, source), run(t, shared, cfg, source)
		assert.Equal(t, want.Value, got.Value, source)
		assert.Equal(t, want.Error, got.Error, source)
		assert.Equal(t, want.Logs, got.Logs, source)
		assert.Equal(t, want.Usage.Fuel, got.Usage.Fuel, source)
		assert.Equal(t, want.Usage.MemoryPeakBytes, got.Usage.MemoryPeakBytes, source)
	}
	cfg.Limits.Fuel = 100_000
	out := run(t, b, cfg, "for (;;) {}")
	require.NotNil(t, out.Error)
	assert.Equal(t, spi.KindFuel, out.Error.Kind)
	out = run(t, b, testConfig(), "const down = (n) => down(n + 1) + 1; down(0)")
	require.NotNil(t, out.Error)
	assert.Equal(t, spi.KindStackOverflow, out.Error.Kind)
}

func TestAnotherEngineImageNeedsItsHash(t *testing.T) {
	t.Parallel()
	_, sum := quickjs.DefaultSource()
	_, err := New(t.Context(), &Options{EngineImage: quickjswasi.QuickJSWASM})
	require.ErrorContains(t, err, "needs its sha256")
	_, err = New(t.Context(), &Options{EngineImage: quickjswasi.QuickJSWASM, EngineImageSHA256: "ab"})
	require.ErrorContains(t, err, "has sha256 "+sum+", expected is ab")
	_, err = New(t.Context(), &Options{EngineImage: []byte("junk"), EngineImageSHA256: "ab"})
	require.ErrorContains(t, err, "expected is ab")
	_, err = New(t.Context(), &Options{EngineImageSHA256: "ab"})
	require.ErrorContains(t, err, "expected is ab")
}

func TestAnotherEngineImageIsUsed(t *testing.T) {
	t.Parallel()
	// The same code in another file: a custom section more.
	other := append(slices.Clone(quickjswasi.QuickJSWASM), 0, 7, 4, 'n', 'o', 't', 'e', 'h', 'i')
	hash := sha256.Sum256(other)
	b, err := New(t.Context(), &Options{EngineImage: other, EngineImageSHA256: hex.EncodeToString(hash[:]), Interpreter: true})
	require.NoError(t, err)
	defer b.Close()
	requireValue(t, run(t, b, testConfig(), "[1, 2].map((x) => x + 1)"), "[2, 3]")
}
