package tools

import (
	"context"
	"time"
)

// MaxPolicyTime is how long a policy may take. A call without a decision then is
// denied.
const MaxPolicyTime = 30 * time.Second

// Policy decides about one call of a tool that was granted and whose arguments
// are valid. It may be called any number of times at once. The call is its own
// copy. A policy that panics denies.
type Policy func(ctx context.Context, call *Call) Decision

// Decision is what a policy says. The zero Decision denies.
type Decision struct {
	verdict verdict
	reason  string
}

type verdict uint8

const (
	verdictDeny verdict = iota
	verdictAllow
	verdictSuspend
)

// Allow lets the handler run.
func Allow() Decision { return Decision{verdict: verdictAllow} }

// Deny refuses the call. The script sees the reason: one line, at most
// [MaxMessageBytes] with the name of the tool, control characters taken out.
func Deny(reason string) Decision { return Decision{verdict: verdictDeny, reason: oneLine(reason)} }

// Suspend puts the script away; the call is answered when it is resumed, for
// instance by [Set.AnswerAllowed] when a person has agreed.
func Suspend() Decision { return Decision{verdict: verdictSuspend} }

// String is "allow", "deny" or "suspend", with the reason.
func (d Decision) String() string {
	switch {
	case d.verdict == verdictAllow:
		return "allow"
	case d.verdict == verdictSuspend:
		return "suspend"
	case d.reason != "":
		return "deny: " + d.reason
	}
	return "deny"
}
