package stub

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

// separator stands between the calls of a "call" script.
const separator = " | "

// waiting is a script that has made its calls. It is also what a suspended
// isolate consists of.
type waiting struct {
	Calls   []spi.HostCall
	Replies map[int64]spi.Reply
}

// call makes all calls of a script at once.
func (i *isolate) call(text string) *spi.Outcome {
	i.waits = &waiting{Replies: map[int64]spi.Reply{}}
	for part := range strings.SplitSeq(text, separator) {
		name, args, _ := strings.Cut(part, " ")
		i.waits.Calls = append(i.waits.Calls, spi.HostCall{
			ID: int64(len(i.waits.Calls)) + 1, Function: "tools." + name, Args: json.RawMessage("[" + args + "]"),
		})
	}
	if most := i.config.Limits.HostCalls; int64(len(i.waits.Calls)) > most {
		i.waits = nil
		return failure(&spi.ScriptError{Kind: spi.KindDenied, Limit: &spi.ReachedLimit{Name: spi.LimitHostCalls, Value: most}})
	}
	return i.rest()
}

// Continue implements spi.Caller.
func (i *isolate) Continue(_ context.Context, replies []spi.Reply) (*spi.Outcome, error) {
	if i.waits == nil {
		return nil, spi.ErrNotWaiting
	}
	for _, r := range replies {
		if _, twice := i.waits.Replies[r.ID]; twice || r.ID < 1 || r.ID > int64(len(i.waits.Calls)) {
			return nil, spi.ErrReply
		}
		i.waits.Replies[r.ID] = r
	}
	return i.rest(), nil
}

// rest ends the script at the first failure or with all values, or waits.
func (i *isolate) rest() *spi.Outcome {
	var values []json.RawMessage
	waits := &spi.Outcome{}
	for _, call := range i.waits.Calls {
		switch r, replied := i.waits.Replies[call.ID]; {
		case !replied:
			waits.Pending = append(waits.Pending, call)
		case r.Error != nil:
			kind := spi.KindException
			if r.Error.Denied {
				kind = spi.KindDenied
			}
			return i.used(failure(&spi.ScriptError{Kind: kind, Name: r.Error.Name, Message: r.Error.Message, Call: call.ID}))
		default:
			values = append(values, r.Value)
		}
	}
	if len(waits.Pending) > 0 {
		return i.used(waits)
	}
	if len(values) == 1 {
		return i.used(value(values[0]))
	}
	all, err := json.Marshal(values)
	if err != nil {
		return failure(&spi.ScriptError{Kind: spi.KindUnserializable})
	}
	return i.used(value(all))
}

func (i *isolate) used(out *spi.Outcome) *spi.Outcome {
	for _, call := range i.waits.Calls {
		out.Usage.HostCalls++
		out.Usage.CallBytes += int64(len(call.Args))
	}
	if !out.Waits() {
		i.waits = nil
	}
	return out
}

// Suspend implements spi.Suspender.
func (i *isolate) Suspend(_ context.Context, maxBytes int64) ([]byte, error) {
	state, err := json.Marshal(i.waits)
	if int64(len(state)) > maxBytes {
		return nil, spi.ErrStateTooLarge
	}
	return state, err
}

// Resume implements spi.Resumer.
func (b *Backend) Resume(_ context.Context, r *spi.Resumption) (spi.Isolate, error) {
	w := &waiting{}
	if json.Unmarshal(r.State, w) != nil || w.Replies == nil {
		return nil, spi.ErrState
	}
	return &isolate{backend: b, config: spi.Config{Limits: r.Limits, Observer: r.Observer}, waits: w, closed: make(chan struct{})}, nil
}
