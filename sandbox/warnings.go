package sandbox

import (
	"fmt"

	"github.com/loom-sandbox/sandboxd/spi"
)

// WarningCode says what a [Warning] is about.
type WarningCode string

// The warnings.
const (
	// WarningNotAwaited: the script ended without waiting for a call. What the tool
	// had begun is cancelled, and may have had its effect.
	WarningNotAwaited WarningCode = "call_not_awaited"
	// WarningObserver: the [Observer] panicked, and was not told everything.
	WarningObserver WarningCode = "observer_failed"
)

// maxWarnings bounds those that one eval can bring about.
const maxWarnings = 32

// Warning is something that did not end an eval and should be known. All of it is
// minted by the host.
type Warning struct {
	Code WarningCode `json:"code"`
	// Tool and CallID are those of the call that it is about. Tool is empty where the
	// script was not handed what it called.
	Tool    string `json:"tool,omitempty"`
	CallID  int64  `json:"callId,omitempty"`
	Message string `json:"message"`
}

// callState is where a call without a reply stands.
type callState int

const (
	callQueued callState = iota
	callRunning
	callSuspended
	callAnswered // and the script did not hear of it
)

// notAwaited warns of a call that the script did not wait for.
func notAwaited(id int64, tool string, state callState) Warning {
	what := tool
	if what == "" {
		what = "a function that the script was not handed"
	}
	became := "it had not begun, and did not run"
	switch state {
	case callRunning:
		became = "it was cancelled, and may have had its effect"
	case callSuspended:
		became = "it was not decided, and did not run"
	case callAnswered:
		became = "it was done"
	}
	return Warning{
		Code: WarningNotAwaited, Tool: tool, CallID: id,
		Message: fmt.Sprintf("call %d, of %s, was not awaited: %s", id, what, became),
	}
}

// notAwaited warns of the calls without a reply when the script ends. latest are
// those that the backend knows: some may be so new that nobody began with them.
func (c *calls) notAwaited(latest []spi.HostCall) []Warning {
	var all []Warning
	for _, call := range c.inOrder() {
		if call.id > c.ledger.Base {
			all = append(all, notAwaited(call.id, call.tool, call.state))
		}
	}
	for i := range latest {
		h := &latest[i]
		if h.ID > c.ledger.Last { // in order, and after those that are open
			all = append(all, notAwaited(h.ID, c.job.granted[h.Function], callQueued))
		}
	}
	return bounded(all)
}

// bounded keeps the first of many warnings, and says how many there were.
func bounded(all []Warning) []Warning {
	if n := len(all); n > maxWarnings {
		all = all[:maxWarnings:maxWarnings]
		all[maxWarnings-1] = Warning{Code: WarningNotAwaited, Message: fmt.Sprintf("%d more calls were not awaited", n-maxWarnings+1)}
	}
	return all
}
