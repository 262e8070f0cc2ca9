package quickjs

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"
)

// guardedImage is the real module with guards, and what the guards look like in
// it, put together here from the exports and not by the code under test.
type guardedImage struct {
	*wasmbin.Module
	spend, orTick, count, uncount []byte
	table                         map[uint32]bool
}

func readGuarded(t *testing.T) *guardedImage {
	t.Helper()
	source, _ := DefaultSource()
	m, _, err := rewrite(source, true)
	require.NoError(t, err)
	global := func(g Global) uint32 {
		i := slices.IndexFunc(m.Exports, func(e wasmbin.Export) bool { return e.Name == Globals()[g] })
		require.GreaterOrEqual(t, i, 0)
		return m.Exports[i].Index
	}
	fuel, depth := global(GlobalFuel), global(GlobalDepth)
	g := &guardedImage{Module: m, table: map[uint32]bool{}}
	var a wasmbin.Assembler
	a.GlobalGet(fuel).I64Const(1).Op(wasmbin.OpI64Sub).GlobalSet(fuel).GlobalGet(fuel).I64Const(0).Op(wasmbin.OpI64LtS)
	g.spend = clone(&a)
	tick := slices.IndexFunc(m.Imports, func(im wasmbin.Import) bool { return im.Name == "tick" })
	a.Reset()
	a.If(wasmbin.BlockEmpty).Call(uint32(tick)).End()
	g.orTick = clone(&a)
	a.Reset()
	a.GlobalGet(depth).I32Const(1).Op(wasmbin.OpI32Add).GlobalSet(depth)
	g.count = clone(&a)
	a.Reset()
	a.GlobalGet(depth).I32Const(-1).Op(wasmbin.OpI32Add).GlobalSet(depth)
	g.uncount = clone(&a)
	for _, e := range m.Elements {
		for _, f := range e.Functions {
			g.table[f] = true
		}
	}
	return g
}

func (g *guardedImage) body(function uint32) []byte {
	return g.Codes[int(function)-len(g.Imports)].Body
}

// asks reports whether a function's entry asks for fuel, with the branch that
// gets it where there is none.
func (g *guardedImage) asks(function uint32) bool {
	var ins wasmbin.Instr
	r := wasmbin.NewReader(g.body(function))
	r.Next(&ins)
	if ins.Op != wasmbin.OpLoop {
		return false
	}
	r.Next(&ins)
	return ins.Op == wasmbin.OpBlock && g.asksAt(g.body(function)[ins.Offset+len(ins.Raw):], 0)
}

func (g *guardedImage) asksAt(code []byte, label byte) bool {
	return bytes.HasPrefix(code, slices.Concat(g.spend, []byte{byte(wasmbin.OpBrIf), label}))
}

// acyclic takes away functions that call nothing that is left, until none is
// left or each calls another.
func acyclic(calls map[uint32]map[uint32]bool) (left int) {
	for again := true; again; {
		again = false
		for f, callees := range calls {
			for c := range callees {
				if _, ok := calls[c]; !ok {
					delete(callees, c)
				}
			}
			if len(callees) == 0 {
				delete(calls, f)
				again = true
			}
		}
	}
	return len(calls)
}

func TestEachLoopAndEachCycleOfCallsAsksForFuel(t *testing.T) {
	t.Parallel()
	g := readGuarded(t)
	quiet := map[uint32]map[uint32]bool{} // functions that do not ask, and what they call
	loops, heads, inside, asking := 0, 0, 0, 0
	for i := range g.Codes {
		f := uint32(len(g.Imports) + i)
		body := g.body(f)
		callees := map[uint32]bool{}
		var ins wasmbin.Instr
		r := wasmbin.NewReader(body)
		for r.Next(&ins) {
			switch ins.Op {
			case wasmbin.OpLoop:
				loops++
				head := body[ins.Offset+len(ins.Raw):]
				if g.asksAt(head, 1) {
					heads++
				} else if bytes.HasPrefix(head, slices.Concat(g.spend, g.orTick)) {
					inside++
				}
			case wasmbin.OpCall:
				callees[ins.Index()] = true
			case wasmbin.OpCallIndirect: // anything, whatever the type
				for c := range g.table {
					callees[c] = true
				}
			}
		}
		require.NoError(t, r.Err())
		if g.asks(f) {
			asking++
		} else {
			quiet[f] = callees
		}
	}
	// Where tick is called outside, two loops belong to a loop of the source, one
	// of which turns only after a tick, as does the one of an entry.
	assert.Equal(t, loops, 2*heads+inside+asking)
	source, _ := DefaultSource()
	plain, _, err := rewrite(source, false)
	require.NoError(t, err)
	original := 0
	for i := range plain.Codes {
		var ins wasmbin.Instr
		for r := wasmbin.NewReader(plain.Codes[i].Body); r.Next(&ins); {
			if ins.Op == wasmbin.OpLoop {
				original++
			}
		}
	}
	assert.Equal(t, original, heads+inside)
	assert.Less(t, inside, 100, "only the interpreter's main function has such loops")
	assert.Greater(t, len(quiet), 700, "the guards are cheap because these have none")
	assert.Zero(t, acyclic(quiet), "functions in cycles that do not ask")
}

func TestAFrameIsUncountedOnlyWhereNoRecursionCanFollow(t *testing.T) {
	t.Parallel()
	g := readGuarded(t)
	counts := map[uint32]bool{}               // by the entry
	calls := map[uint32][]uint32{}            // of all functions
	uncounted := map[uint32]map[uint32]bool{} // calls of which neither end counts
	callers := map[uint32][]uint32{}          // the other way round
	for i := range g.Codes {
		f := uint32(len(g.Imports) + i)
		body := g.body(f)
		counts[f] = g.asks(f) && bytes.Contains(body[:min(40, len(body))], g.count)
		quiet := map[uint32]bool{}
		var ins wasmbin.Instr
		for r := wasmbin.NewReader(body); r.Next(&ins); {
			var to []uint32
			switch ins.Op {
			case wasmbin.OpCall:
				to = []uint32{ins.Index()}
			case wasmbin.OpCallIndirect: // anything, whatever the type
				to = slices.Collect(maps.Keys(g.table))
			default:
				continue
			}
			calls[f] = append(calls[f], to...)
			if bytes.HasSuffix(body[:ins.Offset], g.count) {
				require.False(t, counts[f], "function %d counts its frame twice", f)
				require.True(t, bytes.HasPrefix(body[ins.Offset+len(ins.Raw):], g.uncount))
			} else if !counts[f] {
				for _, c := range to {
					quiet[c] = true
				}
			}
		}
		if counts[f] {
			require.True(t, bytes.Contains(body, g.uncount))
		} else {
			uncounted[f] = quiet
		}
		for _, c := range calls[f] {
			callers[c] = append(callers[c], f)
		}
	}
	// What leads to a function that counts.
	leads := map[uint32]bool{}
	var walk func(f uint32)
	walk = func(f uint32) {
		if !leads[f] {
			leads[f] = true
			for _, c := range callers[f] {
				walk(c)
			}
		}
	}
	counting := 0
	for f, yes := range counts {
		if yes {
			counting++
			walk(f)
		}
	}
	assert.Greater(t, counting, 300)
	for f, quiet := range uncounted {
		for c := range quiet {
			assert.False(t, leads[c], "function %d calls %d, uncounted", f, c)
		}
	}
	assert.Zero(t, acyclic(uncounted), "functions in cycles that nothing counts")
}

func TestOnlyTheGuardsOwnFunctionsMoveInBulk(t *testing.T) {
	t.Parallel()
	g := readGuarded(t)
	n := 0
	for i := range g.Codes {
		var ins wasmbin.Instr
		for r := wasmbin.NewReader(g.Codes[i].Body); r.Next(&ins); {
			if ins.Op == wasmbin.OpMemoryCopy || ins.Op == wasmbin.OpMemoryFill || ins.Op == wasmbin.OpMemoryGrow {
				n++
			}
		}
	}
	assert.Equal(t, 6, n, "three copies, two fills, one grow")
}

func TestWhoLowersTheStackPointerUncheckedCallsLittle(t *testing.T) {
	t.Parallel()
	g := readGuarded(t)
	// lowest is how far a function may lower the pointer with all that it calls.
	var lowest func(f uint32, path []uint32) int
	lowest = func(f uint32, path []uint32) int {
		if int(f) < len(g.Imports) {
			return 0
		}
		require.NotContains(t, path, f, "recursion")
		path = append(path, f)
		own, below := 0, 0
		var ins wasmbin.Instr
		var last [2]wasmbin.Instr
		for r := wasmbin.NewReader(g.body(f)); r.Next(&ins); {
			switch {
			case ins.Op == wasmbin.OpI32Sub && last[0].Op == wasmbin.OpGlobalGet && last[0].Index() == 0:
				require.Equal(t, wasmbin.OpI32Const, last[1].Op, "function %d lowers the pointer by what nobody knows", f)
				own += int(last[1].I32())
			case ins.Op == wasmbin.OpCall:
				below = max(below, lowest(ins.Index(), path))
			}
			require.NotEqual(t, wasmbin.OpCallIndirect, ins.Op)
			last[0], last[1] = last[1], ins
		}
		return own + below
	}
	unchecked := 0
	for i := range g.Codes {
		var ins wasmbin.Instr
		body := g.Codes[i].Body
		var before wasmbin.Instr
		for r := wasmbin.NewReader(body); r.Next(&ins); before = ins {
			if ins.Op != wasmbin.OpGlobalSet || ins.Index() != 0 || before.Op != wasmbin.OpLocalTee {
				continue
			}
			next := body[ins.Offset+len(ins.Raw):]
			if next[0] == byte(wasmbin.OpGlobalGet) && next[1] == 0 && next[2] == byte(wasmbin.OpI32Const) {
				continue // compared with the soft limit
			}
			unchecked++
			assert.LessOrEqual(t, lowest(uint32(len(g.Imports)+i), nil), stackHard/2, "function %d", i)
		}
	}
	assert.Greater(t, unchecked, 20)
}
