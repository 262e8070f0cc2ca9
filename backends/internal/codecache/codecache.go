// Package codecache keeps code that will be executed in a directory of the
// user's: compiled modules, booted images.
//
// # Security
//
// Whoever can write there runs code in our process. A directory is used only if
// it belongs to the user and nobody else may enter it, and its files only if
// they are what was sealed; anything else is an error, which a caller answers
// with a warning and with doing the work again. The parent directories are the
// user's business. On systems without Unix permissions ownership is not checked.
//
// # Concurrency
//
// An open entry is locked against other processes until it is closed, so that
// of many that start at once one does the work. An [Entry] is used by one
// goroutine.
package codecache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// ErrUntrusted says that a directory or a file in it may be someone else's.
var ErrUntrusted = errors.New("codecache: not private to this user")

// ErrCorrupt says that the files of an entry are not those that were sealed.
var ErrCorrupt = errors.New("codecache: files are not what was stored")

// ErrBusy says that another process held the entry for longer than [LockWait].
var ErrBusy = errors.New("codecache: in use by another process")

// LockWait is how long [Open] waits for another process.
const LockWait = 10 * time.Second

const (
	manifestName = "manifest.json"
	lockName     = "lock"
)

// Entry is a directory of files that were made together.
type Entry struct {
	dir      string
	unlock   func()
	verified []string // the files that Verify found
}

// Open makes or finds the entry of a key, a short name of letters, digits and
// dashes, under root, and locks it. Errors are or wrap [ErrUntrusted],
// [ErrBusy], the context's or the file system's.
func Open(ctx context.Context, root, key string) (*Entry, error) {
	dir := filepath.Join(root, key)
	for _, d := range []string{root, dir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("codecache: %w", err)
		}
		if err := checkPrivate(d, true); err != nil {
			return nil, err
		}
	}
	unlock, err := lock(ctx, filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	return &Entry{dir: dir, unlock: unlock}, nil
}

// lock waits for a file lock, which a process that dies gives back.
func lock(ctx context.Context, path string) (func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, LockWait)
	defer cancel()
	type result struct {
		unlock func()
		err    error
	}
	got := make(chan result, 1)
	go func() {
		unlock, err := lockedfile.MutexAt(path).Lock()
		got <- result{unlock, err}
	}()
	select {
	case r := <-got:
		if r.err != nil {
			return nil, fmt.Errorf("codecache: %w", r.err)
		}
		return r.unlock, nil
	case <-ctx.Done():
		go func() { // whenever the lock comes, give it back
			if r := <-got; r.err == nil {
				r.unlock()
			}
		}()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, ErrBusy
		}
		return nil, ctx.Err()
	}
}

// Close unlocks the entry.
func (e *Entry) Close() {
	e.unlock()
}

// Path is the directory, for writers that want a place rather than bytes.
func (e *Entry) Path() string { return e.dir }

// Verify checks that the entry holds exactly what was sealed. It reports whether
// there is anything; a fresh entry is empty and fine.
func (e *Entry) Verify() (found bool, err error) {
	files, err := e.files()
	if err != nil {
		return false, err
	}
	want := map[string]string{}
	text, err := os.ReadFile(filepath.Join(e.dir, manifestName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return false, fmt.Errorf("codecache: %w", err)
	default:
		if err := checkPrivate(filepath.Join(e.dir, manifestName), false); err != nil {
			return false, err
		}
		if json.Unmarshal(text, &want) != nil {
			return false, fmt.Errorf("%w: %s does not parse", ErrCorrupt, manifestName)
		}
	}
	if len(want) != len(files) {
		return false, fmt.Errorf("%w: %d files, stored were %d", ErrCorrupt, len(files), len(want))
	}
	// Hashing is a good part of a start: all files at once.
	problems := make([]error, len(files))
	var all sync.WaitGroup
	for i, name := range files {
		all.Go(func() { problems[i] = e.check(name, want[filepath.ToSlash(name)]) })
	}
	all.Wait()
	for _, problem := range problems {
		if problem != nil {
			return false, problem
		}
	}
	e.verified = files
	return len(files) > 0, nil
}

// check looks at one stored file.
func (e *Entry) check(name, want string) error {
	path := filepath.Join(e.dir, name)
	if err := checkPrivate(path, false); err != nil {
		return err
	}
	got, err := hashFile(path)
	if err == nil && got != want {
		err = fmt.Errorf("%w: %s has another hash", ErrCorrupt, filepath.ToSlash(name))
	}
	return err
}

// Changed reports whether files were added or removed since Verify, so that the
// entry must be sealed again.
func (e *Entry) Changed() (bool, error) {
	files, err := e.files()
	return !slices.Equal(files, e.verified), err
}

// Seal records what the entry holds now.
func (e *Entry) Seal() error {
	files, err := e.files()
	if err != nil {
		return err
	}
	sums := map[string]string{}
	for _, name := range files {
		if sums[filepath.ToSlash(name)], err = hashFile(filepath.Join(e.dir, name)); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(sums, "", "\t")
	if err != nil {
		return fmt.Errorf("codecache: %w", err)
	}
	return e.WriteFile(manifestName, text)
}

// WriteFile stores a file as a whole or not at all.
func (e *Entry) WriteFile(name string, data []byte) error {
	f, err := os.CreateTemp(e.dir, name+".*.tmp") // mode 0600
	if err != nil {
		return fmt.Errorf("codecache: %w", err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(e.dir, name))
	}
	if err != nil {
		return fmt.Errorf("codecache: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// ReadFile reads a stored file of at most limit bytes.
func (e *Entry) ReadFile(name string, limit int64) ([]byte, error) {
	f, err := os.Open(filepath.Join(e.dir, name))
	if err != nil {
		return nil, fmt.Errorf("codecache: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Size() > limit {
		err = fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	if err != nil {
		return nil, fmt.Errorf("codecache: %w", err)
	}
	data := make([]byte, info.Size()) // megabytes: a buffer that grows would cost milliseconds
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("codecache: %w", err)
	}
	return data, nil
}

// Clear removes everything but the lock.
func (e *Entry) Clear() error {
	e.verified = nil
	names, err := os.ReadDir(e.dir)
	if err != nil {
		return fmt.Errorf("codecache: %w", err)
	}
	for _, n := range names {
		if n.Name() != lockName {
			if err := os.RemoveAll(filepath.Join(e.dir, n.Name())); err != nil {
				return fmt.Errorf("codecache: %w", err)
			}
		}
	}
	return nil
}

// files lists the entry's files, relative, without manifest and lock. What is
// neither a file nor a directory is not ours.
func (e *Entry) files() ([]string, error) {
	var files []string
	err := filepath.WalkDir(e.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("codecache: %w", err)
		}
		if d.IsDir() {
			return checkPrivate(path, true)
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%w: %s is not a regular file", ErrUntrusted, d.Name())
		}
		if name, err := filepath.Rel(e.dir, path); err == nil && name != manifestName && name != lockName {
			files = append(files, name)
		}
		return nil
	})
	return files, err
}

// checkPrivate refuses what is not a directory or a plain file, whichever it
// should be (a link is neither), and what others may touch.
func checkPrivate(path string, dir bool) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("codecache: %w", err)
	}
	if dir != info.IsDir() || !dir && !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is a link, a device or a folder out of place; allowed are plain files and folders", ErrUntrusted, path)
	}
	return checkOwner(path, info)
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("codecache: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("codecache: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
