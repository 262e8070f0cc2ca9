package wazero_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/loom-sandbox/sandboxd/backends/wazero"
	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/taint"
)

// The body of this example is the Go block of the README; a test in
// internal/archtest compares the two.
func Example() {
	ctx := context.Background()
	backend, err := wazero.New(ctx, nil) // once per process
	if err != nil {
		log.Panicln(err)
	}
	defer backend.Close()
	sb, err := sandbox.New(backend, nil) // shared by all goroutines
	if err != nil {
		log.Panicln(err)
	}
	defer sb.Close()

	res, err := sb.Eval(ctx, sandbox.Request{
		Script: "input.map(x => x * x)",
		Input:  json.RawMessage("[1,2,3]"),
	})
	if err != nil {
		log.Panicln(err) // the request or the backend is at fault
	}
	if res.Error != nil {
		log.Panicln(res.Error.Kind) // the script failed, or a limit ended it
	}
	labelled, err := json.Marshal(res.Value)
	if err != nil {
		log.Panicln(err)
	}
	fmt.Println(string(labelled))
	fmt.Println(string(taint.Unwrap(*res.Value))) // takes the label off

	// Output:
	// {"__loomTainted":{"origin":"sandbox"},"value":[1,4,9]}
	// [1,4,9]
}
