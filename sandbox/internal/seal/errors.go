package seal

import "errors"

// Why something is not sealed or not opened.
var (
	// ErrTooLarge says that a message or a state is longer than allowed.
	ErrTooLarge = errors.New("seal: larger than allowed")
	// ErrUnreadable says that no key of the ring opens the message, or that it is
	// not as it was sealed.
	ErrUnreadable = errors.New("seal: no key opens this, or it was changed")
	// ErrForeign says that the message was sealed for another kind, audience,
	// image or format.
	ErrForeign = errors.New("seal: sealed for something else")
	// ErrExpired says that the time of the message is over.
	ErrExpired = errors.New("seal: expired")
	// ErrBinding says that nothing can be sealed for such a [Binding] or until
	// such a time.
	ErrBinding = errors.New("seal: a kind must have 1 to 32 bytes, an audience and an image at most 1024, " +
		"a format be 0 to 2147483647, and an expiry lie in the years 1970 to 9999")
	// ErrKey says that a key or a set of keys is not allowed.
	ErrKey = errors.New("seal: key is not allowed")
)
