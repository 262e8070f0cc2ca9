package enginetest

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/codecache"
	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
	"github.com/loom-sandbox/sandboxd/spi"
)

// Starter starts a backend on a cache directory.
type Starter func(ctx context.Context, dir string, log *slog.Logger) (spi.Backend, error)

// TestCache spoils a cache in every way that is known, and demands that the
// backend starts all the same, says so, and has mended it for the next start.
func TestCache(t *testing.T, name string, start Starter) {
	dir := filepath.Join(t.TempDir(), "cache")
	require.Empty(t, startWith(t, start, dir))
	first := cached(t, dir)
	require.Empty(t, startWith(t, start, dir), "the second start finds it")
	require.Equal(t, first, cached(t, dir))
	code := largest(first)
	key, err := quickjs.Key(sourceSHA256())
	require.NoError(t, err)

	// reseal changes an entry as a process of the user's own would.
	reseal := func(t *testing.T, change func()) {
		entry, err := codecache.Open(t.Context(), dir, name+"-"+key)
		require.NoError(t, err)
		defer entry.Close()
		change()
		require.NoError(t, entry.Seal())
	}

	t.Run("the image without code", func(t *testing.T) {
		reseal(t, func() { require.NoError(t, os.Remove(code)) })
		require.Empty(t, startWith(t, start, dir), "completed without a word")
		require.Len(t, cached(t, dir), len(first))
		require.Empty(t, startWith(t, start, dir))
	})
	for what, spoil := range map[string]func(t *testing.T){
		"a flipped bit in the code": func(t *testing.T) {
			b := []byte(first[code])
			b[len(b)/2] ^= 1
			require.NoError(t, os.WriteFile(code, b, 0o600))
		},
		"truncated code": func(t *testing.T) { require.NoError(t, os.Truncate(code, 1000)) },
		"a missing file": func(t *testing.T) { require.NoError(t, os.Remove(code)) },
		"a folder in place of the manifest": func(t *testing.T) {
			manifest := filepath.Join(dir, name+"-"+key, "manifest.json")
			require.NoError(t, os.Remove(manifest))
			require.NoError(t, os.MkdirAll(filepath.Join(manifest, "x"), 0o700))
		},
		"code that is sealed and no code": func(t *testing.T) {
			reseal(t, func() { require.NoError(t, os.WriteFile(code, []byte("not code"), 0o600)) })
		},
	} {
		t.Run(what, func(t *testing.T) {
			spoil(t)
			assert.Contains(t, startWith(t, start, dir), "making the cache of compiled code again")
			assert.Empty(t, startWith(t, start, dir), "mended")
			assert.Len(t, cached(t, dir), len(first))
		})
	}
}

func sourceSHA256() string {
	_, sum := quickjs.DefaultSource()
	return sum
}

// startWith makes a backend on a cache, runs a script, and returns the warnings.
func startWith(t *testing.T, start Starter, dir string) string {
	t.Helper()
	var log bytes.Buffer
	b, err := start(t.Context(), dir, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	iso, err := b.Open(t.Context(), &spi.Config{
		Limits: spi.Limits{Timeout: 20 * time.Second, MemoryBytes: 64 << 20, OutputBytes: 1 << 20}, Now: time.Unix(1_700_000_000, 0),
	})
	require.NoError(t, err)
	out, err := iso.Eval(t.Context(), &spi.Request{Source: "6 * 7", Language: spi.JavaScript, Input: []byte("null")})
	require.NoError(t, err)
	require.Equal(t, "42", string(out.Value))
	require.NoError(t, b.Close())
	return log.String()
}

// cached lists the files of a cache with their contents.
func cached(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			files[path] = string(b)
		}
		return err
	}))
	return files
}

// largest is the file with the compiled code.
func largest(files map[string]string) (path string) {
	for p, text := range files {
		if path == "" || len(text) > len(files[path]) {
			path = p
		}
	}
	return path
}
