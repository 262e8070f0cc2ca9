package wasmbin

import (
	"fmt"
	"slices"
)

// A ValType is the type of a value, as its byte in the binary format.
type ValType byte

// The known value types.
const (
	I32       ValType = 0x7f
	I64       ValType = 0x7e
	F32       ValType = 0x7d
	F64       ValType = 0x7c
	FuncRef   ValType = 0x70
	ExternRef ValType = 0x6f
)

// String gives the name of the text format.
func (t ValType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	case 0x7b:
		return "v128"
	default:
		return fmt.Sprintf("type %#02x", byte(t))
	}
}

func (t ValType) number() bool { return t >= F64 && t <= I32 }

func (t ValType) known() bool { return t.number() || t == FuncRef || t == ExternRef }

// A FuncType is the signature of a function.
type FuncType struct {
	Params  []ValType
	Results []ValType
}

// Equal reports whether both have the same parameters and results.
func (t FuncType) Equal(u FuncType) bool {
	return slices.Equal(t.Params, u.Params) && slices.Equal(t.Results, u.Results)
}

// A BlockType is the signature of a block: BlockEmpty, one value (see ValueBlock), or, from 0 up, an index into
// Module.Types.
type BlockType int64

// BlockEmpty is the type of a block that takes and leaves nothing.
const BlockEmpty BlockType = -64

// ValueBlock is the type of a block that takes nothing and leaves one value.
func ValueBlock(t ValType) BlockType { return BlockType(t) - 0x80 }

// A ConstExpr is an initialiser: one constant instruction and an end, as encoded. Its bytes are kept as they were read.
type ConstExpr []byte

// I32ConstExpr gives the value v.
func I32ConstExpr(v int32) ConstExpr {
	return append(appendSigned([]byte{byte(OpI32Const)}, int64(v)), byte(OpEnd))
}

// I64ConstExpr gives the value v.
func I64ConstExpr(v int64) ConstExpr {
	return append(appendSigned([]byte{byte(OpI64Const)}, v), byte(OpEnd))
}

// I32 is the value, if the expression is a well-formed i32.const.
func (e ConstExpr) I32() (int32, bool) {
	t, v, n, err := scanConstExpr(e, 0)
	return int32(v), err == nil && t == I32 && n == len(e)
}

// I64 is the value, if the expression is a well-formed i64.const.
func (e ConstExpr) I64() (int64, bool) {
	t, v, n, err := scanConstExpr(e, 0)
	return v, err == nil && t == I64 && n == len(e)
}

// Type is the type of the value; ok is false if the expression is not well formed.
func (e ConstExpr) Type() (t ValType, ok bool) {
	t, _, n, err := scanConstExpr(e, 0)
	return t, err == nil && n == len(e)
}

// scanConstExpr reads the expression at p and returns the position after it. Floats have the value 0.
func scanConstExpr(b []byte, p int) (t ValType, v int64, next int, err *Error) {
	fail := func(kind error, detail string) (ValType, int64, int, *Error) {
		return 0, 0, 0, &Error{Kind: kind, Where: "initialiser", Detail: detail, Offset: p}
	}
	if p >= len(b) {
		return fail(ErrMalformed, "missing initialiser")
	}
	op := Opcode(b[p])
	q := 0
	switch op {
	case OpI32Const:
		t = I32
		v, q = readSigned(b, p+1, 32)
	case OpI64Const:
		t = I64
		v, q = readSigned(b, p+1, 64)
	case OpF32Const:
		t, q = F32, p+5
	case OpF64Const:
		t, q = F64, p+9
	default:
		return fail(ErrUnsupported, "initialiser with instruction "+opcodeTitle(op))
	}
	if q == 0 || q >= len(b) {
		return fail(ErrMalformed, "incomplete initialiser")
	}
	if Opcode(b[q]) != OpEnd {
		p = q
		return fail(ErrUnsupported, "initialiser of several instructions")
	}
	return t, v, q + 1, nil
}
