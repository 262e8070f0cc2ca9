package spi

import (
	"errors"
	"fmt"
	"time"
)

// LimitName names a limit the way results and requests spell it, unit included.
type LimitName string

// The limits.
const (
	LimitTimeout   LimitName = "timeoutMs"
	LimitMemory    LimitName = "memoryBytes"
	LimitFuel      LimitName = "fuel"
	LimitStack     LimitName = "stackBytes"
	LimitCallDepth LimitName = "callDepth"
	LimitSource    LimitName = "sourceBytes"
	LimitInput     LimitName = "inputBytes"
	LimitOutput    LimitName = "outputBytes"
	LimitLogs      LimitName = "logBytes"
	LimitHostCalls LimitName = "hostCalls"
	LimitCallBytes LimitName = "callBytes"
)

// Limits of one eval. The host enforces every one of them.
type Limits struct {
	// Timeout is wall time from the entry of Isolate.Eval: parsing, running and
	// writing the result count; starting the backend, opening an isolate and
	// waiting for a turn do not. Always positive.
	Timeout time.Duration
	// MemoryBytes caps the guest's whole memory, its own image included. Always
	// positive; a backend may round down to its granularity, never up.
	MemoryBytes int64
	// Fuel is the number of units the guest may burn; 0 means no limit.
	Fuel int64
	// OutputBytes caps the result as encoded JSON. Always positive.
	OutputBytes int64
	// LogBytes caps the log lines kept, each counted with one byte for its line
	// end; what is over is dropped and marked as truncated. 0 keeps none. A
	// backend may also bound the number of lines, at no fewer than 1024.
	LogBytes int64
	// HostCalls is how many calls of host functions an eval may make; 0 means none.
	// One more is denied, which the script can catch.
	HostCalls int64
	// CallBytes caps the arguments of all calls of an eval together, as JSON. What
	// would be over is denied, which the script can catch.
	CallBytes int64
}

// Validate reports every problem of the configuration at once.
func (c *Config) Validate() error {
	l := &c.Limits
	var errs []error
	positive := func(name LimitName, v int64) {
		if v <= 0 {
			errs = append(errs, fmt.Errorf("spi: %s must be positive, got %d", name, v))
		}
	}
	positive(LimitTimeout, int64(l.Timeout))
	positive(LimitMemory, l.MemoryBytes)
	positive(LimitOutput, l.OutputBytes)
	for _, limit := range []struct {
		name  LimitName
		value int64
	}{{LimitFuel, l.Fuel}, {LimitLogs, l.LogBytes}, {LimitHostCalls, l.HostCalls}, {LimitCallBytes, l.CallBytes}} {
		if limit.value < 0 {
			errs = append(errs, fmt.Errorf("spi: %s must not be negative, got %d", limit.name, limit.value))
		}
	}
	return errors.Join(errs...)
}
