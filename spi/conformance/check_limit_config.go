package conformance

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// configChecks are the edges of what a configuration can say.
func configChecks() []Check {
	return []Check{
		{ID: "LIMIT-083", Level: MUST, Rule: "The largest figures that the limits can hold limit nothing that an ordinary script does.", body: script{
			source: "console.log('x'); input", input: "[1]", value: "[1]", logs: []string{"x"},
			config: func(c *spi.Config) {
				c.Limits.Timeout, c.Limits.OutputBytes, c.Limits.LogBytes = math.MaxInt64, math.MaxInt64, math.MaxInt64
			},
		}.body()},
		{ID: "LIMIT-084", Level: SHOULD, Rule: "A configuration that is not valid is refused by Open with an error.", body: invalidConfig},
	}
}

func invalidConfig(ctx context.Context, s *subject) error {
	for _, bad := range []struct {
		what   string
		change func(*spi.Limits)
	}{
		{"a timeout of zero", func(l *spi.Limits) { l.Timeout = 0 }},
		{"a negative timeout", func(l *spi.Limits) { l.Timeout = -time.Second }},
		{"memory of zero", func(l *spi.Limits) { l.MemoryBytes = 0 }},
		{"negative memory", func(l *spi.Limits) { l.MemoryBytes = -1 }},
		{"an output of zero", func(l *spi.Limits) { l.OutputBytes = 0 }},
		{"negative fuel", func(l *spi.Limits) { l.Fuel = -1 }},
		{"negative logs", func(l *spi.Limits) { l.LogBytes = -1 }},
	} {
		iso, err := s.backend.Open(ctx, s.config(func(c *spi.Config) { bad.change(&c.Limits) }))
		if err == nil {
			if iso != nil {
				_ = iso.Close()
			}
			return fmt.Errorf("Open accepted %s", bad.what)
		}
	}
	return nil
}
