package command

import (
	"fmt"
	"math"
	"time"

	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
)

// bound is a limit flag with what is allowed for it; nil flags were not given.
type bound struct {
	flag     string
	value    *int64
	min, max int64
	show     func(int64) string
}

func showSize(v int64) string  { return size(v).String() }
func showSpan(v int64) string  { return span(v).String() }
func showCount(v int64) string { return fmt.Sprint(v) }

func timeBound(flag string, v *span) bound {
	return bound{flag, (*int64)(v), int64(time.Millisecond), int64(sandbox.MaxTimeout), showSpan}
}

func sizeBound(flag string, v *size, most int64) bound {
	return bound{flag, (*int64)(v), 1, most, showSize}
}

func memoryBound(flag string, v *size, d *spi.Descriptor) bound {
	return bound{flag, (*int64)(v), d.MinMemoryBytes, d.MaxMemoryBytes, showSize}
}

func fuelBound(flag string, v *count) bound {
	return bound{flag, (*int64)(v), 0, math.MaxInt64, showCount}
}

// check refuses the first value that is out of bounds. It runs before a backend
// is started, and says it in the user's own units.
func check(bounds ...bound) error {
	for _, b := range bounds {
		if b.value != nil && (*b.value < b.min || *b.value > b.max) {
			return usagef("--%s is %s; allowed is %s to %s", b.flag, b.show(*b.value), b.show(b.min), b.show(b.max))
		}
	}
	return nil
}

// given is the value of an optional flag, or fallback.
func given[F ~int64](v *F, fallback int64) int64 {
	if v == nil {
		return fallback
	}
	return int64(*v)
}
