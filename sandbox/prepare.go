package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/tools"
)

// DefaultPreparedBytes is what [Options.PreparedBytes] is if it is zero.
const DefaultPreparedBytes = int64(64 << 20)

// PrepareRequest is a script that is to run many times.
type PrepareRequest struct {
	// Script and Language are as in [Request].
	Script   string
	Language string
	// Limits of the preparing: Timeout, MemoryBytes, Fuel and SourceBytes; a zero
	// field means the sandbox's default. The others do not matter.
	Limits Limits
}

// RunRequest is one run of a prepared script.
type RunRequest struct {
	// Input is as in [Request].
	Input json.RawMessage
	// Limits of this run, as in [Request], except that no SourceBytes means those
	// of the [PrepareRequest].
	Limits Limits
	// Now and Seed are as in [Request].
	Now  time.Time
	Seed string
	// Tools and Emit are as in [Request].
	Tools *tools.Set
	Emit  bool
}

// Prepared is a script that may be run many times, each time in pristine state.
// It needs no closing and may be used by any number of goroutines.
type Prepared struct {
	sandbox *Sandbox
	request PrepareRequest

	// Zero unless the script can be prepared.
	key    scriptKey
	limits spi.Limits
	// plain is set once it is known that the script cannot be.
	plain atomic.Bool
}

// Prepare parses a script once, so that running it takes less time, and takes a
// turn for it like [Sandbox.Eval]. The state after parsing is kept within
// [Options.PreparedBytes] and shared by all who prepare the same script in this
// sandbox; where it was given up, the next run parses again.
//
// No caller has to know whether that works. A script that does not parse, or not
// within the limits, and any script on a backend that does not prepare, is
// evaluated anew by each run. The errors are those of Eval; what Eval says in a
// result is in the result of a run.
func (s *Sandbox) Prepare(ctx context.Context, req PrepareRequest) (*Prepared, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.running.Done()
	limits, err := resolve(s.fields, &req.Limits, &s.defaults, &s.ceilings)
	if err != nil {
		return nil, err
	}
	language, err := languageOf(req.Language)
	if err != nil {
		return nil, err
	}
	p := &Prepared{sandbox: s, request: req}
	if int64(len(req.Script)) > limits.SourceBytes {
		p.plain.Store(true)
		return p, nil
	}
	source, refused := normalise(req.Script)
	if refused != nil {
		return nil, refused
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.snapshots == nil {
		return p, nil
	}
	p.key, p.limits = keyOf(source, language), limits.enforced()
	if err := s.turn(ctx); err != nil {
		return nil, err
	}
	defer s.turns.Release(1)
	snap, err := p.get(ctx, source, language)
	switch {
	case err == nil:
		s.snapshots.release(snap, false)
	case !errors.Is(err, spi.ErrNotPrepared):
		return nil, s.failed(ctx, err)
	}
	return p, nil
}

// Eval is [Sandbox.Eval] for this script: all that can differ is the time it
// takes. Where the script has to be parsed again, that is not part of the run.
func (p *Prepared) Eval(ctx context.Context, req RunRequest) (*Result, error) {
	limits := req.Limits
	if limits.SourceBytes == 0 {
		limits.SourceBytes = p.request.Limits.SourceBytes
	}
	find := p.find
	if p.sandbox.snapshots == nil {
		find = p.sandbox.unprepared
	}
	return p.sandbox.eval(ctx, &Request{
		Script: p.request.Script, Language: p.request.Language,
		Input: req.Input, Limits: limits, Now: req.Now, Seed: req.Seed,
		Tools: req.Tools, Emit: req.Emit,
	}, find)
}

// find is a [finder].
func (p *Prepared) find(ctx context.Context, j *job) *snapshot {
	// Somebody may have prepared it within wider limits.
	snap, _ := p.sandbox.snapshots.find(p.key)
	if snap == nil && !p.plain.Load() {
		// An error is no reason to fail: if it persists, opening an isolate says so.
		snap, _ = p.get(ctx, j.request.Source, j.request.Language)
	}
	return snap
}

func (p *Prepared) get(ctx context.Context, source string, language spi.Language) (*snapshot, error) {
	snap, err := p.sandbox.snapshots.get(ctx, p.key, &p.limits, source, language)
	if errors.Is(err, spi.ErrNotPrepared) {
		p.plain.Store(true)
	}
	return snap, err
}

// preparingShare is the part of its timeout that a repeated script may take to be
// prepared, beside the eval.
const preparingShare = 4

// whenRepeated is the [finder] of [Options.PrepareRepeated].
func (s *Sandbox) whenRepeated(ctx context.Context, j *job) *snapshot {
	key := keyOf(j.request.Source, j.request.Language)
	snap, turn := s.snapshots.find(key)
	if snap != nil {
		return snap
	}
	// It is not what the caller asked for, and comes before the eval's own time.
	limits := j.config.Limits
	limits.Timeout = max(limits.Timeout/preparingShare, 1)
	b := boundsOf(&limits)
	before, ok := s.repeats.worth(key, turn, b)
	if !ok || !s.snapshots.admits(before) {
		return nil
	}
	snap, err := s.snapshots.get(ctx, key, &limits, j.request.Source, j.request.Language)
	if errors.Is(err, spi.ErrNotPrepared) {
		s.repeats.refused(key, b, err)
	}
	return snap
}
