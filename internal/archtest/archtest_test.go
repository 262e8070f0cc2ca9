package archtest_test

import (
	"os"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/internal/archtest"
)

func TestTheHouseKeepsItsShape(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	_, err := root.Open("go.mod")
	require.NoError(t, err, "the module's root is two levels up")
	problems, err := archtest.Check(root, archtest.House())
	require.NoError(t, err)
	for _, p := range problems {
		assert.Fail(t, p.String())
	}
}

func TestEveryRowIsReasonable(t *testing.T) {
	t.Parallel()
	plan := archtest.House()
	known := map[string]bool{}
	for _, r := range plan.Rows {
		known[r.Package] = true
		assert.Equal(t, path.Clean(r.Package), r.Package)
	}
	for _, r := range plan.Rows {
		for _, own := range append(r.Own, r.TestOwn...) {
			assert.True(t, known[own], "%s may import %s, which has no row", r.Package, own)
		}
	}
	for _, table := range []map[string]string{plan.Modules, plan.Vars, plan.Changes, plan.LongFiles, plan.Cgo} {
		for key, reason := range table {
			assert.NotEmpty(t, reason, key)
		}
	}
	for _, o := range plan.TestOnly {
		assert.True(t, known[o.Package], o.Package)
		assert.NotEmpty(t, o.Because, o.Name)
	}
	for _, n := range plan.Never {
		assert.NotEmpty(t, n.Because, n.Import)
	}
}

// TestNothingPointsUp follows the rows: no package may reach itself.
func TestNothingPointsUp(t *testing.T) {
	t.Parallel()
	own := map[string][]string{}
	for _, r := range archtest.House().Rows {
		own[r.Package] = r.Own
	}
	var follow func(pkg string, trail []string)
	follow = func(pkg string, trail []string) {
		for _, seen := range trail {
			require.NotEqual(t, seen, pkg, "the rows allow a circle: %s", strings.Join(append(trail, pkg), " -> "))
		}
		for _, next := range own[pkg] {
			follow(next, append(trail, pkg))
		}
	}
	for pkg := range own {
		follow(pkg, nil)
	}
}
