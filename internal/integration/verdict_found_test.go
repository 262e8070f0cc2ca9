package integration

import (
	"testing"

	"github.com/loom-sandbox/sandboxd/backends/wazero"
)

// TestFoundDifferences are scripts on which the engines differed, and why.
func TestFoundDifferences(t *testing.T) {
	second := openWasmtime(t)
	first := openWazero(t, wazero.Options{})
	// wasmtime's own stack was used up at 6 MiB before the guards of the image
	// stopped the guest: its frames for these built-ins are large. On wazero two
	// of them ended at the call depth, and two threw a RangeError that a script
	// can catch.
	const stack = "the engine's stack ended first"
	for name, row := range map[string]struct{ why, script string }{
		"slice":          {stack, "const a = []; Object.defineProperty(a, 0, { get: () => a.slice() }); a.slice()"},
		"splice":         {stack, "const a = []; Object.defineProperty(a, 0, { configurable: true, get: () => a.splice(0, 1) }); a.splice(0, 1)"},
		"deleteProperty": {stack, "const p = new Proxy([1], { deleteProperty: () => delete p.x }); delete p.x"},
		"typed array":    {stack, "const o = { [Symbol.iterator]: () => new Uint8Array(o) }; new Uint8Array(o)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(row.why)
			tr := newTrial(name, row.script).onlyFuelEnds(verdictFuel)
			requireOneVerdict(t, first, second, &tr)
		})
	}
}
