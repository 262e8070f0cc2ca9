package quickjs

import "github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"

// maxWeight bounds the instructions that a unit of fuel pays for: those on the
// longest way from one guard of a body to the next, with the functions without an
// entry guard that it calls on this way. So between two looks at the clock a
// guest runs at most [Slice] times this, and what the calls in progress have paid
// for before and not used. In practice a unit is some tens of instructions. Much
// less than this makes allocation ask, more gains nothing.
const maxWeight = 2000

// maxShallow is how far flat functions may lower the stack pointer unchecked.
const maxShallow = 1 << 10

// A duty is what the guards of one function have to do.
type duty struct {
	// asks: the entry costs a unit of fuel.
	asks bool
	// flat: no recursion can come of a call, so calls of it need not be counted.
	flat bool
	// shallow: flat, and it takes so little of the shadow stack, with all that it
	// calls, that the pointer needs no check: what is left below the hard limit
	// is enough.
	shallow bool
	// raises are the places where the pointer is set back; see [stackUse].
	raises map[int]bool
	// inside are the loops that call tick inside; see [insideLoops].
	inside map[int]bool
}

// duties finds out which functions need which guards, by their places in Codes.
//
// A function that always asks needs no reason. Each other one asks if it is in
// the table and not flat, since a call through the table may lead anywhere there;
// if it is where a cycle of calls by name is broken; or if it would run for too
// long otherwise. So each cycle of calls has a function that asks. A flat
// function in the table need not: no way leads back from it.
func duties(m *wasmbin.Module, stackPointer uint32, limit int, always func(function uint32) bool) ([]duty, error) {
	g, err := newCallGraph(m)
	if err != nil {
		return nil, err
	}
	imports := len(m.Imports)
	var r wasmbin.Reader
	asks, flat := make([]bool, len(g.calls)), g.flat()
	weight := make([]int, len(g.calls))
	byType := map[uint32]int{} // the heaviest that a call through the table can reach without asking
	weigh := func(f int) int {
		return longestWay(&r, m.Codes[f].Body, func(call *wasmbin.Instr) int {
			if call.Op == wasmbin.OpCallIndirect {
				return byType[firstOf(m, call.Index())]
			}
			if callee := int(call.Index()) - imports; callee >= 0 && !asks[callee] {
				return weight[callee]
			}
			return 0
		})
	}
	settle := func(order []int) {
		for _, f := range order {
			weight[f] = weigh(f)
			asks[f] = weight[f] > limit || always(uint32(f+imports))
		}
	}
	settle(g.order(func(f int) bool { return flat[f] }))
	for t, row := range g.rows { // in any order: types are apart
		for _, f := range row {
			if flat[f] && !asks[f] {
				byType[t] = max(byType[t], weight[f])
			} else {
				asks[f] = true
			}
		}
	}
	alone := func(f int) int { return longestWay(&r, m.Codes[f].Body, func(*wasmbin.Instr) int { return 0 }) }
	for f := range g.calls {
		// What will ask anyway may as well break cycles.
		asks[f] = asks[f] || !flat[f] && alone(f) > limit
	}
	g.breakCycles(asks)
	settle(g.order(func(f int) bool { return !flat[f] && !asks[f] }))

	d := make([]duty, len(g.calls))
	depth := make([]int, len(g.calls)) // of the shadow stack, of flat functions
	for _, f := range g.order(func(int) bool { return true }) {
		use := stackUseOf(&r, stackPointer, m.Codes[f].Body)
		d[f] = duty{asks: asks[f], flat: flat[f], shallow: flat[f] && use.regular, raises: use.raises}
		d[f].inside = insideLoops(&r, m.Codes[f].Body)
		if !flat[f] {
			continue
		}
		for _, c := range g.calls[f].direct {
			depth[f] = max(depth[f], depth[c])
			d[f].shallow = d[f].shallow && d[c].shallow
		}
		depth[f] += use.lowers
		d[f].shallow = d[f].shallow && depth[f] <= maxShallow
	}
	return d, nil
}
