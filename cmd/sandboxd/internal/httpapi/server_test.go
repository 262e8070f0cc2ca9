package httpapi_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/httpapi"
	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/stub"
)

// served runs an API on a real listener until stop is called.
func served(t *testing.T, api *httpapi.API, grace time.Duration) (url string, stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	done := make(chan error, 1)
	go func() { done <- api.Serve(ctx, ln, grace) }()
	return "http://" + ln.Addr().String(), cancel, done
}

type reply struct {
	status int
	body   string
	err    error
}

func send(ctx context.Context, url, body string) reply {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/eval", strings.NewReader(body))
	if err != nil {
		return reply{err: err}
	}
	r.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, string(b), err}
}

func TestAGracefulStopLetsARunningEvalEnd(t *testing.T) {
	t.Parallel()
	b := &stub.Backend{Started: make(chan struct{}), Release: make(chan struct{})}
	api, log := ready(t, b, nil)
	url, stop, ended := served(t, api, time.Minute)
	got := make(chan reply, 1)
	go func() { got <- send(context.Background(), url, `{"script":"wait","limits":{"timeoutMs":60000}}`) }()
	<-b.Started
	stop()
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "stopping") }, 10*time.Second, time.Millisecond)
	require.Eventually(t, func() bool { return send(context.Background(), url, `{}`).err != nil }, 10*time.Second, time.Millisecond, "still accepting")
	close(b.Release)
	r := <-got
	require.NoError(t, r.err)
	assert.Equal(t, 200, r.status)
	assert.Contains(t, r.body, `"value":true`)
	assert.NoError(t, <-ended)
	assert.Zero(t, b.Cancelled())
}

func TestAStopThatTakesTooLongCancelsWhatIsLeft(t *testing.T) {
	t.Parallel()
	b := &stub.Backend{Started: make(chan struct{})}
	api, _ := ready(t, b, nil)
	url, stop, ended := served(t, api, time.Millisecond)
	got := make(chan reply, 1)
	go func() { got <- send(context.Background(), url, `{"script":"wait","limits":{"timeoutMs":3600000}}`) }()
	<-b.Started
	stop()
	r := <-got
	require.NoError(t, r.err)
	assert.Contains(t, r.body, `"kind":"cancelled"`)
	assert.NoError(t, <-ended)
}

func TestAClientThatDisconnectsEndsItsEval(t *testing.T) {
	t.Parallel()
	b := &stub.Backend{Started: make(chan struct{})}
	api, _ := ready(t, b, nil)
	url, stop, ended := served(t, api, time.Minute)
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan reply, 1)
	go func() { got <- send(ctx, url, `{"script":"wait","limits":{"timeoutMs":3600000}}`) }()
	<-b.Started
	cancel()
	require.ErrorIs(t, (<-got).err, context.Canceled)
	require.Eventually(t, func() bool { return b.Cancelled() == 1 }, 10*time.Second, time.Millisecond)
	stop()
	assert.NoError(t, <-ended)
}

func TestAListenerThatFailsIsAnError(t *testing.T) {
	t.Parallel()
	api, _ := ready(t, &stub.Backend{}, nil)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, ln.Close())
	assert.Error(t, api.Serve(t.Context(), ln, time.Second))
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*httpapi.Options){
		"no backend": func(o *httpapi.Options) { o.Backends = nil },
		"no turns":   func(o *httpapi.Options) { o.MaxConcurrent = 0 },
		"no logger":  func(o *httpapi.Options) { o.Logger = nil },
		"queue":      func(o *httpapi.Options) { o.MaxQueue = -1 },
		"bytes":      func(o *httpapi.Options) { o.MaxQueueBytes = o.MinQueueBytes() - 1 },
	} {
		opts := options(io.Discard)
		change(&opts)
		_, err := httpapi.New(opts)
		assert.Error(t, err, name)
	}
}
