package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Defaults and hard maxima of [SessionOptions].
const (
	DefaultSessionIdle  = 30 * time.Minute
	DefaultSessionBytes = int64(4 << 20)
	MaxSessionIdle      = 30 * 24 * time.Hour
	MaxSessionBytes     = int64(1 << 30)
)

// Errors of sessions.
var (
	// ErrSessionBusy: an eval of the session runs; see [SessionRefuse].
	ErrSessionBusy = errors.New("sandbox: session is busy")
	// ErrSessionExpired: the session was not used for its idle time.
	ErrSessionExpired = errors.New("sandbox: session has expired")
	// ErrSessionClosed: the session was closed.
	ErrSessionClosed = errors.New("sandbox: session is closed")
	// ErrSessionMoved: the session has moved on since the eval was suspended, so that
	// it can no longer be a part of it.
	ErrSessionMoved = errors.New("sandbox: session has moved on since")
	// ErrSessionTooLarge: what would be saved has more bytes than
	// [Continuations.MaxBytes].
	ErrSessionTooLarge = errors.New("sandbox: session is larger than allowed")
)

// SessionBusy is what happens to an eval of a session while another one runs.
type SessionBusy string

// What can happen.
const (
	SessionWait   SessionBusy = "wait"   // in order; the default
	SessionRefuse SessionBusy = "refuse" // with ErrSessionBusy
)

// SessionOptions of a [Session]. The zero value is good.
type SessionOptions struct {
	// Busy is [SessionWait] where it is empty.
	Busy SessionBusy
	// IdleTimeout is how long after its last use a session is kept; zero means
	// [DefaultSessionIdle].
	IdleTimeout time.Duration
	// MaxBytes caps what the session keeps, compressed; zero means
	// [DefaultSessionBytes]. An eval that would leave more ends with
	// [spi.KindOutputTooLarge], and the session stays as it was.
	MaxBytes int64
}

func (o *SessionOptions) check() error {
	var errs []error
	switch o.Busy = cmp.Or(o.Busy, SessionWait); o.Busy {
	case SessionWait, SessionRefuse:
	default:
		errs = append(errs, &RequestError{"SessionOptions.Busy", "is not known; allowed is wait or refuse"})
	}
	if o.IdleTimeout < 0 || o.IdleTimeout > MaxSessionIdle {
		errs = append(errs, &RequestError{"SessionOptions.IdleTimeout", fmt.Sprintf("is %s; allowed is up to %s, or 0 for %s", o.IdleTimeout, MaxSessionIdle, DefaultSessionIdle)})
	}
	if o.MaxBytes < 0 || o.MaxBytes > MaxSessionBytes {
		errs = append(errs, &RequestError{"SessionOptions.MaxBytes", fmt.Sprintf("is %d; allowed is up to %d, or 0 for %d", o.MaxBytes, MaxSessionBytes, DefaultSessionBytes)})
	}
	o.IdleTimeout = cmp.Or(o.IdleTimeout, DefaultSessionIdle)
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultSessionBytes)
	return errors.Join(errs...)
}

// Session is a script's heap that is kept from eval to eval: what one declares,
// the next ones find; the script's clock and its random numbers go on. Between
// evals it is bytes and nothing else: no isolate is open, no script runs.
//
// Only an eval that succeeds changes a session. One that fails, is ended by force
// or is suspended leaves it as it was; so does one whose result could not be
// delivered. Everything that was ever given to the session is in the label of all
// that it says later.
//
// All methods may be called from any number of goroutines; one eval runs at a
// time. A session that was forgotten is gone after its idle time; Close is not
// needed for that.
type Session struct {
	sandbox *Sandbox
	id      string
	options SessionOptions
	turn    *semaphore.Weighted // of its evals

	lifetime context.Context // until Close
	end      context.CancelFunc

	mu    sync.Mutex
	state *sessionState // what the next eval goes on from; nil once it is gone
	why   error         // that it is gone
	users int           // evals that run or wait
	idle  *time.Timer   // nil while there are users
}

// sessionState is what a session is between two evals. It does not change.
type sessionState struct {
	id      string // no two states have the same
	packed  []byte // compressed; nil where no eval has succeeded yet
	bytes   int64  // of the state
	memory  int64  // that the guest has
	origins originLists
	last    int64 // the last call
	run     Run
}

// sessionMark names the state of a session that an eval went on from.
type sessionMark struct{ Session, State string }

// NewSession begins a session in pristine state. It is refused with a
// [*RequestError] where the backend cannot put isolates away.
func (s *Sandbox) NewSession(ctx context.Context, opts SessionOptions) (*Session, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.running.Done()
	if err := s.sessionsThere(); err != nil {
		return nil, err
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.session(newID(), opts, &sessionState{id: newID()}), nil
}

func (s *Sandbox) sessionsThere() error {
	if s.cannotSuspend != "" {
		return &RequestError{"session", "is not possible: " + s.cannotSuspend}
	}
	return nil
}

func (s *Sandbox) session(id string, opts SessionOptions, state *sessionState) *Session {
	x := &Session{sandbox: s, id: id, options: opts, state: state, turn: semaphore.NewWeighted(1)}
	x.lifetime, x.end = context.WithCancel(s.lifetime)
	context.AfterFunc(x.lifetime, func() { // nobody can use it once the sandbox is closed
		x.mu.Lock()
		defer x.mu.Unlock()
		x.drop(ErrClosed)
	})
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rest()
	return x
}

// Close drops the session, and refuses further evals, also those that wait. One
// that runs goes on, and its result is not kept. It is idempotent, and returns nil.
func (x *Session) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.drop(ErrSessionClosed)
	return nil
}

// drop is called with mu held.
func (x *Session) drop(why error) {
	if x.state == nil {
		return
	}
	x.state, x.why = nil, why
	x.end()
	if x.idle != nil {
		x.idle.Stop()
	}
}

// rest begins the idle time. It is called with mu held.
func (x *Session) rest() {
	var timer *time.Timer
	timer = time.AfterFunc(x.options.IdleTimeout, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.idle == timer { // nobody was faster
			x.drop(ErrSessionExpired)
		}
	})
	x.idle = timer
}

// use waits for the turn of an eval, and returns the state to go on from. leave
// ends the turn.
func (x *Session) use(ctx context.Context) (from *sessionState, leave func(), err error) {
	x.mu.Lock()
	if x.state == nil {
		defer x.mu.Unlock()
		return nil, nil, x.why
	}
	if x.users++; x.idle != nil {
		x.idle.Stop()
		x.idle = nil
	}
	x.mu.Unlock()
	if err := x.await(ctx); err != nil {
		x.left()
		return nil, nil, err
	}
	leave = func() {
		x.turn.Release(1)
		x.left()
	}
	x.mu.Lock()
	from, err = x.state, x.why
	x.mu.Unlock()
	if from == nil { // it went while the turn came
		leave()
		return nil, nil, err
	}
	return from, leave, nil
}

func (x *Session) await(ctx context.Context) error {
	if x.turn.TryAcquire(1) {
		return nil
	}
	if x.options.Busy == SessionRefuse {
		return ErrSessionBusy
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(x.lifetime, cancel)()
	err := x.turn.Acquire(waiting, 1)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case x.sandbox.lifetime.Err() != nil:
		return ErrClosed
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.why
}

// left is for whoever goes away.
func (x *Session) left() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.users--; x.users == 0 && x.state != nil {
		x.rest()
	}
}

// move makes next the state that evals go on from. Only who has the turn does so.
func (x *Session) move(next *sessionState) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state != nil {
		x.state = next
	}
}
