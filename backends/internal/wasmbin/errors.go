package wasmbin

import (
	"errors"
	"fmt"
)

// The kinds of error. Every error of this package matches exactly one of them with errors.Is.
var (
	// ErrMalformed means the input is not a WebAssembly module, or not a valid one.
	ErrMalformed = errors.New("wasmbin: malformed module")
	// ErrUnsupported means the input may be valid, but uses something this package does not handle.
	ErrUnsupported = errors.New("wasmbin: unsupported feature")
	// ErrNotCanonical means a number or a section outside the instructions is written in a longer form than needed,
	// which Encode could not reproduce.
	ErrNotCanonical = errors.New("wasmbin: not in canonical form")
	// ErrInvalidEdit means a change was asked for that the module cannot take.
	ErrInvalidEdit = errors.New("wasmbin: invalid edit")
)

// An Error says what is wrong with a module and where.
type Error struct {
	Kind   error  // ErrMalformed, ErrUnsupported or ErrNotCanonical
	Where  string // "header", "import section", "function 12"; functions are counted with the imported ones
	Detail string // the offending thing
	Offset int    // in bytes from the start of the module, or of the body for a Reader made by a caller
}

// Error names the place, the offending thing and its offset.
func (e *Error) Error() string {
	s := fmt.Sprintf("wasmbin: %s: %s at offset %#x", e.Where, e.Detail, e.Offset)
	switch e.Kind {
	case ErrUnsupported:
		return s + " is not supported"
	case ErrNotCanonical:
		return s + " is not in its shortest form"
	default:
		return s
	}
}

// Unwrap gives the kind.
func (e *Error) Unwrap() error { return e.Kind }

func editError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalidEdit, fmt.Sprintf(format, args...))
}
