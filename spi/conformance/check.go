package conformance

import (
	"context"
	"slices"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// Level says how binding a check is.
type Level string

// Levels.
const (
	MUST   Level = "MUST"
	SHOULD Level = "SHOULD"
)

// Check is one rule and the way to see whether it holds.
//
// To add one: put it at the end of its group with the next free number, and a
// defect that only it catches into internal/saboteur. A number is never used
// again for another rule.
type Check struct {
	// ID is the group and a number, such as "LIMIT-003".
	ID    string
	Level Level
	// Rule is one sentence.
	Rule string
	// Needs is what the descriptor must declare for the check to apply, and all
	// of it; a check without needs applies to every backend.
	Needs []Need
	// Watchdog is how long the check may take before the backend counts as
	// hung. Zero means [DefaultWatchdog].
	Watchdog time.Duration

	own  bool // it closes the backend, or must have one that nobody used
	body body
}

// DefaultWatchdog is how long a check may take unless it says otherwise.
const DefaultWatchdog = 30 * time.Second

// body looks whether a rule holds: nil, or what is wrong.
type body func(ctx context.Context, s *subject) error

// Need is something that a descriptor declares, or does not.
type Need string

// Needs.
const (
	NeedFuel        Need = "fuel"
	NeedNoFuel      Need = "no fuel"
	NeedExactFuel   Need = "exact fuel"
	NeedStack       Need = "stackBytes or callDepth"
	NeedExactStack  Need = "exact stackBytes or callDepth"
	NeedImage       Need = "image"
	NeedPrepares    Need = "preparing"
	NeedNoPrepares  Need = "no preparing"
	NeedHostCalls   Need = "host calls"
	NeedNoHostCalls Need = "no host calls"
	NeedSuspends    Need = "suspending"
	NeedNoSuspends  Need = "no suspending"
)

func (n Need) declaredBy(d *spi.Descriptor) bool {
	fuel, hasFuel := d.EnforcementOf(spi.LimitFuel)
	stack, hasStack := d.EnforcementOf(spi.LimitStack)
	depth, hasDepth := d.EnforcementOf(spi.LimitCallDepth)
	switch n {
	case NeedFuel:
		return hasFuel
	case NeedNoFuel:
		return !hasFuel
	case NeedExactFuel:
		return hasFuel && fuel.Exact
	case NeedStack:
		return hasStack || hasDepth
	case NeedExactStack:
		return hasStack && stack.Exact || hasDepth && depth.Exact
	case NeedImage:
		return d.Image != ""
	case NeedPrepares:
		return d.Prepares
	case NeedNoPrepares:
		return !d.Prepares
	case NeedHostCalls:
		return d.HostCalls
	case NeedNoHostCalls:
		return !d.HostCalls
	case NeedSuspends:
		return d.Suspends
	case NeedNoSuspends:
		return !d.Suspends
	}
	return false
}

// optional makes the checks of a part that a backend need not have, which may take
// some time.
func optional(need Need) (must func(id, rule string, b body, more ...Need) Check, own, should func(id, rule string, b body) Check) {
	must = func(id, rule string, b body, more ...Need) Check {
		return Check{ID: id, Level: MUST, Rule: rule, Needs: append([]Need{need}, more...), Watchdog: manyWatchdog, body: b}
	}
	own = func(id, rule string, b body) Check {
		c := must(id, rule, b)
		c.own = true
		return c
	}
	should = func(id, rule string, b body) Check {
		c := must(id, rule, b)
		c.Level = SHOULD
		return c
	}
	return must, own, should
}

// Checks returns a fresh list of all checks, in the order in which they run.
func Checks() []Check {
	return slices.Concat(
		descriptorChecks(),
		evalChecks(),
		valueChecks(),
		errorChecks(),
		webChecks(),
		limitChecks(),
		stackChecks(),
		killChecks(),
		leakChecks(),
		hostChecks(),
		sameChecks(),
		concurrencyChecks(),
		closeChecks(),
		prepareChecks(),
		callChecks(),
		suspendChecks(),
	)
}
