package wasmbin

import "fmt"

// A Reader walks the instructions of a body. It allocates nothing, and may be used for one body after another with Reset.
// It checks that instructions are complete, blocks nest, and labels name an open block.
//
//	r := wasmbin.NewReader(code.Body)
//	for r.Next(&ins) {
//		// use ins
//	}
//	if err := r.Err(); err != nil { ... }
type Reader struct {
	body  []byte
	pos   int
	depth int
	err   *Error

	// For errors: the place of the body in the module.
	base     int
	function int
}

// NewReader returns a Reader at the first instruction of body, which ends with the final end.
func NewReader(body []byte) *Reader {
	r := new(Reader)
	r.Reset(body)
	return r
}

// Reset starts again with another body.
func (r *Reader) Reset(body []byte) { *r = Reader{body: body, depth: 1, function: -1} }

// Depth is the number of blocks open after the instruction read last, where the function itself counts as one: 1 before
// the first instruction, 0 after the final end.
func (r *Reader) Depth() int { return r.depth }

// Err is the error that made Next return false, or nil at the end of the body. It is an *Error.
func (r *Reader) Err() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

// Next reads an instruction into ins. It returns false at the end of the body and at the first error.
func (r *Reader) Next(ins *Instr) bool {
	b, start := r.body, r.pos
	if r.err != nil || start >= len(b) {
		return r.finish()
	}
	if r.depth == 0 {
		return r.fail(ErrMalformed, start, "instruction after the final end")
	}
	op := Opcode(b[start])
	imm := plainImmediates[op]
	p := start + 1
	var v1, v2 uint64
	switch imm {
	case immUnknown:
		return r.fail(ErrUnsupported, start, "instruction "+opcodeTitle(op))
	case immNone:
	case immPrefix:
		return r.nextPrefixed(ins)
	case immIndex:
		// Nearly half of all instructions come here, and nearly all indexes are short: worth not to call for.
		if p < len(b) && b[p] < 0x80 {
			v1, p = uint64(b[p]), p+1
			break
		}
		var v uint32
		v, p = readU32(b, p)
		v1 = uint64(v)
	case immI32:
		var v int64
		v, p = readSigned(b, p, 32)
		v1 = uint64(v)
	case immI64:
		var v int64
		v, p = readSigned(b, p, 64)
		v1 = uint64(v)
	case immMemory0, immMemory1, immMemory2, immMemory3:
		var align, offset uint32
		if align, p = readU32(b, p); p > 0 {
			offset, p = readU32(b, p)
		}
		if p > 0 && align > uint32(imm-immMemory0) {
			if align&0x40 != 0 {
				return r.fail(ErrUnsupported, start, "memory index of "+op.String())
			}
			return r.fail(ErrMalformed, start, "alignment above the natural one of "+op.String())
		}
		v1, v2 = uint64(align), uint64(offset)
	case immLabel:
		var v uint32
		v, p = readU32(b, p)
		if p > 0 && int64(v) >= int64(r.depth) {
			return r.badLabel(start, v)
		}
		v1 = uint64(v)
	case immEnd:
		r.depth--
	case immBlock:
		var v int64
		q := p
		v, p = readSigned(b, p, 33)
		if p > 0 && v < 0 && !(p == q+1 && (BlockType(v) == BlockEmpty || ValType(v+0x80).known())) {
			return r.fail(ErrUnsupported, start, "type of "+op.String())
		}
		r.depth++
		v1 = uint64(v)
	default:
		v1, v2, p = r.rareImmediate(op, imm, p)
		if r.err != nil {
			return false
		}
	}
	if p == 0 || p > len(b) {
		return r.fail(ErrMalformed, start, "incomplete instruction "+op.String())
	}
	r.pos = p
	ins.Op, ins.Offset, ins.Raw, ins.Imm1, ins.Imm2 = op, start, b[start:p:p], v1, v2
	return true
}

// nextPrefixed reads an instruction with the prefix 0xfc.
func (r *Reader) nextPrefixed(ins *Instr) bool {
	b, start := r.body, r.pos
	sub, p := readU32(b, start+1)
	if p == 0 {
		return r.fail(ErrMalformed, start, "incomplete instruction 0xfc")
	}
	if int64(sub) >= int64(len(prefixedOpcodes)) {
		return r.fail(ErrUnsupported, start, fmt.Sprintf("instruction 0xfc %d", sub))
	}
	op := prefixed | Opcode(sub)
	var v1, v2 uint32
	switch imm := prefixedOpcodes[sub].imm; imm {
	case immIndex, immTwoIndexes:
		v1, p = readU32(b, p)
		if p > 0 && imm == immTwoIndexes {
			v2, p = readU32(b, p)
		}
	}
	if p == 0 {
		return r.fail(ErrMalformed, start, "incomplete instruction "+op.String())
	}
	r.pos = p
	ins.Op, ins.Offset, ins.Raw, ins.Imm1, ins.Imm2 = op, start, b[start:p:p], uint64(v1), uint64(v2)
	return true
}

// rareImmediate reads the immediates that Next does not. It returns position 0 for an incomplete one.
func (r *Reader) rareImmediate(op Opcode, imm immediate, p int) (v1, v2 uint64, next int) {
	b, start := r.body, r.pos
	switch imm {
	case immElse:
		if r.depth < 2 {
			r.fail(ErrMalformed, start, "else outside an if")
		}
		return 0, 0, p
	case immTwoIndexes:
		a, q := readU32(b, p)
		if q == 0 {
			return 0, 0, 0
		}
		c, q := readU32(b, q)
		return uint64(a), uint64(c), q
	case immBrTable:
		return r.brTable(p)
	case immSelectTypes:
		n, q := readU32(b, p)
		if q == 0 || int64(n) > int64(len(b)-q) {
			return 0, 0, 0
		}
		for _, t := range b[q : q+int(n)] {
			if !ValType(t).known() {
				r.fail(ErrUnsupported, start, "select with "+ValType(t).String())
				return 0, 0, 0
			}
		}
		return uint64(n), 0, q + int(n)
	case immRefType:
		if p >= len(b) {
			return 0, 0, 0
		}
		if t := ValType(b[p]); t != FuncRef && t != ExternRef {
			r.fail(ErrUnsupported, start, op.String()+" with "+t.String())
		}
		return uint64(b[p]), 0, p + 1
	case immMemoryZero:
		if p >= len(b) {
			return 0, 0, 0
		}
		if b[p] != 0 {
			r.fail(ErrUnsupported, start, "memory index of "+op.String())
		}
		return 0, 0, p + 1
	case immF32:
		if len(b)-p < 4 {
			return 0, 0, 0
		}
		return le32(b[p:]), 0, p + 4
	case immF64:
		if len(b)-p < 8 {
			return 0, 0, 0
		}
		return le64(b[p:]), 0, p + 8
	default:
		return 0, 0, 0
	}
}

func (r *Reader) brTable(p int) (v1, v2 uint64, next int) {
	b, start := r.body, r.pos
	n, p := readU32(b, p)
	if p == 0 || int64(n) >= int64(len(b)-p) {
		return 0, 0, 0
	}
	var label uint32
	for range int(n) + 1 {
		if label, p = readU32(b, p); p == 0 {
			return 0, 0, 0
		}
		if int64(label) >= int64(r.depth) {
			r.badLabel(start, label)
			return 0, 0, 0
		}
	}
	return uint64(n), uint64(label), p
}

func (r *Reader) finish() bool {
	if r.err == nil && r.depth > 0 {
		r.fail(ErrMalformed, len(r.body), "missing end of body")
	}
	return false
}

func (r *Reader) badLabel(at int, label uint32) bool {
	return r.fail(ErrMalformed, at, fmt.Sprintf("label %d with %d blocks open", label, r.depth))
}

func (r *Reader) fail(kind error, at int, detail string) bool {
	where := "function body"
	if r.function >= 0 {
		where = fmt.Sprintf("function %d", r.function)
	}
	r.err = &Error{Kind: kind, Where: where, Detail: detail, Offset: r.base + at}
	return false
}
