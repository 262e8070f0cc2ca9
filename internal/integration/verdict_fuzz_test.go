package integration

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loom-sandbox/sandboxd/backends/wazero"
)

// What the first byte of a fuzzed input says of the rest. Any other value is as
// generatedProgram.
const (
	generatedProgram = 0
	sourceCode       = 'S' // the rest is the script itself
)

// fuzzFuel ends a script that does not end: about 40 ms.
const fuzzFuel = 5_000_000

// fuzzTrial reads bytes as the sort of script, the size of its memory and the
// script or the decisions that make one.
func fuzzTrial(data []byte) trial {
	c := &choices{data}
	what := c.below(256)
	// The first is the least that there is; where a cap cuts in matters.
	sizes := []int64{16 << 20, 4 << 20, 5 << 20, 6<<20 + 12345, 8 << 20, 12 << 20, 64 << 20}
	memory := sizes[c.below(len(sizes))]
	if what == sourceCode {
		return sourceTrial("source", string(c.rest), memory)
	}
	return sourceTrial("generated", generate(c.rest), memory)
}

// ordinary says whether a script is one that a backend may be given.
func ordinary(source string) bool {
	const most = 64 << 10
	return source != "" && len(source) <= most && utf8.ValidString(source) &&
		!strings.HasPrefix(source, "#!") && !strings.HasPrefix(source, "\ufeff")
}

// FuzzNoDiff looks for a program on which the engines differ in anything.
func FuzzNoDiff(f *testing.F) {
	second := openWasmtime(f)
	first := openWazero(f, wazero.Options{})
	f.Fuzz(func(t *testing.T, data []byte) {
		tr := fuzzTrial(data).onlyFuelEnds(fuzzFuel)
		if !ordinary(tr.requests[0].Source) {
			return
		}
		tr.name = fmt.Sprintf("%s %q", tr.name, data)
		requireOneVerdict(t, first, second, &tr)
	})
}
