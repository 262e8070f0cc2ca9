package tools

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loom-sandbox/sandboxd/egress"
)

// ErrSuspend is what a handler returns to have its call suspended: the script is
// put away, and the call is answered when it is resumed.
var ErrSuspend = errors.New("tools: the call is suspended")

// Names of a [Failure].
const (
	NameDenied = "DeniedError"
	NameTool   = "ToolError"
	NameType   = "TypeError"
)

// Codes of a [Failure].
const (
	// CodeNotGranted: the name is not in the set.
	CodeNotGranted = "NOT_GRANTED"
	// CodeBadArguments: the arguments are not what the tool takes.
	CodeBadArguments = "BAD_ARGUMENTS"
	// CodePolicy: the policy or the handler refused.
	CodePolicy = "POLICY"
	// CodeEgressDenied: a request to the network was refused.
	CodeEgressDenied = "EGRESS_DENIED"
	// CodeLimit: arguments or result are larger than allowed.
	CodeLimit = "LIMIT"
	// CodeTimeout: the handler took longer than [Tool.Timeout].
	CodeTimeout = "TIMEOUT"
	// CodeFailed: the handler failed.
	CodeFailed = "FAILED"
)

// Failure is how a call failed, as a script may see it.
type Failure struct {
	// Name of the error: [NameDenied], [NameTool] or [NameType].
	Name string
	// Message is one line, at most [MaxMessageBytes], free of control characters.
	Message string
	// Denied: the call was refused; Name is [NameDenied].
	Denied bool
	// Code is one of the codes of this package.
	Code string
}

// Failf returns an error whose text the script sees, where a handler returns it,
// also wrapped in others. An argument that is an error, or a list of errors, is not
// shown by its text, which may have paths or addresses in it, but as "error",
// unless Failf or Denied made it; it is kept for operators, and %w wraps it.
// Errors deeper inside of arguments are shown.
func Failf(format string, args ...any) error {
	shown := make([]any, len(args))
	for i, arg := range args {
		switch given := arg.(type) {
		case error:
			arg = hide(given)
		case []error:
			all := make([]hidden, len(given))
			for j, err := range given {
				all[j] = hide(err)
			}
			arg = all
		}
		shown[i] = arg
	}
	return &toldError{message: oneLine(fmt.Errorf(format, shown...).Error()), cause: fmt.Errorf(format, args...)}
}

// Denied returns an error that refuses the call, where a handler returns it. The
// script sees the reason.
func Denied(reason string) error {
	return &toldError{message: oneLine(reason), denied: true}
}

// toldError is an error whose message is for the script.
type toldError struct {
	message string
	denied  bool
	cause   error
}

func (e *toldError) Error() string {
	if e.cause != nil {
		return e.cause.Error()
	}
	return e.message
}

func (e *toldError) Unwrap() error { return e.cause }

// hidden is an error that was an argument, as the script sees it. It is a string,
// so that no verb of fmt finds more.
type hidden string

func (h hidden) Error() string { return string(h) }

func hide(err error) hidden {
	if told, ok := errors.AsType[*toldError](err); ok {
		return hidden(told.message)
	}
	return "error"
}

// refusal is the answer that a handler's error makes.
func (g *granted) refusal(ctx context.Context, err error) Answer {
	failure := g.failed()
	refused, isRefused := errors.AsType[*egress.DeniedError](err)
	told, isTold := errors.AsType[*toldError](err)
	unanswered, isUnanswered := errors.AsType[*egress.FailedError](err)
	switch {
	case errors.Is(err, ErrSuspend):
		return Answer{Suspended: true}
	case isRefused && g.kind == kindFetch:
		failure = g.denied(CodeEgressDenied, oneLine(refused.Reason))
	case isRefused: // other tools do not say where they ask, unless in their own words
		reason := "a request that it makes is not allowed"
		if isTold {
			reason = told.message
		}
		failure = g.denied(CodeEgressDenied, reason)
	case isTold && told.denied:
		failure = g.denied(CodePolicy, told.message)
	case isTold && told.message != "":
		failure = g.told(told.message)
	case errors.Is(context.Cause(ctx), errTimeOver):
		failure = g.toolError(CodeTimeout, tookLonger(g.Timeout))
	case isUnanswered && g.kind == kindFetch:
		failure = g.told(oneLine(unanswered.Reason))
	}
	return Answer{Failure: failure, Cause: err}
}

// failed is all that a script sees of most errors.
func (g *granted) failed() *Failure { return g.toolError(CodeFailed, "failed") }

// told is a failure in a handler's own words.
func (g *granted) told(message string) *Failure {
	return &Failure{Name: NameTool, Message: cut(g.Name+": "+message, MaxMessageBytes), Code: CodeFailed}
}

func (g *granted) toolError(code, text string) *Failure {
	return &Failure{Name: NameTool, Message: cut(g.Name+" "+text, MaxMessageBytes), Code: code}
}

func (g *granted) denied(code, reason string) *Failure {
	return &Failure{Name: NameDenied, Message: deniedMessage(g.Name, reason), Denied: true, Code: code}
}

func deniedMessage(name, reason string) string {
	text := name + " was denied"
	if reason != "" {
		text += ": " + reason
	}
	return cut(text, MaxMessageBytes)
}

// notGranted is the answer to a call of what is not in the set. The name is the
// script's.
func notGranted(name string) Answer {
	message := cut(oneLine(name), MaxNameBytes) + " is not granted"
	return Answer{Failure: &Failure{Name: NameDenied, Message: message, Denied: true, Code: CodeNotGranted}}
}

// tookLonger is what a script sees of a handler whose time was over.
func tookLonger(limit time.Duration) string {
	return fmt.Sprintf("took longer than %d ms", limit.Milliseconds())
}
