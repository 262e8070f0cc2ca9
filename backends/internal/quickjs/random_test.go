package quickjs

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"
)

// A random program has functions of two parameters and a result that call each
// other, by name and through the table, with blocks, loops and ifs of all kinds
// of types and branches to any label. It ends, since entries and loop heads
// count down a global and return when that is used up.
const (
	randomFunctions = 5
	randomLocals    = 4
)

// Globals of a random program, besides the stack pointer.
const (
	gSteps = 1 + iota // counts down
	gAsked            // how often a place was passed that should cost fuel
)

type randomProgram struct {
	*rand.Rand
	m      *wasmbin.Module
	a      wasmbin.Assembler
	labels []int // how many values a branch to each open label takes, innermost last
	size   int   // statements left for this body
}

func newRandomProgram(seed uint64) *wasmbin.Module {
	binary := wasmbin.FuncType{Params: []wasmbin.ValType{wasmbin.I32, wasmbin.I32}, Results: []wasmbin.ValType{wasmbin.I32}}
	m := small(nil)
	m.Types = append(m.Types, binary)
	for range gAsked {
		m.Globals = append(m.Globals, wasmbin.Global{Type: wasmbin.I32, Mutable: true, Init: wasmbin.I32ConstExpr(0)})
	}
	p := &randomProgram{Rand: rand.New(rand.NewPCG(seed, 0)), m: m}
	for range 8 {
		m.Elements[0].Functions = append(m.Elements[0].Functions, 1+p.Uint32N(randomFunctions))
	}
	for range randomFunctions {
		p.a.Reset()
		p.labels, p.size = []int{1}, 4+p.IntN(14)
		framed := p.IntN(2) == 0
		if framed {
			p.a.GlobalGet(0).I32Const(32).Op(wasmbin.OpI32Sub).LocalTee(randomLocals).GlobalSet(0)
		}
		p.stop()
		p.statements(0)
		if framed {
			p.a.LocalGet(randomLocals).I32Const(32).Op(wasmbin.OpI32Add).GlobalSet(0)
		}
		p.push(1)
		p.a.End()
		m.AddFunction(binary, wasmbin.Code{Locals: []wasmbin.LocalGroup{{Count: randomLocals + 1 - 2, Type: wasmbin.I32}}, Body: clone(&p.a)})
	}
	return m
}

// stop leaves the function when the steps are used up.
func (p *randomProgram) stop() {
	p.a.GlobalGet(gSteps).I32Const(1).Op(wasmbin.OpI32Sub).GlobalSet(gSteps)
	p.a.GlobalGet(gSteps).I32Const(0).Op(wasmbin.OpI32LtS)
	p.a.If(wasmbin.BlockEmpty)
	p.push(1)
	p.a.Return().End()
}

func (p *randomProgram) local() uint32 { return p.Uint32N(randomLocals) }

func (p *randomProgram) push(n int) {
	for range n {
		p.a.LocalGet(p.local())
	}
}

// pop mixes values into locals.
func (p *randomProgram) pop(n int) {
	for range n {
		l := p.local()
		p.a.LocalGet(l).I32Const(31).Op(wasmbin.OpI32Mul).Op(wasmbin.OpI32Add).LocalSet(l)
	}
}

func (p *randomProgram) condition() {
	p.push(1)
	p.a.I32Const(1 << p.IntN(3)).Op(wasmbin.OpI32And)
}

func (p *randomProgram) statements(depth int) {
	for n := 1 + p.IntN(4); n > 0 && p.size > 0; n-- {
		p.size--
		switch kind := p.IntN(12); {
		case kind < 2:
			p.push(2)
			p.a.I32Const(int32(p.IntN(1000))).Op(wasmbin.OpI32Add).Op(wasmbin.OpI32Xor)
			p.pop(1)
		case kind == 2:
			p.push(2)
			p.a.Call(1 + p.Uint32N(randomFunctions))
			p.pop(1)
		case kind == 3:
			p.push(3)
			p.a.I32Const(7).Op(wasmbin.OpI32And).CallIndirect(1)
			p.pop(1)
		case kind < 8 && depth < 6:
			p.nested(depth)
		case kind == 8:
			p.condition()
			p.a.If(wasmbin.BlockEmpty)
			p.push(1)
			p.a.Return().End()
		default:
			p.branch()
		}
	}
}

func (p *randomProgram) nested(depth int) {
	params, results := p.IntN(3), p.IntN(3)
	t := wasmbin.BlockEmpty
	if params > 0 || results > 1 || results == 1 && p.IntN(2) == 0 {
		values := []wasmbin.ValType{wasmbin.I32, wasmbin.I32}
		t = wasmbin.BlockType(p.m.TypeIndex(wasmbin.FuncType{Params: values[:params], Results: values[:results]}))
	} else if results == 1 {
		t = wasmbin.ValueBlock(wasmbin.I32)
	}
	p.push(params)
	takes := results
	kind := p.IntN(4)
	switch kind {
	case 0:
		p.a.Block(t)
	case 1:
		p.condition()
		p.a.If(t)
	default:
		p.a.Loop(t)
		takes = params
	}
	p.labels = append(p.labels, takes)
	inside := func() {
		p.pop(params)
		if kind > 1 {
			p.stop()
		}
		p.statements(depth + 1)
		if p.IntN(2) == 0 {
			p.push(takes)
			p.condition()
			p.a.BrIf(0)
			p.pop(takes)
		}
		p.push(results)
	}
	inside()
	if kind == 1 {
		p.a.Else()
		inside()
	}
	p.a.End()
	p.labels = p.labels[:len(p.labels)-1]
	p.pop(results)
}

// branch leaves for some label, or does not.
func (p *randomProgram) branch() {
	at := func(label uint32) int { return p.labels[len(p.labels)-1-int(label)] }
	label := p.Uint32N(uint32(len(p.labels)))
	takes := at(label)
	if p.IntN(2) == 0 {
		p.push(takes)
		p.condition()
		p.a.BrIf(label)
		p.pop(takes)
		return
	}
	p.condition()
	p.a.If(wasmbin.BlockEmpty)
	p.push(takes)
	var same []uint32 // labels that take as much
	for l := range uint32(len(p.labels)) {
		if at(l) == takes {
			same = append(same, l+1)
		}
	}
	if p.IntN(3) == 0 {
		p.a.Br(label + 1)
	} else {
		table := make([]uint32, p.IntN(5))
		for i := range table {
			table[i] = same[p.IntN(len(same))]
		}
		p.push(1)
		p.a.I32Const(7).Op(wasmbin.OpI32And)
		p.a.BrTable(table, same[p.IntN(len(same))])
	}
	p.a.End()
}

// countPlainly counts in other globals what guards should ask for and nest,
// with code that moves no label: the oracle for instrument.
func countPlainly(t *testing.T, m *wasmbin.Module, d []duty) {
	t.Helper()
	var r wasmbin.Reader
	var ins wasmbin.Instr
	bump := func(out *wasmbin.Assembler, global uint32, by int32) {
		out.GlobalGet(global).I32Const(by).Op(wasmbin.OpI32Add).GlobalSet(global)
	}
	require.NoError(t, m.RewriteBodies(func(function uint32, code *wasmbin.Code, out *wasmbin.Assembler) error {
		if int(function) > randomFunctions {
			return nil
		}
		if d[function-1].asks {
			bump(out, gAsked, 1)
		}
		for r.Reset(code.Body); r.Next(&ins); {
			out.Raw(ins.Raw)
			if ins.Op == wasmbin.OpLoop {
				bump(out, gAsked, 1)
			}
		}
		return r.Err()
	}))
}

// randomResult is what one call of a program came to.
type randomResult struct {
	value, steps uint64
	fuel, depth  uint64
}

// runRandom calls a function of a program. Without guards the fuel is what
// [countPlainly] counted.
func runRandom(t *testing.T, m *wasmbin.Module, g *guards, f uint32) randomResult {
	t.Helper()
	// Fuel comes in tiny slices of changing size, as [Host] hands it out.
	var slice, granted int64 = 3, 3
	var e *evaluator
	burnt := func() int64 { return granted - int64(e.globals[g.fuel]) }
	e = newEvaluator(m, func() {
		require.Negative(t, int64(e.globals[g.fuel]))
		slice = (slice*5 + 1) % 7
		granted = burnt() + slice
		e.globals[g.fuel] = uint64(slice)
	})
	e.globals[gSteps] = 200
	if g != nil {
		e.globals[g.fuel] = uint64(granted)
	}
	got, err := e.call(f, []uint64{5, 77})
	require.NoError(t, err)
	require.Len(t, got, 1)
	result := randomResult{value: got[0], steps: e.globals[gSteps], fuel: e.globals[gAsked]}
	if g != nil {
		result.fuel, result.depth = uint64(burnt()), e.globals[g.depth]
	}
	return result
}

// insideAtRandom has half of the loops call tick inside, as large bodies do.
func insideAtRandom(d []duty, m *wasmbin.Module, seed uint64) {
	choose := rand.New(rand.NewPCG(seed, 1))
	var r wasmbin.Reader
	var ins wasmbin.Instr
	for i := range d {
		d[i].inside = map[int]bool{}
		for r.Reset(m.Codes[i].Body); r.Next(&ins); {
			if ins.Op == wasmbin.OpLoop {
				d[i].inside[ins.Offset] = choose.IntN(2) == 0
			}
		}
	}
}

func TestRandomProgramsComputeTheSameWithGuardsAndBurnWhatTheyShould(t *testing.T) {
	t.Parallel()
	fuel := uint64(0)
	for seed := range uint64(1000) {
		plain, guarded := newRandomProgram(seed), newRandomProgram(seed)
		limit := 60 + int(seed%5)*100 // which some of these functions exceed
		d, err := duties(plain, 0, limit, func(uint32) bool { return false })
		require.NoError(t, err)
		countPlainly(t, plain, d)
		g, err := newGuards(guarded, 0, 0, 0)
		require.NoError(t, err)
		g.addFunctions(guarded)
		insideAtRandom(d, guarded, seed)
		own := make([]duty, len(guarded.Codes)-len(d))
		require.NoError(t, g.instrumentWith(guarded, append(d, own...)))
		guarded, err = wasmbin.Decode(guarded.Encode())
		require.NoError(t, err)
		for f := range uint32(randomFunctions) {
			want := runRandom(t, plain, nil, 1+f)
			require.Equal(t, want, runRandom(t, guarded, g, 1+f), "seed %d, function %d", seed, f)
			fuel += want.fuel
		}
	}
	require.Greater(t, fuel, uint64(50_000))
}
