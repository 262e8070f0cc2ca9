package egress

import (
	"fmt"
	"net/netip"
)

// CodeDenied is the Code of every [DeniedError].
const CodeDenied = "EGRESS_DENIED"

// Kind says which rule of the house a refused request broke.
type Kind string

// The kinds of refusal.
const (
	KindURL      Kind = "url"      // the URL cannot be read in exactly one way
	KindHost     Kind = "host"     // no rule names the host
	KindScheme   Kind = "scheme"   // the host is named, with another scheme
	KindPort     Kind = "port"     // the host is named, with another port
	KindMethod   Kind = "method"   // the method is not one of the rule's, or never allowed
	KindPath     Kind = "path"     // the path is not below the rule's
	KindHeader   Kind = "header"   // a header that the caller may not set, or that is not valid
	KindBody     Kind = "body"     // a body that is too large, or where there is none
	KindAddress  Kind = "address"  // the name leads to an address that is never dialled
	KindRedirect Kind = "redirect" // a redirect that is never followed
)

// DeniedError says that a request was refused before a connection was made for
// it. Earlier requests of the same chain of redirects have been answered.
type DeniedError struct {
	// Code is [CodeDenied].
	Code string
	Kind Kind
	// Reason is one line that a script may see. It may name the method, a header
	// and the host that was asked for, and never an address that a name led to.
	Reason string
}

func (e *DeniedError) Error() string { return "egress: denied: " + e.Reason }

func deny(kind Kind, format string, args ...any) *DeniedError {
	return &DeniedError{Code: CodeDenied, Kind: kind, Reason: fmt.Sprintf(format, args...)}
}

// FailedError says that an allowed request got no usable response.
type FailedError struct {
	// Reason is one line that a script may see: it names the host and port that
	// were asked for and what went wrong in general.
	Reason string

	cause error
}

func (e *FailedError) Error() string { return "egress: " + e.Reason }

// Unwrap gives the cause, nil if there is no other. It is for operators: its
// text may hold addresses and what a server sent.
func (e *FailedError) Unwrap() error { return e.cause }

func fail(cause error, format string, args ...any) *FailedError {
	return &FailedError{Reason: fmt.Sprintf(format, args...), cause: cause}
}

// OptionError says which part of the options or of a rule is not valid and what
// is allowed. Its text never holds a value that was given.
type OptionError struct {
	// Field is the part, such as "Timeout" or "Rules[2].Host". [ParseRule] leaves
	// out which rule it is.
	Field string
	// Problem completes the sentence that begins with Field.
	Problem string
}

func (e *OptionError) Error() string { return "egress: " + e.Field + " " + e.Problem }

// Denied is what [Options.Observe] is told about a refused request. It is for
// operators and holds what a script may not see.
type Denied struct {
	Kind   Kind
	Reason string // as in [DeniedError]
	Method string // "" if it was not valid
	Host   string // in canonical form, without secrets; "" if the URL could not be read
	Port   uint16
	// Address is the address that the name led to, and Class what it is, such as
	// "loopback"; both are for [KindAddress] only.
	Address netip.Addr
	Class   string
	// Redirected is whether a server asked for the request.
	Redirected bool
}
