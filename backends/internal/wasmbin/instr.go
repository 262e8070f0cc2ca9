package wasmbin

import (
	"encoding/binary"
	"fmt"
	"math"
)

// An Opcode is an instruction: its byte, or 0xfc00 plus the number that follows the prefix 0xfc.
type Opcode uint16

const prefixed Opcode = 0xfc00

// An immediate says what follows an opcode.
type immediate uint8

const (
	immUnknown immediate = iota
	immNone
	immPrefix // 0xfc
	immEnd
	immElse
	immBlock
	immLabel
	immIndex
	immTwoIndexes
	immBrTable
	immSelectTypes
	immRefType
	immMemoryZero
	immI32
	immI64
	immF32
	immF64
	immMemory0 // the digit is the largest alignment, as a power of two
	immMemory1
	immMemory2
	immMemory3
)

func (op Opcode) name() string {
	switch {
	case op < 256:
		return plainNames[op]
	case op >= prefixed && int(op-prefixed) < len(prefixedOpcodes):
		return prefixedOpcodes[op-prefixed].name
	default:
		return ""
	}
}

// Known reports whether this package can decode the instruction.
func (op Opcode) Known() bool { return op.name() != "" }

// String gives the name of the text format, or the number of an unknown instruction. A typed select is called select too.
func (op Opcode) String() string {
	if name := op.name(); name != "" {
		return name
	}
	return fmt.Sprintf("opcode %#02x", uint16(op))
}

// opcodeTitle names an instruction in error messages, unknown ones as far as the family is known.
func opcodeTitle(op Opcode) string {
	family := op.name()
	switch {
	case family != "":
	case op >= 0x06 && op <= 0x0a, op == 0x18, op == 0x19, op == 0x1f:
		family = "exception handling"
	case op == 0x12, op == 0x13:
		family = "tail call"
	case op == 0x14, op == 0x15, op >= 0xd3 && op <= 0xd6:
		family = "typed function reference"
	case op == 0xfb:
		family = "garbage collection"
	case op == 0xfd:
		family = "v128"
	case op == 0xfe:
		family = "threads"
	default:
		family = "unknown"
	}
	return fmt.Sprintf("%s (%#02x)", family, uint16(op))
}

// An Instr is one instruction of a body.
type Instr struct {
	Op     Opcode
	Offset int    // of the opcode, in the body
	Raw    []byte // the whole instruction; shares memory with the body

	// Imm1 and Imm2 hold what follows the opcode, in order: an index or label; the type and table of call_indirect;
	// the alignment (a power of two) and offset of a load or store; the two indexes of memory.copy and the like; a
	// constant (sign-extended, or the bits of a float); a BlockType; the byte of the type of ref.null. For br_table,
	// Imm1 is the number of labels before the default and Imm2 the default. For a typed select, Imm1 is the number
	// of types.
	Imm1, Imm2 uint64
}

// Index is the first index or label.
func (i *Instr) Index() uint32 { return uint32(i.Imm1) }

// I32 is the value of an i32.const.
func (i *Instr) I32() int32 { return int32(i.Imm1) }

// I64 is the value of an i64.const.
func (i *Instr) I64() int64 { return int64(i.Imm1) }

// F32 is the value of an f32.const.
func (i *Instr) F32() float32 { return math.Float32frombits(uint32(i.Imm1)) }

// F64 is the value of an f64.const.
func (i *Instr) F64() float64 { return math.Float64frombits(i.Imm1) }

// BlockType is the type of a block, loop or if.
func (i *Instr) BlockType() BlockType { return BlockType(i.Imm1) }

// AppendLabels appends the labels of a br_table, the default last, and returns the extended slice. Other instructions
// append nothing.
func (i *Instr) AppendLabels(labels []uint32) []uint32 {
	if i.Op != OpBrTable || len(i.Raw) == 0 {
		return labels
	}
	_, p := readU32(i.Raw, 1)
	for p > 0 && p < len(i.Raw) {
		var l uint32
		if l, p = readU32(i.Raw, p); p > 0 {
			labels = append(labels, l)
		}
	}
	return labels
}

func le32(b []byte) uint64 { return uint64(binary.LittleEndian.Uint32(b)) }

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

func hexByte(b byte) string { return fmt.Sprintf("%#02x", b) }
