package spi

import (
	"encoding/json"
	"time"
)

// Outcome is what the host saw of one eval. Exactly one of Value (not empty) and
// Error (not nil) is set where the script has ended, and none where it waits.
// Success is only ever reported on the guest's explicit completion.
type Outcome struct {
	// Value is the result as JSON text, strictly valid. Guest data.
	Value json.RawMessage
	// ValueType says what the result was before it became JSON.
	ValueType ValueType
	// Error is why there is no value.
	Error *ScriptError
	// Logs are the lines kept, in order. Guest data.
	Logs []LogLine
	// LogsTruncated: lines were dropped or cut because of Limits.LogBytes.
	LogsTruncated bool
	// EventsTruncated: events were dropped because of Limits.LogBytes.
	EventsTruncated bool
	// Pending are the calls without a reply, by their IDs. Where the script has
	// ended it did not wait for them.
	Pending []HostCall
	Usage   Usage
}

// Waits reports whether the script has not ended, but waits for replies to Pending.
func (o *Outcome) Waits() bool { return len(o.Value) == 0 && o.Error == nil && len(o.Pending) > 0 }

// ValueType is the JavaScript type of a result.
type ValueType string

// Value types. undefined, function and symbol come back as JSON null.
const (
	TypeUndefined ValueType = "undefined"
	TypeNull      ValueType = "null"
	TypeBoolean   ValueType = "boolean"
	TypeNumber    ValueType = "number"
	TypeString    ValueType = "string"
	TypeArray     ValueType = "array"
	TypeObject    ValueType = "object"
	TypeFunction  ValueType = "function"
	TypeSymbol    ValueType = "symbol"
)

// Level of a log line.
type Level string

// Log levels, as the console's methods are named.
const (
	LevelLog   Level = "log"
	LevelInfo  Level = "info"
	LevelWarn  Level = "warn"
	LevelError Level = "error"
	LevelDebug Level = "debug"
)

// LogLine is one call of the guest's console.
type LogLine struct {
	Level Level  `json:"level"`
	Text  string `json:"text"`
}

// Usage is what an eval consumed, on every exit path.
type Usage struct {
	// Fuel burnt, in the backend's units; the same for the same eval where the
	// descriptor says that fuel is exact.
	Fuel int64
	// Wall is the time that Isolate.Eval took for the script; see Limits.Timeout.
	Wall time.Duration
	// MemoryPeakBytes is the largest size of the guest's memory.
	MemoryPeakBytes int64
	// OutputBytes is the size of the result as JSON.
	OutputBytes int64
	// LogBytes is what the kept lines count against Limits.LogBytes.
	LogBytes int64
	// HostCalls is the number of calls made, and CallBytes what their arguments
	// count against Limits.CallBytes.
	HostCalls, CallBytes int64
}
