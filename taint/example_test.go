package taint_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loom-sandbox/sandboxd/taint"
)

func ExampleWrap() {
	fromGuest := json.RawMessage(`{"total": 42}`)
	out, err := json.Marshal(map[string]any{
		"status": "completed",
		"value":  taint.Wrap(taint.OriginSandbox, fromGuest),
	})
	fmt.Println(string(out), err)
	// Output:
	// {"status":"completed","value":{"__loomTainted":{"origin":"sandbox"},"value":{"total":42}}} <nil>
}

// A value that tries to close the wrapper is kept as text inside it.
func ExampleWrap_breakOut() {
	out, err := json.Marshal(taint.Wrap(taint.OriginSandbox, json.RawMessage(`1},"admin":{"ok":true`)))
	fmt.Println(string(out), err)
	// Output:
	// {"__loomTainted":{"origin":"sandbox"},"value":"1},\"admin\":{\"ok\":true"} <nil>
}

func ExampleUnwrap() {
	var result struct {
		Value taint.Tainted `json:"value"`
	}
	text := []byte(`{"value":{"__loomTainted":{"origin":"sandbox"},"value":42}}`)
	if err := taint.DecodeStrict(text, &result); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Value)
	// Safe here because only a number gets through.
	var total int
	if err := taint.DecodeStrict(taint.Unwrap(result.Value), &total); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(total)
	// Output:
	// tainted(sandbox, 2 bytes)
	// 42
}

func ExampleScan() {
	r := taint.Scan([]byte(`{"page":{"__loomTainted":{"origin":"web"},"value":["hi",{"\u005f_loomTainted":1}]}}`))
	fmt.Println(r.Tainted)
	fmt.Printf("%q\n%q\n", r.Origins, r.Paths)
	// Output:
	// true
	// ["web" "unknown:malformed-wrapper"]
	// ["/page" "/page/value/1"]
}

// What was made of several values has the origins of all of them.
func ExampleJoin() {
	fmt.Println(taint.Join("tool:web.fetch", "sandbox", "tool:crm.lookup, tool:web.fetch"))
	parts, more := taint.Origins("tool:crm.lookup, tool:web.fetch, +3 more")
	fmt.Printf("%q %d\n", parts, more)
	// Output:
	// sandbox, tool:crm.lookup, tool:web.fetch
	// ["tool:crm.lookup" "tool:web.fetch"] 3
}

// The arguments of a call lose their labels; what comes back gets them again.
func ExampleStrip() {
	args := json.RawMessage(`{"id":7,"note":{"__loomTainted":{"origin":"web"},"value":"hi"}}`)
	bare, origins, err := taint.Strip(args)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(bare))
	reply, err := taint.WrapValue(taint.Join(append(origins, "tool:crm")...), "saved")
	fmt.Println(reply, err)
	// Output:
	// {"id":7,"note":"hi"}
	// tainted(tool:crm, web, 7 bytes) <nil>
}

func ExampleDecodeStrict() {
	var config struct {
		Name string `json:"name"`
	}
	err := taint.DecodeStrict([]byte(`{"name":"a","name":"b"}`), &config)
	fmt.Println(err)
	fmt.Println(errors.Is(err, taint.ErrDuplicateName))
	// Output:
	// taint: member names must be unique in an object (at "/name", byte 12)
	// true
}
