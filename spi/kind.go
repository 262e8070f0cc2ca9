package spi

// Kind classifies how an eval ended without a value. The set and the spelling
// are frozen: they are stored in logs and metrics and compared by clients.
type Kind string

// The kinds.
const (
	// KindSyntax: the source does not parse.
	KindSyntax Kind = "syntax"
	// KindException: the script threw, and nobody caught it.
	KindException Kind = "exception"
	// KindTimeout: Limits.Timeout elapsed, or the context's deadline did.
	KindTimeout Kind = "timeout"
	// KindFuel: Limits.Fuel was burnt.
	KindFuel Kind = "fuel"
	// KindMemory: a growth beyond Limits.MemoryBytes was refused, and the
	// script did not recover from it.
	KindMemory Kind = "memory"
	// KindStackOverflow: the guest's call stack was used up.
	KindStackOverflow Kind = "stack_overflow"
	// KindOutputTooLarge: the result as JSON exceeds Limits.OutputBytes.
	KindOutputTooLarge Kind = "output_too_large"
	// KindInputTooLarge: script or input exceed what the guest may be given.
	KindInputTooLarge Kind = "input_too_large"
	// KindUnserializable: the result cannot be written as JSON.
	KindUnserializable Kind = "unserializable"
	// KindDeadlock: the script waits, and nothing can wake it.
	KindDeadlock Kind = "deadlock"
	// KindDenied: the script asked for a capability that it was not granted.
	KindDenied Kind = "denied"
	// KindCancelled: the caller's context was cancelled.
	KindCancelled Kind = "cancelled"
	// KindKilled: the isolate was closed while the script ran.
	KindKilled Kind = "killed"
	// KindBackend: the guest's interpreter broke, so that it is not known what
	// the script did. A script may have caused it.
	KindBackend Kind = "backend"
)

// Kinds returns all kinds in their documented order.
func Kinds() []Kind {
	return []Kind{
		KindSyntax, KindException, KindTimeout, KindFuel, KindMemory, KindStackOverflow,
		KindOutputTooLarge, KindInputTooLarge, KindUnserializable, KindDeadlock,
		KindDenied, KindCancelled, KindKilled, KindBackend,
	}
}

// ScriptError is why an eval has no value. Kind and Limit are the host's; Name,
// Message and Stack are guest data. Line and Column are numbers that the host
// read out of the guest's stack and checked against the source: no text can
// hide in them, but a guest can choose them.
type ScriptError struct {
	Kind Kind
	// Limit is the limit that ended the eval; nil where none did.
	Limit *ReachedLimit
	// Name of the error's class, such as "TypeError". At most [MaxErrorNameBytes].
	Name string
	// Message of the error. At most [MaxErrorMessageBytes].
	Message string
	// Stack as the guest renders it. At most [MaxErrorStackBytes].
	Stack string
	// Call is the ID of the call whose error the script let pass: the host gave
	// that error. 0 where it is none.
	Call int64
	// Line and Column in Request.Source, counted from 1; 0 where unknown. A
	// column counts Unicode code points.
	Line, Column int
}

// ReachedLimit names the limit that ended an eval and the value it had, in the
// unit that the name carries.
type ReachedLimit struct {
	Name  LimitName `json:"name"`
	Value int64     `json:"value"`
}

// Bounds of error texts, in bytes of UTF-8. A longer text is cut at a character
// and ends with "…".
const (
	MaxErrorNameBytes    = 256
	MaxErrorMessageBytes = 8 << 10
	MaxErrorStackBytes   = 8 << 10
)
