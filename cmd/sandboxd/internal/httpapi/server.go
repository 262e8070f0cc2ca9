package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Timeouts of a connection. The time for an answer is added up from its parts.
const (
	headerTimeout  = 5 * time.Second
	readTimeout    = bodyTimeout // until a body's own is set
	idleTimeout    = 2 * time.Minute
	startTimeout   = time.Minute // an eval may wait for the backend to start
	writeTimeout   = 30 * time.Second
	maxHeaderBytes = 16 << 10
	// forcedGrace is how long evals have to answer once they are cancelled.
	forcedGrace = 5 * time.Second
	// abandonedGrace is how long the answers may take that say why no eval will
	// ever run.
	abandonedGrace = time.Second
)

// Serve answers requests on ln, which it closes, until ctx ends. Then it stops
// accepting, lets accepted evals end by themselves for up to grace, cancels the
// ones that are left, and returns nil. If no eval could run yet, there is nothing
// to wait for. Any other end is an error.
func (a *API) Serve(ctx context.Context, ln net.Listener, grace time.Duration) error {
	base, cancelEvals := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelEvals()
	srv := &http.Server{
		Handler:           a,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      bodyTime(a.opts.largestBody()) + startTimeout + a.opts.QueueTimeout + a.opts.MaxTimeout + writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(a.opts.Logger.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ln) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}

	a.Closing()
	if ready, _ := a.state(); !ready {
		a.opts.Logger.Info("stopping")
		if !shutdown(srv, min(grace, abandonedGrace)) {
			_ = srv.Close()
		}
	} else if a.opts.Logger.Info("stopping", "grace", grace); !shutdown(srv, grace) {
		a.opts.Logger.Warn("cancelling the evals that are left")
		cancelEvals()
		a.endStartup(unavailable("the server is stopping")) // bodies that are being read
		if !shutdown(srv, forcedGrace) {
			_ = srv.Close() // what is left answers to nobody
		}
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func shutdown(srv *http.Server, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return srv.Shutdown(ctx) == nil
}
