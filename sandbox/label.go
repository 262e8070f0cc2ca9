package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
)

// label turns an outcome into a result in which all guest data is wrapped.
func (s *Sandbox) label(j *job, out *spi.Outcome, origin string) (*Result, error) {
	labelledLogs := taint.Tainted{Origin: origin, Value: json.RawMessage("[]")}
	if len(out.Logs) > 0 {
		var err error
		if labelledLogs, err = taint.WrapValue(origin, out.Logs); err != nil {
			return nil, &BackendError{s.descriptor.Name, fmt.Errorf("logs: %w", err)}
		}
	}
	r := &Result{
		Status: StatusOK, Logs: labelledLogs, EvalID: j.evalID, Run: j.run,
		Usage: Usage{
			Fuel: out.Usage.Fuel, Wall: out.Usage.Wall, MemoryPeakBytes: out.Usage.MemoryPeakBytes,
			OutputBytes: out.Usage.OutputBytes, LogBytes: out.Usage.LogBytes,
			HostCalls: out.Usage.HostCalls, CallBytes: out.Usage.CallBytes,
		},
		Truncated:  Truncated{Logs: out.LogsTruncated, Events: out.EventsTruncated},
		unlabelled: s.unlabelled,
	}
	switch {
	case out.Error != nil:
		r.Status = StatusError
		r.Error = labelError(out.Error, origin)
		return r, nil
	case out.Waits():
		r.Status = StatusSuspended
		return r, nil
	}
	value, err := taint.WrapStrict(origin, out.Value)
	switch {
	case errors.Is(err, taint.ErrTooDeep):
		value = taint.Wrap(origin, out.Value) // its text
	case err != nil:
		return nil, &BackendError{s.descriptor.Name, errors.New("outcome has a value that is not strict JSON")}
	}
	r.Value, r.ValueType = &value, out.ValueType
	return r, nil
}

func labelError(e *spi.ScriptError, origin string) *Error {
	labelled := &Error{
		Kind: e.Kind, Limit: e.Limit, Line: e.Line, Column: e.Column,
		Name: text(e.Name, origin), Message: text(e.Message, origin),
	}
	if e.Stack != "" {
		stack := text(e.Stack, origin)
		labelled.Stack = &stack
	}
	return labelled
}

// text labels a string. Marshalling a string cannot fail: what is not valid
// UTF-8 is replaced first.
func text(s, origin string) taint.Tainted {
	t, _ := taint.WrapValue(origin, strings.ToValidUTF8(s, "\ufffd"))
	return t
}

func (s *Sandbox) tooLarge(j *job) *Result {
	what := "script"
	if j.tooLarge.Name == spi.LimitInput {
		what = "input"
	}
	return &Result{
		Status: StatusError, Logs: taint.Wrap(taint.OriginSandbox, []byte("[]")), EvalID: j.evalID, Run: j.run, unlabelled: s.unlabelled,
		Error: labelError(overLimit(spi.KindInputTooLarge, *j.tooLarge, "the "+what), taint.OriginSandbox),
	}
}

// overLimit is the error for something that is larger than a limit of the
// sandbox's own.
func overLimit(kind spi.Kind, limit spi.ReachedLimit, what string) *spi.ScriptError {
	return &spi.ScriptError{
		Kind: kind, Limit: &limit, Name: "LimitError",
		Message: fmt.Sprintf("%s is larger than %s of %d", what, limit.Name, limit.Value),
	}
}
