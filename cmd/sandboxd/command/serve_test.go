package command_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/command"
	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/stub"
	"github.com/loom-sandbox/sandboxd/spi"
)

// logBuffer may be read while the command writes.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var listening = regexp.MustCompile(`msg=listening address=(127\.0\.0\.1:\d+)`)

// serving runs "serve" until stop is called.
func serving(t *testing.T, backends []command.Backend, more ...string) (url string, log *logBuffer, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	log = &logBuffer{}
	status := make(chan int, 1)
	go func() {
		status <- command.Main(ctx, command.App{
			Args: append(args("serve", "--listen", "127.0.0.1:0"), more...), Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: log,
			Version: "1.2.3", Backends: backends,
		})
	}()
	require.Eventually(t, func() bool { return listening.MatchString(log.String()) }, 10*time.Second, time.Millisecond)
	return "http://" + listening.FindStringSubmatch(log.String())[1], log, func() int {
		cancel()
		return <-status
	}
}

func fetch(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b)
}

func TestServeListensAtOnceBecomesReadyAndStopsWithStatus0(t *testing.T) {
	t.Parallel()
	engineIsUp := make(chan struct{})
	backends := only(&stub.Backend{})
	backends[0].New = func(ctx context.Context, _ command.Settings) (spi.Backend, error) {
		select {
		case <-engineIsUp:
			return &stub.Backend{}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	url, log, stop := serving(t, backends)
	status, _ := fetch(t, "GET", url+"/healthz", "")
	assert.Equal(t, 200, status)
	status, _ = fetch(t, "GET", url+"/readyz", "")
	assert.Equal(t, 503, status)
	close(engineIsUp)
	status, body := fetch(t, "POST", url+"/v1/eval", `{"script":"input","input":5}`) // waits
	assert.Equal(t, 200, status)
	assert.Contains(t, body, `"value":5`)
	status, _ = fetch(t, "GET", url+"/readyz", "")
	assert.Equal(t, 200, status)
	assert.Equal(t, 0, stop())
	assert.Contains(t, log.String(), "msg=ready")
}

func TestServeStopsWithStatus0WhileItIsStarting(t *testing.T) {
	t.Parallel()
	backends := only(&stub.Backend{})
	backends[0].New = func(ctx context.Context, _ command.Settings) (spi.Backend, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	_, _, stop := serving(t, backends)
	assert.Equal(t, 0, stop())
}

func TestServeWhoseBackendDoesNotStartEndsWithStatus4(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(context.Context, command.Settings) (spi.Backend, error){
		"no start":   func(context.Context, command.Settings) (spi.Backend, error) { return nil, errors.New("no engine") },
		"no warm-up": func(context.Context, command.Settings) (spi.Backend, error) { return faulty{&stub.Backend{}}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backends := only(nil)
			backends[0].New = start
			got := call{args: args("serve", "--listen", "127.0.0.1:0"), backends: backends}.run(t)
			assert.Equal(t, 4, got.status)
			assert.Contains(t, got.stderr, "\nsandboxd: backend stub d")
			assert.Contains(t, got.stderr, "no engine")
		})
	}
}

// faulty opens nothing.
type faulty struct{ *stub.Backend }

func (faulty) Open(context.Context, *spi.Config) (spi.Isolate, error) {
	return nil, errors.New("no engine")
}

func TestServeCapsWhatRequestsAskForAndFillsWhatTheyLeaveOpen(t *testing.T) {
	t.Parallel()
	url, _, stop := serving(t, only(&stub.Backend{}), "--default-timeout", "1s", "--default-memory", "2MiB", "--default-fuel", "5", "--default-output", "2kB", "--default-logs", "1kB",
		"--max-timeout", "3s", "--max-memory", "3MiB", "--max-fuel", "9", "--max-output", "4kB", "--max-logs", "2kB", "--max-host-calls", "2")
	_, body := fetch(t, "POST", url+"/v1/eval", `{"script":"limits"}`)
	assert.Contains(t, body, `"value":{"Timeout":1000000000,"MemoryBytes":2097152,"Fuel":5,"OutputBytes":2000,"LogBytes":1000,"HostCalls":2,"CallBytes":4000}`)
	_, body = fetch(t, "POST", url+"/v1/eval", `{"script":"limits","limits":{"timeoutMs":60000,"memoryBytes":9000000,"fuel":99,"outputBytes":9000,"logBytes":9000,"hostCalls":9,"callBytes":9000}}`)
	assert.Contains(t, body, `"value":{"Timeout":3000000000,"MemoryBytes":3145728,"Fuel":9,"OutputBytes":4000,"LogBytes":2000,"HostCalls":2,"CallBytes":4000}`)
	assert.Equal(t, 0, stop())
}

func TestServeOffersSeveralBackendsAndTheFirstIsTheDefault(t *testing.T) {
	t.Parallel()
	backends := only(&stub.Backend{})
	second := backends[0]
	second.Name = "second"
	second.Describe = func() spi.Descriptor { d := stub.Describe(); d.Name = "second"; return d }
	second.New = func(context.Context, command.Settings) (spi.Backend, error) { return named{&stub.Backend{}}, nil }
	url, _, stop := serving(t, append(backends, second), "--backend", "second,stub")
	_, body := fetch(t, "POST", url+"/v1/eval", `{"script":"input"}`)
	assert.Contains(t, body, `"backend":"second"`)
	_, body = fetch(t, "POST", url+"/v1/eval", `{"script":"input","backend":"stub"}`)
	assert.Contains(t, body, `"backend":"stub"`)
	assert.Equal(t, 0, stop())
}

func TestAListIsAFlagGivenAgainOrWithCommas(t *testing.T) {
	t.Parallel()
	url, _, stop := serving(t, only(&stub.Backend{}), "--allow-host", "a.example,b.example", "--allow-host", "c.example")
	for host, want := range map[string]int{"a.example": 200, "b.example": 200, "c.example": 200, "localhost": 200, "d.example": 421} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/healthz", nil)
		require.NoError(t, err)
		r.Host = host
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, want, resp.StatusCode, host)
	}
	assert.Equal(t, 0, stop())
}

func TestServeBoundsTheBytesThatWait(t *testing.T) {
	t.Parallel()
	b := &stub.Backend{Started: make(chan struct{}), Release: make(chan struct{})}
	url, _, stop := serving(t, only(b), "--max-source", "1KiB", "--max-input", "8MiB", "--max-concurrent", "1", "--max-continuation", "1KiB", "--max-queue-bytes", "19030000B")
	large := `","input":"` + strings.Repeat("x", 7900<<10) + `"}`
	running := make(chan int, 1)
	go func() {
		status, _ := fetch(t, "POST", url+"/v1/eval", `{"script":"wait`+large)
		running <- status
	}()
	<-b.Started
	status, body := fetch(t, "POST", url+"/v1/eval", `{"script":"input`+large)
	require.Equal(t, 503, status)
	assert.Contains(t, body, "too many bytes are waiting")
	close(b.Release)
	assert.Equal(t, 200, <-running)
	assert.Equal(t, 0, stop())
}

type named struct{ *stub.Backend }

func (named) Describe() spi.Descriptor { d := stub.Describe(); d.Name = "second"; return d }

func TestServeLogsAsJSON(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	log := &logBuffer{}
	status := make(chan int, 1)
	go func() {
		status <- command.Main(ctx, command.App{Args: args("serve", "--listen", "127.0.0.1:0", "--log-format", "json"), Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: log, Backends: only(&stub.Backend{})})
	}()
	require.Eventually(t, func() bool { return strings.Contains(log.String(), `"msg":"ready"`) }, 10*time.Second, time.Millisecond)
	cancel()
	assert.Equal(t, 0, <-status)
	assert.Contains(t, log.String(), `"msg":"listening","address":"127.0.0.1:`)
}

// runOf is the part of an answer that differs each time.
var runOf = regexp.MustCompile(`"run":.*|"wallMs":[0-9.]+`)

func TestServeParsesAScriptOnceThatComesAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script           string
		more             []string
		prepared, reused int64
	}{
		"by default":        {"input", nil, 1, 3},
		"switched off":      {"input", args("--max-prepared", "0"), 0, 0},
		"too little memory": {"input", args("--max-prepared", "1KiB"), 1, 0},
		"unprepared":        {"unprepared 5", nil, 0, 0},
		"a failure":         {"throw TypeError sorry", nil, 1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &stub.Backend{}
			url, _, stop := serving(t, only(b), c.more...)
			var answers []string
			for range 4 {
				status, body := fetch(t, "POST", url+"/v1/eval", `{"script":"`+c.script+`","input":5}`)
				require.Equal(t, 200, status)
				answers = append(answers, runOf.ReplaceAllString(body, ""))
			}
			for _, a := range answers[1:] {
				assert.Equal(t, answers[0], a)
			}
			assert.Equal(t, c.prepared, b.Prepared())
			assert.Equal(t, c.reused, b.Reused())
			assert.Equal(t, 0, stop())
		})
	}
}
