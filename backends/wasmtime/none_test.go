//go:build !(cgo && linux && amd64)

package wasmtime

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestABuildWithoutWasmtimeSaysWhy(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, Unavailable())
	_, err := New(t.Context(), nil)
	require.ErrorIs(t, err, ErrUnavailable)
	assert.ErrorContains(t, err, Unavailable())
	assert.Equal(t, Name, Describe().Name)
}
