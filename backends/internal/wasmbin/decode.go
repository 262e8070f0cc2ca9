package wasmbin

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// header is the magic number and the version of a core module.
const header = "\x00asm\x01\x00\x00\x00"

// Decode reads a module. Bodies, data and custom sections of the result share memory with b, which must not be changed
// while the module is in use. Errors are *Error. Work and memory are bounded by a small multiple of len(b).
func Decode(b []byte) (*Module, error) {
	d := &decoder{b: b, end: len(b), where: "header", m: new(Module)}
	d.module()
	if d.err != nil {
		return nil, d.err
	}
	return d.m, nil
}

// A decoder holds the position in the input. After the first error all reads give zero, and loops stop.
type decoder struct {
	b         []byte
	pos, end  int // end is that of the section or body being read
	where     string
	err       *Error
	m         *Module
	dataCount uint32
	ifs       []bool // scratch of the body check: for each open block, whether it is an if without else
}

func (d *decoder) fail(kind error, at int, format string, args ...any) {
	if d.err == nil {
		d.err = &Error{Kind: kind, Where: d.where, Detail: fmt.Sprintf(format, args...), Offset: at}
	}
}

func (d *decoder) module() {
	if !bytes.HasPrefix(d.b, []byte(header)) {
		switch {
		case len(d.b) >= len(header) && string(d.b[:4]) == header[:4]:
			d.fail(ErrUnsupported, 4, "version %#x", le32(d.b[4:]))
		default:
			d.fail(ErrMalformed, 0, "no WebAssembly header")
		}
		return
	}
	d.pos = len(header)
	last := SectionCustom
	for d.err == nil && d.pos < len(d.b) {
		d.where, d.end = "module", len(d.b)
		at := d.pos
		id := SectionID(d.byte())
		d.where = id.String()
		size := d.u32()
		if d.err == nil && int64(size) > int64(len(d.b)-d.pos) {
			d.fail(ErrMalformed, at, "size of %d bytes, beyond the end of the module", size)
		}
		if d.err != nil {
			return
		}
		d.end = d.pos + int(size)
		if id == SectionCustom {
			name := d.name("custom section")
			if d.err == nil {
				d.m.Customs = append(d.m.Customs, Custom{Name: name, Data: d.b[d.pos:d.end:d.end], After: last})
			}
			d.pos = d.end
			continue
		}
		if id > SectionDataCount {
			d.fail(ErrUnsupported, at, "section")
			return
		}
		if id.rank() <= last.rank() {
			d.fail(ErrMalformed, at, "section after the %s", last)
			return
		}
		last = id
		d.section(id)
		if d.err == nil && d.pos != d.end {
			d.fail(ErrMalformed, d.pos, "%d bytes left over", d.end-d.pos)
		}
	}
	d.where = "module"
	if n, c := len(d.m.Functions), len(d.m.Codes); n != c {
		d.fail(ErrMalformed, len(d.b), "%d functions with %d bodies", n, c)
	}
	if n := len(d.m.Data); d.m.HasDataCount && int64(n) != int64(d.dataCount) {
		d.fail(ErrMalformed, len(d.b), "%d data segments with a data count of %d", n, d.dataCount)
	}
}

func (d *decoder) section(id SectionID) {
	switch id {
	case SectionType:
		d.types()
	case SectionImport:
		d.imports()
	case SectionFunction:
		d.functions()
	case SectionTable:
		d.tables()
	case SectionMemory:
		d.memories()
	case SectionGlobal:
		d.globals()
	case SectionExport:
		d.exports()
	case SectionStart:
		f := d.index("function", d.m.FunctionCount())
		d.m.Start = &f
	case SectionElement:
		d.elements()
	case SectionDataCount:
		d.m.HasDataCount, d.dataCount = true, d.u32()
	case SectionCode:
		d.codes()
	case SectionData:
		d.data()
	}
}

func (d *decoder) byte() byte {
	if d.err != nil {
		return 0
	}
	if d.pos >= d.end {
		d.fail(ErrMalformed, d.pos, "unexpected end")
		return 0
	}
	d.pos++
	return d.b[d.pos-1]
}

func (d *decoder) u32() uint32 {
	if d.err != nil {
		return 0
	}
	v, p := readU32(d.b[:d.end], d.pos)
	switch {
	case p == 0:
		d.fail(ErrMalformed, d.pos, "incomplete or oversized number")
		return 0
	case p-d.pos != sizeU32(v):
		d.fail(ErrNotCanonical, d.pos, "number %d", v)
		return 0
	}
	d.pos = p
	return v
}

// count reads the number of entries of a vector, each of which takes at least size bytes.
func (d *decoder) count(what string, size int) int {
	at := d.pos
	n := d.u32()
	if d.err == nil && int64(n)*int64(size) > int64(d.end-d.pos) {
		d.fail(ErrMalformed, at, "%d %s, more than %d bytes can hold", n, what, d.end-d.pos)
		return 0
	}
	return int(n)
}

// entries is count for a section, which must not be empty: Encode leaves out empty sections.
func (d *decoder) entries(what string, size int) int {
	at := d.pos
	n := d.count(what, size)
	if d.err == nil && n == 0 {
		d.fail(ErrNotCanonical, at, "section of no %s", what)
	}
	return n
}

// take gives the next n bytes, which count has found to be there.
func (d *decoder) take(n int) []byte {
	if d.err != nil {
		return nil
	}
	d.pos += n
	return d.b[d.pos-n : d.pos : d.pos]
}

func (d *decoder) name(what string) string {
	at := d.pos
	b := d.take(d.count("bytes of a name", 1))
	if !utf8.Valid(b) {
		d.fail(ErrMalformed, at, "name of a %s is not UTF-8", what)
	}
	return string(b)
}

func (d *decoder) index(what string, n int) uint32 {
	at := d.pos
	i := d.u32()
	if d.err == nil && int64(i) >= int64(n) {
		d.fail(ErrMalformed, at, "%s %d of %d", what, i, n)
	}
	return i
}

func (d *decoder) limits(what string) (l Limits) {
	at := d.pos
	switch flag := d.byte(); {
	case flag <= 1:
		l.HasMax = flag == 1
	case flag == 2 || flag == 3:
		d.fail(ErrUnsupported, at, "shared %s", what)
	case flag <= 7:
		d.fail(ErrUnsupported, at, "64-bit %s", what)
	default:
		d.fail(ErrUnsupported, at, "limits flag %#02x of a %s", flag, what)
	}
	l.Min = d.u32()
	if l.HasMax {
		l.Max = d.u32()
		if l.Min > l.Max {
			d.fail(ErrMalformed, at, "%s with minimum %d above maximum %d", what, l.Min, l.Max)
		}
	}
	return l
}

func (d *decoder) constExpr() (ConstExpr, ValType) {
	if d.err != nil {
		return nil, 0
	}
	t, _, p, err := scanConstExpr(d.b[:d.end], d.pos)
	if err != nil {
		err.Where = d.where
		d.err = err
		return nil, 0
	}
	return ConstExpr(d.take(p - d.pos)), t
}

// offset reads the initialiser of the offset of a segment.
func (d *decoder) offset() ConstExpr {
	at := d.pos
	e, t := d.constExpr()
	if d.err == nil && t != I32 {
		d.fail(ErrMalformed, at, "offset of type %s, not i32", t)
	}
	return e
}
