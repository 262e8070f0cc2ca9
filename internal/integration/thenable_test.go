package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/sandbox"
)

func TestNothingOfOursIsInTheStackOfAThenable(t *testing.T) {
	t.Parallel()
	sb := newSandbox(t, nil)
	result, err := sb.Eval(t.Context(), sandbox.Request{Script: `({ then(r) { r(new Error("x").stack) } })`})
	require.NoError(t, err)
	require.Nil(t, result.Error)
	assert.Contains(t, string(result.Value.Value), "at then (script.js:1:")
	result2, err := sb.Eval(t.Context(), sandbox.Request{Script: `({ then() { throw new Error("x") } })`})
	require.NoError(t, err)
	require.NotNil(t, result2.Error)
	for _, stack := range []string{string(result.Value.Value), string(result2.Error.Stack.Value)} {
		assert.NotContains(t, stack, "sandboxd")
		assert.NotContains(t, stack, "native")
	}
}
