// Package subject holds what is compared: our sandbox and what people use today.
//
// To add one that runs in this process, write an [Evaluator] and a line in
// [All]; to add one that runs in Node.js, write a file in node/subjects, name it
// in node/main.mjs and add a line to the list in node.go.
package subject

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"github.com/loom-sandbox/sandboxd/bench/internal/work"
)

// Subject is one thing that runs scripts, each in fresh state.
type Subject struct {
	// Name as the table spells it.
	Name string
	// Limits that were on, and what stands between the script and the host.
	Limits, Isolation string
	// Missing says why the subject cannot run here; empty where it can.
	Missing string
	// Open starts the subject for measuring.
	Open func(ctx context.Context) (Engine, error)
	// Start is a process that runs [work.SmallEval] and prints {"value": …}.
	Start func(ctx context.Context) *exec.Cmd
	// Memory is the growth in resident bytes by n instances that have run the
	// job, in a process of their own.
	Memory func(ctx context.Context, job work.Job, n int) (int64, error)
}

// Engine is a subject that has been started. One goroutine at a time.
type Engine interface {
	// Time runs the job n times, one after the other. A wrong answer is an error.
	Time(ctx context.Context, job work.Job, n int) ([]time.Duration, error)
	// Flow keeps callers busy for about d. A wrong answer is an error.
	Flow(ctx context.Context, job work.Job, callers int, d time.Duration) (Flow, error)
	// Close ends it.
	Close() error
}

// Flow is what came of several callers at once.
type Flow struct {
	// Each is the time that each eval took, seen by its caller.
	Each []time.Duration
	// Elapsed is the time that all took together.
	Elapsed time.Duration
}

// Answer is what the host saw of a job.
type Answer struct {
	Value string // JSON text
	Logs  int    // console lines
}

// Check is an error unless the answer is the right one.
func Check(job work.Job, got Answer) error {
	if got.Value != job.Want {
		return fmt.Errorf("wrong answer: %.100s", got.Value)
	}
	if got.Logs != job.Logs {
		return fmt.Errorf("the host saw %d log lines", got.Logs)
	}
	return nil
}

// Env is where subjects find what they need.
type Env struct {
	// CacheDir keeps compiled code.
	CacheDir string
	// NodeDir holds the peers that run in Node.js.
	NodeDir string
	// Self is this program, which runs [Child] when its first argument is "child".
	Self string
}

// All returns the subjects, ours first, in the order of the table.
func All(env Env) []Subject {
	local := locals()
	all := make([]Subject, 0, len(local)+8)
	for _, l := range local {
		all = append(all, l.subject(env))
	}
	return append(all, nodePeers(env)...)
}

// locals are the subjects that run in this process.
func locals() []Local {
	return []Local{
		oursWazero(), oursWasmtime(), withPrepared(oursWazero()), withPrepared(oursWasmtime()),
		gojaPeer(), moderncPeer(), qjsPeer(),
	}
}
