package integration

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
)

// row is one script and all that is demanded of its result.
type row struct {
	name, script string
	input        string
	limits       sandbox.Limits

	orderly bool          // any outcome will do, but for a failing engine
	value   string        // JSON, compared by meaning; "" where an error is wanted
	typ     spi.ValueType // "" for any
	logs    []string      // the lines' texts; nil for any

	kind       spi.Kind
	errorName  string
	message    string // a part of it
	line, col  int    // 0 for any, unless noPlace
	noPlace    bool   // no position at all
	limit      spi.LimitName
	notMessage string // must not be a part of it
}

// noon is when the clocks of these tests start.
func noon() time.Time { return time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC) }

// checkRows runs the rows side by side, each followed by a look at whether it
// left a trace.
func checkRows(t *testing.T, rows []row) {
	sb := newSandbox(t, nil)
	pristine := newProbe(t, sb)
	// The group ends before the sandbox is closed.
	t.Run("rows", func(t *testing.T) {
		for _, r := range rows {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				r.check(t, sb)
				pristine.check(t, sb)
			})
		}
	})
}

func (r *row) check(t *testing.T, sb *sandbox.Sandbox) {
	limits := r.limits
	if limits.Timeout == 0 {
		limits.Timeout = 20 * time.Second // a busy machine must not decide
	}
	o, err := observe(context.Background(), sb, &sandbox.Request{
		Script: r.script, Input: json.RawMessage(r.input), Limits: limits, Now: noon(), Seed: r.name,
	})
	require.NoError(t, err)
	if r.logs != nil {
		assert.Equal(t, r.logs, logTexts(o), "logs")
	}
	if r.orderly {
		return
	}
	if r.kind == "" {
		require.Nil(t, o.Error, "wanted a value")
		if r.value != "" {
			assert.JSONEq(t, r.value, string(o.Value))
		}
		if r.typ != "" {
			assert.Equal(t, r.typ, o.ValueType)
		}
		return
	}
	e := o.Error
	require.NotNil(t, e, "wanted an error, got %s", clip(string(o.Value)))
	require.Equal(t, r.kind, e.Kind, e.Message)
	if r.errorName != "" {
		assert.Equal(t, r.errorName, e.Name)
	}
	assert.Contains(t, e.Message, r.message)
	if r.notMessage != "" {
		assert.NotContains(t, e.Message, r.notMessage)
	}
	if r.line != 0 {
		assert.Equal(t, r.line, e.Line, "line; %s\n%s", e.Message, e.Stack)
	}
	if r.col != 0 {
		assert.Equal(t, r.col, e.Column, "column; %s\n%s", e.Message, e.Stack)
	}
	if r.noPlace {
		assert.Zero(t, e.Line)
		assert.Zero(t, e.Column)
	}
	if r.limit != "" {
		require.NotNil(t, e.Limit)
		assert.Equal(t, r.limit, e.Limit.Name)
	}
}
