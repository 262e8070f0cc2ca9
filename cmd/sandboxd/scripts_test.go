package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/builtins"
	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/command"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sandboxd": main})
}

// TestScripts runs testdata/scripts through the real command. Beside the
// commands of testscript there are
//
//	status N program [args...]     like exec, with this exit status
//	http METHOD PATH STATUS [file] asks the server at $ADDR; the body is stdout
//	                               and the headers are in the file http.headers
//	fill ANSWER FILE OUT           writes FILE to OUT with the continuation of ANSWER
//	                               in the place of @continuation@
//	sigterm                        sends SIGTERM to what runs in the background
//
// and the condition [backend:NAME], which holds where that backend is available.
// $ADDR and $OTHER_ADDR are free addresses.
//
// A request is sent again while the server does not answer, or not with STATUS
// but with 503.
func TestScripts(t *testing.T) {
	// One cache for all, so that the engine is compiled once.
	cache := filepath.Join(t.TempDir(), "cache")
	require.NoError(t, os.Mkdir(cache, 0o700))
	fillCache(t, cache)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "scripts"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SANDBOXD_CACHE_DIR", cache)
			for _, name := range []string{"ADDR", "OTHER_ADDR"} {
				addr, err := freeAddress()
				if err != nil {
					return err
				}
				env.Setenv(name, addr)
			}
			return nil
		},
		Condition: condition,
		Cmds:      map[string]func(*testscript.TestScript, bool, []string){"status": status, "http": request, "fill": fill, "sigterm": sigterm},
	})
}

// fillCache compiles every engine once, before all scripts that would wait for one
// of them to do it.
func fillCache(t *testing.T, dir string) {
	for _, b := range builtins.Backends() {
		if b.Unavailable != "" {
			continue
		}
		backend, err := b.New(t.Context(), command.Settings{CacheDir: dir, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err, b.Name)
		require.NoError(t, backend.Close())
	}
}

func condition(cond string) (bool, error) {
	name, ok := strings.CutPrefix(cond, "backend:")
	if !ok {
		return false, fmt.Errorf("condition %q is not known", cond)
	}
	for _, b := range builtins.Backends() {
		if b.Name == name {
			return b.Unavailable == "", nil
		}
	}
	return false, fmt.Errorf("backend %q is not known", name)
}

func freeAddress() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}

func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

func sigterm(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: sigterm")
	}
	for _, c := range ts.BackgroundCmds() {
		ts.Check(c.Process.Signal(syscall.SIGTERM))
	}
}

func request(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args) > 4 {
		ts.Fatalf("usage: http METHOD PATH STATUS [file]")
	}
	want, err := strconv.Atoi(args[2])
	ts.Check(err)
	body := ""
	if len(args) == 4 {
		body = ts.ReadFile(args[3])
	}
	var got *http.Response
	for range 600 { // a minute
		if got, err = send(args[0], "http://"+ts.Getenv("ADDR")+args[1], body); err == nil && (got.StatusCode == want || got.StatusCode != http.StatusServiceUnavailable) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	ts.Check(err)
	var headers bytes.Buffer
	ts.Check(got.Header.Write(&headers))
	ts.Check(os.WriteFile(ts.MkAbs("http.headers"), headers.Bytes(), 0o600))
	_, err = io.Copy(ts.Stdout(), got.Body)
	ts.Check(err)
	if got.StatusCode != want {
		ts.Fatalf("status %d, want %d", got.StatusCode, want)
	}
}

func fill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: fill ANSWER FILE OUT")
	}
	var answer struct{ Continuation string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &answer))
	if answer.Continuation == "" {
		ts.Fatalf("%s has no continuation", args[0])
	}
	filled := strings.ReplaceAll(ts.ReadFile(args[1]), "@continuation@", answer.Continuation)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(filled), 0o600))
}

// send reads the whole answer, so that no connection is left.
func send(method, url, body string) (*http.Response, error) {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(b))
	return resp, err
}
