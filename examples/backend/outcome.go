package subprocess

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/loom-sandbox/sandboxd/spi"
)

// outcome is what a child says of an eval, held to what an outcome may be under
// these limits; nil where it is something else. Where the host stopped the eval,
// stopped is the error, whatever the child made of it.
func (i *isolate) outcome(r *reply, source string, stopped *spi.ScriptError) *spi.Outcome {
	out := r.Outcome
	if out == nil || r.Ready != nil || r.Failure != "" {
		return nil
	}
	if stopped != nil {
		r.Value, out.ValueType, out.Error = "", "", stopped
	}
	l := &i.limits
	var logBytes int64
	for _, line := range out.Logs {
		if !slices.Contains([]spi.Level{spi.LevelLog, spi.LevelInfo, spi.LevelWarn, spi.LevelError, spi.LevelDebug}, line.Level) {
			return nil
		}
		logBytes += int64(len(line.Text)) + 1
	}
	u := spi.Usage{ // sizes are counted here
		Fuel: out.Usage.Fuel, MemoryPeakBytes: out.Usage.MemoryPeakBytes,
		OutputBytes: int64(len(r.Value)), LogBytes: logBytes,
	}
	switch {
	case (r.Value == "") == (out.Error == nil), u.OutputBytes > l.OutputBytes, u.LogBytes > l.LogBytes,
		u.Fuel < 0, l.Fuel > 0 && u.Fuel > l.Fuel,
		u.MemoryPeakBytes < 0, u.MemoryPeakBytes > l.MemoryBytes:
		return nil
	}
	if e := out.Error; e != nil {
		if stopped == nil && !i.mayEnd(e, source) {
			return nil
		}
	} else if v := jsontext.Value(r.Value); !v.IsValid() || !mayBecome(out.ValueType, v.Kind()) {
		return nil
	}
	return &spi.Outcome{
		Value: []byte(r.Value), ValueType: out.ValueType, Error: out.Error,
		Logs: out.Logs, LogsTruncated: out.LogsTruncated, Usage: u,
	}
}

// mayEnd reports whether a child may say that an eval ended so. That it was
// stopped is for the host to say, and so is the limit where the host set it.
func (i *isolate) mayEnd(e *spi.ScriptError, source string) bool {
	l := &i.limits
	switch e.Kind {
	case spi.KindSyntax, spi.KindException, spi.KindUnserializable, spi.KindDeadlock, spi.KindDenied, spi.KindBackend:
		e.Limit = nil
	case spi.KindFuel:
		if l.Fuel == 0 {
			return false
		}
		e.Limit = &spi.ReachedLimit{Name: spi.LimitFuel, Value: l.Fuel}
	case spi.KindMemory:
		e.Limit = &spi.ReachedLimit{Name: spi.LimitMemory, Value: l.MemoryBytes}
	case spi.KindOutputTooLarge:
		e.Limit = &spi.ReachedLimit{Name: spi.LimitOutput, Value: l.OutputBytes}
	case spi.KindStackOverflow: // the engine fixes it; but a stack lies in the guest's memory
		if e.Limit == nil || e.Limit.Value <= 0 || e.Limit.Value > l.MemoryBytes ||
			e.Limit.Name != spi.LimitStack && e.Limit.Name != spi.LimitCallDepth {
			return false
		}
	default:
		return false
	}
	return len(e.Name) <= spi.MaxErrorNameBytes && len(e.Message) <= spi.MaxErrorMessageBytes &&
		len(e.Stack) <= spi.MaxErrorStackBytes && isPlace(e.Line, e.Column, source)
}

// isPlace reports whether a script has this place, or it is none.
func isPlace(line, column int, source string) bool {
	if line == 0 {
		return column == 0
	}
	return line > 0 && line <= 1+strings.Count(source, "\n") && column >= 0 && column <= 1+len(source)
}

// mayBecome reports whether a value of this type can be JSON of this kind.
func mayBecome(t spi.ValueType, k jsontext.Kind) bool {
	switch t {
	case spi.TypeUndefined, spi.TypeNull, spi.TypeSymbol:
		return k == 'n'
	case spi.TypeBoolean:
		return k == 't' || k == 'f'
	case spi.TypeNumber:
		return k == '0' || k == 'n' // NaN has no JSON
	case spi.TypeString:
		return k == '"'
	case spi.TypeArray, spi.TypeObject, spi.TypeFunction:
		return true // toJSON may make anything of them
	}
	return false
}
