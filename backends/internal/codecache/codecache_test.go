package codecache

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// stored makes a sealed entry with two files and returns its root.
func stored(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "cache")
	e, err := Open(t.Context(), root, "k")
	require.NoError(t, err)
	defer e.Close()
	require.NoError(t, e.WriteFile("a", []byte("one")))
	require.NoError(t, os.Mkdir(filepath.Join(e.Path(), "sub"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(e.Path(), "sub", "b"), []byte("two"), 0o600))
	require.NoError(t, e.Seal())
	return root
}

func TestSealedEntryIsFoundAgain(t *testing.T) {
	t.Parallel()
	root := stored(t)
	e, err := Open(t.Context(), root, "k")
	require.NoError(t, err)
	defer e.Close()
	found, err := e.Verify()
	require.NoError(t, err)
	require.True(t, found)
	data, err := e.ReadFile("a", 3)
	require.NoError(t, err)
	require.Equal(t, "one", string(data))
	changed, err := e.Changed()
	require.NoError(t, err)
	require.False(t, changed)
	require.NoError(t, e.WriteFile("c", nil))
	changed, err = e.Changed()
	require.NoError(t, err)
	require.True(t, changed)
	_, err = e.ReadFile("a", 2)
	require.ErrorContains(t, err, "larger than 2 bytes")
}

func TestFreshEntryIsEmptyAndPrivate(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "deep", "cache")
	e, err := Open(t.Context(), root, "k")
	require.NoError(t, err)
	defer e.Close()
	found, err := e.Verify()
	require.NoError(t, err)
	require.False(t, found)
}

func TestWhatWasNotSealedIsCorrupt(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"a changed byte":   func(t *testing.T, dir string) { write(t, filepath.Join(dir, "a"), "onf") },
		"a truncated file": func(t *testing.T, dir string) { write(t, filepath.Join(dir, "a"), "") },
		"a missing file":   func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, "a"))) },
		"an added file":    func(t *testing.T, dir string) { write(t, filepath.Join(dir, "sub", "c"), "x") },
		"a renamed file": func(t *testing.T, dir string) {
			require.NoError(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "z")))
		},
		"a missing manifest":    func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, manifestName))) },
		"a manifest of nothing": func(t *testing.T, dir string) { write(t, filepath.Join(dir, manifestName), "{}") },
		"a broken manifest":     func(t *testing.T, dir string) { write(t, filepath.Join(dir, manifestName), "{") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := stored(t)
			spoil(t, filepath.Join(root, "k"))
			e, err := Open(t.Context(), root, "k")
			require.NoError(t, err)
			defer e.Close()
			_, err = e.Verify()
			require.ErrorIs(t, err, ErrCorrupt)
			require.NoError(t, e.Clear())
			found, err := e.Verify()
			require.NoError(t, err)
			require.False(t, found)
		})
	}
}

func TestCancelledOpenGivesUp(t *testing.T) {
	t.Parallel()
	root := stored(t)
	held, err := Open(t.Context(), root, "k")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Open(ctx, root, "k")
	require.ErrorIs(t, err, context.Canceled)
	held.Close()
	e, err := Open(t.Context(), root, "k")
	require.NoError(t, err)
	e.Close()
}

func TestManyOpenersTakeTurns(t *testing.T) {
	t.Parallel()
	root := stored(t)
	var inside, most atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			e, err := Open(t.Context(), root, "k")
			if err != nil {
				t.Error(err)
				return
			}
			if n := inside.Add(1); n > most.Load() {
				most.Store(n)
			}
			runtime.Gosched()
			inside.Add(-1)
			e.Close()
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, most.Load())
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}
