package quickjs

import (
	"slices"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"
)

// A callGraph says which function calls which. All indexes but those of types
// are places in [wasmbin.Module.Codes]: imported functions are left out, since
// none of them calls back.
type callGraph struct {
	calls []callSites
	table []bool           // whether a function is in the table
	rows  map[uint32][]int // first index of a type to the functions of it in the table
}

// callSites is what one body calls, each callee once.
type callSites struct {
	direct   []int
	indirect bool
}

// newCallGraph reads all bodies.
func newCallGraph(m *wasmbin.Module) (*callGraph, error) {
	g := &callGraph{calls: make([]callSites, len(m.Codes)), table: make([]bool, len(m.Codes)), rows: map[uint32][]int{}}
	imports := len(m.Imports)
	var r wasmbin.Reader
	var ins wasmbin.Instr
	for i := range m.Codes {
		c := &g.calls[i]
		for r.Reset(m.Codes[i].Body); r.Next(&ins); {
			switch ins.Op {
			case wasmbin.OpCall:
				if callee := int(ins.Index()) - imports; callee >= 0 && !slices.Contains(c.direct, callee) {
					c.direct = append(c.direct, callee)
				}
			case wasmbin.OpCallIndirect:
				c.indirect = true
			}
		}
		if err := r.Err(); err != nil {
			return nil, err
		}
	}
	for i := range m.Elements {
		for _, f := range m.Elements[i].Functions {
			if i := int(f) - imports; i >= 0 && !g.table[i] {
				g.table[i] = true
				t := firstOf(m, m.Functions[i])
				g.rows[t] = append(g.rows[t], i)
			}
		}
	}
	return g, nil
}

// firstOf is the first index of the same type: a call through the table takes
// any function whose type looks the same.
func firstOf(m *wasmbin.Module, t uint32) uint32 { return m.TypeIndex(m.Types[t]) }

// components visits the strongly connected components of the functions that in
// allows, callees first (Tarjan's algorithm). A component of one function that
// does not call itself is no cycle.
func (g *callGraph) components(in func(f int) bool, visit func(component []int, cycle bool)) {
	index := make([]int, len(g.calls)) // 0 is unseen
	low := make([]int, len(g.calls))
	var stack []int
	next := 1
	var walk func(f int)
	walk = func(f int) {
		index[f], low[f] = next, next
		next++
		at := len(stack)
		stack = append(stack, f)
		for _, c := range g.calls[f].direct {
			switch {
			case !in(c):
			case index[c] == 0:
				walk(c)
				low[f] = min(low[f], low[c])
			case index[c] > 0: // on the stack
				low[f] = min(low[f], index[c])
			}
		}
		if low[f] < index[f] {
			return
		}
		component := slices.Clone(stack[at:])
		stack = stack[:at]
		visit(component, len(component) > 1 || slices.Contains(g.calls[f].direct, f))
		for _, c := range component {
			index[c] = -1
		}
	}
	for f := range g.calls {
		if in(f) && index[f] == 0 {
			walk(f)
		}
	}
}

// order gives the functions that in allows, callees before callers. Within a
// cycle there is no such order.
func (g *callGraph) order(in func(f int) bool) []int {
	var order []int
	g.components(in, func(c []int, _ bool) { order = append(order, c...) })
	return order
}

// flat finds the functions below which there is no recursion: they call nothing
// through the table, and only flat functions. Their calls nest no deeper than
// the longest way down in the module.
func (g *callGraph) flat() []bool {
	flat := make([]bool, len(g.calls))
	g.components(func(int) bool { return true }, func(c []int, cycle bool) {
		f := c[0]
		flat[f] = !cycle && !g.calls[f].indirect &&
			!slices.ContainsFunc(g.calls[f].direct, func(callee int) bool { return !flat[callee] })
	})
	return flat
}

// breakCycles adds functions to broken until none of the others calls itself in
// a roundabout way. Those with most calls from and to their cycle go first, which
// leaves few: the hubs of an interpreter.
func (g *callGraph) breakCycles(broken []bool) {
	for found := true; found; {
		found = false
		var hubs []int
		g.components(func(f int) bool { return !broken[f] }, func(c []int, cycle bool) {
			if cycle {
				hubs = append(hubs, g.hub(c))
			}
		})
		for _, f := range hubs {
			broken[f], found = true, true
		}
	}
}

func (g *callGraph) hub(component []int) int {
	in, out := make(map[int]int, len(component)), map[int]int{}
	for _, f := range component {
		in[f] = 0
	}
	for _, f := range component {
		for _, c := range g.calls[f].direct {
			if n, member := in[c]; member {
				in[c] = n + 1
				out[f]++
			}
		}
	}
	return slices.MaxFunc(component, func(a, b int) int { return in[a]*out[a] - in[b]*out[b] })
}
