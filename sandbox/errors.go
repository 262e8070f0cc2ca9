package sandbox

import (
	"errors"
	"fmt"
)

// ErrClosed is returned by Eval after Close.
var ErrClosed = errors.New("sandbox: closed")

// RequestError says which part of a request or of the options is not valid and
// what is allowed. Its text never holds the script or the input.
type RequestError struct {
	// Field is the part, as the HTTP API spells it: "script", "limits.timeoutMs".
	Field string
	// Problem completes the sentence that begins with Field.
	Problem string
}

func (e *RequestError) Error() string { return "sandbox: " + e.Field + " " + e.Problem }

// BackendError says that the backend could not do its work. Its text is for
// operators and may name things of the host; do not show it to a model.
type BackendError struct {
	Backend string
	Err     error
}

func (e *BackendError) Error() string {
	return fmt.Sprintf("sandbox: backend %s: %v", e.Backend, e.Err)
}

// Unwrap gives the backend's own error.
func (e *BackendError) Unwrap() error { return e.Err }
