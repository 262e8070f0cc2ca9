package subject

import (
	"context"
	"time"

	"github.com/dop251/goja"

	"github.com/loom-sandbox/sandboxd/bench/internal/work"
)

func gojaPeer() Local {
	return Local{
		Name: "goja", Limits: "timeout, call depth", Isolation: "none (same heap)",
		Open: func(context.Context, string) (Evaluator, error) { return gojaEvaluator{}, nil },
	}
}

// gojaEvaluator makes a runtime for each eval. It has no limit of memory.
type gojaEvaluator struct{}

func (gojaEvaluator) run(job work.Job) (*goja.Runtime, Answer, error) {
	var a Answer
	vm := goja.New()
	vm.SetMaxCallStackSize(10_000)
	timer := time.AfterFunc(work.Timeout, func() { vm.Interrupt("timeout") })
	defer timer.Stop()
	if job.Input != "" {
		if err := vm.Set("__input", job.Input); err != nil {
			return nil, a, err
		}
	}
	if job.Logs > 0 {
		console := vm.NewObject()
		log := func(goja.FunctionCall) goja.Value { a.Logs++; return goja.Undefined() }
		if err := console.Set("log", log); err != nil {
			return nil, a, err
		}
		if err := vm.Set("console", console); err != nil {
			return nil, a, err
		}
	}
	v, err := vm.RunString(job.PeerScript())
	if err != nil {
		return nil, a, err
	}
	a.Value = v.String()
	return vm, a, nil
}

func (e gojaEvaluator) Eval(_ context.Context, job work.Job) (Answer, error) {
	_, a, err := e.run(job)
	return a, err
}

func (e gojaEvaluator) Hold(_ context.Context, job work.Job) (func() error, error) {
	vm, a, err := e.run(job)
	if err != nil {
		return nil, err
	}
	return func() error { vm.ClearInterrupt(); return nil }, Check(job, a) // the closure keeps the runtime
}

func (gojaEvaluator) Close() error { return nil }
