// Command approval suspends a script until a person agrees, and lets it go on in
// another process: all there is in between is one file.
//
//	go run ./examples/approval start
//	go run ./examples/approval finish approve
package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/loom-sandbox/sandboxd/backends/wazero"
	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/taint"
	"github.com/loom-sandbox/sandboxd/tools"
)

const script = `
const order = { id: 4711, total: 90, delivered: false };
if (order.delivered) return 'nothing to do';
const refund = await tools.payments.refund({ order: order.id, amount: order.total });
return { order: order.id, refund };
`

func main() {
	dir := flag.String("dir", filepath.Join(os.TempDir(), "sandboxd-approval"), "where key and continuation are kept")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *dir, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "approval:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, dir string, args []string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file := filepath.Join(dir, "waiting")
	box, closeAll, err := open(ctx, filepath.Join(dir, "key"))
	if err != nil {
		return err
	}
	defer closeAll()
	set, err := toolbox(out)
	if err != nil {
		return err
	}
	switch {
	case len(args) == 1 && args[0] == "start":
		return start(ctx, out, box, set, file)
	case len(args) == 2 && args[0] == "finish" && (args[1] == "approve" || args[1] == "refuse"):
		return finish(ctx, out, box, set, file, args[1] == "approve")
	}
	return errors.New("usage: approval start | finish approve | finish refuse")
}

// toolbox has one tool, which moves money.
func toolbox(out io.Writer) (*tools.Set, error) {
	return tools.NewSet(tools.Tool{
		Name: "payments.refund", Description: "Pays an order back.",
		Input: json.RawMessage(`{"type": "object", "properties": {"order": {"type": "integer"}, "amount": {"type": "number"}}, "required": ["order", "amount"]}`),
		Handler: func(_ context.Context, call *tools.Call) (any, error) {
			fmt.Fprintf(out, "paying back: %s\n", call.Args)
			return map[string]string{"state": "paid"}, nil
		},
	})
}

// askFirst lets every refund wait for a person.
func askFirst(_ context.Context, call *tools.Call) tools.Decision {
	if call.Tool == "payments.refund" {
		return tools.Suspend()
	}
	return tools.Deny("nobody has thought about it yet")
}

// open is a sandbox that seals what it suspends with the key in a file, so that
// any process with that file can go on.
func open(ctx context.Context, keyFile string) (box *sandbox.Sandbox, closeAll func(), err error) {
	text, err := os.ReadFile(keyFile)
	if errors.Is(err, os.ErrNotExist) {
		secret := make([]byte, 32)
		rand.Read(secret)
		text = []byte("first " + base64.StdEncoding.EncodeToString(secret) + "\n")
		err = os.WriteFile(keyFile, text, 0o600)
	}
	if err != nil {
		return nil, nil, err
	}
	keys, err := sandbox.ParseKeys(string(text))
	if err != nil {
		return nil, nil, err
	}
	backend, err := wazero.New(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	box, err = sandbox.New(backend, &sandbox.Options{
		Policy: askFirst, Continuations: &sandbox.Continuations{Keys: keys, Audience: "approval example"},
	})
	if err != nil {
		return nil, nil, errors.Join(err, backend.Close())
	}
	return box, func() { _ = box.Close(); _ = backend.Close() }, nil
}

func start(ctx context.Context, out io.Writer, box *sandbox.Sandbox, set *tools.Set, file string) error {
	result, err := box.Eval(ctx, sandbox.Request{Script: script, Tools: set})
	if err != nil {
		return err
	}
	if result.Status != sandbox.StatusSuspended {
		return show(out, result)
	}
	for _, call := range result.Pending {
		fmt.Fprintf(out, "waits for a person: %s %s\n", call.Tool, taint.Unwrap(call.Args)) // shown to a person, not to a model
	}
	fmt.Fprintf(out, "put away: %d bytes\n", len(result.Continuation))
	return os.WriteFile(file, result.Continuation, 0o600)
}

func finish(ctx context.Context, out io.Writer, box *sandbox.Sandbox, set *tools.Set, file string, approved bool) error {
	continuation, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	// It could be resumed again, and would pay again: what is consumed is gone.
	if err := os.Remove(file); err != nil {
		return err
	}
	reply := sandbox.Reply{ID: 1}
	if approved {
		reply.Allow = true
	} else {
		reply.Error = &sandbox.ReplyError{Name: "DeniedError", Message: "a person has refused"}
	}
	result, err := box.Resume(ctx, sandbox.ResumeRequest{Continuation: continuation, Replies: []sandbox.Reply{reply}, Tools: set})
	if err != nil {
		return err
	}
	return show(out, result)
}

func show(out io.Writer, result *sandbox.Result) error {
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", text)
	return err
}
