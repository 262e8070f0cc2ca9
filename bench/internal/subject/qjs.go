package subject

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/fastschema/qjs"

	"github.com/loom-sandbox/sandboxd/bench/internal/work"
)

func qjsPeer() Local {
	return Local{
		Name: "qjs", Limits: "timeout, memory", Isolation: "wasm, WASI clock and files (no folder here)",
		Open: func(_ context.Context, cacheDir string) (Evaluator, error) { return qjsEvaluator{cacheDir}, nil },
	}
}

// qjsEvaluator makes a runtime for each eval. Its MaxExecutionTime has no
// effect, so the timeout is a context's.
type qjsEvaluator struct{ cacheDir string }

func (e qjsEvaluator) run(ctx context.Context, job work.Job) (rt *qjs.Runtime, a Answer, err error) {
	defer func() { // the library panics where it could return an error
		if p := recover(); p != nil {
			err = fmt.Errorf("library panicked: %.100v", p)
		}
	}()
	var stdout bytes.Buffer
	rt, err = qjs.New(qjs.Option{
		CWD:      os.DevNull, // the library insists on a folder; this is none
		CacheDir: e.cacheDir, Context: ctx, CloseOnContextDone: true,
		MemoryLimit: int(work.MemoryBytes), Stdout: &stdout, Stderr: io.Discard,
	})
	if err != nil {
		return nil, a, err
	}
	c := rt.Context()
	if job.Input != "" {
		c.Global().SetPropertyStr("__input", c.NewString(job.Input))
	}
	v, err := c.Eval("script.js", qjs.Code(job.PeerScript()))
	if err != nil {
		return rt, a, err
	}
	a = Answer{Value: v.String(), Logs: bytes.Count(stdout.Bytes(), []byte("\n"))}
	v.Free()
	return rt, a, nil
}

func (e qjsEvaluator) Eval(ctx context.Context, job work.Job) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, work.Timeout)
	defer cancel()
	rt, a, err := e.run(ctx, job)
	if err != nil {
		return a, err // a runtime that failed cannot be relied on to close
	}
	return a, closeQJS(rt)
}

func (e qjsEvaluator) Hold(ctx context.Context, job work.Job) (func() error, error) {
	rt, a, err := e.run(ctx, job)
	if err != nil {
		return nil, err
	}
	return func() error { return closeQJS(rt) }, Check(job, a)
}

func closeQJS(rt *qjs.Runtime) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("library panicked: %.100v", p)
		}
	}()
	rt.Close()
	return nil
}

func (qjsEvaluator) Close() error { return nil }
