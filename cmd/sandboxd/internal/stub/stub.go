// Package stub is a backend for tests of what lies above one. Its scripts are
// single words with arguments, run by nobody but this file:
//
//	value JSON            returns JSON
//	input                 returns the input
//	limits                returns the limits that arrived
//	log LEVEL TEXT        writes one log line and returns null
//	throw NAME MESSAGE    fails with an exception at line 3, column 9
//	end KIND              fails with that kind, and a limit where it has one
//	wait                  runs until it is stopped
//	call TOOL JSON        calls a tool and returns its result; with more calls
//	                      behind " | ", all at once and an array of results
//	fault TEXT            the backend itself fails
//	unprepared JSON       returns JSON, and cannot be prepared
package stub

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/loom-sandbox/sandboxd/spi"
)

// Backend implements spi.Backend. The zero value is ready.
type Backend struct {
	// Started gets one value per eval that runs; nil means nobody listens.
	Started chan struct{}
	// Release ends every "wait", now or later, with the value true.
	Release chan struct{}

	running, most atomic.Int64
	cancelled     atomic.Int64
	prepared      atomic.Int64
	reused        atomic.Int64
}

// Most is how many evals ran at once at most.
func (b *Backend) Most() int64 { return b.most.Load() }

// Cancelled is how many evals were ended by their context.
func (b *Backend) Cancelled() int64 { return b.cancelled.Load() }

// Describe implements spi.Backend.
func (b *Backend) Describe() spi.Descriptor { return Describe() }

// Describe gives the descriptor of every stub.
func Describe() spi.Descriptor {
	return spi.Descriptor{
		Name: "stub", Summary: "Plays back what a test asks for.", Isolation: spi.IsolationNone, Engine: "stub 1",
		Languages: []spi.Language{spi.JavaScript}, Prepares: true, HostCalls: true, Suspends: true, MinMemoryBytes: 1 << 20, MaxMemoryBytes: 1 << 30,
		Enforces: []spi.Enforcement{
			{Limit: spi.LimitTimeout, Granularity: 1e6}, {Limit: spi.LimitMemory, Granularity: 64 << 10}, {Limit: spi.LimitFuel, Exact: true},
			{Limit: spi.LimitOutput, Exact: true}, {Limit: spi.LimitLogs, Exact: true},
			{Limit: spi.LimitHostCalls, Exact: true}, {Limit: spi.LimitCallBytes, Exact: true},
		},
	}
}

var (
	_ spi.Resumer   = (*Backend)(nil)
	_ spi.Caller    = (*isolate)(nil)
	_ spi.Suspender = (*isolate)(nil)
)

// Open implements spi.Backend.
func (b *Backend) Open(_ context.Context, cfg *spi.Config) (spi.Isolate, error) {
	return &isolate{backend: b, config: *cfg, closed: make(chan struct{})}, nil
}

// Close implements spi.Backend.
func (b *Backend) Close() error { return nil }

type isolate struct {
	backend *Backend
	config  spi.Config
	only    *string  // what the first eval must have as its source, if it is prepared
	waits   *waiting // nil unless a script waits for replies
	once    sync.Once
	closed  chan struct{}
}

// Close implements spi.Isolate.
func (i *isolate) Close() error {
	i.once.Do(func() { close(i.closed) })
	return nil
}

// Eval implements spi.Isolate.
func (i *isolate) Eval(ctx context.Context, req *spi.Request) (*spi.Outcome, error) {
	b := i.backend
	if only := i.only; only != nil && *only != req.Source {
		return nil, spi.ErrUnsupported
	}
	i.only = nil
	now := b.running.Add(1)
	defer b.running.Add(-1)
	for m := b.most.Load(); now > m && !b.most.CompareAndSwap(m, now); m = b.most.Load() {
	}
	ctx, cancel := context.WithTimeout(ctx, i.config.Limits.Timeout)
	defer cancel()

	verb, rest, _ := strings.Cut(strings.TrimSpace(req.Source), " ")
	if b.Started != nil && verb == "wait" {
		select {
		case b.Started <- struct{}{}:
		case <-ctx.Done():
		}
	}
	first, second, _ := strings.Cut(rest, " ")
	switch verb {
	case "value", "unprepared":
		return value(json.RawMessage(rest)), nil
	case "input":
		return value(req.Input), nil
	case "limits":
		raw, err := json.Marshal(i.config.Limits)
		return value(raw), err
	case "log":
		out := value(json.RawMessage("null"))
		out.Logs = []spi.LogLine{{Level: spi.Level(first), Text: second}}
		return out, nil
	case "throw":
		return failure(&spi.ScriptError{Kind: spi.KindException, Name: first, Message: second, Stack: "at f (script:3:9)\n", Line: 3, Column: 9}), nil
	case "end":
		return failure(i.ending(spi.Kind(first))), nil
	case "wait":
		return i.wait(ctx)
	case "call":
		return i.call(rest), nil
	case "fault":
		return nil, errors.New(rest)
	default: // the warm-up of a server, among others
		return value(json.RawMessage("null")), nil
	}
}

func (i *isolate) wait(ctx context.Context) (*spi.Outcome, error) {
	select {
	case <-i.backend.Release:
		return value(json.RawMessage("true")), nil
	case <-i.closed:
		return failure(&spi.ScriptError{Kind: spi.KindKilled}), nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return failure(i.ending(spi.KindTimeout)), nil
		}
		i.backend.cancelled.Add(1)
		return failure(&spi.ScriptError{Kind: spi.KindCancelled}), nil
	}
}

// ending is the error of a kind, with the limit that belongs to it.
func (i *isolate) ending(k spi.Kind) *spi.ScriptError {
	e := &spi.ScriptError{Kind: k}
	l := &i.config.Limits
	switch k {
	case spi.KindTimeout:
		e.Limit = &spi.ReachedLimit{Name: spi.LimitTimeout, Value: l.Timeout.Milliseconds()}
	case spi.KindMemory:
		e.Limit = &spi.ReachedLimit{Name: spi.LimitMemory, Value: l.MemoryBytes}
	case spi.KindFuel:
		e.Limit = &spi.ReachedLimit{Name: spi.LimitFuel, Value: l.Fuel}
	case spi.KindOutputTooLarge:
		e.Limit = &spi.ReachedLimit{Name: spi.LimitOutput, Value: l.OutputBytes}
	}
	return e
}

func value(raw json.RawMessage) *spi.Outcome {
	return &spi.Outcome{Value: raw, ValueType: spi.TypeObject, Usage: spi.Usage{Fuel: 7, OutputBytes: int64(len(raw))}}
}

func failure(e *spi.ScriptError) *spi.Outcome { return &spi.Outcome{Error: e} }
