package quickjs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

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

type randomResult struct {
	value, asked, fuel uint64
	steps              uint64
}

// runRandom calls each function of a program.
func runRandom(t *testing.T, rt wazero.Runtime, m *wasmbin.Module, fuel uint32) []randomResult {
	t.Helper()
	for i := range uint32(randomFunctions) {
		require.NoError(t, m.AddExport(fmt.Sprint(i), wasmbin.ExternFunction, uint32(len(m.Imports))+i))
	}
	for i := range m.Globals {
		require.NoError(t, m.AddExport(fmt.Sprint("g", i), wasmbin.ExternGlobal, uint32(i)))
	}
	mod, err := rt.InstantiateWithConfig(t.Context(), m.Encode(), wazero.NewModuleConfig().WithName(""))
	require.NoError(t, err)
	defer mod.Close(t.Context())
	global := func(i uint32) api.MutableGlobal { return mod.ExportedGlobal(fmt.Sprint("g", i)).(api.MutableGlobal) }
	var results []randomResult
	for i := range randomFunctions {
		global(gSteps).Set(200)
		global(gAsked).Set(0)
		burnt := &burnt{slice: 3, granted: 3}
		if fuel > 0 {
			global(fuel).Set(3)
			burnt.fuel = global(fuel)
		}
		got, err := mod.ExportedFunction(fmt.Sprint(i)).Call(context.WithValue(t.Context(), burntKey{}, burnt), 5, 77)
		require.NoError(t, err)
		result := randomResult{value: got[0], asked: global(gAsked).Get(), steps: global(gSteps).Get()}
		if fuel > 0 {
			result.fuel = uint64(burnt.total())
			require.Zero(t, global(fuel+1).Get(), "the depth is back to zero")
		}
		results = append(results, result)
	}
	return results
}

type burntKey struct{}

// burnt accounts for fuel as [Host] does, in tiny slices of changing size.
type burnt struct {
	fuel           api.MutableGlobal
	slice, granted int64
	ticks          int
}

func (b *burnt) total() int64 { return b.granted - int64(b.fuel.Get()) }

func (b *burnt) tick() {
	b.ticks++
	b.slice = (b.slice*5 + 1) % 7
	total := b.total()
	b.granted = total + b.slice
	b.fuel.Set(uint64(b.slice))
}

func TestRandomProgramsComputeTheSameWithGuardsAndBurnWhatTheyShould(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]wazero.RuntimeConfig{
		"interpreted": wazero.NewRuntimeConfigInterpreter(), "compiled": wazero.NewRuntimeConfig(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rt := wazero.NewRuntimeWithConfig(t.Context(), config)
			t.Cleanup(func() { require.NoError(t, rt.Close(context.Background())) })
			host := rt.NewHostModuleBuilder(hostModule)
			host.NewFunctionBuilder().WithFunc(func(ctx context.Context) { ctx.Value(burntKey{}).(*burnt).tick() }).Export("tick")
			_, err := host.Instantiate(t.Context())
			require.NoError(t, err)
			asked := uint64(0)
			for seed := range uint64(300) {
				plain, guarded := newRandomProgram(seed), newRandomProgram(seed)
				// A limit that some of these small functions exceed.
				limit := 60 + int(seed%5)*100
				never := func(uint32) bool { return false }
				d, err := duties(plain, 0, limit, never)
				require.NoError(t, err)
				countPlainly(t, plain, d)
				g, err := newGuards(guarded, 0, 0, 0)
				require.NoError(t, err)
				g.addFunctions(guarded)
				require.NoError(t, g.instrumentWith(guarded, append(d, make([]duty, len(guarded.Codes)-len(d))...)))
				want, got := runRandom(t, rt, plain, 0), runRandom(t, rt, guarded, g.fuel)
				for i := range want {
					asked += want[i].asked
					want[i].fuel, want[i].asked = want[i].asked, 0
				}
				require.Equal(t, want, got, "seed %d", seed)
			}
			require.Greater(t, asked, uint64(20_000))
		})
	}
}
