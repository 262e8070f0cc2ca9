package quickjs

import (
	"fmt"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"
)

// An evaluator runs small modules, since no engine may be imported here. It
// knows the instructions of the tests' programs and those of the guards, and
// calls tick for each imported function.
type evaluator struct {
	m       *wasmbin.Module
	globals []uint64
	tick    func()
	parsed  map[uint32][]step
}

// step is an instruction, with where its block ends and where its else is.
type step struct {
	wasmbin.Instr
	end, otherwise int
	labels         []uint32
}

// newEvaluator sets the globals to zero, and the stack pointer to its start.
func newEvaluator(m *wasmbin.Module, tick func()) *evaluator {
	sp, _ := m.Globals[0].Init.I32()
	e := &evaluator{m: m, globals: make([]uint64, len(m.Globals)), tick: tick, parsed: map[uint32][]step{}}
	e.globals[0] = uint64(uint32(sp))
	return e
}

func (e *evaluator) steps(f uint32) []step {
	if s, ok := e.parsed[f]; ok {
		return s
	}
	var steps []step
	var open []int
	var ins wasmbin.Instr
	for r := wasmbin.NewReader(e.m.Codes[int(f)-len(e.m.Imports)].Body); r.Next(&ins); {
		at := len(steps)
		steps = append(steps, step{Instr: ins, otherwise: -1, labels: ins.AppendLabels(nil)})
		switch ins.Op {
		case wasmbin.OpBlock, wasmbin.OpLoop, wasmbin.OpIf:
			open = append(open, at)
		case wasmbin.OpElse:
			steps[open[len(open)-1]].otherwise = at
		case wasmbin.OpEnd:
			if len(open) > 0 {
				start := open[len(open)-1]
				steps[start].end = at
				if otherwise := steps[start].otherwise; otherwise >= 0 {
					steps[otherwise].end = at
				}
				open = open[:len(open)-1]
			}
		}
	}
	e.parsed[f] = steps
	return steps
}

// blockType is how many values a block takes and leaves.
func (e *evaluator) blockType(t wasmbin.BlockType) (params, results int) {
	switch {
	case t == wasmbin.BlockEmpty:
		return 0, 0
	case t < 0:
		return 0, 1
	default:
		return len(e.m.Types[t].Params), len(e.m.Types[t].Results)
	}
}

// call returns the results of a function. A trap is an error.
func (e *evaluator) call(f uint32, args []uint64) ([]uint64, error) {
	if int(f) < len(e.m.Imports) {
		e.tick()
		return nil, nil
	}
	t, err := e.m.FunctionType(f)
	if err != nil {
		return nil, err
	}
	locals := append(append([]uint64(nil), args...), make([]uint64, e.m.Codes[int(f)-len(e.m.Imports)].LocalCount())...)
	steps := e.steps(f)
	type label struct{ to, takes, height int }
	labels := []label{{len(steps), len(t.Results), 0}}
	var stack []uint64
	pop := func() uint64 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		return v
	}
	popN := func(n int) []uint64 {
		v := append([]uint64(nil), stack[len(stack)-n:]...)
		stack = stack[:len(stack)-n]
		return v
	}
	binary := func(f func(x, y uint64) uint64) {
		y, x := pop(), pop()
		stack = append(stack, f(x, y))
	}
	pc := 0
	branch := func(l uint32) {
		to := labels[len(labels)-1-int(l)]
		values := popN(to.takes)
		stack = append(stack[:to.height], values...)
		labels = labels[:len(labels)-1-int(l)]
		pc = to.to
	}
	for pc < len(steps) {
		s := &steps[pc]
		pc++
		switch s.Op {
		case wasmbin.OpNop:
		case wasmbin.OpUnreachable:
			return nil, fmt.Errorf("unreachable in function %d", f)
		case wasmbin.OpBlock, wasmbin.OpIf, wasmbin.OpLoop:
			taken := s.Op != wasmbin.OpIf || uint32(pop()) != 0
			params, results := e.blockType(s.BlockType())
			l := label{s.end + 1, results, len(stack) - params}
			if s.Op == wasmbin.OpLoop { // the loop opens itself again
				l.to, l.takes = pc-1, params
			}
			labels = append(labels, l)
			if !taken && s.otherwise >= 0 {
				pc = s.otherwise + 1
			} else if !taken {
				pc = s.end
			}
		case wasmbin.OpElse: // the end of what was taken
			pc = s.end
		case wasmbin.OpEnd:
			labels = labels[:len(labels)-1]
		case wasmbin.OpBr:
			branch(s.Index())
		case wasmbin.OpBrIf:
			if uint32(pop()) != 0 {
				branch(s.Index())
			}
		case wasmbin.OpBrTable:
			branch(s.labels[min(int(uint32(pop())), len(s.labels)-1)])
		case wasmbin.OpReturn:
			branch(uint32(len(labels) - 1))
		case wasmbin.OpCall, wasmbin.OpCallIndirect:
			callee := s.Index()
			if s.Op == wasmbin.OpCallIndirect {
				callee = e.m.Elements[0].Functions[uint32(pop())]
			}
			t, err := e.m.FunctionType(callee)
			if err != nil {
				return nil, err
			}
			results, err := e.call(callee, popN(len(t.Params)))
			if err != nil {
				return nil, err
			}
			stack = append(stack, results...)
		case wasmbin.OpLocalGet:
			stack = append(stack, locals[s.Index()])
		case wasmbin.OpLocalSet:
			locals[s.Index()] = pop()
		case wasmbin.OpLocalTee:
			locals[s.Index()] = stack[len(stack)-1]
		case wasmbin.OpGlobalGet:
			stack = append(stack, e.globals[s.Index()])
		case wasmbin.OpGlobalSet:
			e.globals[s.Index()] = pop()
		case wasmbin.OpI32Const:
			stack = append(stack, uint64(uint32(s.I32())))
		case wasmbin.OpI64Const:
			stack = append(stack, uint64(s.I64()))
		case wasmbin.OpI32Add:
			binary(func(x, y uint64) uint64 { return uint64(uint32(x) + uint32(y)) })
		case wasmbin.OpI32Sub:
			binary(func(x, y uint64) uint64 { return uint64(uint32(x) - uint32(y)) })
		case wasmbin.OpI32Mul:
			binary(func(x, y uint64) uint64 { return uint64(uint32(x) * uint32(y)) })
		case wasmbin.OpI32And:
			binary(func(x, y uint64) uint64 { return x & y })
		case wasmbin.OpI32Xor:
			binary(func(x, y uint64) uint64 { return x ^ y })
		case wasmbin.OpI64Add:
			binary(func(x, y uint64) uint64 { return x + y })
		case wasmbin.OpI64Sub:
			binary(func(x, y uint64) uint64 { return x - y })
		case wasmbin.OpI32LtS:
			binary(func(x, y uint64) uint64 { return truth(int32(x) < int32(y)) })
		case wasmbin.OpI32GtS:
			binary(func(x, y uint64) uint64 { return truth(int32(x) > int32(y)) })
		case wasmbin.OpI64LtS:
			binary(func(x, y uint64) uint64 { return truth(int64(x) < int64(y)) })
		default:
			return nil, fmt.Errorf("the evaluator does not know %s", s.Op)
		}
	}
	return popN(len(t.Results)), nil
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
