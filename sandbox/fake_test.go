package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// fakeBackend answers with what its functions say.
type fakeBackend struct {
	descriptor  spi.Descriptor
	openErr     error
	openNothing bool
	eval        func(ctx context.Context, cfg *spi.Config, req *spi.Request) (*spi.Outcome, error)
}

func fake() *fakeBackend {
	d := spi.Descriptor{
		Name: "fake", Languages: []spi.Language{spi.JavaScript}, Image: "sha256:00",
		MinMemoryBytes: 1 << 20, MaxMemoryBytes: 1 << 30,
	}
	for _, l := range []spi.LimitName{spi.LimitTimeout, spi.LimitMemory, spi.LimitFuel, spi.LimitOutput, spi.LimitLogs} {
		d.Enforces = append(d.Enforces, spi.Enforcement{Limit: l, Exact: true})
	}
	return &fakeBackend{descriptor: d}
}

func (b *fakeBackend) Describe() spi.Descriptor { return b.descriptor }
func (b *fakeBackend) Close() error             { return nil }

func (b *fakeBackend) Open(_ context.Context, cfg *spi.Config) (spi.Isolate, error) {
	if b.openErr != nil {
		return nil, b.openErr
	}
	if b.openNothing {
		return nil, nil
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &fakeIsolate{b, cfg}, nil
}

type fakeIsolate struct {
	b   *fakeBackend
	cfg *spi.Config
}

func (i *fakeIsolate) Close() error { return nil }

func (i *fakeIsolate) Eval(ctx context.Context, req *spi.Request) (*spi.Outcome, error) {
	if i.b.eval == nil {
		return &spi.Outcome{Value: json.RawMessage(req.Input), ValueType: spi.TypeObject}, nil
	}
	return i.b.eval(ctx, i.cfg, req)
}

var errFake = errors.New("fake: out of order at /secret/path")

// sleep is a script that takes a while and then answers.
func sleep(d time.Duration) func(context.Context, *spi.Config, *spi.Request) (*spi.Outcome, error) {
	return func(ctx context.Context, _ *spi.Config, _ *spi.Request) (*spi.Outcome, error) {
		select {
		case <-time.After(d):
			return &spi.Outcome{Value: json.RawMessage("1"), ValueType: spi.TypeNumber}, nil
		case <-ctx.Done():
			return &spi.Outcome{Error: &spi.ScriptError{Kind: spi.KindCancelled}}, nil
		}
	}
}
