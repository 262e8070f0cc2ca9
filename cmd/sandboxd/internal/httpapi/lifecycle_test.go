package httpapi_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/httpapi"
	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/stub"
	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProbesFollowTheLifeOfTheServer(t *testing.T) {
	t.Parallel()
	api, err := httpapi.New(options(io.Discard))
	require.NoError(t, err)
	get := func(path string) *httptest.ResponseRecorder {
		return do(api, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
	}
	assert.Equal(t, 200, get("/healthz").Code)
	assert.Equal(t, 503, get("/readyz").Code)

	// An eval that comes too early waits, and can give up.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Equal(t, 503, do(api, post(`{"script":"input"}`).WithContext(ctx)).Code)
	early := make(chan int)
	go func() { early <- do(api, post(`{"script":"input"}`)).Code }()
	sb, err := sandbox.New(&stub.Backend{}, nil)
	require.NoError(t, err)
	api.Ready(map[string]httpapi.Evaluator{"stub": sb})
	assert.Equal(t, 200, <-early)
	assert.Equal(t, 200, get("/readyz").Code)

	api.Closing()
	assert.Equal(t, 200, get("/healthz").Code)
	w := get("/readyz")
	assert.Equal(t, 503, w.Code)
	assert.Equal(t, "1", w.Header().Get("Retry-After"))
	problemOf(t, w)
	assert.Equal(t, 503, do(api, post(`{"script":"input"}`)).Code)
}

func TestParallelRequestsNeverExceedTheLimitAndAllGetTheirOwnAnswer(t *testing.T) {
	t.Parallel()
	b := &stub.Backend{Started: make(chan struct{}, 1000), Release: make(chan struct{})}
	api, _ := ready(t, b, nil)
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			script := "wait"
			if i%2 == 0 {
				script = "input"
			}
			w := do(api, post(`{"script":"`+script+`","input":`+string(rune('0'+i%10))+`}`))
			assert.Equal(t, 200, w.Code)
			if i%2 == 0 {
				assert.Contains(t, w.Body.String(), `"value":`+string(rune('0'+i%10))+`}`)
			}
		})
	}
	<-b.Started
	close(b.Release)
	wg.Wait()
	assert.LessOrEqual(t, b.Most(), int64(2))
}

func TestWhoFindsNoPlaceOrNoTurnInTimeGets503(t *testing.T) {
	t.Parallel()
	b := &stub.Backend{Started: make(chan struct{}), Release: make(chan struct{})}
	api, _ := ready(t, b, func(o *httpapi.Options) { o.MaxConcurrent, o.MaxQueue, o.QueueTimeout = 1, 1, time.Millisecond })
	running := make(chan int)
	go func() { running <- do(api, post(`{"script":"wait"}`)).Code }()
	<-b.Started
	w := do(api, post(`{"script":"input"}`))
	assert.Equal(t, 503, w.Code)
	assert.Contains(t, problemOf(t, w).Detail, "no turn")
	assert.Equal(t, "1", w.Header().Get("Retry-After"))
	close(b.Release)
	assert.Equal(t, 200, <-running)

	b = &stub.Backend{Started: make(chan struct{}), Release: make(chan struct{})}
	full, _ := ready(t, b, func(o *httpapi.Options) { o.MaxConcurrent, o.MaxQueue = 1, 0 })
	go func() { running <- do(full, post(`{"script":"wait"}`)).Code }()
	<-b.Started
	w = do(full, post(`{"script":"input"}`))
	assert.Equal(t, 503, w.Code)
	assert.Contains(t, problemOf(t, w).Detail, "waiting")
	close(b.Release)
	assert.Equal(t, 200, <-running)
}

func FuzzEvalAnswersEveryBodyWithoutEchoOrFault(f *testing.F) {
	for _, s := range []string{`{"script":"input"}`, `{"script":1,"limits":{"x":1}}`, `[`, `{"a":1,"a":2}`, `{"script":"input","now":"x"}`} {
		f.Add(s)
	}
	sb, err := sandbox.New(&stub.Backend{}, nil)
	if err != nil {
		f.Fatal(err)
	}
	api, err := httpapi.New(options(io.Discard))
	if err != nil {
		f.Fatal(err)
	}
	api.Ready(map[string]httpapi.Evaluator{"stub": sb})
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(body, "wait") || strings.Contains(body, "fault") || strings.Contains(body, "value") {
			t.Skip("a word of the stub")
		}
		w := do(api, post(body))
		if w.Code != 200 && w.Code != 400 && w.Code != 413 && w.Code != 422 {
			t.Fatalf("status %d for %q", w.Code, body)
		}
		if !json.Valid(w.Body.Bytes()) {
			t.Fatalf("no JSON: %q", w.Body)
		}
		if w.Code != 200 && w.Body.Len() > 4<<10 {
			t.Fatalf("%d bytes of problem for %q", w.Body.Len(), body)
		}
	})
}
