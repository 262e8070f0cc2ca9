package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
)

// Evaluator runs a script; a *sandbox.Sandbox is one.
type Evaluator interface {
	Eval(ctx context.Context, req sandbox.Request) (*sandbox.Result, error)
}

// Options of an API. There are no defaults here: the command has them.
type Options struct {
	// Version is shown in the API's description.
	Version string
	// Backends describes those that requests may name, the default one first.
	Backends []spi.Descriptor
	// MaxTimeout is the ceiling of an eval's time.
	MaxTimeout time.Duration
	// MaxSourceBytes and MaxInputBytes are the ceilings of script and input.
	MaxSourceBytes, MaxInputBytes int64
	// MaxConcurrent evals run at once, MaxQueue more may wait or be read.
	MaxConcurrent, MaxQueue int
	// QueueTimeout is how long an eval may wait for its turn.
	QueueTimeout time.Duration
	// Hosts that a request may be for; nil means any.
	Hosts *Hosts
	// Logger takes one line per eval and what clients are not told. Not nil.
	Logger *slog.Logger
}

// bodySlack is room for the members of a request other than script and input.
const bodySlack = 64 << 10

// MaxBodyBytes is the largest body that POST /v1/eval reads.
func (o *Options) MaxBodyBytes() int64 { return 6*o.MaxSourceBytes + o.MaxInputBytes + bodySlack }

// API is the handler of the whole HTTP API.
type API struct {
	opts    Options
	decoder decoder
	handler http.Handler

	places *semaphore.Weighted // running, waiting or being read
	turns  *semaphore.Weighted // running

	ready      chan struct{}        // closed by Ready
	evaluators map[string]Evaluator // written before ready is closed

	mu      sync.Mutex
	isReady bool // guarded by mu
	closing bool // guarded by mu
}

// New makes an API that is not ready yet.
func New(opts Options) (*API, error) {
	if len(opts.Backends) == 0 || opts.MaxConcurrent < 1 || opts.MaxQueue < 0 || opts.Logger == nil {
		return nil, errors.New("httpapi: Options need at least one backend, MaxConcurrent of 1 or more, MaxQueue of 0 or more and a Logger")
	}
	a := &API{
		opts: opts, decoder: newDecoder(&opts), ready: make(chan struct{}),
		places: semaphore.NewWeighted(int64(opts.MaxConcurrent) + int64(opts.MaxQueue)),
		turns:  semaphore.NewWeighted(int64(opts.MaxConcurrent)),
	}
	mux := http.NewServeMux()
	if err := a.register(mux); err != nil {
		return nil, fmt.Errorf("httpapi: the description cannot be written: %w", err)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		newProblem(http.StatusNotFound, "there is nothing here; see /openapi.json").write(w)
	})

	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		newProblem(http.StatusForbidden, "a browser may not call this API from another origin").write(w)
	}))
	a.handler = opts.Hosts.protect(origin.Handler(mux))
	return a, nil
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	a.handler.ServeHTTP(w, r)
}

// Ready lets evals begin. evaluators has one entry per described backend. Only
// the first call counts.
func (a *API) Ready(evaluators map[string]Evaluator) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.isReady {
		a.evaluators, a.isReady = evaluators, true
		close(a.ready)
	}
}

// Closing refuses further evals; those that have been accepted go on.
func (a *API) Closing() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closing = true
}

func (a *API) state() (ready, closing bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.isReady, a.closing
}

func (a *API) healthz(context.Context, *struct{}) (*answer, error) {
	return answerWith("application/json", []byte(`{"status":"ok"}`)), nil
}

func (a *API) readyz(context.Context, *struct{}) (*answer, error) {
	switch ready, closing := a.state(); {
	case closing:
		return nil, unavailable("the server is stopping")
	case !ready:
		return nil, unavailable("the backend is starting")
	}
	return answerWith("application/json", []byte(`{"status":"ready"}`)), nil
}
