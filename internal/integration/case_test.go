package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
)

// casesDir holds the cases; its README says what the fields mean.
const casesDir = "../../testdata/cases"

// scriptCase is one line of a case file.
type scriptCase struct {
	ID, Category, Report, Script string
	ScriptParts                  []struct {
		Text   string
		Repeat int
	} `json:"script_parts"`
	Limits struct {
		TimeoutMs     int64 `json:"timeout_ms"`
		MemoryMb      int64 `json:"memory_mb"`
		OutputKb      int64 `json:"output_kb"`
		CancelAfterMs int64 `json:"cancel_after_ms"`
	}
	Expect   expectation
	Followup []struct {
		Script string
		Expect expectation
	}

	name string // unique, unlike the id
}

// expectation is what an eval must give; one of AlsoOK will do as well.
type expectation struct {
	OK              bool
	Value           json.RawMessage
	ValueType       spi.ValueType `json:"value_type"`
	ErrorKind       oneOrMore     `json:"error_kind"`
	Name            string
	MessageContains string        `json:"message_contains"`
	LogsContain     []string      `json:"logs_contain"`
	AlsoOK          []expectation `json:"also_ok"`
	Note            string
}

// oneOrMore is a kind or a list of kinds.
type oneOrMore []spi.Kind

func (k *oneOrMore) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '[' {
		return json.Unmarshal(raw, (*[]spi.Kind)(k))
	}
	*k = make(oneOrMore, 1)
	return json.Unmarshal(raw, &(*k)[0])
}

// loadCases reads all case files, in the order of their names. A field that is
// not known is an error: it would be a demand that nobody checks.
func loadCases() ([]*scriptCase, error) {
	files, err := filepath.Glob(filepath.Join(casesDir, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	var cases []*scriptCase
	seen := map[string]int{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for i, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
			c := &scriptCase{}
			d := json.NewDecoder(bytes.NewReader(line))
			d.DisallowUnknownFields()
			if err := d.Decode(c); err != nil {
				return nil, fmt.Errorf("%s line %d: %w", filepath.Base(file), i+1, err)
			}
			c.name = c.ID
			if seen[c.ID]++; seen[c.ID] > 1 {
				c.name = fmt.Sprintf("%s-again-%d", c.ID, seen[c.ID])
			}
			cases = append(cases, c)
		}
	}
	return cases, nil
}

// source is the script in full.
func (c *scriptCase) source() string {
	if len(c.ScriptParts) == 0 {
		return c.Script
	}
	var s strings.Builder
	for _, p := range c.ScriptParts {
		s.WriteString(strings.Repeat(p.Text, p.Repeat))
	}
	return s.String()
}

// limits are the case's own, for the script and for what follows it.
func (c *scriptCase) limits() sandbox.Limits {
	return sandbox.Limits{
		Timeout:     time.Duration(c.Limits.TimeoutMs) * time.Millisecond,
		MemoryBytes: c.Limits.MemoryMb << 20,
		OutputBytes: c.Limits.OutputKb << 10,
	}
}

// endsBy is when the eval must be over: at its time limit, or when it is
// cancelled.
func (c *scriptCase) endsBy() time.Duration {
	switch {
	case c.Limits.CancelAfterMs > 0:
		return c.cancelAfter()
	case c.Limits.TimeoutMs > 0:
		return time.Duration(c.Limits.TimeoutMs) * time.Millisecond
	}
	return sandbox.DefaultTimeout
}

func (c *scriptCase) cancelAfter() time.Duration {
	return time.Duration(c.Limits.CancelAfterMs) * time.Millisecond
}

// memoryCap is what the guest's memory must stay within.
func (c *scriptCase) memoryCap() int64 {
	if c.Limits.MemoryMb > 0 {
		return c.Limits.MemoryMb << 20
	}
	return sandbox.DefaultMemoryBytes
}

// mismatch says how o differs from what was expected, or "".
func (e *expectation) mismatch(o *observed) string {
	why := e.differs(o)
	if why == "" {
		return ""
	}
	for i := range e.AlsoOK {
		if e.AlsoOK[i].differs(o) == "" {
			return ""
		}
	}
	return why
}

func (e *expectation) differs(o *observed) string {
	if e.OK {
		if o.Error != nil {
			return fmt.Sprintf("wanted a value, got %s %s: %s", o.Error.Kind, o.Error.Name, clip(o.Error.Message))
		}
		if e.Value != nil && !sameJSON(e.Value, o.Value) {
			return fmt.Sprintf("wanted the value %s, got %s", clip(string(e.Value)), clip(string(o.Value)))
		}
		if e.ValueType != "" && e.ValueType != o.ValueType {
			return fmt.Sprintf("wanted a value of type %s, got %s", e.ValueType, o.ValueType)
		}
	} else {
		switch {
		case o.Error == nil:
			return fmt.Sprintf("wanted an error, got the value %s", clip(string(o.Value)))
		case len(e.ErrorKind) > 0 && !slices.Contains(e.ErrorKind, o.Error.Kind):
			return fmt.Sprintf("wanted the kind %v, got %s: %s", e.ErrorKind, o.Error.Kind, clip(o.Error.Message))
		case e.Name != "" && e.Name != o.Error.Name:
			return fmt.Sprintf("wanted the name %s, got %s", e.Name, clip(o.Error.Name))
		case !strings.Contains(o.Error.Message, e.MessageContains):
			return fmt.Sprintf("wanted a message with %q, got %q", e.MessageContains, clip(o.Error.Message))
		}
	}
	logs := strings.Join(logTexts(o), "\n")
	for _, want := range e.LogsContain {
		if !strings.Contains(logs, want) {
			return fmt.Sprintf("wanted logs with %q, got %q", want, clip(logs))
		}
	}
	return ""
}

// sameJSON compares values, numbers as the doubles that they are.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func clip(s string) string {
	const most = 300
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
