package wasmbin

import "fmt"

// checkBody reads all instructions and checks the indexes they hold. The error is left in r.
func (d *decoder) checkBody(r *Reader, t FuncType, c *Code) {
	m := d.m
	locals := uint64(len(t.Params)) + c.LocalCount()
	functions, globals, types := uint64(m.FunctionCount()), uint64(len(m.Globals)), uint64(len(m.Types))
	d.ifs = append(d.ifs[:0], false)
	var ins Instr
	for r.Next(&ins) {
		switch ins.Op {
		case OpLocalGet, OpLocalSet, OpLocalTee:
			if ins.Imm1 >= locals {
				r.badIndex(&ins, "local", ins.Imm1, locals)
			}
		case OpBlock, OpLoop, OpIf:
			if bt := ins.BlockType(); bt >= 0 && uint64(bt) >= types {
				r.badIndex(&ins, "type", uint64(bt), types)
			}
			d.ifs = append(d.ifs, ins.Op == OpIf)
		case OpEnd:
			d.ifs = d.ifs[:len(d.ifs)-1]
		case OpElse:
			if last := len(d.ifs) - 1; d.ifs[last] {
				d.ifs[last] = false
			} else {
				r.fail(ErrMalformed, ins.Offset, "else outside an if")
			}
		case OpCall, OpRefFunc:
			if ins.Imm1 >= functions {
				r.badIndex(&ins, "function", ins.Imm1, functions)
			}
		case OpGlobalGet, OpGlobalSet:
			if ins.Imm1 >= globals {
				r.badIndex(&ins, "global", ins.Imm1, globals)
			}
		case OpCallIndirect:
			if ins.Imm1 >= types {
				r.badIndex(&ins, "type", ins.Imm1, types)
			}
			d.checkTable(r, &ins, ins.Imm2)
		case OpTableGet, OpTableSet, OpTableGrow, OpTableSize, OpTableFill:
			d.checkTable(r, &ins, ins.Imm1)
		case OpTableCopy:
			d.checkTable(r, &ins, ins.Imm1|ins.Imm2)
		case OpTableInit:
			d.checkSegment(r, &ins, "element segment", len(m.Elements))
			d.checkTable(r, &ins, ins.Imm2)
		case OpElemDrop:
			d.checkSegment(r, &ins, "element segment", len(m.Elements))
		case OpMemoryInit:
			d.checkSegment(r, &ins, "data segment", int(d.dataCount))
			d.checkMemory(r, &ins, ins.Imm2)
		case OpDataDrop:
			d.checkSegment(r, &ins, "data segment", int(d.dataCount))
		case OpMemoryCopy, OpMemoryFill:
			d.checkMemory(r, &ins, ins.Imm1|ins.Imm2)
		case OpMemorySize, OpMemoryGrow:
			d.checkMemory(r, &ins, 0)
		default:
			if ins.Op >= OpI32Load && ins.Op <= OpI64Store32 && len(m.Memories) == 0 {
				d.checkMemory(r, &ins, 0)
			}
		}
	}
}

func (d *decoder) checkSegment(r *Reader, ins *Instr, what string, n int) {
	if ins.Imm1 >= uint64(n) {
		r.badIndex(ins, what, ins.Imm1, uint64(n))
	}
}

func (d *decoder) checkTable(r *Reader, ins *Instr, index uint64) {
	if index >= uint64(len(d.m.Tables)) {
		r.badIndex(ins, "table", index, uint64(len(d.m.Tables)))
	}
}

func (d *decoder) checkMemory(r *Reader, ins *Instr, index uint64) {
	if index >= uint64(len(d.m.Memories)) {
		r.badIndex(ins, "memory", index, uint64(len(d.m.Memories)))
	}
}

func (r *Reader) badIndex(ins *Instr, what string, index, n uint64) {
	if r.err == nil {
		r.fail(ErrMalformed, ins.Offset, fmt.Sprintf("%s of %s %d of %d", ins.Op, what, index, n))
	}
}
