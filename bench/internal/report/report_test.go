package report

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// example has a cell of each kind.
func example() *Report {
	ours := Cell{Subject: Baseline, Limits: "timeout, memory", Isolation: "wasm, no imports"}
	peer := Cell{Subject: "peer", Limits: "timeout", Isolation: "none | same heap"}
	with := func(c Cell, change func(*Cell)) Cell { change(&c); return c }
	r := &Report{
		Machine: Machine{
			CPU: "Some CPU", Cores: 2, OS: "linux (Some OS 1)", Arch: "amd64", Kernel: "6.1", Go: "go1.26", Cgo: true,
			Load: "0.00 0.01 0.02", Peers: map[string]string{"b": "v2", "a": "v1"},
		},
		Rows: []Cell{
			with(ours, func(c *Cell) {
				c.Row, c.Unit, c.P10, c.P50, c.P90, c.P99, c.N = "small-eval", UnitTime, 480, 500, 700.26, 1234.5, 100
			}),
			with(peer, func(c *Cell) {
				c.Row, c.Unit, c.P10, c.P50, c.P90, c.P99, c.N = "small-eval", UnitTime, 19, 20, 21, 2.5e6, 2000
				c.Note = "peer: a note <of> its own"
			}),
			with(ours, func(c *Cell) { c.Row, c.Unit, c.Bytes, c.N = "memory", UnitBytes, 3<<20, 2 }),
			with(peer, func(c *Cell) { c.Row, c.Unit, c.Bytes, c.N = "memory", UnitBytes, 1536, 2 }),
			with(ours, func(c *Cell) { c.Row, c.Unit, c.Reason = "concurrency-2", UnitRate, "wrong answer: 3" }),
			with(peer, func(c *Cell) {
				c.Row, c.Unit, c.P10, c.P50, c.P90, c.P99, c.N, c.PerSecond = "concurrency-2", UnitRate, 1, 2, 3, 4, 5, 43210
			}),
		},
		Missing: []Missing{{"absent", "`npm ci --prefix node` brings this peer"}},
		Notes:   []string{"A note for people."},
	}
	r.FillRatios()
	return r
}

func TestRatiosAreAgainstTheBaselineOfTheSameRow(t *testing.T) {
	t.Parallel()
	r := example()
	var got []float64
	for _, c := range r.Rows {
		got = append(got, c.Ratio)
	}
	assert.InDeltaSlice(t, []float64{1, 0.04, 1, 1536.0 / (3 << 20), 0, 0}, got, 1e-9, "none where the baseline has no value")
}

// UPDATE_GOLDEN=1 writes the files anew.
func TestTheFormsOfTheReportAreAsTheyWere(t *testing.T) {
	t.Parallel()
	r := example()
	for name, write := range map[string]func(*bytes.Buffer) error{
		"table.golden":    func(b *bytes.Buffer) error { return r.WriteTable(b) },
		"markdown.golden": func(b *bytes.Buffer) error { return r.WriteMarkdown(b) },
		"json.golden":     func(b *bytes.Buffer) error { return r.WriteJSON(b) },
	} {
		var got bytes.Buffer
		require.NoError(t, write(&got), name)
		file := filepath.Join("testdata", name)
		if os.Getenv("UPDATE_GOLDEN") != "" {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(file, got.Bytes(), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(want), got.String(), name)
	}
}

func TestNumbersHaveAUnitThatSuitsThem(t *testing.T) {
	t.Parallel()
	for us, want := range map[float64]string{0.5: "0.50 µs", 21.04: "21.0 µs", 999: "999 µs", 1000: "1.00 ms", 123456: "123 ms", 2.5e6: "2.50 s", -40: "-40.0 µs"} {
		assert.Equal(t, want, showTime(us))
	}
	for b, want := range map[float64]string{512: "0.50 KiB", 1 << 20: "1.00 MiB", -1 << 21: "-2.00 MiB"} {
		assert.Equal(t, want, showBytes(b))
	}
}

func TestTheMachineIsKnownByMoreThanNothing(t *testing.T) {
	t.Parallel()
	m := ThisMachine(nil, map[string]string{"node": "v1"})
	assert.NotEmpty(t, m.CPU)
	assert.Positive(t, m.Cores)
	assert.NotEmpty(t, m.Go)
	assert.Equal(t, map[string]string{"node": "v1"}, m.Peers)
}

func TestAFieldOfAFileIsFoundByItsName(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(file, []byte("a\t: x\nmodel name\t: Some CPU\nNAME=\"y\"\n"), 0o600))
	assert.Equal(t, "Some CPU", field(file, "model name", "-"))
	assert.Equal(t, `"y"`, field(file, "NAME", "-"))
	assert.Equal(t, "-", field(file, "absent", "-"))
	assert.Equal(t, "-", field(file+"2", "a", "-"))
}
