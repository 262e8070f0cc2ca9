package wasmhost

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/loom-sandbox/sandboxd/backends/internal/codecache"
	"github.com/loom-sandbox/sandboxd/backends/internal/quickjs"
)

// imageName is the booted image in a cache entry, beside the code that the
// engine keeps there.
const (
	imageName     = "image"
	maxImageBytes = 64 << 20
)

// DefaultCacheDir is where compiled code is kept unless told otherwise: a folder
// of the user's cache directory.
func DefaultCacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory: %w", err)
	}
	return filepath.Join(dir, "sandboxd"), nil
}

// store is a verified cache entry while a backend starts, or nothing: every
// method of a nil store does nothing.
type store struct {
	entry *codecache.Entry
	found bool
	log   *slog.Logger
}

// openStore opens the entry of an image for an engine. What cannot be trusted is
// not used, and what is corrupt is thrown away, with a warning each.
func openStore(ctx context.Context, dir, engine, sourceSHA256 string, log *slog.Logger) (*store, error) {
	if dir == "" {
		return nil, nil
	}
	key, err := quickjs.Key(sourceSHA256)
	if err != nil {
		return nil, err
	}
	entry, err := codecache.Open(ctx, dir, engine+"-"+key)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		log.Warn("not using the cache of compiled code", "reason", err)
		return nil, nil
	}
	s := &store{entry: entry, log: log}
	if s.found, err = entry.Verify(); err != nil && !s.discard(err) {
		entry.Close()
		return nil, nil
	}
	return s, nil
}

// discard empties the entry, so that it is made again, and reports whether it
// could. The entry itself is private, whatever is wrong inside.
func (s *store) discard(reason error) bool {
	s.log.Warn("making the cache of compiled code again", "reason", reason)
	s.found = false
	if err := s.entry.Clear(); err != nil {
		s.log.Warn("the cache of compiled code cannot be emptied", "reason", err)
		return false
	}
	return true
}

// image is the stored image, if there is one.
func (s *store) image(sourceSHA256 string) *quickjs.Image {
	if s == nil || !s.found {
		return nil
	}
	data, err := s.entry.ReadFile(imageName, maxImageBytes)
	if err == nil {
		var img *quickjs.Image
		if img, err = quickjs.Load(data, sourceSHA256); err == nil {
			return img
		}
	}
	s.discard(err)
	return nil
}

// keep stores an image that was just built.
func (s *store) keep(img *quickjs.Image) {
	if s == nil {
		return
	}
	data, err := img.Marshal()
	if err == nil {
		err = s.entry.WriteFile(imageName, data)
	}
	if err != nil {
		s.log.Warn("the engine image cannot be cached", "reason", err)
	}
}

// code is where an engine keeps what it compiles.
func (s *store) code() *codecache.Entry {
	if s == nil {
		return nil
	}
	return s.entry
}

// close seals what was added and lets the next process in.
func (s *store) close() {
	if s == nil {
		return
	}
	changed, err := s.entry.Changed()
	if err == nil && changed {
		err = s.entry.Seal()
	}
	if err != nil {
		s.log.Warn("the cache of compiled code cannot be sealed", "reason", err)
	}
	s.entry.Close()
}
