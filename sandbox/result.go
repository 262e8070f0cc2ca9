package sandbox

import (
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
	// StatusSuspended: the script waits for Pending, and is put away in Continuation.
	StatusSuspended Status = "suspended"
)

// Result is what came of one eval. Every part that the guest could have written
// is a [taint.Tainted]; the rest is minted by the host. It marshals to the JSON
// that the HTTP API answers with.
type Result struct {
	Status Status
	// EvalID names this eval, also in events and to tools and policies: random, and
	// the same for all parts of an eval that is suspended and resumed. In JSON it is
	// a part of run.
	EvalID string
	// Value is the script's result; nil unless Status is StatusOK.
	Value *taint.Tainted
	// ValueType is the JavaScript type of the result, before it became JSON.
	ValueType spi.ValueType
	// Logs is a JSON array of {"level", "text"}, in order, on every exit path.
	Logs taint.Tainted
	// Error says why there is no value; nil unless Status is StatusError.
	Error *Error
	// Pending are the calls that a suspended script waits for, by their IDs, and
	// Continuation is what [Sandbox.Resume] goes on from: sealed, so that nobody
	// without the keys can read or change it. Nil unless Status is StatusSuspended.
	Pending      []PendingCall
	Continuation []byte
	// Warnings are what the author of the script, or the operator, should know.
	Warnings  []Warning
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
	// Tool is the tool whose failure the script let pass, and Code says why it
	// failed or was refused, as in [tools.Failure]. Both are minted by the host, and
	// empty where the error is none of a tool that the script was handed; Code
	// also says so then ([tools.CodeNotGranted]).
	Tool, Code string
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
	// HostCalls is the number of calls made, CallBytes the size of their arguments
	// and ReplyBytes that of their results, both as JSON.
	HostCalls, CallBytes, ReplyBytes int64
	// Total is wall time of the eval with its waiting, all its parts together. It
	// is 0 where the script was handed nothing.
	Total time.Duration
}

// Truncated says what is not complete.
type Truncated struct {
	Logs bool `json:"logs,omitempty"`
	// Events of the script's own were dropped.
	Events bool `json:"events,omitempty"`
}

// PendingCall is a call that a suspended script waits for.
type PendingCall struct {
	// ID is what a [Reply] names.
	ID int64
	// Tool is the name of the tool.
	Tool string
	// Args is one JSON object, as the tool's schema wants it.
	Args taint.Tainted
}

// Run is what is needed, together with the request's script, input and limits and
// what tools answered, to get the same bytes again. After a [Sandbox.Resume] it is
// still that of the eval's start.
type Run struct {
	Backend  string       `json:"backend"`
	Image    string       `json:"image,omitempty"`
	Language spi.Language `json:"language"`
	// Now is where the script's clock started, RFC 3339 in UTC with milliseconds.
	Now string `json:"now"`
	// Seed gave the script's random numbers.
	Seed string `json:"seed"`
}
