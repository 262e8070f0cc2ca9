package conformance

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestATextThatOnlyAHostWritesIsKnown(t *testing.T) {
	t.Parallel()
	telling := regexp.MustCompile(hostTracePattern)
	for _, text := range []string{
		"at /usr/lib/x.js:1", `at C:\x.js`, "runtime.go:42", "quickjs.c:17", "lib.rs:3", "node:internal/modules",
		"wasm-function[3]", "wasm://wasm/1", "wasm stack trace:", "wasm backtrace:", "wasm trap: unreachable", "wasm error: unreachable",
		"goroutine 1 [running]:", "panic: runtime error",
	} {
		assert.Regexp(t, telling, text)
	}
	for _, text := range []string{
		"Error: probe\n    at f (<input>:1:7)", "a/b", "2 goroutines", "what wasm is", "a trap", "he had a panic", "x.c", "then.go",
	} {
		assert.NotRegexp(t, telling, text)
	}
}
