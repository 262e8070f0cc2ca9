// Package builtins lists the backends that are compiled into sandboxd. A binary
// of your own may take this list and add to it.
package builtins

import "github.com/loom-sandbox/sandboxd/cmd/sandboxd/command"

// Backends returns a fresh list, the default backend first. To add a backend,
// add a function like those of the other files in one of its own, with the build
// constraint that it needs, and name it here.
func Backends() []command.Backend {
	return []command.Backend{wazeroBackend(), wasmtimeBackend(), qjsBackend()}
}

// warm is how many isolates a backend makes at its start and keeps: enough for a
// server's first requests. A larger number is made when it is needed, and goes
// when it is not.
func warm(s *command.Settings) int { return min(s.Isolates, 4) }

// cacheDir is where a backend keeps compiled code: where the user says, or in
// its default place if there is one.
func cacheDir(s *command.Settings, fallback func() (string, error)) string {
	if s.CacheDir != "" || s.NoCache {
		return s.CacheDir
	}
	dir, err := fallback()
	if err != nil {
		s.Logger.Warn("no place for compiled code; starting takes longer (see --cache-dir and --no-cache)", "error", err)
		return ""
	}
	return dir
}
