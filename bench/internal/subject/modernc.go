package subject

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/quickjs"

	"github.com/loom-sandbox/sandboxd/bench/internal/work"
)

func moderncPeer() Local {
	return Local{
		Name: "modernc", Limits: "timeout, memory, stack", Isolation: "none (same process, C turned into Go)",
		Open: func(context.Context, string) (Evaluator, error) { return moderncEvaluator{}, nil },
	}
}

// moderncEvaluator makes a VM for each eval.
type moderncEvaluator struct{}

func (moderncEvaluator) run(job work.Job) (vm *quickjs.VM, a Answer, err error) {
	if vm, err = quickjs.NewVM(); err != nil {
		return nil, a, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, vm.Close())
		}
	}()
	vm.SetMemoryLimit(uintptr(work.MemoryBytes))
	if err = vm.SetEvalTimeout(work.Timeout); err != nil {
		return vm, a, err
	}
	if job.Input != "" {
		if err = setText(vm, "__input", job.Input); err != nil {
			return vm, a, err
		}
	}
	prelude := ""
	if job.Logs > 0 {
		if err = vm.RegisterHostFunc("__log", func([]any) (any, error) { a.Logs++; return nil, nil }); err != nil {
			return vm, a, err
		}
		prelude = "var console={log:(...parts)=>__log(parts.join(' '))};"
	}
	got, err := vm.Eval(prelude+job.PeerScript(), quickjs.EvalGlobal)
	if err != nil {
		return vm, a, err
	}
	text, ok := got.(string)
	if !ok {
		err = fmt.Errorf("result is a %T", got)
	}
	a.Value = text
	return vm, a, err
}

func setText(vm *quickjs.VM, name, text string) error {
	atom, err := vm.NewAtom(name)
	if err != nil {
		return err
	}
	global := vm.GlobalObject()
	defer global.Free()
	return vm.SetProperty(global, atom, text)
}

func (e moderncEvaluator) Eval(_ context.Context, job work.Job) (Answer, error) {
	vm, a, err := e.run(job)
	if err != nil {
		return a, err
	}
	return a, vm.Close()
}

func (e moderncEvaluator) Hold(_ context.Context, job work.Job) (func() error, error) {
	vm, a, err := e.run(job)
	if err != nil {
		return nil, err
	}
	return vm.Close, Check(job, a)
}

func (moderncEvaluator) Close() error { return nil }
