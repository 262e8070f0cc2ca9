package tools

import (
	"context"
	"encoding/json"
	"time"
)

// MaxArgumentBytes bounds the arguments of a call as JSON.
const MaxArgumentBytes = 4 << 20

// Answer is how a call ended. Exactly one of Value, Failure and Suspended is set.
type Answer struct {
	// Value is the result: strict JSON. Labels inside of it are as the handler made
	// them, see [taint.Tainted].
	Value json.RawMessage
	// Failure is how the call failed.
	Failure *Failure
	// Suspended: nobody has answered yet.
	Suspended bool
	// Args is the one object that the tool was called with, nil where the arguments
	// are not valid. Guest data.
	Args json.RawMessage
	// Origin is the label of Value, or of Failure where the handler had a part in
	// it; empty where it needs none.
	Origin string
	// Duration is the time that the handler took; zero where it did not run.
	Duration time.Duration
	// Abandoned: the handler did not return when its time was over, and still runs.
	Abandoned bool
	// Cause is what went wrong, in full. It is for operators: it may hold whatever
	// the handler's error says, and must not reach a script.
	Cause error
}

// Answer answers a call: see the package documentation for the steps.
// [Call.Args] is the JSON array of the script's arguments. The end of ctx ends
// the answer, as a failure. A nil policy allows what was granted.
func (s *Set) Answer(ctx context.Context, call *Call, policy Policy) Answer { panic("not there yet") }

// AnswerAllowed is Answer for a call that somebody who may has allowed: no policy
// is asked. All other steps are the same. A call of a [Remote] tool is suspended.
func (s *Set) AnswerAllowed(ctx context.Context, call *Call) Answer { panic("not there yet") }

// AnswerWith is the answer that value makes, which came from elsewhere: from the
// client, for a call that was suspended. It passes the same checks as the result
// of a handler, and gets the same label.
func (s *Set) AnswerWith(call *Call, value json.RawMessage) Answer { panic("not there yet") }
