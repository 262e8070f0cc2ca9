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

// Evaluator runs scripts and goes on with those that were suspended; a
// *sandbox.Sandbox is one.
type Evaluator interface {
	Eval(ctx context.Context, req sandbox.Request) (*sandbox.Result, error)
	Resume(ctx context.Context, req sandbox.ResumeRequest) (*sandbox.Result, error)
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
	// MaxToolBytes is the ceiling of the tools of a request, as they are written.
	MaxToolBytes int64
	// MaxContinuationBytes is the ceiling of a continuation, and MaxReplyBytes that
	// of all results that a script gets of its tools.
	MaxContinuationBytes, MaxReplyBytes int64
	// MaxConcurrent evals run at once, MaxQueue more may wait.
	MaxConcurrent, MaxQueue int
	// MaxQueueBytes is what requests and results may hold together. At least
	// MinQueueBytes: a buffer that grows is there twice for a moment.
	MaxQueueBytes int64
	// QueueTimeout is how long an eval may wait for its turn.
	QueueTimeout time.Duration
	// Hosts that a request may be for; nil means any.
	Hosts *Hosts
	// Logger takes one line per eval and what clients are not told. Not nil.
	Logger *slog.Logger
}

const (
	// bodySlack is room for the members of an eval that have no bound of their own.
	bodySlack = 64 << 10
	// replySlack is room for the IDs of replies, and for what failed.
	replySlack = 256 << 10
)

// MaxEvalBytes is the largest body that POST /v1/eval reads.
func (o *Options) MaxEvalBytes() int64 {
	return 6*o.MaxSourceBytes + o.MaxInputBytes + o.MaxToolBytes + bodySlack
}

// MaxResumeBytes is the largest body that POST /v1/resume reads.
func (o *Options) MaxResumeBytes() int64 {
	encoded := (o.MaxContinuationBytes + 2) / 3 * 4
	return encoded + o.MaxReplyBytes + replySlack
}

func (o *Options) largestBody() int64 { return max(o.MaxEvalBytes(), o.MaxResumeBytes()) }

// MinQueueBytes is the smallest MaxQueueBytes: the largest body needs it.
func (o *Options) MinQueueBytes() int64 { return 2 * (o.largestBody() + 1) }

// Bodies are read by many at once: who is slow keeps nobody from a place.
const (
	minReaders      = 1024
	readersPerPlace = 4
)

// API is the handler of the whole HTTP API.
type API struct {
	opts    Options
	decoder decoder
	handler http.Handler

	readers  *semaphore.Weighted // being read
	bytes    budget              // of all that are being read, waiting, running or answered
	places   *semaphore.Weighted // running or waiting
	decoders *semaphore.Weighted // being decoded
	turns    *semaphore.Weighted // running

	ready      chan struct{}        // closed by Ready
	evaluators map[string]Evaluator // written before ready is closed

	// startup ends when no further eval can begin. The cause is the problem that
	// everybody gets who waits for a backend or whose body is being read.
	startup    context.Context
	endStartup context.CancelCauseFunc

	mu      sync.Mutex
	isReady bool // guarded by mu
	closing bool // guarded by mu
}

// New makes an API that is not ready yet.
func New(opts Options) (*API, error) {
	if len(opts.Backends) == 0 || opts.MaxConcurrent < 1 || opts.MaxQueue < 0 || opts.Logger == nil {
		return nil, errors.New("httpapi: Options need at least one backend, MaxConcurrent of 1 or more, MaxQueue of 0 or more and a Logger")
	}
	if least := opts.MinQueueBytes(); opts.MaxQueueBytes < least {
		return nil, fmt.Errorf("httpapi: Options.MaxQueueBytes is %d; allowed is %d or more", opts.MaxQueueBytes, least)
	}
	places := int64(opts.MaxConcurrent) + int64(opts.MaxQueue)
	a := &API{
		opts: opts, decoder: newDecoder(&opts), ready: make(chan struct{}),
		readers:  semaphore.NewWeighted(max(minReaders, readersPerPlace*places)),
		bytes:    budget{free: opts.MaxQueueBytes},
		places:   semaphore.NewWeighted(places),
		decoders: semaphore.NewWeighted(int64(opts.MaxConcurrent)),
		turns:    semaphore.NewWeighted(int64(opts.MaxConcurrent)),
	}
	a.startup, a.endStartup = context.WithCancelCause(context.Background())
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
// the first call counts, and none after Failed or Closing.
func (a *API) Ready(evaluators map[string]Evaluator) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.isReady && a.startup.Err() == nil {
		a.evaluators, a.isReady = evaluators, true
		close(a.ready)
	}
}

// Failed says that Ready will not come: evals that wait for it are answered at
// once, and all others.
func (a *API) Failed() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.isReady {
		a.endStartup(unavailable("the backend did not start"))
	}
}

// Closing refuses further evals; those that have been accepted go on, unless
// they wait for Ready.
func (a *API) Closing() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closing = true
	if !a.isReady {
		a.endStartup(unavailable("the server is stopping"))
	}
}

// state says whether evals can run, and why no more of them are accepted.
func (a *API) state() (ready bool, refusal *problem) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.startup.Err() != nil:
		return false, a.startupRefusal()
	case a.closing:
		return a.isReady, unavailable("the server is stopping")
	}
	return a.isReady, nil
}

// startupRefusal is why no further eval begins, once startup has ended.
func (a *API) startupRefusal() *problem {
	var p *problem
	if errors.As(context.Cause(a.startup), &p) {
		return p
	}
	return unavailable("the server is stopping")
}

func (a *API) healthz(context.Context, *struct{}) (*answer, error) {
	return answerWith("application/json", []byte(`{"status":"ok"}`)), nil
}

func (a *API) readyz(context.Context, *struct{}) (*answer, error) {
	switch ready, refusal := a.state(); {
	case refusal != nil:
		return nil, refusal
	case !ready:
		return nil, unavailable("the backend is starting")
	}
	return answerWith("application/json", []byte(`{"status":"ready"}`)), nil
}
