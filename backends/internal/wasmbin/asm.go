package wasmbin

import (
	"encoding/binary"
	"math"
)

// An Assembler builds a sequence of instructions by appending. The zero value is ready for use; Reset keeps the memory
// for the next body. Its methods return the Assembler, to be chained. It checks nothing.
type Assembler struct {
	buf  []byte
	base int // where the current body starts, when one buffer takes several
}

// Reset drops what was written. Slices got from Bytes before are overwritten.
func (a *Assembler) Reset() { a.buf, a.base = a.buf[:0], 0 }

// Len is the number of bytes written.
func (a *Assembler) Len() int { return len(a.buf) - a.base }

// Bytes is what was written. It is valid until the next change; copy it to keep it.
func (a *Assembler) Bytes() []byte { return a.buf[a.base:len(a.buf):len(a.buf)] }

// Raw appends encoded instructions.
func (a *Assembler) Raw(b []byte) *Assembler {
	a.buf = append(a.buf, b...)
	return a
}

// Op appends an instruction that has no immediate, or the opcode of one whose immediate follows.
func (a *Assembler) Op(op Opcode) *Assembler {
	if op >= prefixed {
		a.buf = appendU32(append(a.buf, 0xfc), uint32(op-prefixed))
		return a
	}
	a.buf = append(a.buf, byte(op))
	return a
}

// U32 appends an instruction with one index, such as OpLocalGet.
func (a *Assembler) U32(op Opcode, index uint32) *Assembler {
	a.Op(op)
	a.buf = appendU32(a.buf, index)
	return a
}

// U32x2 appends an instruction with two indexes, such as OpTableCopy.
func (a *Assembler) U32x2(op Opcode, first, second uint32) *Assembler {
	a.U32(op, first)
	a.buf = appendU32(a.buf, second)
	return a
}

// I32Const appends the constant v.
func (a *Assembler) I32Const(v int32) *Assembler {
	a.buf = appendSigned(append(a.buf, byte(OpI32Const)), int64(v))
	return a
}

// I64Const appends the constant v.
func (a *Assembler) I64Const(v int64) *Assembler {
	a.buf = appendSigned(append(a.buf, byte(OpI64Const)), v)
	return a
}

// F32Const appends the constant v.
func (a *Assembler) F32Const(v float32) *Assembler {
	a.buf = binary.LittleEndian.AppendUint32(append(a.buf, byte(OpF32Const)), math.Float32bits(v))
	return a
}

// F64Const appends the constant v.
func (a *Assembler) F64Const(v float64) *Assembler {
	a.buf = binary.LittleEndian.AppendUint64(append(a.buf, byte(OpF64Const)), math.Float64bits(v))
	return a
}

func (a *Assembler) block(op Opcode, t BlockType) *Assembler {
	a.buf = appendSigned(append(a.buf, byte(op)), int64(t))
	return a
}

// Block opens a block.
func (a *Assembler) Block(t BlockType) *Assembler { return a.block(OpBlock, t) }

// Loop opens a loop.
func (a *Assembler) Loop(t BlockType) *Assembler { return a.block(OpLoop, t) }

// If opens an if.
func (a *Assembler) If(t BlockType) *Assembler { return a.block(OpIf, t) }

// Else starts the other branch of the if.
func (a *Assembler) Else() *Assembler { return a.Op(OpElse) }

// End closes a block, or the body.
func (a *Assembler) End() *Assembler { return a.Op(OpEnd) }

// Br branches to the label, counted from the innermost block, which is 0.
func (a *Assembler) Br(label uint32) *Assembler { return a.U32(OpBr, label) }

// BrIf branches as Br does, if the operand is not zero.
func (a *Assembler) BrIf(label uint32) *Assembler { return a.U32(OpBrIf, label) }

// BrTable branches to the label the operand selects, or to the default.
func (a *Assembler) BrTable(labels []uint32, otherwise uint32) *Assembler {
	a.U32(OpBrTable, uint32(len(labels)))
	for _, l := range labels {
		a.buf = appendU32(a.buf, l)
	}
	a.buf = appendU32(a.buf, otherwise)
	return a
}

// Return leaves the function.
func (a *Assembler) Return() *Assembler { return a.Op(OpReturn) }

// Call calls a function.
func (a *Assembler) Call(function uint32) *Assembler { return a.U32(OpCall, function) }

// CallIndirect calls the function of the given type at the table entry the operand selects.
func (a *Assembler) CallIndirect(typeIndex uint32) *Assembler {
	return a.U32x2(OpCallIndirect, typeIndex, 0)
}

// LocalGet reads a local.
func (a *Assembler) LocalGet(index uint32) *Assembler { return a.U32(OpLocalGet, index) }

// LocalSet sets a local.
func (a *Assembler) LocalSet(index uint32) *Assembler { return a.U32(OpLocalSet, index) }

// LocalTee sets a local and keeps the value.
func (a *Assembler) LocalTee(index uint32) *Assembler { return a.U32(OpLocalTee, index) }

// GlobalGet reads a global.
func (a *Assembler) GlobalGet(index uint32) *Assembler { return a.U32(OpGlobalGet, index) }

// GlobalSet sets a global.
func (a *Assembler) GlobalSet(index uint32) *Assembler { return a.U32(OpGlobalSet, index) }

// Load appends a load such as OpI32Load8U. The alignment is a power of two: 2 for four bytes.
func (a *Assembler) Load(op Opcode, align, offset uint32) *Assembler {
	return a.U32x2(op, align, offset)
}

// Store appends a store such as OpI32Store. The alignment is a power of two: 2 for four bytes.
func (a *Assembler) Store(op Opcode, align, offset uint32) *Assembler {
	return a.U32x2(op, align, offset)
}

// MemorySize gives the size of the memory, in pages.
func (a *Assembler) MemorySize() *Assembler { return a.U32(OpMemorySize, 0) }

// MemoryGrow grows the memory by the operand, in pages.
func (a *Assembler) MemoryGrow() *Assembler { return a.U32(OpMemoryGrow, 0) }

// MemoryCopy copies within the memory; the operands are destination, source and length.
func (a *Assembler) MemoryCopy() *Assembler { return a.U32x2(OpMemoryCopy, 0, 0) }

// MemoryFill fills a part of the memory; the operands are destination, value and length.
func (a *Assembler) MemoryFill() *Assembler { return a.U32(OpMemoryFill, 0) }
