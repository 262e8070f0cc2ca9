package integration

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
)

func TestTheCallersContextEndsAnEval(t *testing.T) {
	t.Parallel()
	sb := newSandbox(t, nil)
	pristine := newProbe(t, sb)
	long := sandbox.Limits{Timeout: time.Hour}
	const script = "console.log('began'); for (;;) ;"

	t.Run("cancelled while it runs", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer time.AfterFunc(20*time.Millisecond, cancel).Stop()
		o, err := observe(ctx, sb, &sandbox.Request{Script: script, Limits: long})
		require.NoError(t, err)
		require.NotNil(t, o.Error)
		assert.Equal(t, spi.KindCancelled, o.Error.Kind)
		assert.Nil(t, o.Error.Limit)
		assert.Equal(t, []string{"began"}, logTexts(o))
		assert.Positive(t, o.Usage.Fuel)
		pristine.check(t, sb)
	})
	t.Run("deadline of the caller", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		o, err := observe(ctx, sb, &sandbox.Request{Script: script, Limits: long})
		require.NoError(t, err)
		require.NotNil(t, o.Error)
		assert.Equal(t, spi.KindTimeout, o.Error.Kind)
		assert.Nil(t, o.Error.Limit, "none of the request's limits was reached")
		pristine.check(t, sb)
	})
	t.Run("cancelled before it starts", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := observe(ctx, sb, &sandbox.Request{Script: script, Limits: long})
		assert.ErrorIs(t, err, context.Canceled)
	})
	t.Run("cancelled when it is over", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		o, err := observe(ctx, sb, &sandbox.Request{Script: "1"})
		cancel()
		require.NoError(t, err)
		assert.JSONEq(t, "1", string(o.Value))
		pristine.check(t, sb)
	})
}
