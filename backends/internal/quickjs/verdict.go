package quickjs

import (
	"errors"
	"fmt"

	"github.com/loom-sandbox/sandboxd/spi"
)

// verdict says why an eval has no value. The kind rests on what the host saw:
// the tick that fired, the growth that was refused, the globals at the trap.
// What the guest says only chooses between the kinds of a script's own failure.
func (e *eval) verdict(failure error, source string) *spi.ScriptError {
	s := &e.h.sink
	out := &spi.ScriptError{}
	syntax := errors.Is(failure, errSyntax)
	threw := syntax || errors.Is(failure, errThrown)
	if threw {
		out.Name, out.Message, out.Stack = s.thrown.name, s.thrown.message, s.thrown.stack
		p := s.thrown.refined(source)
		out.Line, out.Column = p.line, p.column
	}
	id, denied, given := e.h.uncaught()
	if given && threw {
		out.Call = id
	}
	refused := e.inst.Global(GlobalGrowRefused) != 0
	switch {
	case e.h.cause != "":
		out.Kind = e.h.cause
	case errors.Is(failure, errTrapped) && e.stackIsOver():
		out.Kind = spi.KindStackOverflow
	case errors.Is(failure, errTooLarge):
		out.Kind = spi.KindOutputTooLarge
	case errors.Is(failure, errUnserializable):
		out.Kind, out.Name, out.Message = spi.KindUnserializable, "TypeError", s.thrown.message
	case refused: // also where it cost the guest a job, and it now waits in vain
		out.Kind = spi.KindMemory
	case errors.Is(failure, errDeadlock):
		out.Kind = spi.KindDeadlock
	case threw && s.thrown.engine && !given && e.inst.Global(GlobalStackLow) != 0:
		out.Kind = spi.KindStackOverflow
	case syntax:
		out.Kind = spi.KindSyntax
		out.Column = 0 // the parser reports where the statement starts, at best
		out.Message += hint(source, out.Line)
	case errors.Is(failure, errThrown) && given && denied:
		out.Kind = spi.KindDenied
	case errors.Is(failure, errThrown):
		out.Kind = spi.KindException
	default:
		out.Kind = spi.KindBackend
	}
	e.h.explain(out)
	return out
}

// stackIsOver reports whether a guard of the stack was what trapped: the same
// comparisons that the guards make.
func (e *eval) stackIsOver() bool {
	return e.nativeStack || int32(e.inst.Global(GlobalDepth)) > MaxCallDepth ||
		int32(e.inst.Global(GlobalStackPointer)) < int32(e.img.layout.StackLow+stackHard)
}

// explain adds the limit that was reached and, where the host ended the eval,
// the host's own words.
func (h *Host) explain(out *spi.ScriptError) {
	limit := func(name spi.LimitName, v int64) { out.Limit = &spi.ReachedLimit{Name: name, Value: v} }
	say := func(name, format string, args ...any) { out.Name, out.Message = name, fmt.Sprintf(format, args...) }
	l := &h.limits
	switch out.Kind {
	case spi.KindTimeout:
		if h.stop.Load() == stopContextDeadline {
			say("TimeoutError", "the caller's deadline passed while the script ran")
			return
		}
		ms := l.Timeout.Milliseconds()
		limit(spi.LimitTimeout, ms)
		say("TimeoutError", "the script ran longer than %s of %d", spi.LimitTimeout, ms)
	case spi.KindFuel:
		limit(spi.LimitFuel, l.Fuel)
		say("FuelError", "the script burnt all of %s of %d", spi.LimitFuel, l.Fuel)
	case spi.KindMemory:
		limit(spi.LimitMemory, l.MemoryBytes)
		say("MemoryError", "the script needed more than %s of %d", spi.LimitMemory, l.MemoryBytes)
	case spi.KindStackOverflow:
		if int32(h.inst.Global(GlobalDepth)) > MaxCallDepth {
			limit(spi.LimitCallDepth, MaxCallDepth)
		} else {
			limit(spi.LimitStack, StackBytes)
		}
		if out.Name == "" {
			say("RangeError", "the script's calls or data are nested too deeply")
		}
	case spi.KindOutputTooLarge:
		limit(spi.LimitOutput, l.OutputBytes)
		say("LimitError", "the result as JSON is larger than %s of %d", spi.LimitOutput, l.OutputBytes)
	case spi.KindDenied:
		switch {
		case out.Call != 0:
		case h.calls.refused == spi.LimitHostCalls:
			limit(spi.LimitHostCalls, l.HostCalls)
		case h.calls.refused == spi.LimitCallBytes:
			limit(spi.LimitCallBytes, l.CallBytes)
		}
	case spi.KindDeadlock:
		say("DeadlockError", "the script waits for a promise that nothing can settle")
	case spi.KindCancelled:
		say("CancelledError", "the caller cancelled the eval")
	case spi.KindKilled:
		say("KilledError", "the isolate was closed while the script ran")
	case spi.KindBackend:
		say("BackendError", "the guest's engine failed; the script did not end")
	}
}
