// Command codemode runs one script that calls tools, as a model would write it
// instead of one call at a time.
//
//	go run ./examples/codemode
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/loom-sandbox/sandboxd/backends/wazero"
	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/tools"
)

// script is what a model wrote: it looks three customers up at the same time, and
// does in the sandbox what would else be three more turns of the model.
const script = `
const customers = await Promise.all(input.ids.map((id) => tools.crm.lookup({ id })));
const open = customers.filter((c) => c.openOrders > 0);
try {
  await tools.mail.send({ to: 'everybody@example.com', text: 'hello' });
} catch (e) {
  console.log(e.name + ': ' + e.message);
}
return { open: open.map((c) => c.name), orders: open.reduce((n, c) => n + c.openOrders, 0) };
`

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "codemode:", err)
		os.Exit(1)
	}
}

// toolbox is what scripts are handed here.
func toolbox() (*tools.Set, error) {
	type customer struct {
		Name       string `json:"name"`
		OpenOrders int    `json:"openOrders"`
	}
	customers := map[int]customer{7: {"Ada", 2}, 8: {"Grace", 0}, 9: {"Edsger", 1}}
	return tools.NewSet(tools.Tool{
		Name: "crm.lookup", Description: "A customer by number.", Idempotent: true,
		Input:  json.RawMessage(`{"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}`),
		Output: json.RawMessage(`{"type": "object", "properties": {"name": {"type": "string"}, "openOrders": {"type": "integer"}}, "required": ["name", "openOrders"]}`),
		Handler: func(_ context.Context, call *tools.Call) (any, error) {
			var args struct{ ID int }
			if err := json.Unmarshal(call.Args, &args); err != nil {
				return nil, err
			}
			c, ok := customers[args.ID]
			if !ok {
				return nil, tools.Failf("there is no customer %d", args.ID)
			}
			return c, nil
		},
	})
}

func run(ctx context.Context) error {
	backend, err := wazero.New(ctx, nil)
	if err != nil {
		return err
	}
	defer backend.Close()
	box, err := sandbox.New(backend, nil)
	if err != nil {
		return err
	}
	defer box.Close()
	set, err := toolbox()
	if err != nil {
		return err
	}
	fmt.Printf("What the model is told:\n\n%s\n", set.Declarations())

	result, err := box.Eval(ctx, sandbox.Request{Script: script, Input: json.RawMessage(`{"ids": [7, 8, 9]}`), Tools: set})
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	fmt.Printf("What comes back:\n\n%s\n", text)
	return nil
}
