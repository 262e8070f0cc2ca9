package wasmbin

// Encode writes the module. Sections without entries are left out. Nothing is checked: a module that was made
// inconsistent gives bytes that Decode and engines refuse.
func (m *Module) Encode() []byte {
	e := encoder{b: make([]byte, 0, m.sizeHint())}
	e.b = append(e.b, header...)
	customs := m.Customs
	for _, id := range [...]SectionID{SectionCustom, SectionType, SectionImport, SectionFunction, SectionTable,
		SectionMemory, SectionGlobal, SectionExport, SectionStart, SectionElement, SectionDataCount, SectionCode,
		SectionData} {
		e.section(m, id)
		for _, c := range customs {
			if c.After == id {
				e.custom(c)
			}
		}
	}
	// What names no known section goes last rather than being lost.
	for _, c := range customs {
		if c.After > SectionDataCount {
			e.custom(c)
		}
	}
	return e.b
}

// sizeHint is a guess at the encoded size, slightly too large, so that the buffer need not grow.
func (m *Module) sizeHint() int {
	n := 4096 + 8*len(m.Functions) + 32*len(m.Types) + 64*len(m.Imports) + 32*len(m.Exports) + 20*len(m.Globals)
	for i := range m.Codes {
		n += len(m.Codes[i].Body) + 6*len(m.Codes[i].Locals) + 10
	}
	for i := range m.Data {
		n += len(m.Data[i].Bytes) + 20
	}
	for i := range m.Elements {
		n += 5*len(m.Elements[i].Functions) + 20
	}
	for i := range m.Customs {
		n += len(m.Customs[i].Data) + len(m.Customs[i].Name) + 20
	}
	return n
}

type encoder struct {
	b     []byte
	start int // of the contents of the open section
}

// maxU32Size is the room left for the size of a section until it is known.
const maxU32Size = 5

func (e *encoder) open(id SectionID) {
	e.b = append(e.b, byte(id), 0, 0, 0, 0, 0)
	e.start = len(e.b)
}

func (e *encoder) close() {
	size := len(e.b) - e.start
	head := e.b[:e.start-maxU32Size]
	width := sizeU32(uint32(size))
	contents := e.b[e.start:]
	_ = appendU32(head, uint32(size))
	n := copy(e.b[len(head)+width:], contents)
	e.b = e.b[:len(head)+width+n]
}

func (e *encoder) u32(v uint32) { e.b = appendU32(e.b, v) }

func (e *encoder) bytes(b []byte) {
	e.u32(uint32(len(b)))
	e.b = append(e.b, b...)
}

func (e *encoder) name(s string) {
	e.u32(uint32(len(s)))
	e.b = append(e.b, s...)
}

func (e *encoder) limits(l Limits) {
	if !l.HasMax {
		e.b = append(e.b, 0)
		e.u32(l.Min)
		return
	}
	e.b = append(e.b, 1)
	e.u32(l.Min)
	e.u32(l.Max)
}

func (e *encoder) custom(c Custom) {
	e.open(SectionCustom)
	e.name(c.Name)
	e.b = append(e.b, c.Data...)
	e.close()
}

// vector writes a section of entries, if there are any.
func vector[T any](e *encoder, id SectionID, entries []T, write func(*T)) {
	if len(entries) == 0 {
		return
	}
	e.open(id)
	e.u32(uint32(len(entries)))
	for i := range entries {
		write(&entries[i])
	}
	e.close()
}

func (e *encoder) section(m *Module, id SectionID) {
	switch id {
	case SectionType:
		vector(e, id, m.Types, e.funcType)
	case SectionImport:
		vector(e, id, m.Imports, func(im *Import) {
			e.name(im.Module)
			e.name(im.Name)
			e.b = append(e.b, byte(ExternFunction))
			e.u32(im.TypeIndex)
		})
	case SectionFunction:
		vector(e, id, m.Functions, func(t *uint32) { e.u32(*t) })
	case SectionTable:
		vector(e, id, m.Tables, func(l *Limits) {
			e.b = append(e.b, byte(FuncRef))
			e.limits(*l)
		})
	case SectionMemory:
		vector(e, id, m.Memories, func(l *Limits) { e.limits(*l) })
	case SectionGlobal:
		vector(e, id, m.Globals, e.global)
	case SectionExport:
		vector(e, id, m.Exports, func(x *Export) {
			e.name(x.Name)
			e.b = append(e.b, byte(x.Kind))
			e.u32(x.Index)
		})
	case SectionStart:
		if m.Start != nil {
			e.open(id)
			e.u32(*m.Start)
			e.close()
		}
	case SectionElement:
		vector(e, id, m.Elements, e.element)
	case SectionDataCount:
		if m.HasDataCount {
			e.open(id)
			e.u32(uint32(len(m.Data)))
			e.close()
		}
	case SectionCode:
		vector(e, id, m.Codes, e.code)
	case SectionData:
		vector(e, id, m.Data, func(s *DataSegment) {
			e.b = append(e.b, 0)
			e.b = append(e.b, s.Offset...)
			e.bytes(s.Bytes)
		})
	}
}

func (e *encoder) funcType(t *FuncType) {
	e.b = append(e.b, 0x60)
	for _, list := range [...][]ValType{t.Params, t.Results} {
		e.u32(uint32(len(list)))
		for _, v := range list {
			e.b = append(e.b, byte(v))
		}
	}
}

func (e *encoder) global(g *Global) {
	mutable := byte(0)
	if g.Mutable {
		mutable = 1
	}
	e.b = append(e.b, byte(g.Type), mutable)
	e.b = append(e.b, g.Init...)
}

func (e *encoder) element(s *ElementSegment) {
	e.b = append(e.b, 0)
	e.b = append(e.b, s.Offset...)
	e.u32(uint32(len(s.Functions)))
	for _, f := range s.Functions {
		e.u32(f)
	}
}

func (e *encoder) code(c *Code) {
	size := sizeU32(uint32(len(c.Locals))) + len(c.Body)
	for _, g := range c.Locals {
		size += sizeU32(g.Count) + 1
	}
	e.u32(uint32(size))
	e.u32(uint32(len(c.Locals)))
	for _, g := range c.Locals {
		e.u32(g.Count)
		e.b = append(e.b, byte(g.Type))
	}
	e.b = append(e.b, c.Body...)
}
