package subject

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/loom-sandbox/sandboxd/backends/wasmtime"
	"github.com/loom-sandbox/sandboxd/backends/wazero"
	"github.com/loom-sandbox/sandboxd/bench/internal/work"
	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
)

const (
	oursLimits    = "timeout, memory, stack, input, output, logs"
	oursIsolation = "wasm, no imports"
	// mostCallers is the largest number of callers of any row.
	mostCallers = 64
)

func oursWazero() Local {
	return local("ours/wazero", "", func(ctx context.Context, cacheDir string) (spi.Backend, error) {
		b, err := wazero.New(ctx, &wazero.Options{CacheDir: cacheDir})
		if err != nil {
			return nil, err
		}
		return b, nil
	})
}

func oursWasmtime() Local {
	return local("ours/wasmtime", wasmtime.Unavailable(), func(ctx context.Context, cacheDir string) (spi.Backend, error) {
		b, err := wasmtime.New(ctx, &wasmtime.Options{CacheDir: cacheDir})
		if err != nil {
			return nil, err
		}
		return b, nil
	})
}

func local(name, missing string, start func(ctx context.Context, cacheDir string) (spi.Backend, error)) Local {
	return Local{
		Name: name, Limits: oursLimits, Isolation: oursIsolation, Missing: missing,
		Open: func(ctx context.Context, cacheDir string) (Evaluator, error) {
			b, err := start(ctx, cacheDir)
			if err != nil {
				return nil, err
			}
			return newOurs(b)
		},
	}
}

// ours is the sandbox as its users hold it: strict JSON in, labels out.
type ours struct {
	backend spi.Backend
	box     *sandbox.Sandbox
}

func newOurs(b spi.Backend) (*ours, error) {
	box, err := sandbox.New(b, &sandbox.Options{
		Defaults: sandbox.Limits{Timeout: work.Timeout, MemoryBytes: work.MemoryBytes}, MaxConcurrent: mostCallers,
	})
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return &ours{b, box}, nil
}

func (o *ours) Eval(ctx context.Context, job work.Job) (Answer, error) {
	res, err := o.box.Eval(ctx, sandbox.Request{Script: job.Script(), Input: json.RawMessage(job.Input)})
	if err != nil {
		return Answer{}, err
	}
	return answerOf(res)
}

// answerOf reads a result. Taking the label off is safe here: the value is
// compared with the right answer and thrown away.
func answerOf(res *sandbox.Result) (Answer, error) {
	if res.Error != nil {
		return Answer{}, fmt.Errorf("script ended with %s: %.200s", res.Error.Kind, taint.Unwrap(res.Error.Message))
	}
	a := Answer{Value: string(taint.Unwrap(*res.Value))}
	if logs := taint.Unwrap(res.Logs); len(logs) > len("[]") {
		var lines []json.RawMessage
		if err := json.Unmarshal(logs, &lines); err != nil {
			return Answer{}, err
		}
		a.Logs = len(lines)
	}
	return a, nil
}

// Hold opens an isolate below the sandbox, which keeps none.
func (o *ours) Hold(ctx context.Context, job work.Job) (func() error, error) {
	iso, err := o.backend.Open(ctx, &spi.Config{
		Limits: spi.Limits{
			Timeout: work.Timeout, MemoryBytes: work.MemoryBytes,
			OutputBytes: sandbox.DefaultOutputBytes, LogBytes: sandbox.DefaultLogBytes,
		},
		Now: time.Now(), Seed: 1,
	})
	if err != nil {
		return nil, err
	}
	out, err := iso.Eval(ctx, &spi.Request{Source: job.Script(), Language: spi.JavaScript, Input: json.RawMessage("null")})
	if err == nil && out.Error == nil {
		err = Check(job, Answer{Value: string(out.Value), Logs: len(out.Logs)})
	} else if err == nil {
		err = fmt.Errorf("script ended with %s", out.Error.Kind)
	}
	if err != nil {
		return nil, errors.Join(err, iso.Close())
	}
	return iso.Close, nil
}

func (o *ours) Close() error { return errors.Join(o.box.Close(), o.backend.Close()) }
