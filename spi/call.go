package spi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Caller is an [Isolate] whose scripts can call functions of the host: those of
// [Request.Functions]. An isolate is one where [Descriptor.HostCalls] says so;
// elsewhere a request with functions is refused with [ErrUnsupported].
//
// A call in the script returns a promise. The script goes on until nothing moves
// any more. If it has not ended then and there are calls without a reply, Eval
// returns an outcome that waits ([Outcome.Waits]), and the script rests until
// Continue. Calls come before timers: while one has no reply the guest's clock
// stands still, and no timer fires.
type Caller interface {
	// Continue gives replies to calls of the script that waits, and goes on with
	// it, as Eval would: until it ends, or waits again. Replies are settled in
	// the given order, before anything of the script runs. No replies is allowed.
	// Limits hold for the eval as a whole, [Limits.Timeout] for the time within
	// Eval and Continue. A reply to a call that is not pending, or one that is not
	// valid, is [ErrReply] and changes nothing; nobody waiting is [ErrNotWaiting].
	Continue(ctx context.Context, replies []Reply) (*Outcome, error)
}

// HostCall is one call of a host function.
type HostCall struct {
	// ID counts the calls of one isolate, from 1, in the order in which the script made them.
	ID int64
	// Function is the name that was called. Guest data: it need not be one of
	// [Request.Functions], see there. At most [MaxFunctionNameBytes].
	Function string
	// Args is the JSON array of the arguments, strictly valid. Guest data.
	Args json.RawMessage
	// Line and Column of the call in Request.Source, as in [ScriptError]; 0 where
	// unknown. A guest can choose them.
	Line, Column int
}

// Reply answers one call. Exactly one of Value and Error is set.
type Reply struct {
	ID int64
	// Value is the JSON text that the call's promise is fulfilled with.
	Value json.RawMessage
	// Error rejects the promise.
	Error *CallError
}

// CallError is how a call failed, as the script sees it.
type CallError struct {
	// Name of the error. "TypeError" and "RangeError" are the language's own,
	// "DeniedError" is a DeniedError, everything else a ToolError with this name;
	// empty means "ToolError". All have a property `function`.
	Name string
	// Message of the error: valid UTF-8, at most [MaxErrorMessageBytes].
	Message string
	// Denied: the call was refused. Uncaught, it ends the eval as [KindDenied].
	Denied bool
}

// Observer is told what a script does while it runs.
type Observer interface {
	// Notice must return soon and not use the isolate.
	Notice(n Notice)
}

// Notice is told while a script runs. Exactly one part is set.
type Notice struct {
	// Log is a line that was kept.
	Log *LogLine
	// Event is one of the script's own. Guest data.
	Event *Event
}

// Event is what a script hands out with emit(type, data), while it runs. The
// bytes of events of an eval are bounded by [Limits.LogBytes], counted apart from
// the log lines.
type Event struct {
	// Type is the first argument, as a string; at most [MaxFunctionNameBytes].
	Type string
	// Data is the second argument as JSON, strictly valid; null if there is none.
	Data json.RawMessage
}

// MaxFunctionNameBytes bounds the name of a function.
const MaxFunctionNameBytes = 256

// Functions of a [Request] that are more than a call.
const (
	// FunctionEmit makes emit(type, data) there: it tells [Config.Observer] and
	// returns nothing. It is no call.
	FunctionEmit = "emit"
	// FunctionFetch makes the web's fetch there, with Headers, Request and
	// Response. It is a call with one argument,
	//
	//	{"url": "…", "method": "GET", "headers": [["name", "value"], …], "body": "…"}
	//
	// in which "bodyBase64" takes the place of "body" for bytes that are not
	// UTF-8, or much longer as JSON, and both are absent where there is none; also "redirect" may be
	// "error" or "manual". The reply's value is
	//
	//	{"url": "…", "status": 200, "statusText": "OK", "redirected": false, "headers": [["name", "value"], …], "body": "…"}
	//
	// with the same alternative.
	FunctionFetch = "fetch"
)

// Errors of host calls.
var (
	// ErrReply: a reply is not valid, or nobody asked for it.
	ErrReply = errors.New("spi: reply to no pending call, or not valid")
	// ErrNotWaiting: the isolate has no script that waits for replies.
	ErrNotWaiting = errors.New("spi: no script waits")
)

// maxFunctionNameBytes bounds a function that is handed out: longer ones would
// make for a bad message.
const maxFunctionNameBytes = 128

// CheckFunctionName returns an error unless name can be one of
// [Request.Functions]: identifiers of ASCII letters, digits, _ and $, joined by
// dots, at most 128 bytes, of which none is `then`, `toJSON`, `constructor`,
// `prototype` or `__proto__`: those mean something to the language.
func CheckFunctionName(name string) error {
	ok := len(name) <= maxFunctionNameBytes
	for part := range strings.SplitSeq(name, ".") {
		switch part {
		case "", "then", "toJSON", "constructor", "prototype", "__proto__":
			ok = false
		}
		for i, c := range []byte(part) {
			letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$'
			ok = ok && (letter || i > 0 && c >= '0' && c <= '9')
		}
	}
	if !ok {
		return fmt.Errorf("spi: %.40q is not a function's name; allowed are identifiers of ASCII letters, digits, _ and $, joined by dots, "+
			"at most %d bytes, and none of then, toJSON, constructor, prototype and __proto__", name, maxFunctionNameBytes)
	}
	return nil
}
