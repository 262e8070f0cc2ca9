package sandbox

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/tools"
)

// fakeCaller is a backend with host calls that can put isolates away. A script is
// a Go function that is looked up by its source; it must do the same each time,
// because an isolate is resumed by running it again with the replies it had.
type fakeCaller struct {
	*fakeBackend
	scripts map[string]script

	evals, resumes, closes atomic.Int64
	continueErr            error
	suspendBytes           int // what a state has at least
}

type script func(g *guest) (any, error)

// guestError is an error that a script lets pass; call is the call that gave it.
type guestError struct {
	kind    spi.Kind
	message string
	call    int64
}

func (e *guestError) Error() string { return e.message }

func calling(scripts map[string]script) *fakeCaller {
	b := &fakeCaller{fakeBackend: fake(), scripts: scripts}
	b.descriptor.HostCalls, b.descriptor.Suspends = true, true
	for _, l := range []spi.LimitName{spi.LimitHostCalls, spi.LimitCallBytes} {
		b.descriptor.Enforces = append(b.descriptor.Enforces, spi.Enforcement{Limit: l, Exact: true})
	}
	return b
}

// one is a backend with one script, which is "s".
func one(s script) *fakeCaller { return calling(map[string]script{"s": s}) }

func (b *fakeCaller) Open(_ context.Context, cfg *spi.Config) (spi.Isolate, error) {
	if b.openErr != nil {
		return nil, b.openErr
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &callingIsolate{b: b, cfg: *cfg, Heap: map[string]int{}, Clock: cfg.Now.UnixMilli(), Random: cfg.Seed}, nil
}

func (b *fakeCaller) Resume(_ context.Context, r *spi.Resumption) (spi.Isolate, error) {
	b.resumes.Add(1)
	var padded struct {
		State   callingIsolate
		Padding string
	}
	if err := json.Unmarshal(r.State, &padded); err != nil {
		return nil, spi.ErrState
	}
	i := &padded.State
	i.b, i.cfg = b, spi.Config{Limits: r.Limits, Observer: r.Observer}
	if i.Waiting != nil { // as it was, in silence
		batches := i.Batches
		i.Batches = nil
		i.silent = true
		i.begin(context.Background())
		for _, batch := range batches {
			for n := range batch {
				if batch[n].Error != nil {
					batch[n].Value = nil // which was written as null
				}
			}
			if _, err := i.Continue(context.Background(), batch); err != nil {
				i.stop()
				return nil, err
			}
		}
		i.silent = false
	}
	if !r.Now.IsZero() {
		i.Clock, i.now = r.Now.UnixMilli(), r.Now.UnixMilli()
	}
	if r.Seed != nil {
		i.Random, i.random = *r.Seed, *r.Seed
	}
	return i, nil
}

// callingIsolate is an isolate of a fakeCaller. What is exported is its state; a
// script that waits is its beginning and the replies it was given.
type callingIsolate struct {
	Heap    map[string]int
	Last    int64 // of the calls
	Clock   int64
	Random  uint64
	Waiting *spi.Request
	Batches [][]spi.Reply

	b      *fakeCaller
	cfg    spi.Config
	silent bool
	guest  *guest
	next   func() (struct{}, bool)
	stop   func()
	// as they are now; those above are as they were when the script began.
	heap   map[string]int
	last   int64
	now    int64
	random uint64
}

func (i *callingIsolate) Close() error {
	i.b.closes.Add(1)
	if i.stop != nil {
		i.stop()
	}
	return nil
}

func (i *callingIsolate) Suspend(_ context.Context, maxBytes int64) ([]byte, error) {
	state := struct {
		State   *callingIsolate
		Padding string
	}{State: i}
	padding := make([]byte, i.b.suspendBytes/2)
	_, _ = rand.NewChaCha8([32]byte{}).Read(padding) // text that does not compress well
	state.Padding = hex.EncodeToString(padding)
	raw, err := json.Marshal(state)
	if int64(len(raw)) > maxBytes {
		return nil, spi.ErrStateTooLarge
	}
	return raw, err
}

func (i *callingIsolate) Eval(ctx context.Context, req *spi.Request) (*spi.Outcome, error) {
	i.b.evals.Add(1)
	i.Waiting, i.Batches = req, nil
	i.begin(ctx)
	return i.advance(), nil
}

// begin makes a script go up to where it first waits.
func (i *callingIsolate) begin(ctx context.Context) {
	i.heap, i.last, i.now, i.random = maps.Clone(i.Heap), i.Last, i.Clock, i.Random
	i.guest = &guest{i: i, ctx: ctx, req: i.Waiting, replies: map[int64]spi.Reply{}, pending: map[int64]spi.HostCall{}}
	run := i.b.scripts[i.Waiting.Source]
	g := i.guest
	i.next, i.stop = iter.Pull(iter.Seq[struct{}](func(yield func(struct{}) bool) {
		defer func() {
			if p := recover(); p != nil && p != errStopped {
				panic(p)
			}
		}()
		g.yield = yield
		if run == nil {
			g.err = &guestError{kind: spi.KindSyntax, message: "no such script"}
			return
		}
		g.value, g.err = run(g)
	}))
	if i.silent {
		i.next()
	}
}

var errStopped = errors.New("stopped")

func (i *callingIsolate) Continue(ctx context.Context, replies []spi.Reply) (*spi.Outcome, error) {
	if i.b.continueErr != nil {
		return nil, i.b.continueErr
	}
	if i.Waiting == nil {
		return nil, spi.ErrNotWaiting
	}
	for _, r := range replies {
		if _, ok := i.guest.pending[r.ID]; !ok || (len(r.Value) == 0) == (r.Error == nil) {
			return nil, spi.ErrReply
		}
	}
	i.guest.ctx = ctx
	i.Batches = append(i.Batches, slices.Clone(replies))
	i.guest.order = nil
	for _, r := range replies {
		delete(i.guest.pending, r.ID)
		i.guest.replies[r.ID] = r
		i.guest.order = append(i.guest.order, r.ID)
	}
	if len(replies) == 0 {
		return i.outcome(true), nil
	}
	return i.advance(), nil
}

func (i *callingIsolate) advance() *spi.Outcome {
	_, waits := i.next()
	return i.outcome(waits)
}

func (i *callingIsolate) outcome(waits bool) *spi.Outcome {
	g := i.guest
	out := &spi.Outcome{
		Logs:  slices.Clone(g.logs),
		Usage: spi.Usage{Fuel: int64(10 * (1 + len(i.Batches))), HostCalls: i.last - i.Last, CallBytes: g.bytes},
	}
	for _, id := range slices.Sorted(maps.Keys(g.pending)) {
		out.Pending = append(out.Pending, g.pending[id])
	}
	var failed *guestError
	switch {
	case waits:
		return out
	case errors.As(g.err, &failed):
		out.Error = &spi.ScriptError{Kind: failed.kind, Name: "Error", Message: failed.message, Call: failed.call}
	case g.err != nil:
		out.Error = &spi.ScriptError{Kind: spi.KindException, Name: "Error", Message: g.err.Error()}
	default:
		out.Value, _ = json.Marshal(g.value)
		out.ValueType = spi.TypeObject
	}
	// The script has ended: what it did is what there is now.
	i.Heap, i.Last, i.Clock, i.Random = i.heap, i.last, i.now, i.random
	i.Waiting, i.Batches = nil, nil
	return out
}

// guest is what a script may use.
type guest struct {
	i       *callingIsolate
	ctx     context.Context
	req     *spi.Request
	yield   func(struct{}) bool
	replies map[int64]spi.Reply
	pending map[int64]spi.HostCall
	order   []int64 // of the last replies
	logs    []spi.LogLine
	bytes   int64
	value   any
	err     error
}

func (g *guest) log(text string) {
	line := spi.LogLine{Level: spi.LevelLog, Text: text}
	g.logs = append(g.logs, line)
	g.notice(spi.Notice{Log: &line})
}

func (g *guest) emit(kind, data string) {
	g.notice(spi.Notice{Event: &spi.Event{Type: kind, Data: json.RawMessage(data)}})
}

func (g *guest) notice(n spi.Notice) {
	if o := g.i.cfg.Observer; o != nil && !g.i.silent {
		o.Notice(n)
	}
}

// tick and random are the guest's clock and its random numbers.
func (g *guest) tick() int64 { g.i.now++; return g.i.now }
func (g *guest) random() uint64 {
	g.i.random = seedOf(fmt.Sprint(g.i.random))
	return g.i.random
}

// call makes a call without waiting for it.
func (g *guest) call(function, args string) int64 {
	g.i.last++
	g.bytes += int64(len(args))
	g.pending[g.i.last] = spi.HostCall{ID: g.i.last, Function: function, Args: json.RawMessage(args), Line: 3, Column: int(g.i.last)}
	return g.i.last
}

// rest waits until there are replies, and returns to which calls.
func (g *guest) rest() []int64 {
	if !g.yield(struct{}{}) {
		panic(errStopped)
	}
	return g.order
}

// await waits for one reply.
func (g *guest) await(id int64) (string, error) {
	for {
		r, ok := g.replies[id]
		switch {
		case ok && r.Error != nil && r.Error.Denied:
			return "", &guestError{spi.KindDenied, r.Error.Name + ": " + r.Error.Message, id}
		case ok && r.Error != nil:
			return "", &guestError{spi.KindException, r.Error.Name + ": " + r.Error.Message, id}
		case ok:
			return string(r.Value), nil
		}
		g.rest()
	}
}

// do is a call that is awaited; what it gives is raw.
func (g *guest) do(function, args string) (json.RawMessage, error) {
	v, err := g.await(g.call(function, args))
	return json.RawMessage(v), err
}

// set makes a set of tools.
func set(t *testing.T, all ...tools.Tool) *tools.Set {
	t.Helper()
	s, err := tools.NewSet(all...)
	require.NoError(t, err)
	return s
}

// says is a tool that gives always the same.
func says(name string, value any) tools.Tool {
	return tools.Tool{Name: name, Handler: func(context.Context, *tools.Call) (any, error) { return value, nil }}
}

// counted is a tool that gives how often it ran.
func counted(name string, n *atomic.Int64) tools.Tool {
	return tools.Tool{Name: name, Handler: func(context.Context, *tools.Call) (any, error) { return n.Add(1), nil }}
}

// recorder is an observer that keeps what it is told.
type recorder struct {
	mu  sync.Mutex
	all []Event
}

func (r *recorder) observe(_ context.Context, e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, e)
}

func (r *recorder) events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// told is the types of the events, with the call and the code where they have one.
func (r *recorder) told() (all []string) {
	for _, e := range r.events() {
		text := string(e.Type)
		if e.CallID != 0 {
			text += fmt.Sprint(" ", e.CallID)
		}
		if e.Code != "" {
			text += " " + e.Code
		}
		all = append(all, text)
	}
	return all
}
