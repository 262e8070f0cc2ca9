package conformance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// hostRouteChecks try every known way from a script to the host.
func hostRouteChecks() []Check {
	return []Check{
		{ID: "HOST-015", Level: MUST, Rule: "A script cannot read a file of the host by any known way.", body: cannotRead},
		{ID: "HOST-016", Level: MUST, Rule: "A script cannot create, move or remove a file of the host by any known way.", body: cannotWrite},
		{ID: "HOST-017", Level: MUST, Rule: "A script cannot read the host's environment variables by any known way.", body: cannotReadEnvironment},
		{ID: "HOST-018", Level: MUST, Rule: "A script cannot connect to a port of the host by any known way.", body: cannotConnect},
		{ID: "HOST-019", Level: MUST, Rule: "A script that tries to sleep for an hour by every known way ends in time.", Watchdog: endlessWatchdog, body: cannotSleep},
		{ID: "HOST-020", Level: MUST, Rule: "No way to start a process is there.", body: script{
			source: routesSource + "await sweep([['exec', ['echo', 'started']], ['popen', 'echo started', 'r'], ['system', 'echo started'], ['execSync', 'echo started'], " +
				"['spawnSync', 'echo', ['started']], ['spawnSync', ['echo', 'started']], ['spawn', 'echo', ['started']], ['fork', 'x'], ['kill', 0, 0], ['getpid'], ['pid']]); found",
			kinds: []spi.Kind{spi.KindDenied}, orValue: []string{"[]"},
		}.body()},
	}
}

// unknownIf says that the machine under the suite does not allow the check.
func unknownIf(err error) error {
	if err == nil {
		return nil
	}
	return &unknownError{err}
}

// withSecretFile hands over a directory with one file that holds a canary.
func withSecretFile(f func(path, secret string) error) error {
	dir, err := os.MkdirTemp("", "conformance-*")
	if err != nil {
		return unknownIf(err)
	}
	defer os.RemoveAll(dir)
	path, secret := filepath.Join(dir, "secret.txt"), canary()
	if err := os.WriteFile(path, []byte(secret), 0o644); err != nil {
		return unknownIf(err)
	}
	return f(path, secret)
}

func cannotRead(ctx context.Context, s *subject) error {
	return withSecretFile(func(path, secret string) error {
		got, err := s.tryRoutes(ctx, readRoutes, map[string]string{"path": path, "directory": filepath.Dir(path)})
		if err != nil {
			return err
		}
		if strings.Contains(got, secret) {
			return fmt.Errorf("the script read the file: %s", clip(got))
		}
		return nil
	})
}

func cannotWrite(ctx context.Context, s *subject) error {
	return withSecretFile(func(path, secret string) error {
		dir := filepath.Dir(path)
		_, err := s.tryRoutes(ctx, writeRoutes, map[string]string{"path": filepath.Join(dir, "written"), "existing": path})
		if err != nil {
			return err
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return unknownIf(err)
		}
		if len(entries) != 1 || entries[0].Name() != filepath.Base(path) {
			return fmt.Errorf("the directory holds %v afterwards, wanted the one file that was there", entries)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != secret {
			return fmt.Errorf("the file that was there is changed: %q, %w", clip(string(now)), err)
		}
		return nil
	})
}

func cannotReadEnvironment(ctx context.Context, s *subject) error {
	names := []string{"PATH", "HOME", "USER", "PWD", "HOSTNAME", "SHELL"}
	var secrets []string
	for _, name := range names {
		if v := os.Getenv(name); len(v) > 3 {
			secrets = append(secrets, v)
		}
	}
	if dir, err := os.Getwd(); err == nil && len(dir) > 3 {
		secrets = append(secrets, dir)
	}
	if len(secrets) == 0 {
		return unknownIf(errors.New("this process has no environment that could be looked for"))
	}
	got, err := s.tryRoutes(ctx, environmentRoutes, names)
	if err != nil {
		return err
	}
	for _, secret := range secrets {
		if strings.Contains(got, secret) {
			return fmt.Errorf("the script read %q: %s", clip(secret), clip(got))
		}
	}
	return nil
}

func cannotConnect(ctx context.Context, s *subject) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return unknownIf(err)
	}
	var seen atomic.Int32
	accepting := background(func() (none, error) {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return none{}, err // closed below
			}
			seen.Add(1)
			_ = conn.Close()
		}
	})
	port := listener.Addr().(*net.TCPAddr).Port
	_, err = s.tryRoutes(ctx, networkRoutes, map[string]any{
		"url": fmt.Sprintf("http://127.0.0.1:%d/", port), "host": "127.0.0.1", "port": port,
	})
	time.Sleep(s.allow(50 * time.Millisecond)) // what was begun may still arrive
	_ = listener.Close()
	<-accepting
	if n := seen.Load(); n > 0 {
		return fmt.Errorf("the script made %d connections", n)
	}
	return err
}

func cannotSleep(ctx context.Context, s *subject) error {
	timeout := s.allow(500 * time.Millisecond).Round(time.Millisecond)
	out, err := s.inTime(timeout, func() (*spi.Outcome, error) { return s.eval(ctx, sleepRoutes, "", withTimeout(timeout)) })
	switch {
	case err != nil:
		return err
	case out.Error == nil:
		return wantValue(out, `"awake"`)
	}
	return wantKind(out, spi.KindTimeout, spi.KindDenied, spi.KindDeadlock)
}
