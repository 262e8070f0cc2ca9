package sandbox

import (
	"errors"
	"fmt"
	"slices"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
)

// checkOutcome holds a backend to what [spi.Outcome] promises: anybody may have
// written it.
func checkOutcome(out *spi.Outcome, limits *spi.Limits) error {
	switch {
	case out == nil:
		return errors.New("gave no outcome, without an error")
	case len(out.Value) > 0 && out.Error != nil:
		return errors.New("outcome has not exactly one of value and error")
	case len(out.Value) == 0 && out.Error == nil && !out.Waits():
		return errors.New("outcome has none of value, error and calls that it waits for")
	case out.Error != nil && !slices.Contains(spi.Kinds(), out.Error.Kind):
		return fmt.Errorf("outcome has the unknown kind %.40q", out.Error.Kind)
	case int64(len(out.Value)) > limits.OutputBytes:
		return fmt.Errorf("outcome has a value of %d bytes, over %s of %d", len(out.Value), spi.LimitOutput, limits.OutputBytes)
	}
	return checkPending(out.Pending, limits)
}

// checkPending holds a backend to what it says of calls.
func checkPending(pending []spi.HostCall, limits *spi.Limits) error {
	last, bytes := int64(0), int64(0)
	for i := range pending {
		c := &pending[i]
		switch {
		case c.ID <= last:
			return fmt.Errorf("outcome has the call %d after the call %d", c.ID, last)
		case len(c.Function) > spi.MaxFunctionNameBytes:
			return fmt.Errorf("outcome has a call with a name of %d bytes, over %d", len(c.Function), spi.MaxFunctionNameBytes)
		case len(c.Args) == 0 || c.Args[0] != '[' || taint.Valid(c.Args) != nil:
			return fmt.Errorf("outcome has a call %d whose arguments are not a JSON array", c.ID)
		}
		last, bytes = c.ID, bytes+int64(len(c.Args))
	}
	if bytes > limits.CallBytes {
		return fmt.Errorf("outcome has arguments of %d bytes, over %s of %d", bytes, spi.LimitCallBytes, limits.CallBytes)
	}
	return nil
}
