package tools_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/loom-sandbox/sandboxd/tools"
)

// BenchmarkAnswer reports what one call costs beside its handler, which does
// nothing.
func BenchmarkAnswer(b *testing.B) {
	small := json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`)
	output := json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"open":{"type":"integer"}},"required":["name"]}`)
	allow := func(context.Context, *tools.Call) tools.Decision { return tools.Allow() }
	raw := returns(json.RawMessage(`{"name":"Ada","open":3}`))
	for _, row := range []struct {
		name   string
		tool   tools.Tool
		policy tools.Policy
	}{
		{"no policy", tools.Tool{Input: small, Handler: raw}, nil},
		{"a policy", tools.Tool{Input: small, Handler: raw}, allow},
		{"an output schema", tools.Tool{Input: small, Output: output, Handler: raw}, nil},
		{"a struct", tools.Tool{Input: small, Handler: returns(struct {
			Name string `json:"name"`
			Open int    `json:"open"`
		}{"Ada", 3})}, nil},
		{"no schema", tools.Tool{Handler: raw}, nil},
	} {
		b.Run(row.name, func(b *testing.B) {
			row.tool.Name = "crm.lookup"
			set, call := newSet(b, row.tool), ask(`[{"id":7}]`)
			b.ReportAllocs()
			for b.Loop() {
				if answer := set.Answer(b.Context(), call, row.policy); answer.Failure != nil {
					b.Fatal(answer.Failure.Message)
				}
			}
		})
	}
}
