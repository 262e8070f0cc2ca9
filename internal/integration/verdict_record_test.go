package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/wazero"
	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/spi/conformance"
)

// recorder is a backend that keeps what reaches it: the scripts as package
// sandbox hands them on, without fence and hashbang, and all limits resolved.
type recorder struct {
	descriptor spi.Descriptor
	good       spi.Backend // runs the scripts with little fuel; nil to answer 0

	mu    sync.Mutex
	heard []*trial // guarded by mu
}

// recordFuel is enough for a check to go on to its next script.
const recordFuel = 2_000_000

func (r *recorder) Describe() spi.Descriptor { return r.descriptor }

func (r *recorder) Open(ctx context.Context, cfg *spi.Config) (spi.Isolate, error) {
	iso := &recordedIsolate{recorder: r, heard: &trial{config: *cfg}}
	if r.good != nil {
		little := *cfg
		if little.Limits.Fuel == 0 {
			little.Limits.Fuel = recordFuel
		}
		var err error
		if iso.Isolate, err = r.good.Open(ctx, &little); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = append(r.heard, iso.heard)
	return iso, nil
}

func (r *recorder) Close() error { return nil }

// take is what was recorded since the last time, each thing once.
func (r *recorder) take() []*trial {
	r.mu.Lock()
	defer r.mu.Unlock()
	heard := slices.DeleteFunc(r.heard, func(tr *trial) bool { return len(tr.requests) == 0 })
	r.heard = nil
	return heard
}

type recordedIsolate struct {
	spi.Isolate // nil to answer 0

	recorder *recorder
	heard    *trial
}

func (i *recordedIsolate) Eval(ctx context.Context, req *spi.Request) (*spi.Outcome, error) {
	if req.Language == spi.JavaScript {
		i.recorder.mu.Lock()
		i.heard.requests = append(i.heard.requests, *req)
		i.recorder.mu.Unlock()
	}
	if i.Isolate == nil {
		return &spi.Outcome{Value: json.RawMessage("0"), ValueType: spi.TypeNumber, Usage: spi.Usage{OutputBytes: 1}}, nil
	}
	return i.Isolate.Eval(ctx, req)
}

func (i *recordedIsolate) Close() error {
	if i.Isolate == nil {
		return nil
	}
	return i.Isolate.Close()
}

// throughSandbox is the trial that a request to a sandbox comes to, or none
// where the sandbox answers by itself.
func throughSandbox(t *testing.T, name string, req sandbox.Request) []trial {
	t.Helper()
	r := &recorder{descriptor: wazero.Describe()}
	sb, err := sandbox.New(r, nil)
	require.NoError(t, err)
	req.Now = noon()
	if req.Seed == "" {
		req.Seed = name
	}
	_, err = sb.Eval(context.Background(), req)
	require.NoError(t, err, name)
	require.NoError(t, sb.Close())
	var trials []trial
	for _, tr := range r.take() {
		tr.name = name
		trials = append(trials, *tr)
	}
	return trials
}

// conformanceTrials are what the checks evaluate, as far as they come when no
// script gets much fuel. What they find does not matter here.
func conformanceTrials(t *testing.T) []trial {
	t.Helper()
	good := openWazero(t, wazero.Options{})
	r := &recorder{descriptor: good.Describe(), good: good}
	runner, err := conformance.NewRunner(t.Context(), &conformance.Harness{
		New: func(context.Context) (spi.Backend, error) { return r, nil },
	})
	require.NoError(t, err)
	defer runner.Close()
	seen := map[string]bool{}
	var trials []trial
	for _, c := range conformance.Checks() {
		runner.Run(t.Context(), &c)
		n := 0
		for _, tr := range r.take() {
			tr.config.Limits.Timeout = 0 // replaced anyway
			key := fmt.Sprintf("%+v %+v", tr.config, tr.requests)
			if seen[key] {
				continue
			}
			seen[key] = true
			n++
			tr.name = fmt.Sprintf("%s %d", c.ID, n)
			trials = append(trials, *tr)
		}
	}
	return trials
}
