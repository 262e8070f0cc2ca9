package wazero

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// startWith makes a backend on a cache, runs a script, and returns the warnings.
func startWith(t *testing.T, dir string) string {
	t.Helper()
	var log bytes.Buffer
	b, err := New(t.Context(), &Options{CacheDir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	requireValue(t, run(t, b, testConfig(), "6 * 7"), "42")
	require.Equal(t, shared.Describe().Image, b.Describe().Image)
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

func TestACorruptCacheIsMadeAgainWithAWarning(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	require.Empty(t, startWith(t, dir))
	first := cached(t, dir)
	require.Empty(t, startWith(t, dir), "the second start finds it")
	require.Equal(t, first, cached(t, dir))

	// The image alone, as another version of wazero leaves it, is completed.
	code := largest(first)
	s, err := openStore(t.Context(), dir, shared.image.SourceSHA256, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, os.Remove(code))
	s.close()
	require.Empty(t, startWith(t, dir))
	require.Equal(t, len(first), len(cached(t, dir)))
	require.Empty(t, startWith(t, dir))

	for name, spoil := range map[string]func(t *testing.T){
		"a flipped bit in the code": func(t *testing.T) {
			b := []byte(first[code])
			b[len(b)/2] ^= 1
			require.NoError(t, os.WriteFile(code, b, 0o600))
		},
		"truncated code": func(t *testing.T) { require.NoError(t, os.Truncate(code, 1000)) },
		"a missing file": func(t *testing.T) { require.NoError(t, os.Remove(code)) },
		"a folder in place of the manifest": func(t *testing.T) {
			manifest := filepath.Join(filepath.Dir(filepath.Dir(code)), "manifest.json")
			require.NoError(t, os.Remove(manifest))
			require.NoError(t, os.MkdirAll(filepath.Join(manifest, "x"), 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			spoil(t)
			assert.Contains(t, startWith(t, dir), "making the cache of compiled code again")
			assert.Len(t, cached(t, dir), len(first))
			assert.Empty(t, startWith(t, dir), "mended")
		})
	}
	t.Run("code that is sealed but not wazero's", func(t *testing.T) {
		require.NoError(t, os.WriteFile(code, []byte("not code"), 0o600))
		s, err := openStore(t.Context(), dir, shared.image.SourceSHA256, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(code), 0o700)) // openStore emptied the entry
		require.NoError(t, os.WriteFile(code, []byte("not code"), 0o600))
		s.keep(shared.image)
		s.close()
		assert.Contains(t, startWith(t, dir), "making the cache of compiled code again")
		assert.Empty(t, startWith(t, dir), "mended")
	})
}
