package integration

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/wazero"
	"github.com/loom-sandbox/sandboxd/internal/saboteur"
	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/spi/conformance"
)

// hungAfter is how long a check of a backend that hangs may take: the check
// cannot pass, so there is nothing to be patient for.
const hungAfter = time.Second

// patience with a busy machine, as a factor. Nothing that is good takes longer
// for it.
const patience = 4

// TestASaboteurIsCaught: the suite is only worth what it catches. Each defect
// must fail each check that is meant for it, and for the reason that is meant.
func TestASaboteurIsCaught(t *testing.T) {
	checks := checksByID()
	for _, d := range saboteur.Defects() {
		t.Run(d.Name, func(t *testing.T) {
			if !d.Alone {
				t.Parallel()
			}
			slow := float64(patience)
			if d.Hangs || d.Late {
				slow = 1
			}
			runner := newSaboteur(t, d, slow)
			for _, id := range d.CaughtBy {
				c, ok := checks[id]
				require.True(t, ok, "there is no check %s", id)
				if d.Hangs {
					c.Watchdog = hungAfter
				}
				result := runner.Run(t.Context(), &c)
				assert.Equal(t, conformance.Fail, result.Outcome, "%s does not see it: %s\n%s", id, d.Wrong, result.Detail)
				assert.Contains(t, result.Detail, d.Seen, "%s fails for another reason than: %s", id, d.Wrong)
			}
		})
	}
}

// TestASaboteurWithoutDefectIsNotCaught: what catches the defects is not the
// wrapper. It is not parallel: a check counts the process's goroutines.
func TestASaboteurWithoutDefectIsNotCaught(t *testing.T) {
	runner := newSaboteur(t, saboteur.Defect{}, patience)
	for _, c := range conformance.Checks() {
		result := runner.Run(t.Context(), &c)
		assert.Contains(t, []conformance.Outcome{conformance.Pass, conformance.NotApplicable}, result.Outcome,
			"%s: %s\n%s", c.ID, c.Rule, result.Detail)
	}
}

func checksByID() map[string]conformance.Check {
	checks := map[string]conformance.Check{}
	for _, c := range conformance.Checks() {
		checks[c.ID] = c
	}
	return checks
}

// newSaboteur runs checks on wazero with a defect. What hangs is let go when the
// test ends.
func newSaboteur(t *testing.T, d saboteur.Defect, slow float64) *conformance.Runner {
	t.Helper()
	var mu sync.Mutex
	var made []*saboteur.Backend
	runner, err := conformance.NewRunner(t.Context(), &conformance.Harness{
		Slow: slow,
		New: func(ctx context.Context) (spi.Backend, error) {
			good, err := wazero.New(ctx, &wazero.Options{CacheDir: cacheDir})
			if err != nil {
				return nil, err
			}
			b := d.Wrap(good)
			mu.Lock()
			defer mu.Unlock()
			made = append(made, b)
			return b, nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		for _, b := range made {
			assert.NoError(t, b.Release())
		}
		runner.Close()
	})
	return runner
}
