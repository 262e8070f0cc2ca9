package sandbox

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
)

// Observer is told what happens in the evals of a sandbox, as it happens: for
// one eval one event at a time and in order, for several evals from several
// goroutines. ctx is that of the caller of the eval. The eval waits until the
// observer returns, and its time goes on: be quick.
//
// An observer that panics does not end the eval. That event is lost, the next one
// is told, and the result has a warning ([WarningObserver]).
type Observer func(ctx context.Context, e Event)

// EventType says what happened.
type EventType string

// The events. The last one of an eval, and of a part of it that ends in
// suspension, is told exactly once whatever happens: [EventFinished] or
// [EventSuspended]. A request that was refused, or waited for a turn in vain, has
// none at all.
const (
	EventStarted      EventType = "EVAL_STARTED"
	EventLog          EventType = "LOG"
	EventEmitted      EventType = "EMITTED"
	EventToolCalled   EventType = "TOOL_CALLED"
	EventToolAnswered EventType = "TOOL_ANSWERED"
	EventToolDenied   EventType = "TOOL_DENIED"
	EventEgressDenied EventType = "EGRESS_DENIED"
	EventSuspended    EventType = "SUSPENDED"
	EventResumed      EventType = "RESUMED"
	EventFinished     EventType = "EVAL_FINISHED"
)

// Event is something that happened in an eval. All but Data is minted by the host.
type Event struct {
	// EvalID is [Result.EvalID].
	EvalID string
	// Sequence counts the events of the eval, from 1, on through all its parts.
	Sequence int64
	Time     time.Time
	Type     EventType
	// CallID and Tool are those of the call that the event is about. Tool is empty
	// where the script was not handed what it called.
	CallID int64
	Tool   string
	// Duration is how long the call took, and at the end of an eval or a part how
	// long all its parts took so far, waiting included.
	Duration time.Duration
	// Code says why a call was refused or failed; see [Error.Code].
	Code string
	// Cause is what really happened where a call failed, nil where Code says all. It
	// is for operators: it may hold whatever a handler's error says, and is not a
	// part of the JSON.
	Cause error
	// Status and Kind are how the eval ended. A failure of the backend itself, which
	// is no result, is told as [spi.KindBackend].
	Status Status
	Kind   spi.Kind
	// Data is what the script said, nil where it said nothing: {"level", "text"} of
	// a log line, {"type", "data"} of what it emitted, {"function", "args"} of a call.
	Data *taint.Tainted
}

// MarshalJSON writes the event with its data labelled.
func (e Event) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		EvalID     string         `json:"evalId"`
		Sequence   int64          `json:"sequence"`
		Time       string         `json:"time"`
		Type       EventType      `json:"type"`
		CallID     int64          `json:"callId,omitempty"`
		Tool       string         `json:"tool,omitempty"`
		DurationMs float64        `json:"durationMs,omitempty"`
		Code       string         `json:"code,omitempty"`
		Status     Status         `json:"status,omitempty"`
		Kind       spi.Kind       `json:"kind,omitempty"`
		Data       *taint.Tainted `json:"data,omitempty"`
	}{
		e.EvalID, e.Sequence, e.Time.UTC().Format(nowLayout), e.Type, e.CallID, e.Tool,
		milliseconds(e.Duration), e.Code, e.Status, e.Kind, e.Data,
	})
}

// events tells an observer of one part of an eval. It belongs to the goroutine
// that runs the eval.
type events struct {
	ctx      context.Context
	observer Observer // nil: nobody
	evalID   string
	clock    func() time.Time
	origins  *origins
	emit     bool  // the script was handed emit
	last     int64 // the sequence number given last
	lost     int64 // those for which the observer panicked
}

// tell completes an event and hands it over. Events are counted also where nobody
// listens, so that the numbers of a later part do not depend on it.
func (e *events) tell(ev Event) {
	e.last++
	if e.observer == nil {
		return
	}
	ev.EvalID, ev.Sequence, ev.Time = e.evalID, e.last, e.clock()
	defer func() {
		if recover() != nil {
			e.lost++
		}
	}()
	e.observer(e.ctx, ev)
}

// said labels what the script said with all that it had been given by then.
func (e *events) said(v any) *taint.Tainted {
	if e.observer == nil {
		return nil
	}
	t, err := taint.WrapValue(e.origins.label(), v)
	if err != nil { // a backend's JSON is none: the label stays, with null
		t = taint.Wrap(e.origins.label(), nil)
	}
	return &t
}

// Notice makes it a [spi.Observer].
func (e *events) Notice(n spi.Notice) {
	switch {
	case n.Log != nil:
		e.tell(Event{Type: EventLog, Data: e.said(n.Log)})
	case n.Event != nil && e.emit: // one that was handed it earlier in a session still has it
		e.tell(Event{Type: EventEmitted, Data: e.said(struct {
			Type string          `json:"type"`
			Data json.RawMessage `json:"data"`
		}{strings.ToValidUTF8(n.Event.Type, "\ufffd"), n.Event.Data})})
	}
}

// notices is whom the backend is to tell: nobody, if nobody listens.
func (e *events) notices() spi.Observer {
	if e.observer == nil {
		return nil
	}
	return e
}

// called is the data of a call.
func (e *events) called(function string, args json.RawMessage) *taint.Tainted {
	return e.said(struct {
		Function string          `json:"function"`
		Args     json.RawMessage `json:"args"`
	}{strings.ToValidUTF8(function, "\ufffd"), args})
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
