package conformance

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

func TestAnErrorIsWithinTheSource(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source       string
		line, column int
		wrong        string
	}{
		{"abc", 0, 0, ""},
		{"abc", 1, 0, ""},
		{"abc", 1, 4, ""},
		{"abc", 1, 5, "column 5 of line 1, which has 3 characters"},
		{"abc", 2, 0, "line 2 of 1"},
		{"abc\n", 2, 1, ""},
		{"abc\n", 2, 2, "column 2 of line 2"},
		{"é😀", 1, 3, ""},
		{"é😀", 1, 4, "column 4 of line 1, which has 2 characters"},
		{"a\r\nb\rc\u2028d\u2029e", 5, 2, ""},
		{"a\r\nb\rc\u2028d\u2029e", 1, 3, "column 3 of line 1"},
		{"a\r\nb\rc\u2028d\u2029e", 6, 0, "line 6 of 5"},
		{"a\n\rb", 3, 1, ""},
	} {
		b := &fakeBackend{eval: func(context.Context, *spi.Request) (*spi.Outcome, error) {
			return errorOutcome(spi.ScriptError{Kind: spi.KindException, Line: c.line, Column: c.column}), nil
		}}
		_, err := newSubject(b).eval(t.Context(), c.source, "")
		if c.wrong == "" {
			assert.NoError(t, err, "%q", c.source)
			continue
		}
		require.ErrorContains(t, err, c.wrong, "%q", c.source)
	}
}
