package wasmbin

import "fmt"

func (d *decoder) valType(ok func(ValType) bool, what string) ValType {
	at := d.pos
	t := ValType(d.byte())
	if d.err == nil && !ok(t) {
		d.fail(ErrUnsupported, at, "%s of %s", what, t)
	}
	return t
}

func (d *decoder) types() {
	n := d.entries("types", 3)
	if d.err != nil {
		return
	}
	d.m.Types = make([]FuncType, 0, n)
	// One allocation holds the value types of all signatures.
	all := make([]ValType, 0, d.end-d.pos)
	list := func() []ValType {
		from := len(all)
		for range d.count("value types", 1) {
			all = append(all, d.valType(ValType.known, "signature"))
			if d.err != nil {
				break
			}
		}
		return all[from:len(all):len(all)]
	}
	for range n {
		at := d.pos
		if form := d.byte(); d.err == nil && form != 0x60 {
			d.fail(ErrUnsupported, at, "type form %#02x", form)
		}
		t := FuncType{Params: list(), Results: list()}
		if d.err != nil {
			return
		}
		d.m.Types = append(d.m.Types, t)
	}
}

func (d *decoder) imports() {
	n := d.entries("imports", 4)
	if d.err != nil {
		return
	}
	d.m.Imports = make([]Import, 0, n)
	for range n {
		im := Import{Module: d.name("import"), Name: d.name("import")}
		at := d.pos
		if kind := ExternKind(d.byte()); kind != ExternFunction {
			d.fail(ErrUnsupported, at, "import %s.%s of a %s", im.Module, im.Name, kind)
		}
		im.TypeIndex = d.index("type", len(d.m.Types))
		if d.err != nil {
			return
		}
		d.m.Imports = append(d.m.Imports, im)
	}
}

// String names the kind as the text format does.
func (k ExternKind) String() string {
	names := [...]string{"function", "table", "memory", "global", "tag"}
	if int(k) < len(names) {
		return names[k]
	}
	return "kind " + hexByte(byte(k))
}

func (d *decoder) functions() {
	n := d.entries("functions", 1)
	if d.err != nil {
		return
	}
	d.m.Functions = make([]uint32, 0, n)
	for range n {
		t := d.index("type", len(d.m.Types))
		if d.err != nil {
			return
		}
		d.m.Functions = append(d.m.Functions, t)
	}
}

func (d *decoder) tables() {
	at := d.pos
	if n := d.entries("tables", 3); n > 1 {
		d.fail(ErrUnsupported, at, "%d tables", n)
	}
	at = d.pos
	if t := ValType(d.byte()); t != FuncRef {
		d.fail(ErrUnsupported, at, "table of %s", t)
	}
	d.m.Tables = []Limits{d.limits("table")}
}

func (d *decoder) memories() {
	at := d.pos
	if n := d.entries("memories", 2); n > 1 {
		d.fail(ErrUnsupported, at, "%d memories", n)
	}
	at = d.pos
	l := d.limits("memory")
	if l.Min > MaxPages || l.Max > MaxPages {
		d.fail(ErrMalformed, at, "memory of more than %d pages", MaxPages)
	}
	d.m.Memories = []Limits{l}
}

func (d *decoder) globals() {
	n := d.entries("globals", 5)
	if d.err != nil {
		return
	}
	d.m.Globals = make([]Global, 0, n)
	for range n {
		g := Global{Type: d.valType(ValType.number, "global")}
		at := d.pos
		mutable := d.byte()
		if mutable > 1 {
			d.fail(ErrUnsupported, at, "mutability %#02x", mutable)
		}
		g.Mutable = mutable == 1
		at = d.pos
		var t ValType
		if g.Init, t = d.constExpr(); d.err == nil && t != g.Type {
			d.fail(ErrMalformed, at, "global of %s initialised with %s", g.Type, t)
		}
		if d.err != nil {
			return
		}
		d.m.Globals = append(d.m.Globals, g)
	}
}

func (d *decoder) exports() {
	n := d.entries("exports", 3)
	if d.err != nil {
		return
	}
	d.m.Exports = make([]Export, 0, n)
	seen := make(map[string]struct{}, n)
	for range n {
		at := d.pos
		e := Export{Name: d.name("export"), Kind: ExternKind(d.byte())}
		if count, ok := d.m.externCount(e.Kind); ok {
			e.Index = d.index(e.Kind.String(), count)
		} else {
			d.fail(ErrUnsupported, at, "export %q of a %s", e.Name, e.Kind)
		}
		if _, twice := seen[e.Name]; twice {
			d.fail(ErrMalformed, at, "second export %q", e.Name)
		}
		if d.err != nil {
			return
		}
		seen[e.Name] = struct{}{}
		d.m.Exports = append(d.m.Exports, e)
	}
}

// externCount is the number of things of a kind that can be exported.
func (m *Module) externCount(k ExternKind) (n int, ok bool) {
	switch k {
	case ExternFunction:
		return m.FunctionCount(), true
	case ExternTable:
		return len(m.Tables), true
	case ExternMemory:
		return len(m.Memories), true
	case ExternGlobal:
		return len(m.Globals), true
	default:
		return 0, false
	}
}

// segmentFlag reads the flag of a segment, of which only 0 is handled: active, in the first table or memory.
func (d *decoder) segmentFlag(what string) {
	at := d.pos
	if flag := d.u32(); flag != 0 {
		d.fail(ErrUnsupported, at, "%s segment of kind %d", what, flag)
	}
}

func (d *decoder) elements() {
	n := d.entries("element segments", 5)
	if d.err != nil {
		return
	}
	if len(d.m.Tables) == 0 {
		d.fail(ErrMalformed, d.pos, "element segments without a table")
		return
	}
	d.m.Elements = make([]ElementSegment, 0, n)
	for range n {
		d.segmentFlag("element")
		s := ElementSegment{Offset: d.offset()}
		functions := d.count("functions", 1)
		if d.err != nil {
			return
		}
		s.Functions = make([]uint32, functions)
		for i := range s.Functions {
			if s.Functions[i] = d.index("function", d.m.FunctionCount()); d.err != nil {
				return
			}
		}
		d.m.Elements = append(d.m.Elements, s)
	}
}

func (d *decoder) data() {
	n := d.entries("data segments", 5)
	if d.err != nil {
		return
	}
	if len(d.m.Memories) == 0 {
		d.fail(ErrMalformed, d.pos, "data segments without a memory")
		return
	}
	d.m.Data = make([]DataSegment, 0, n)
	for range n {
		d.segmentFlag("data")
		s := DataSegment{Offset: d.offset()}
		s.Bytes = d.take(d.count("bytes of data", 1))
		if d.err != nil {
			return
		}
		d.m.Data = append(d.m.Data, s)
	}
}

func (d *decoder) codes() {
	at := d.pos
	n := d.entries("bodies", 3)
	if d.err != nil {
		return
	}
	if n != len(d.m.Functions) {
		d.fail(ErrMalformed, at, "%d bodies for %d functions", n, len(d.m.Functions))
		return
	}
	d.m.Codes = make([]Code, 0, n)
	// Most bodies have a few groups of locals; this holds them in few allocations.
	groups := make([]LocalGroup, 0, 4*n)
	sectionEnd := d.end
	var r Reader
	for i := range n {
		size := d.count("bytes of a body", 1)
		if d.err != nil {
			return
		}
		d.end = d.pos + size
		from := len(groups)
		groups = d.locals(groups)
		if d.err != nil {
			d.err.Where = fmt.Sprintf("function %d", len(d.m.Imports)+i)
			return
		}
		c := Code{Locals: groups[from:len(groups):len(groups)]}
		base := d.pos
		c.Body = d.take(d.end - d.pos)
		r.Reset(c.Body)
		r.base, r.function = base, len(d.m.Imports)+i
		if d.checkBody(&r, d.m.Types[d.m.Functions[i]], &c); r.err != nil {
			d.err = r.err
			return
		}
		d.m.Codes = append(d.m.Codes, c)
		d.end = sectionEnd
	}
}

func (d *decoder) locals(groups []LocalGroup) []LocalGroup {
	at := d.pos
	var total uint64
	for range d.count("groups of locals", 2) {
		g := LocalGroup{Count: d.u32(), Type: d.valType(ValType.known, "local")}
		if total += uint64(g.Count); total > 1<<32-1 {
			d.fail(ErrMalformed, at, "%d locals", total)
		}
		if d.err != nil {
			break
		}
		groups = append(groups, g)
	}
	return groups
}
