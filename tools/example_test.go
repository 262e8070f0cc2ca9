package tools_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/loom-sandbox/sandboxd/tools"
)

// A set of one tool, and calls of it under a policy.
func Example() {
	type lookup struct {
		ID int `json:"id"`
	}
	set, err := tools.NewSet(tools.Tool{
		Name:        "crm.lookup",
		Description: "Finds a customer.",
		Input:       json.RawMessage(`{"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"], "additionalProperties": false}`),
		Output:      json.RawMessage(`{"type": "string"}`),
		Handler: func(_ context.Context, call *tools.Call) (any, error) {
			var args lookup
			if err := json.Unmarshal(call.Args, &args); err != nil {
				return nil, err // it was checked; the script would see "crm.lookup failed"
			}
			if args.ID != 7 {
				return nil, tools.Failf("there is no customer %d", args.ID)
			}
			return "Ada", nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	policy := func(_ context.Context, call *tools.Call) tools.Decision {
		if string(call.Args) == `{"id":13}` {
			return tools.Deny("13 is not for scripts")
		}
		return tools.Allow()
	}
	for _, args := range []string{`[{"id":7}]`, `[{"id":8}]`, `[{"id":13}]`, `[{"id":"7"}]`} {
		answer := set.Answer(context.Background(), &tools.Call{Tool: "crm.lookup", Args: json.RawMessage(args)}, policy)
		if answer.Failure != nil {
			fmt.Println(answer.Failure.Name+":", answer.Failure.Message)
			continue
		}
		fmt.Println(string(answer.Value), "from", answer.Origin)
	}

	// Output:
	// "Ada" from tool:crm.lookup
	// ToolError: crm.lookup: there is no customer 8
	// DeniedError: crm.lookup was denied: 13 is not for scripts
	// TypeError: tools.crm.lookup: /id must be integer
}

// What a model is told about a set.
func ExampleSet_Declarations() {
	set, err := tools.NewSet(tools.Remote("approve", "Asks a person.", json.RawMessage(`{
		"type": "object", "additionalProperties": false, "required": ["what"],
		"properties": {"what": {"type": "string"}, "urgency": {"enum": ["low", "high"]}}
	}`)))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(set.Declarations())
	// Output:
	// declare const tools: {
	//   /** Asks a person. */
	//   approve(args: { what: string; urgency?: "low" | "high" }): Promise<unknown>;
	// };
	//
	// /** A call was refused. */
	// declare class DeniedError extends Error {
	//   /** The name of what was called. */
	//   readonly function: string;
	// }
	//
	// /** A call failed. */
	// declare class ToolError extends Error {
	//   /** The name of what was called. */
	//   readonly function: string;
	// }
}
