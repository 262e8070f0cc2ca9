package command

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
)

// readAtMost reads the named file, or stdin for "-", and stops one byte after
// most: a longer answer tells the caller that there is too much. Its errors name
// the reason only; the caller names the file.
//
// A pipe or a terminal may never end, so the end of ctx ends the wait with a
// [*cancelError]; what reads is then left behind, as nothing can interrupt it.
func readAtMost(ctx context.Context, stdin io.Reader, path string, most int64) ([]byte, error) {
	return waitFor(ctx, func() ([]byte, error) {
		return readFile(stdin, path, most, func(fs.FileInfo) error { return nil })
	})
}

// readSecret is readAtMost for a file that nobody else may read.
func readSecret(ctx context.Context, path string, most int64) ([]byte, error) {
	return waitFor(ctx, func() ([]byte, error) { return readFile(nil, path, most, checkPrivate) })
}

func waitFor(ctx context.Context, reading func() ([]byte, error)) ([]byte, error) {
	type read struct {
		data []byte
		err  error
	}
	done := make(chan read, 1)
	go func() {
		data, err := reading()
		done <- read{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, &cancelError{}
	}
}

func readFile(stdin io.Reader, path string, most int64, check func(fs.FileInfo) error) ([]byte, error) {
	r := stdin
	if path != "-" || stdin == nil {
		f, err := os.Open(path)
		if err != nil {
			return nil, reason(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return nil, reason(err)
		}
		if info.IsDir() {
			return nil, errors.New("is a directory; allowed is a file")
		}
		if err := check(info); err != nil {
			return nil, err
		}
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, reason(err)
	}
	return data, nil
}

// unread is the error for what readAtMost did not read: a cancellation stays
// one, everything else is a mistake of the caller's.
func unread(what string, err error) error {
	var cancelled *cancelError
	if errors.As(err, &cancelled) {
		return cancelled
	}
	return usagef("%s: %v", what, err)
}

func reason(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such file")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("may not be read (permission denied)")
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
