package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/httpapi"
	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/tools"
)

type serveCmd struct {
	Listen    word  `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address to listen on; port 0 takes a free one. Default: 127.0.0.1:8080."`
	AllowHost names `placeholder:"NAME" help:"Host name that requests may be for, besides loopback names and the host of --listen; repeatable. Without it every name is allowed, unless --listen is a loopback address."`
	Backend   names `placeholder:"NAME" help:"Backend that requests may choose: ${backends}; the first is theirs if they name none; repeatable. Default: the one that 'sandboxd backends' marks."`

	MaxConcurrent   count  `default:"0" placeholder:"N" help:"Evals that run at once; 0 is the number of CPUs. Default: 0."`
	MaxQueue        count  `default:"128" placeholder:"N" help:"Requests that may wait for a turn; more get 503. Default: 128."`
	MaxQueueBytes   *size  `placeholder:"SIZE" help:"Memory that waiting requests and unsent results may hold together; more get 503. At least, and by default if that is more than 256MiB, twice the largest body. Default: 256MiB."`
	MaxPrepared     size   `default:"64MiB" placeholder:"SIZE" help:"Memory that parsed scripts may hold, for each backend, so that one that comes again need not be parsed again; 0 parses each time. Default: 64MiB."`
	QueueTimeout    span   `default:"30s" placeholder:"DURATION" help:"How long an eval may wait for its turn before it gets 503. Default: 30s."`
	ShutdownTimeout span   `default:"30s" placeholder:"DURATION" help:"How long running evals may take to end when the server stops; then they are cancelled. Default: 30s."`
	LogFormat       string `default:"text" enum:"text,json" placeholder:"text|json" help:"Form of the log on standard error. Default: text."`

	DefaultTimeout *span  `group:"Limits of a request that names none:" placeholder:"DURATION" help:"Wall time of a script. Default: 2s."`
	DefaultMemory  *size  `group:"Limits of a request that names none:" placeholder:"SIZE" help:"Memory of a script. Default: 64MiB."`
	DefaultFuel    *count `group:"Limits of a request that names none:" placeholder:"N" help:"Units of work; 0 is no limit. Default: 0."`
	DefaultOutput  *size  `group:"Limits of a request that names none:" placeholder:"SIZE" help:"Result as JSON. Default: 1MiB."`
	DefaultLogs    *size  `group:"Limits of a request that names none:" placeholder:"SIZE" help:"Log lines kept. Default: 64KiB."`

	MaxTimeout   span   `group:"Ceilings, whatever a request asks for:" default:"30s" placeholder:"DURATION" help:"Wall time of a script, at most 1h. Default: 30s."`
	MaxMemory    *size  `group:"Ceilings, whatever a request asks for:" placeholder:"SIZE" help:"Memory of a script. Default: 256MiB."`
	MaxFuel      *count `group:"Ceilings, whatever a request asks for:" placeholder:"N" help:"Units of work; 0 is no limit. Default: 0."`
	MaxOutput    size   `group:"Ceilings, whatever a request asks for:" default:"16MiB" placeholder:"SIZE" help:"Result as JSON, and arguments of all calls of tools together, at most 256MiB. Default: 16MiB."`
	MaxLogs      size   `group:"Ceilings, whatever a request asks for:" default:"1MiB" placeholder:"SIZE" help:"Log lines kept, at most 64MiB. Default: 1MiB."`
	MaxInput     size   `group:"Ceilings, whatever a request asks for:" default:"16MiB" placeholder:"SIZE" help:"Input as JSON, and results of all calls of tools together, at most 256MiB. Default: 16MiB."`
	MaxSource    size   `group:"Ceilings, whatever a request asks for:" default:"1MiB" placeholder:"SIZE" help:"Script, at most 16MiB. Default: 1MiB."`
	MaxHostCalls count  `group:"Ceilings, whatever a request asks for:" default:"1000" placeholder:"N" help:"Calls of tools, 1 to 100000. Default: 1000."`

	continuationFlags
	engineFlags
}

// Bounds of --max-queue-bytes and --max-prepared.
const (
	defaultQueueBytes = int64(256 << 20)
	mostQueueBytes    = int64(1 << 40)
	mostPreparedBytes = int64(1 << 40)
)

// maxToolBytes is what the tools that a request declares may have together: what
// was suspended with more of them could not be resumed.
const maxToolBytes = int64(tools.MaxRemoteSchemasBytes)

// defaultMaxMemory is the ceiling on memory, or the backend's own if lower.
const defaultMaxMemory = int64(256 << 20)

// Help is shown below the flags' summary.
func (*serveCmd) Help() string {
	return `POST /v1/eval runs a script, and POST /v1/resume goes on with one that waits for tools of the client's; GET /openapi.json describes them; /healthz and /readyz are probes. There is no authentication: listen on a loopback address, or put something in front that has it.

Examples:
  sandboxd serve
  sandboxd serve --listen 127.0.0.1:0 --max-timeout 5s --log-format json
  curl -s localhost:8080/v1/eval -H 'Content-Type: application/json' -d '{"script": "1 + 1"}'
  curl -s localhost:8080/v1/eval -H 'Content-Type: application/json' -d '{"script": "await tools.crm.lookup({id: 7})", "tools": [{"name": "crm.lookup", "inputSchema": {}}]}'

Nothing of a script that waits is kept: the answer holds all of it, sealed, as "continuation". Any server with the same keys, audience and guest image goes on with it:
  (umask 077 && sandboxd key > continuation.keys)
  sandboxd serve --continuation-key-file continuation.keys

SIGTERM or SIGINT stops the server gracefully, a second one at once. Exit status: 0 stopped as asked; 2 usage; 4 a backend is at fault or missing.`
}

// Run is called by kong.
func (c *serveCmd) Run(ctx context.Context, app *App, from *settings) error {
	c.ignoreBrokenPipes(app)
	backends, err := c.backends(app)
	if err != nil {
		return err
	}
	descriptors := make([]spi.Descriptor, len(backends))
	for i, b := range backends {
		descriptors[i] = b.Describe()
		if err := c.check(&descriptors[i]); err != nil {
			return err
		}
	}
	logger := c.logger(app)
	settings, err := c.engineFlags.resolve(ctx, from, logger)
	if err != nil {
		return err
	}
	settings.Isolates = c.concurrent()
	sealing, err := c.continuationFlags.resolve(ctx)
	if err != nil {
		return err
	}
	opts := httpapi.Options{
		Version: app.version(), Backends: descriptors,
		MaxTimeout: time.Duration(c.MaxTimeout), MaxSourceBytes: int64(c.MaxSource), MaxInputBytes: int64(c.MaxInput),
		MaxToolBytes: maxToolBytes, MaxContinuationBytes: int64(c.MaxContinuation), MaxReplyBytes: int64(c.MaxInput),
		MaxConcurrent: c.concurrent(), MaxQueue: int(c.MaxQueue), QueueTimeout: time.Duration(c.QueueTimeout),
		Logger: logger,
	}
	least := opts.MinQueueBytes()
	if err := check(bound{"max-queue-bytes", (*int64)(c.MaxQueueBytes), least, mostQueueBytes, showSize}); err != nil {
		return err
	}
	opts.MaxQueueBytes = given(c.MaxQueueBytes, max(defaultQueueBytes, least))
	ln, err := net.Listen("tcp", string(c.Listen))
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return usagef("--listen %s: %v; allowed is HOST:PORT of this machine", shorten(string(c.Listen)), err)
	}
	defer ln.Close()
	opts.Hosts = c.hosts(ln.Addr())
	api, err := httpapi.New(opts)
	if err != nil {
		return err
	}
	logger.Info("listening", "address", ln.Addr().String(), "version", app.version())
	if c.ContinuationKeyFile == "" {
		logger.Info("suspended scripts can be resumed by this process alone: there is no --continuation-key-file")
	}
	return c.serve(ctx, api, ln, backends, settings, sealing)
}

// ignoreBrokenPipes keeps a server alive whose log nobody reads any more.
func (c *serveCmd) ignoreBrokenPipes(app *App) {
	if !signal.Ignored(syscall.SIGPIPE) {
		signal.Ignore(syscall.SIGPIPE)
		app.atEnd = append(app.atEnd, func() { signal.Reset(syscall.SIGPIPE) })
	}
}

// serve listens at once and starts the backends meanwhile: probes get an answer
// from the first moment.
func (c *serveCmd) serve(ctx context.Context, api *httpapi.API, ln net.Listener, backends []*Backend, settings Settings, sealing *sandbox.Continuations) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type startUp struct {
		engines engines
		err     error
	}
	started := make(chan startUp, 1)
	go func() {
		es, err := c.startAll(ctx, backends, settings, sealing)
		if err != nil {
			if ctx.Err() == nil { // not asked to stop
				settings.Logger.Error("no backend, stopping", "error", err)
				api.Failed()
			}
			cancel() // the server has nothing to offer: stop it
		} else {
			api.Ready(es.evaluators())
			settings.Logger.Info("ready", "backends", len(es))
		}
		started <- startUp{es, err}
	}()
	err := api.Serve(ctx, ln, time.Duration(c.ShutdownTimeout))
	cancel()
	start := <-started
	start.engines.close(settings.Logger)
	if err != nil {
		return fmt.Errorf("server stopped: %w", err)
	}
	return start.err // a cancellation is the end that was asked for
}

// engines are started backends with their sandboxes.
type engines []engine

type engine struct {
	name    string
	backend spi.Backend
	sandbox *sandbox.Sandbox
}

func (es engines) evaluators() map[string]httpapi.Evaluator {
	m := make(map[string]httpapi.Evaluator, len(es))
	for _, e := range es {
		m[e.name] = e.sandbox
	}
	return m
}

func (es engines) close(logger *slog.Logger) {
	for _, e := range es {
		if err := errors.Join(e.sandbox.Close(), e.backend.Close()); err != nil {
			logger.Warn("backend did not close cleanly", "backend", e.name, "error", err)
		}
	}
}

func (c *serveCmd) startAll(ctx context.Context, backends []*Backend, settings Settings, sealing *sandbox.Continuations) (engines, error) {
	var es engines
	for _, b := range backends {
		backend, err := start(ctx, b, settings)
		if err != nil {
			return es, err
		}
		d := b.Describe()
		sb, err := sandbox.New(backend, c.options(&d, sealing))
		if err != nil {
			return es, errors.Join(fmt.Errorf("backend %s cannot be used: %w", b.Name, err), backend.Close())
		}
		es = append(es, engine{b.Name, backend, sb})
		if err := warmUp(ctx, sb); err != nil {
			return es, fmt.Errorf("backend %s does not run scripts: %w", b.Name, err)
		}
	}
	return es, nil
}

// warmUp runs one script, so that "ready" means that scripts run. A ceiling so
// low that it ends even this one is the operator's wish.
func warmUp(ctx context.Context, sb *sandbox.Sandbox) error {
	r, err := sb.Eval(ctx, sandbox.Request{Script: "null"})
	switch {
	case err != nil && ctx.Err() != nil:
		return &cancelError{}
	case err != nil:
		return err
	case r.Error != nil && ctx.Err() == nil && r.Error.Kind != spi.KindTimeout && r.Error.Kind != spi.KindFuel:
		return fmt.Errorf("the warm-up ended with %s", r.Error.Kind)
	}
	return nil
}

// backends are the chosen ones, the default one first.
func (c *serveCmd) backends(app *App) ([]*Backend, error) {
	names := c.Backend
	if len(names) == 0 {
		names = []string{""}
	}
	var chosen []*Backend
	for _, name := range names {
		b, err := app.pick(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(chosen, b) {
			chosen = append(chosen, b)
		}
	}
	return chosen, nil
}

func (c *serveCmd) check(d *spi.Descriptor) error {
	const mostConcurrent, mostQueue = 1 << 10, 1 << 16
	if err := check(
		bound{"max-concurrent", (*int64)(&c.MaxConcurrent), 0, mostConcurrent, showCount}, bound{"max-queue", (*int64)(&c.MaxQueue), 0, mostQueue, showCount},
		bound{"max-prepared", (*int64)(&c.MaxPrepared), 0, mostPreparedBytes, showSize},
		bound{"queue-timeout", (*int64)(&c.QueueTimeout), 0, int64(time.Hour), showSpan},
		bound{"shutdown-timeout", (*int64)(&c.ShutdownTimeout), 0, int64(time.Hour), showSpan},
		timeBound("max-timeout", &c.MaxTimeout), memoryBound("max-memory", c.MaxMemory, d), fuelBound("max-fuel", c.MaxFuel),
		sizeBound("max-output", &c.MaxOutput, sandbox.MaxOutputBytes), sizeBound("max-logs", &c.MaxLogs, sandbox.MaxLogBytes),
		sizeBound("max-input", &c.MaxInput, sandbox.MaxInputBytes), sizeBound("max-source", &c.MaxSource, sandbox.MaxSourceBytes),
		bound{"max-host-calls", (*int64)(&c.MaxHostCalls), 1, sandbox.MaxHostCalls, showCount},
	); err != nil {
		return err
	}
	if err := c.continuationFlags.check(); err != nil {
		return err
	}
	for _, h := range c.AllowHost {
		if _, err := netip.ParseAddr(h); err != nil && (h == "" || strings.ContainsAny(h, ":/ *")) {
			return usagef("--allow-host %q is not a host; allowed is a name or an address without port, such as sandbox.example", shorten(h))
		}
	}
	timeout := timeBound("default-timeout", c.DefaultTimeout)
	timeout.max = int64(c.MaxTimeout)
	memory := memoryBound("default-memory", c.DefaultMemory, d)
	memory.max = c.maxMemory(d)
	fuel := fuelBound("default-fuel", c.DefaultFuel)
	if most := given(c.MaxFuel, 0); most > 0 {
		fuel.max = most
	}
	return check(timeout, memory, fuel,
		sizeBound("default-output", c.DefaultOutput, int64(c.MaxOutput)), sizeBound("default-logs", c.DefaultLogs, int64(c.MaxLogs)))
}

func (c *serveCmd) maxMemory(d *spi.Descriptor) int64 {
	return given(c.MaxMemory, min(defaultMaxMemory, d.MaxMemoryBytes))
}

// options are the sandbox's. Requests do not name limits of script and input:
// there the ceiling is the limit.
func (c *serveCmd) options(d *spi.Descriptor, sealing *sandbox.Continuations) *sandbox.Options {
	o := &sandbox.Options{
		Defaults: sandbox.Limits{
			Timeout: time.Duration(given(c.DefaultTimeout, 0)), MemoryBytes: given(c.DefaultMemory, 0), Fuel: given(c.DefaultFuel, 0),
			OutputBytes: given(c.DefaultOutput, 0), LogBytes: given(c.DefaultLogs, 0),
			SourceBytes: int64(c.MaxSource), InputBytes: int64(c.MaxInput),
		},
		Ceilings: sandbox.Limits{
			Timeout: time.Duration(c.MaxTimeout), MemoryBytes: c.maxMemory(d), Fuel: given(c.MaxFuel, 0),
			OutputBytes: int64(c.MaxOutput), LogBytes: int64(c.MaxLogs),
			SourceBytes: int64(c.MaxSource), InputBytes: int64(c.MaxInput),
		},
		MaxConcurrent: c.concurrent(),
		PreparedBytes: int64(c.MaxPrepared), PrepareRepeated: c.MaxPrepared > 0,
		Continuations: sealing,
	}
	if d.HostCalls { // elsewhere they are refused, as nobody would enforce them
		l := &o.Ceilings
		l.HostCalls, l.ArgumentBytes, l.ReplyBytes = int64(c.MaxHostCalls), int64(c.MaxOutput), int64(c.MaxInput)
	}
	return o
}

func (c *serveCmd) concurrent() int {
	if c.MaxConcurrent == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return int(c.MaxConcurrent)
}

// hosts are what requests may be for: see the help of --allow-host.
func (c *serveCmd) hosts(addr net.Addr) *httpapi.Hosts {
	bound, err := netip.ParseAddrPort(addr.String())
	loopback := err == nil && bound.Addr().Unmap().IsLoopback()
	if !loopback && len(c.AllowHost) == 0 {
		return nil
	}
	names := c.AllowHost
	if host, _, err := net.SplitHostPort(string(c.Listen)); err == nil && host != "" {
		names = append(slices.Clone(names), host)
	}
	return httpapi.NewHosts(names...)
}

func (c *serveCmd) logger(app *App) *slog.Logger {
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(app.Stderr, nil))
	}
	return slog.New(slog.NewTextHandler(app.Stderr, nil))
}
