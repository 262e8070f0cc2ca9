package subject

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/loom-sandbox/sandboxd/bench/internal/work"
	"github.com/loom-sandbox/sandboxd/sandbox"
)

// withPrepared is one of ours whose scripts are parsed once, and each eval of them
// begins after that.
func withPrepared(l Local) Local {
	open := l.Open
	l.Name += "-prepared"
	l.Open = func(ctx context.Context, cacheDir string) (Evaluator, error) {
		e, err := open(ctx, cacheDir)
		if err != nil {
			return nil, err
		}
		return &preparing{ours: e.(*ours), scripts: map[string]*sandbox.Prepared{}}, nil
	}
	return l
}

type preparing struct {
	*ours
	mu      sync.Mutex
	scripts map[string]*sandbox.Prepared // guarded by mu
}

func (p *preparing) Eval(ctx context.Context, job work.Job) (Answer, error) {
	script, err := p.prepared(ctx, job.Script())
	if err != nil {
		return Answer{}, err
	}
	res, err := script.Eval(ctx, sandbox.RunRequest{Input: json.RawMessage(job.Input)})
	if err != nil {
		return Answer{}, err
	}
	return answerOf(res)
}

func (p *preparing) prepared(ctx context.Context, script string) (*sandbox.Prepared, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.scripts[script]; known != nil {
		return known, nil
	}
	made, err := p.box.Prepare(ctx, sandbox.PrepareRequest{Script: script})
	if err != nil {
		return nil, err
	}
	p.scripts[script] = made
	return made, nil
}
