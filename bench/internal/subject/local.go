package subject

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/loom-sandbox/sandboxd/bench/internal/work"
)

// Evaluator is a subject that runs in this process. Any number of goroutines.
type Evaluator interface {
	// Eval runs the job in fresh state.
	Eval(ctx context.Context, job work.Job) (Answer, error)
	// Hold runs the job in fresh state and keeps the instance until release.
	Hold(ctx context.Context, job work.Job) (release func() error, err error)
	// Close ends it.
	Close() error
}

// Local is a subject that runs in this process.
type Local struct {
	Name, Limits, Isolation string
	Missing                 string
	Open                    func(ctx context.Context, cacheDir string) (Evaluator, error)
}

func (l Local) subject(env Env) Subject {
	child := func(ctx context.Context, what string) *exec.Cmd {
		return exec.CommandContext(ctx, env.Self, "child", what, l.Name, env.CacheDir)
	}
	return Subject{
		Name: l.Name, Limits: l.Limits, Isolation: l.Isolation, Missing: l.Missing,
		Open: func(ctx context.Context) (Engine, error) {
			e, err := l.Open(ctx, env.CacheDir)
			if err != nil {
				return nil, err
			}
			opened := NewEngine(e)
			loaded(ctx, opened)
			return opened, nil
		},
		Start: func(ctx context.Context) *exec.Cmd { return child(ctx, "start") },
		Memory: func(ctx context.Context, job work.Job, n int) (int64, error) {
			cmd := child(ctx, "memory")
			request, err := json.Marshal(memoryRequest{job, n})
			if err != nil {
				return 0, err
			}
			return memoryOf(cmd, request)
		},
	}
}

// loaded makes an engine load what it loads once, so that no sample holds it. A
// failure shows in the rows.
func loaded(ctx context.Context, e Engine) { _, _ = e.Time(ctx, work.SmallEval(), 1) }

// NewEngine measures an evaluator with the clock of this process.
func NewEngine(e Evaluator) Engine { return engine{e} }

type engine struct{ Evaluator }

func (e engine) timed(ctx context.Context, job work.Job) (time.Duration, error) {
	start := time.Now()
	got, err := e.Eval(ctx, job)
	took := time.Since(start)
	if err != nil {
		return 0, err
	}
	return took, Check(job, got)
}

// Time implements [Engine].
func (e engine) Time(ctx context.Context, job work.Job, n int) ([]time.Duration, error) {
	all := make([]time.Duration, n)
	for i := range all {
		var err error
		if all[i], err = e.timed(ctx, job); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Flow implements [Engine].
func (e engine) Flow(ctx context.Context, job work.Job, callers int, d time.Duration) (Flow, error) {
	each, errs := make([][]time.Duration, callers), make([]error, callers)
	start := time.Now()
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for first := true; first || time.Since(start) < d; first = false {
				took, err := e.timed(ctx, job)
				if err != nil {
					errs[c] = err
					return
				}
				each[c] = append(each[c], took)
			}
		})
	}
	wg.Wait()
	flow := Flow{Elapsed: time.Since(start)}
	for _, one := range each {
		flow.Each = append(flow.Each, one...)
	}
	return flow, errors.Join(errs...)
}

// find is the local subject of that name.
func find(name string) (Local, error) {
	for _, l := range locals() {
		if l.Name == name {
			return l, nil
		}
	}
	return Local{}, fmt.Errorf("subject: no subject %q in this process", name)
}

// memoryOf runs a process that takes the request and prints {"bytes": …}.
func memoryOf(cmd *exec.Cmd, request []byte) (int64, error) {
	out, err := output(cmd, request)
	if err != nil {
		return 0, err
	}
	var got struct {
		Bytes int64  `json:"bytes"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal(out, &got); err != nil {
		return 0, fmt.Errorf("subject: memory of a child: %w", err)
	}
	if got.Error != "" {
		return 0, errors.New(got.Error)
	}
	return got.Bytes, nil
}

func output(cmd *exec.Cmd, in []byte) ([]byte, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	go func() {
		defer stdin.Close()
		_, _ = stdin.Write(append(in, '\n')) // a child that does not read fails by itself
	}()
	return cmd.Output()
}
