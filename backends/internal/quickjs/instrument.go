package quickjs

import (
	"fmt"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"
)

// instrument puts the guards into every body: fuel at each loop head and at the
// entries that [duties] finds, depth around the bodies of functions that ask and
// around the calls of those that do not, a check of the stack pointer wherever it
// may go down far.
//
// The depth is the number of calls in progress, without those that cannot lead
// to a recursion: flat functions and who calls them last. They can only be the
// innermost ones, and there are no more of them than the longest way down in the
// module, so the engine's stack is bounded as if they were counted. Only entries
// that ask compare the depth with the limit: each cycle has one.
func (g *guards) instrument(m *wasmbin.Module) error {
	// What the bulk functions charge is looked at when they are entered next.
	d, err := duties(m, g.stackPointer, maxWeight, func(f uint32) bool { return f == g.bulkCopy || f == g.bulkFill })
	if err != nil {
		return err
	}
	return g.instrumentWith(m, d)
}

// instrumentWith takes the duties of all defined functions, in order.
func (g *guards) instrumentWith(m *wasmbin.Module, d []duty) error {
	w := bodyGuard{guards: g, module: m, duties: d}
	return m.RewriteBodies(w.rewrite)
}

// bodyGuard rewrites one body after another.
type bodyGuard struct {
	*guards
	module *wasmbin.Module
	duties []duty

	r      wasmbin.Reader
	out    *wasmbin.Assembler
	added  uint32  // labels that we have put around what comes now
	frames []frame // what is open of the original
	labels []uint32
}

// frame is an open block of the original body.
type frame struct {
	loop  bool   // with tick outside
	added uint32 // our labels around it
}

// label is what a label of the original is called here: our own labels that
// were put between have to be skipped.
func (w *bodyGuard) label(original uint32) uint32 {
	return original + w.added - w.frames[len(w.frames)-1-int(original)].added
}

// duty is that of a function; imported ones do not call the guest.
func (w *bodyGuard) duty(function uint32) duty {
	if i := int(function) - len(w.module.Imports); i >= 0 {
		return w.duties[i]
	}
	return duty{flat: true}
}

func (w *bodyGuard) rewrite(function uint32, code *wasmbin.Code, out *wasmbin.Assembler) error {
	t, err := w.module.FunctionType(function)
	if err != nil {
		return err
	}
	d := w.duty(function)
	own := function == w.bulkCopy || function == w.bulkFill || function == w.grow || function == w.lowStack
	counted := d.asks && !d.flat
	w.out, w.added, w.frames = out, 0, append(w.frames[:0], frame{})
	body := bodyType(w.module, t)
	if d.asks { // as in loop, but the body returns
		out.Loop(body).Block(wasmbin.BlockEmpty)
		w.added += 2
		w.spend().BrIf(0)
	}
	if counted {
		w.count(1)
		out.GlobalGet(w.depth).I32Const(MaxCallDepth).Op(wasmbin.OpI32GtS)
		out.If(wasmbin.BlockEmpty).Op(wasmbin.OpUnreachable).End()
		out.Block(body) // what the function's label meant
		w.added++
		w.frames[0].added = w.added
	}
	var ins wasmbin.Instr
	for w.r.Reset(code.Body); w.r.Next(&ins); {
		switch ins.Op {
		case wasmbin.OpBlock, wasmbin.OpIf:
			out.Raw(ins.Raw)
			w.frames = append(w.frames, frame{added: w.added})
		case wasmbin.OpLoop:
			if d.inside[ins.Offset] {
				out.Raw(ins.Raw)
				w.frames = append(w.frames, frame{added: w.added})
				w.spend().If(wasmbin.BlockEmpty).Call(w.tick).End()
			} else {
				w.loop(ins.BlockType())
			}
		case wasmbin.OpEnd:
			last := w.frames[len(w.frames)-1]
			w.frames = w.frames[:len(w.frames)-1]
			switch {
			case len(w.frames) == 0: // the function's own end
				if counted {
					out.End()
					w.count(-1)
				}
				if d.asks {
					out.Return().End()
					w.again()
				}
				out.End()
			case last.loop:
				w.endLoop()
			default:
				out.End()
			}
		case wasmbin.OpBr, wasmbin.OpBrIf:
			out.U32(ins.Op, w.label(ins.Index()))
		case wasmbin.OpBrTable:
			w.labels = ins.AppendLabels(w.labels[:0])
			for i, l := range w.labels {
				w.labels[i] = w.label(l)
			}
			last := len(w.labels) - 1
			out.BrTable(w.labels[:last], w.labels[last])
		case wasmbin.OpReturn:
			if counted {
				out.Br(w.label(uint32(len(w.frames) - 1)))
			} else {
				out.Return()
			}
		case wasmbin.OpCall:
			w.call(d, w.duty(ins.Index()).flat, &ins)
		case wasmbin.OpCallIndirect:
			w.call(d, false, &ins)
		case wasmbin.OpGlobalSet:
			if !own && w.isGuard(ins.Index()) {
				return fmt.Errorf("sets guard global %d", ins.Index())
			}
			out.Raw(ins.Raw)
			if ins.Index() == w.stackPointer && !d.raises[ins.Offset] && !d.shallow {
				w.below(out, w.softLimit)
				out.If(wasmbin.BlockEmpty).Call(w.lowStack).End()
			}
		case wasmbin.OpMemoryCopy, wasmbin.OpMemoryFill, wasmbin.OpMemoryGrow:
			w.bulk(own, &ins)
		default:
			out.Raw(ins.Raw)
		}
	}
	return w.r.Err()
}

// loop opens a loop whose head asks for fuel. The call of tick is outside the
// loop and enters it again, since a call inside costs engines registers even
// where it is not taken (but see [insideLoops]):
//
//	block $done
//	  loop $again
//	    block $out
//	      loop $head ;; the original's label
//	        fuel -= 1
//	        br_if $out if fuel < 0
//	        body
//	      end
//	      br $done
//	    end
//	    tick
//	    fuel += 1
//	    br $again
//	  end
//	end
func (w *bodyGuard) loop(t wasmbin.BlockType) {
	out := blockOfParams(w.module, t)
	w.out.Block(t).Loop(t).Block(out).Loop(t)
	w.added += 3
	w.frames = append(w.frames, frame{loop: true, added: w.added})
	w.spend().BrIf(1)
}

func (w *bodyGuard) endLoop() {
	w.out.End().Br(2).End()
	w.again()
	w.out.End()
	w.added -= 3
}

// again gets fuel, and goes back to where the unit that was missing is spent:
// it is given back first, so that it is spent once.
func (w *bodyGuard) again() {
	w.out.Call(w.tick)
	w.out.GlobalGet(w.fuel).I64Const(1).Op(wasmbin.OpI64Add).GlobalSet(w.fuel)
	w.out.Br(0).End()
}

// spend takes a unit of fuel and leaves whether there was none.
func (w *bodyGuard) spend() *wasmbin.Assembler {
	w.out.GlobalGet(w.fuel).I64Const(1).Op(wasmbin.OpI64Sub).GlobalSet(w.fuel)
	return w.out.GlobalGet(w.fuel).I64Const(0).Op(wasmbin.OpI64LtS)
}

// call counts the caller while it calls what is not flat, if its entry does not.
func (w *bodyGuard) call(caller duty, flat bool, ins *wasmbin.Instr) {
	counted := !caller.asks && !flat
	if counted {
		w.count(1)
	}
	w.out.Raw(ins.Raw)
	if counted {
		w.count(-1)
	}
}

func (w *bodyGuard) count(by int32) {
	w.out.GlobalGet(w.depth).I32Const(by).Op(wasmbin.OpI32Add).GlobalSet(w.depth)
}

func (w *bodyGuard) bulk(own bool, ins *wasmbin.Instr) {
	switch {
	case own:
		w.out.Raw(ins.Raw)
	case ins.Op == wasmbin.OpMemoryCopy:
		w.out.Call(w.bulkCopy)
	case ins.Op == wasmbin.OpMemoryFill:
		w.out.Call(w.bulkFill)
	default:
		w.out.Call(w.grow)
	}
}

// blockOfParams is the type of a block that hands on what a loop takes.
func blockOfParams(m *wasmbin.Module, t wasmbin.BlockType) wasmbin.BlockType {
	if t < 0 || len(m.Types[t].Params) == 0 {
		return wasmbin.BlockEmpty
	}
	p := m.Types[t].Params
	return wasmbin.BlockType(m.TypeIndex(wasmbin.FuncType{Params: p, Results: p}))
}
