package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/wasmtime"
	"github.com/loom-sandbox/sandboxd/backends/wazero"
	"github.com/loom-sandbox/sandboxd/spi"
)

// trial is what one isolate goes through, one request after the other.
type trial struct {
	name     string
	config   spi.Config
	requests []spi.Request
	ends     bool // with values, or its fuel: any other error is a mistake in it
}

// newTrial is one script in a roomy isolate with fixed clock and seed.
func newTrial(name, source string) trial {
	return trial{
		name: name,
		config: spi.Config{
			Limits: spi.Limits{MemoryBytes: 64 << 20, OutputBytes: 1 << 20, LogBytes: 64 << 10},
			Now:    noon(), Seed: 1,
		},
		requests: []spi.Request{{Source: source, Language: spi.JavaScript, Input: json.RawMessage("null")}},
	}
}

// onlyFuelEnds takes the host's clock out of a trial: what would run longer than
// the fuel lasts ends at the same unit on every machine.
func (tr trial) onlyFuelEnds(fuel int64) trial {
	l := &tr.config.Limits
	l.Timeout = 10 * time.Minute
	if l.Fuel == 0 || l.Fuel > fuel {
		l.Fuel = fuel
	}
	return tr
}

// String is what a trial runs, to be read when it failed.
func (tr *trial) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s with limits %+v\n", tr.name, tr.config.Limits)
	const most = 4 << 10
	for _, r := range tr.requests {
		fmt.Fprintf(&s, "%s\n", r.Source[:min(len(r.Source), most)])
	}
	return s.String()
}

// verdict is all that can be seen of a trial, but for times.
type verdict struct {
	Refused  string        // why the backend did not open an isolate
	Outcomes []spi.Outcome // of each request until the isolate was spent
	Heaps    []string      // digest of all that the guest is, after each of them
	Spent    bool
}

// heapHasher is what the isolates of both engines offer to tests.
type heapHasher interface {
	HeapSHA256() ([32]byte, error)
}

// judge puts a trial through a backend. An error means that there is no verdict
// to compare: also where both engines would have none, something is wrong.
func judge(backend spi.Backend, tr *trial) (*verdict, error) {
	ctx := context.Background()
	v := &verdict{}
	iso, err := backend.Open(ctx, &tr.config)
	if errors.Is(err, spi.ErrUnsupported) {
		// The text is the same but for who says it.
		v.Refused = strings.TrimPrefix(err.Error(), backend.Describe().Name)
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	defer iso.Close()
	hasher, ok := iso.(heapHasher)
	if !ok {
		return nil, fmt.Errorf("an isolate of %s does not tell the digest of its heap", backend.Describe().Name)
	}
	for i := range tr.requests {
		out, err := iso.Eval(ctx, &tr.requests[i])
		if errors.Is(err, spi.ErrIsolateSpent) {
			v.Spent = true
			return v, nil
		}
		if err != nil {
			return nil, err
		}
		switch kind := kindOf(out); kind {
		case "", spi.KindFuel:
		case spi.KindTimeout:
			return nil, fmt.Errorf("the host's clock ended a trial after %s", out.Usage.Wall)
		case spi.KindBackend:
			return nil, fmt.Errorf("eval %d: the guest's interpreter broke", i+1)
		default:
			if tr.ends {
				return nil, fmt.Errorf("eval %d: %s: %s", i+1, kind, out.Error.Message)
			}
		}
		out.Usage.Wall = 0
		v.Outcomes = append(v.Outcomes, *out)
		// Whole or not: an engine that stops a guest leaves it where it stopped.
		heap, err := hasher.HeapSHA256()
		if err != nil {
			return nil, err
		}
		v.Heaps = append(v.Heaps, fmt.Sprintf("%x", heap))
	}
	// Whether the isolate would take another script is part of the verdict.
	_, err = iso.Eval(ctx, &spi.Request{Source: "0", Language: spi.JavaScript, Input: json.RawMessage("null")})
	v.Spent = errors.Is(err, spi.ErrIsolateSpent)
	if err != nil && !v.Spent {
		return nil, err
	}
	return v, nil
}

// difference says in what two verdicts differ, or "". Whether they do is decided
// over everything that is in them, and not only over what can be shown.
func difference(one, other *verdict) string {
	if reflect.DeepEqual(one, other) {
		return ""
	}
	a, b := one.lines(), other.lines()
	for len(a) < len(b) {
		a = append(a, "(nothing)")
	}
	for len(b) < len(a) {
		b = append(b, "(nothing)")
	}
	var s strings.Builder
	for i := range a {
		if a[i] != b[i] {
			at := commonPrefix(a[i], b[i])
			fmt.Fprintf(&s, "- %s\n+ %s\n", around(a[i], at), around(b[i], at))
		}
	}
	if s.Len() == 0 {
		return "they differ in what is not shown"
	}
	return s.String()
}

// lines are one for each thing that can differ.
func (v *verdict) lines() []string {
	lines := []string{fmt.Sprintf("refused %q, spent %t, evals %d", v.Refused, v.Spent, len(v.Outcomes))}
	for i, o := range v.Outcomes {
		add := func(format string, args ...any) {
			lines = append(lines, fmt.Sprintf("eval %d: ", i+1)+fmt.Sprintf(format, args...))
		}
		e := o.Error
		add("kind %s", kindOf(&o))
		if e == nil {
			e = &spi.ScriptError{}
		}
		add("value of type %q %q", o.ValueType, o.Value)
		add("error %q: %q", e.Name, e.Message)
		add("stack %q", e.Stack)
		add("at line %d, column %d; limit %+v", e.Line, e.Column, e.Limit)
		add("fuel %d", o.Usage.Fuel)
		add("memory peak %d", o.Usage.MemoryPeakBytes)
		add("output %d bytes, logs %d bytes, truncated %t", o.Usage.OutputBytes, o.Usage.LogBytes, o.LogsTruncated)
		add("logs %q", o.Logs)
		add("heap %s", v.Heaps[i])
	}
	return lines
}

// kindOf is "" for a value.
func kindOf(o *spi.Outcome) spi.Kind {
	if o.Error == nil {
		return ""
	}
	return o.Error.Kind
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// around is a line, or the part of a long one where the difference is.
func around(line string, at int) string {
	const before, after = 100, 200
	if at > before {
		line = line[:20] + "…" + line[at-before+20:]
		at = before
	}
	return line[:min(len(line), at+after)]
}

// openWazero is a backend that is closed when the test ends.
func openWazero(tb testing.TB, opts wazero.Options) spi.Backend {
	tb.Helper()
	opts.CacheDir = cacheDir
	b, err := wazero.New(context.Background(), &opts)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, b.Close()) })
	return b
}

// openWasmtime skips the test where this build or machine has no wasmtime.
func openWasmtime(tb testing.TB) spi.Backend {
	tb.Helper()
	if reason := wasmtime.Unavailable(); reason != "" {
		tb.Skip("no second engine to compare with: wasmtime is " + reason)
	}
	b, err := wasmtime.New(context.Background(), &wasmtime.Options{CacheDir: cacheDir})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, b.Close()) })
	return b
}

// requireOneVerdict puts a trial through two backends.
func requireOneVerdict(t *testing.T, one, other spi.Backend, tr *trial) {
	t.Helper()
	first, err := judge(one, tr)
	if err != nil {
		t.Fatalf("%s: %v\n%s", one.Describe().Engine, err, tr)
	}
	second, err := judge(other, tr)
	if err != nil {
		t.Fatalf("%s: %v\n%s", other.Describe().Engine, err, tr)
	}
	if differs := difference(first, second); differs != "" {
		t.Fatalf("%s (-) and %s (+) differ:\n%s\n%s", one.Describe().Engine, other.Describe().Engine, differs, tr)
	}
}

func TestADifferenceBetweenVerdictsIsNoticed(t *testing.T) {
	t.Parallel()
	plain := func() *verdict {
		return &verdict{
			Outcomes: []spi.Outcome{{
				Value: []byte("1"), ValueType: spi.TypeNumber, Logs: []spi.LogLine{{Level: spi.LevelLog, Text: "x"}},
				Error: &spi.ScriptError{Kind: spi.KindFuel, Limit: &spi.ReachedLimit{Name: spi.LimitFuel, Value: 1}},
			}},
			Heaps: []string{"00"},
		}
	}
	require.Empty(t, difference(plain(), plain()))
	for name, change := range map[string]func(v *verdict, o *spi.Outcome){
		"refused":      func(v *verdict, _ *spi.Outcome) { v.Refused = "x" },
		"spent":        func(v *verdict, _ *spi.Outcome) { v.Spent = true },
		"heap":         func(v *verdict, _ *spi.Outcome) { v.Heaps[0] = "01" },
		"another eval": func(v *verdict, o *spi.Outcome) { v.Outcomes = append(v.Outcomes, *o); v.Heaps = append(v.Heaps, "00") },
		"value":        func(_ *verdict, o *spi.Outcome) { o.Value = []byte("1.0") },
		"value type":   func(_ *verdict, o *spi.Outcome) { o.ValueType = spi.TypeObject },
		"no error":     func(_ *verdict, o *spi.Outcome) { o.Error = nil },
		"kind":         func(_ *verdict, o *spi.Outcome) { o.Error.Kind = spi.KindMemory },
		"limit":        func(_ *verdict, o *spi.Outcome) { o.Error.Limit.Value = 2 },
		"error name":   func(_ *verdict, o *spi.Outcome) { o.Error.Name = "x" },
		"message":      func(_ *verdict, o *spi.Outcome) { o.Error.Message = "x" },
		"stack":        func(_ *verdict, o *spi.Outcome) { o.Error.Stack = "x" },
		"line":         func(_ *verdict, o *spi.Outcome) { o.Error.Line = 1 },
		"column":       func(_ *verdict, o *spi.Outcome) { o.Error.Column = 1 },
		"log level":    func(_ *verdict, o *spi.Outcome) { o.Logs[0].Level = spi.LevelWarn },
		"log text":     func(_ *verdict, o *spi.Outcome) { o.Logs[0].Text = strings.Repeat("x", 1000) },
		"truncated":    func(_ *verdict, o *spi.Outcome) { o.LogsTruncated = true },
		"fuel":         func(_ *verdict, o *spi.Outcome) { o.Usage.Fuel++ },
		"memory":       func(_ *verdict, o *spi.Outcome) { o.Usage.MemoryPeakBytes++ },
		"output":       func(_ *verdict, o *spi.Outcome) { o.Usage.OutputBytes++ },
		"log bytes":    func(_ *verdict, o *spi.Outcome) { o.Usage.LogBytes++ },
	} {
		v := plain()
		change(v, &v.Outcomes[0])
		assert.Contains(t, difference(plain(), v), "\n+ ", name)
	}
}
