package command_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/command"
	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/stub"
	"github.com/loom-sandbox/sandboxd/spi"
)

const cancelled = "sandboxd: cancelled: the eval was cancelled before the script started\n"

// asked is a reader that tells when it is read and answers when it is closed.
type asked struct {
	reading chan struct{}
	closed  chan struct{}
}

func (a *asked) Read([]byte) (int, error) {
	close(a.reading)
	<-a.closed
	return 0, io.EOF
}

func TestTheEndOfTheContextEndsTheWaitForStandardInput(t *testing.T) {
	t.Parallel()
	for name, a := range map[string][]string{
		"script":         args("eval", "-"),
		"script as JSON": args("eval", "-", "--json"),
		"input":          args("eval", "-e", "input", "--input-file", "-"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			in := &asked{make(chan struct{}), make(chan struct{})}
			defer close(in.closed)
			go func() {
				<-in.reading
				cancel()
			}()
			var stdout, stderr strings.Builder
			status := command.Main(ctx, command.App{Args: a, Stdin: in, Stdout: &stdout, Stderr: &stderr, Backends: stubs()})
			assert.Equal(t, answer{3, "", cancelled}, answer{status, stdout.String(), stderr.String()})
		})
	}
}

// wordedOtherwise is how an engine that is stopped halfway can fail.
func wordedOtherwise(started chan<- struct{}) func(context.Context, command.Settings) (spi.Backend, error) {
	return func(ctx context.Context, _ command.Settings) (spi.Backend, error) {
		close(started)
		<-ctx.Done()
		return nil, errors.New("the module was closed with exit code 7")
	}
}

func TestACancellationWhileTheEngineStartsIsNoFaultOfTheBackend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want answer
	}{
		{args("eval", "-e", "input"), answer{3, "", cancelled}},
		{args("eval", "-e", "input", "--json"), answer{3, "", cancelled}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		started := make(chan struct{})
		backends := only(nil)
		backends[0].New = wordedOtherwise(started)
		go func() {
			<-started
			cancel()
		}()
		var stdout, stderr strings.Builder
		status := command.Main(ctx, command.App{Args: c.args, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Backends: backends})
		assert.Equal(t, c.want, answer{status, stdout.String(), stderr.String()})
	}
}

// breaksWhenCancelled is a backend whose evals are at fault once they are cancelled.
type breaksWhenCancelled struct {
	*stub.Backend
	opened chan struct{}
}

func (b breaksWhenCancelled) Open(ctx context.Context, _ *spi.Config) (spi.Isolate, error) {
	close(b.opened)
	<-ctx.Done()
	return nil, errors.New("the module was closed with exit code 7")
}

func TestACancellationWhileAnIsolateOpensIsNoFaultOfTheBackend(t *testing.T) {
	t.Parallel()
	for verb, want := range map[string]int{"eval": 3, "serve": 0} {
		ctx, cancel := context.WithCancel(t.Context())
		b := breaksWhenCancelled{&stub.Backend{}, make(chan struct{})}
		backends := only(nil)
		backends[0].New = func(context.Context, command.Settings) (spi.Backend, error) { return b, nil }
		go func() {
			<-b.opened
			cancel()
		}()
		a := args("eval", "-e", "input")
		if verb == "serve" { // its warm-up
			a = args("serve", "--listen", "127.0.0.1:0")
		}
		log := &logBuffer{}
		status := command.Main(ctx, command.App{Args: a, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: log, Backends: backends})
		assert.Equal(t, want, status, log.String())
		assert.NotContains(t, log.String(), "exit code 7")
	}
}

func TestAServerThatIsStoppedWhileItStartsAnswersAtOnceAndEndsWithStatus0(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	backends := only(nil)
	backends[0].New = wordedOtherwise(started)
	url, log, stop := serving(t, backends, "--shutdown-timeout", "1h")
	<-started
	client := waiting(t, url)
	assert.Equal(t, 0, stop())
	assert.Contains(t, said(t, client), "the server is stopping")
	assert.NotContains(t, log.String(), "exit code 7")
}

func TestAServerWhoseBackendDoesNotStartAnswersWhoWaitsAndEndsAtOnce(t *testing.T) {
	t.Parallel()
	fail := make(chan struct{})
	backends := only(nil)
	backends[0].New = func(context.Context, command.Settings) (spi.Backend, error) {
		<-fail
		return nil, errors.New("no engine here")
	}
	url, log, stop := serving(t, backends, "--shutdown-timeout", "1h")
	client := waiting(t, url)
	close(fail)
	assert.Contains(t, said(t, client), "the backend did not start")
	assert.Contains(t, log.String(), `msg="no backend, stopping" error="backend stub did not start: no engine here"`)
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "\nsandboxd: backend stub did not start") }, 10*time.Second, time.Millisecond)
	assert.Equal(t, 4, stop())
}

// waiting is a client that has sent an eval, of which the handler is known to
// run: it has asked for the body.
func waiting(t *testing.T, url string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	_, err = io.WriteString(conn, "POST /v1/eval HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 18\r\nExpect: 100-continue\r\n\r\n")
	require.NoError(t, err)
	const goOn = "HTTP/1.1 100 Continue\r\n\r\n"
	interim := make([]byte, len(goOn))
	_, err = io.ReadFull(conn, interim)
	require.NoError(t, err)
	require.Equal(t, goOn, string(interim))
	_, err = io.WriteString(conn, `{"script":"input"}`)
	require.NoError(t, err)
	return conn
}

func said(t *testing.T, conn net.Conn) string {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	assert.Equal(t, 503, resp.StatusCode)
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(b)
}

func TestAServerThatIsStoppedWhileItsConfigurationIsReadEndsWithStatus0(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a pipe has no name under /dev/fd")
	}
	for verb, want := range map[string]answer{"serve": {0, "", ""}, "eval": {3, "", cancelled}} {
		ctx, cancel := context.WithCancel(t.Context())
		r, w, err := os.Pipe()
		require.NoError(t, err)
		config := fmt.Sprintf("/dev/fd/%d", r.Fd())
		a := args(verb, "--config", config)
		if verb == "eval" {
			a = append(a, "-e", "input")
		}
		done := make(chan answer, 1)
		go func() {
			var stdout, stderr strings.Builder
			status := command.Main(ctx, command.App{Args: a, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Backends: stubs()})
			done <- answer{status, stdout.String(), stderr.String()}
		}()
		cancel()
		assert.Equal(t, want, <-done)
		require.NoError(t, w.Close()) // ends what was left behind
		require.NoError(t, r.Close())
	}
}
