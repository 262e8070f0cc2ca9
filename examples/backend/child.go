package subprocess

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/loom-sandbox/sandboxd/backends/wazero"
	"github.com/loom-sandbox/sandboxd/spi"
)

// childArgument makes a child of this binary.
const childArgument = "sandboxd-subprocess-child"

// RunChild runs the process as a child and does not return, if the backend
// started it as one; otherwise it returns at once. It must be the first thing
// that main does, and TestMain in a test.
func RunChild() {
	if len(os.Args) != 2 || os.Args[1] != childArgument {
		return
	}
	closeInherited()
	if serve(os.Stdin, os.Stdout) != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// serve answers until in ends. The engine is behind this function: a container
// or a micro-VM has it inside, whatever speaks the wire outside.
func serve(in io.Reader, out io.Writer) error {
	d := json.NewDecoder(in) // what the host says is trusted
	var o opening
	if err := d.Decode(&o); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	questions := make(chan question)
	go func() {
		defer close(questions)
		defer cancel() // no more input: end what runs
		for {
			var q question
			if d.Decode(&q) != nil {
				return
			}
			questions <- q
		}
	}()
	var warnings strings.Builder
	log := slog.New(slog.NewTextHandler(&warnings, nil))
	backend, err := wazero.New(ctx, &wazero.Options{CacheDir: o.CacheDir, Logger: log})
	if err != nil {
		return errors.Join(err, send(out, &reply{Failure: err.Error()}))
	}
	var iso spi.Isolate
	if o.Config != nil {
		if iso, err = backend.Open(ctx, o.Config); err != nil {
			return errors.Join(err, send(out, &reply{Failure: err.Error()}))
		}
	}
	what := backend.Describe()
	if err := send(out, &reply{Ready: &identity{what.Image, what.MinMemoryBytes, warnings.String()}}); err != nil {
		return err
	}
	for q := range questions {
		if err := send(out, eval(ctx, iso, q)); err != nil {
			return err
		}
	}
	return nil
}

// eval is the answer to one question.
func eval(ctx context.Context, iso spi.Isolate, q question) *reply {
	if iso == nil {
		return &reply{Failure: "no isolate was opened"}
	}
	req := &spi.Request{Source: q.Source, Language: q.Language, Input: json.RawMessage(q.Input)}
	out, err := iso.Eval(ctx, req)
	if err != nil { // a spent isolate, too: the host was told and should not have asked
		return &reply{Failure: err.Error()}
	}
	r := &reply{Outcome: out, Value: string(out.Value), Spent: isSpent(iso, req)}
	out.Value = nil
	return r
}

// isSpent asks for an eval that has ended before it begins. wazero runs nothing
// then and leaves the isolate as it was; an engine of your own knows by itself.
func isSpent(iso spi.Isolate, req *spi.Request) bool {
	ended, end := context.WithCancel(context.Background())
	end()
	_, err := iso.Eval(ended, req)
	return errors.Is(err, spi.ErrIsolateSpent)
}
