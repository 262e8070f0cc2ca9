package sandbox

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
)

// Status of an eval.
type Status string

// The statuses.
const (
	StatusOK    Status = "ok"
	StatusError Status = "error"
)

// Result is what came of one eval. Every part that the guest could have written
// is a [taint.Tainted]; the rest is minted by the host. It marshals to the JSON
// that the HTTP API answers with.
type Result struct {
	Status Status
	// Value is the script's result; nil unless Status is StatusOK.
	Value *taint.Tainted
	// ValueType is the JavaScript type of the result, before it became JSON.
	ValueType spi.ValueType
	// Logs is a JSON array of {"level", "text"}, in order, on every exit path.
	Logs taint.Tainted
	// Error says why there is no value; nil where Status is StatusOK.
	Error     *Error
	Usage     Usage
	Truncated Truncated
	Run       Run

	unlabelled bool
}

// Error is why an eval has no value.
type Error struct {
	// Kind is one of the frozen kinds, minted by the host.
	Kind spi.Kind
	// Limit is the limit that ended the eval, if one did.
	Limit *spi.ReachedLimit
	// Name, Message and Stack are JSON strings. Stack is nil where there is none.
	Name    taint.Tainted
	Message taint.Tainted
	Stack   *taint.Tainted
	// Line and Column in the script as it was sent, from 1; 0 where unknown. A
	// column counts Unicode code points.
	Line, Column int
}

// Usage is what the eval consumed: measured by the host, influenced by the script.
type Usage struct {
	// Fuel in the backend's units; for wazero about 6 ns of work each.
	Fuel int64
	// Wall is the time of parsing, running and writing the result.
	Wall time.Duration
	// MemoryPeakBytes is the largest size of the guest's memory, image included.
	MemoryPeakBytes int64
	// OutputBytes is the size of the result as the script's JSON, before the
	// escapes that embedding it adds.
	OutputBytes int64
	// LogBytes counts the log lines kept, each with one byte for its line end.
	LogBytes int64
	// HostCalls is the number of host functions called; scripts have none yet.
	HostCalls int64
}

// Truncated says what is not complete.
type Truncated struct {
	Logs bool `json:"logs,omitempty"`
}

// Run is what is needed, together with the request's script, input and limits,
// to get the same bytes again.
type Run struct {
	Backend  string       `json:"backend"`
	Image    string       `json:"image,omitempty"`
	Language spi.Language `json:"language"`
	// Now is where the script's clock started, RFC 3339 in UTC with milliseconds.
	Now string `json:"now"`
	// Seed gave the script's random numbers.
	Seed string `json:"seed"`
}

// MarshalJSON writes the result as the HTTP API answers it.
func (r Result) MarshalJSON() ([]byte, error) {
	var failed error
	show := func(t *taint.Tainted) json.RawMessage {
		if t == nil {
			return nil
		}
		if r.unlabelled {
			return taint.Unwrap(*t)
		}
		b, err := t.MarshalJSON()
		failed = errors.Join(failed, err)
		return b
	}
	type wireError struct {
		Kind    spi.Kind          `json:"kind"`
		Limit   *spi.ReachedLimit `json:"limit,omitempty"`
		Name    json.RawMessage   `json:"name,omitempty"`
		Message json.RawMessage   `json:"message,omitempty"`
		Line    int               `json:"line,omitempty"`
		Column  int               `json:"column,omitempty"`
		Stack   json.RawMessage   `json:"stack,omitempty"`
	}
	type wireUsage struct {
		Fuel            int64   `json:"fuel"`
		WallMs          float64 `json:"wallMs"`
		MemoryPeakBytes int64   `json:"memoryPeakBytes"`
		OutputBytes     int64   `json:"outputBytes"`
		LogBytes        int64   `json:"logBytes"`
		HostCalls       int64   `json:"hostCalls"`
	}
	wire := struct {
		Status    Status          `json:"status"`
		Value     json.RawMessage `json:"value,omitempty"`
		ValueType spi.ValueType   `json:"valueType,omitempty"`
		Logs      json.RawMessage `json:"logs"`
		Error     *wireError      `json:"error,omitempty"`
		Usage     wireUsage       `json:"usage"`
		Truncated *Truncated      `json:"truncated,omitempty"`
		Run       Run             `json:"run"`
	}{
		Status: r.Status, Value: show(r.Value), ValueType: r.ValueType, Logs: show(&r.Logs),
		Usage: wireUsage{
			Fuel: r.Usage.Fuel, WallMs: float64(r.Usage.Wall.Microseconds()) / 1000,
			MemoryPeakBytes: r.Usage.MemoryPeakBytes, OutputBytes: r.Usage.OutputBytes,
			LogBytes: r.Usage.LogBytes, HostCalls: r.Usage.HostCalls,
		},
		Run: r.Run,
	}
	if e := r.Error; e != nil {
		wire.Error = &wireError{
			Kind: e.Kind, Limit: e.Limit, Name: show(&e.Name), Message: show(&e.Message),
			Line: e.Line, Column: e.Column, Stack: show(e.Stack),
		}
	}
	if r.Truncated != (Truncated{}) {
		wire.Truncated = &r.Truncated
	}
	if failed != nil {
		return nil, failed // never bare, and never without what is missing
	}
	return json.Marshal(wire)
}
