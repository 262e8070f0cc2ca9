package command_test

import (
	"encoding/json"
	"encoding/xml"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi/conformance"
)

// TestABackendThatFailsChecksIsReported runs the suite on the stub, which speaks
// another language and so fails most of it at once.
func TestABackendThatFailsChecksIsReported(t *testing.T) {
	t.Parallel()
	all := len(conformance.Checks())

	a := call{args: args("conformance", "--backend", "stub", "--json")}.run(t)
	require.Equal(t, 1, a.status, a.stderr)
	require.Empty(t, a.stderr)
	var report conformance.Report
	require.NoError(t, json.Unmarshal([]byte(a.stdout), &report))
	assert.Equal(t, "stub", report.Backend)
	assert.Equal(t, "stub", report.Descriptor.Name)
	require.Len(t, report.Checks, all)
	assert.Positive(t, report.Summary.Pass)
	assert.Positive(t, report.Summary.Fail)
	assert.Zero(t, report.Summary.Error)
}

func TestTheFormsOfAReport(t *testing.T) {
	t.Parallel()
	a := call{args: args("conformance", "--backend", "stub", "--junit")}.run(t)
	require.Equal(t, 1, a.status, a.stderr)
	require.NoError(t, xml.Unmarshal([]byte(a.stdout), new(struct{})))
	assert.Contains(t, a.stdout, "<testsuite")
	assert.Contains(t, a.stdout, "DESC-001")

	a = call{args: args("conformance", "--backend", "stub")}.run(t)
	require.Equal(t, 1, a.status, a.stderr)
	assert.Regexp(t, `(?m)^DESC-001 +MUST +pass`, a.stdout)
}

func TestConformanceIsCalledProperly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args   []string
		status int
		stderr string
	}{
		{args("conformance", "--json", "--junit"), 2, "--json"},
		{args("conformance", "--slow", "0"), 2, "--slow is 0; allowed is 1 to 1000"},
		{args("conformance", "--slow", "x"), 2, "--slow"},
		{args("conformance", "--backend", "nosuch"), 2, "--backend nosuch is not known; known are gone, stub, broken"},
		{args("conformance", "--backend", "gone"), 4, "backend gone is not available here"},
		{args("conformance", "--backend", "broken"), 4, "the engine did not start"},
		{args("conformance", "more"), 2, "unexpected argument more"},
	} {
		a := call{args: c.args}.run(t)
		assert.Equal(t, c.status, a.status, c.args)
		assert.Empty(t, a.stdout, c.args)
		assert.Contains(t, a.stderr, c.stderr, c.args)
	}
	assert.Contains(t, call{args: args("conformance", "--help")}.run(t).stdout, "Exit status: 0 the backend conforms")
}
