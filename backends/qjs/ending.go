package qjs

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/loom-sandbox/sandboxd/spi"
)

// ending is how one eval ended, as the host saw it.
type ending struct {
	limits  spi.Limits
	sink    *sink            // what the guest told
	stopped *spi.ScriptError // why the host stopped the guest; nil where it did not
	refused bool             // the guest was refused memory
	failure error            // of the library, or an [errThrew]
}

// outcome says what came of the eval. The kind is what the host did or saw; what
// the guest says only chooses between the ways in which a script itself fails.
func (e *ending) outcome(source string) *spi.Outcome {
	out := &spi.Outcome{}
	s := e.sink
	s.close(out)
	var threw errThrew
	broken := e.failure != nil && !errors.As(e.failure, &threw)
	switch {
	case e.stopped != nil:
		out.Error = e.stopped
	case s.tooLarge && !broken:
		out.Error = reached(spi.KindOutputTooLarge, "LimitError", "the result as JSON is larger than", spi.LimitOutput, e.limits.OutputBytes)
	case json.Valid(s.value) && utf8.Valid(s.value) && !broken:
		out.Value, out.ValueType = s.value, s.valueType
		out.Usage.OutputBytes = int64(len(s.value))
	case e.refused: // whatever came of that: an error, a trap, a job that was lost
		out.Error = reached(spi.KindMemory, "MemoryError", "the script needed more than", spi.LimitMemory, e.limits.MemoryBytes)
	case broken || s.ended && s.failure == nil:
		out.Error = &spi.ScriptError{Kind: spi.KindBackend, Name: "BackendError", Message: "the guest's engine failed; the script did not end"}
	case s.failure != nil:
		out.Error = s.failure.scriptError(source)
	case e.failure != nil:
		out.Error = jobFailure(threw).scriptError(source)
	default:
		out.Error = &spi.ScriptError{Kind: spi.KindDeadlock, Name: "DeadlockError", Message: "the script waits for a promise that nothing can settle"}
	}
	return out
}

// reached is the error of an eval that a limit ended.
func reached(kind spi.Kind, name, message string, limit spi.LimitName, value int64) *spi.ScriptError {
	return &spi.ScriptError{
		Kind: kind, Name: name, Message: fmt.Sprintf("%s %s of %d", message, limit, value),
		Limit: &spi.ReachedLimit{Name: limit, Value: value},
	}
}
