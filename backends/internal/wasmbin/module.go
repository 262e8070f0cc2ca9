// Package wasmbin reads and writes WebAssembly core modules, so that a module of a known kind can be rewritten quickly.
//
// Decode checks the structure of a whole module, down to each instruction and each index, and refuses by name what it
// does not handle; it does not check the types of operands, which is left to the engine that compiles the result. For
// each input that Decode accepts, Encode of the unchanged module gives the very same bytes.
//
// Handled are WebAssembly 1.0, sign extension, saturating truncation, bulk memory, multiple values and the instructions
// of reference types, for modules with function imports only, at most one memory and one table, and active segments.
//
// A Module and all else here must not be changed by one goroutine while another uses it.
package wasmbin

// PageSize is the unit of memory limits, in bytes.
const PageSize = 65536

// MaxPages is the largest size of a memory, in pages.
const MaxPages = 65536

// A Module is a decoded module. Its fields may be changed freely; the methods keep related fields consistent.
type Module struct {
	Types        []FuncType
	Imports      []Import // function imports; function indexes count these first
	Functions    []uint32 // type index of each defined function
	Tables       []Limits // in elements, of funcref; at most one
	Memories     []Limits // in pages; at most one
	Globals      []Global
	Exports      []Export
	Start        *uint32 // function to run at instantiation, or nil
	Elements     []ElementSegment
	HasDataCount bool   // whether to write a data count section
	Codes        []Code // bodies of the functions in Functions
	Data         []DataSegment
	Customs      []Custom
}

// An Import is an imported function.
type Import struct {
	Module    string
	Name      string
	TypeIndex uint32
}

// Limits bound a table or a memory. Max counts only if HasMax is set.
type Limits struct {
	Min    uint32
	Max    uint32
	HasMax bool
}

// A Global is a defined global variable.
type Global struct {
	Type    ValType
	Mutable bool
	Init    ConstExpr
}

// An ExternKind says what an export is.
type ExternKind byte

// The kinds of export.
const (
	ExternFunction ExternKind = 0
	ExternTable    ExternKind = 1
	ExternMemory   ExternKind = 2
	ExternGlobal   ExternKind = 3
)

// An Export makes a function, table, memory or global reachable by name.
type Export struct {
	Name  string
	Kind  ExternKind
	Index uint32
}

// An ElementSegment fills the table with functions at instantiation, starting at Offset.
type ElementSegment struct {
	Offset    ConstExpr
	Functions []uint32
}

// A DataSegment is copied into memory at instantiation, starting at Offset.
type DataSegment struct {
	Offset ConstExpr
	Bytes  []byte
}

// A LocalGroup declares Count local variables of one type.
type LocalGroup struct {
	Count uint32
	Type  ValType
}

// A Code is the body of a function: its locals beyond the parameters, and its instructions with the final end.
type Code struct {
	Locals []LocalGroup
	Body   []byte
}

// LocalCount is the number of declared locals, parameters not counted.
func (c *Code) LocalCount() uint64 {
	var n uint64
	for _, g := range c.Locals {
		n += uint64(g.Count)
	}
	return n
}

// AddLocal declares one more local and returns its index, given the number of parameters of the function.
func (c *Code) AddLocal(params int, t ValType) uint32 {
	index := uint32(uint64(params) + c.LocalCount())
	if n := len(c.Locals); n > 0 && c.Locals[n-1].Type == t && c.Locals[n-1].Count < 1<<31 {
		// A copy, since the groups may be shared with another Code.
		c.Locals = append([]LocalGroup(nil), c.Locals...)
		c.Locals[n-1].Count++
		return index
	}
	c.Locals = append(c.Locals[:len(c.Locals):len(c.Locals)], LocalGroup{Count: 1, Type: t})
	return index
}

// A Custom is a custom section. After is the section it follows, or SectionCustom if it precedes all others. Customs
// after the same section keep their order.
type Custom struct {
	Name  string
	Data  []byte
	After SectionID
}

// A SectionID is the number of a section in the binary format.
type SectionID byte

// The known sections.
const (
	SectionCustom    SectionID = 0
	SectionType      SectionID = 1
	SectionImport    SectionID = 2
	SectionFunction  SectionID = 3
	SectionTable     SectionID = 4
	SectionMemory    SectionID = 5
	SectionGlobal    SectionID = 6
	SectionExport    SectionID = 7
	SectionStart     SectionID = 8
	SectionElement   SectionID = 9
	SectionCode      SectionID = 10
	SectionData      SectionID = 11
	SectionDataCount SectionID = 12
)

// String gives the name used in error messages, such as "import section".
func (id SectionID) String() string {
	names := [...]string{"custom", "type", "import", "function", "table", "memory", "global", "export", "start",
		"element", "code", "data", "data count", "tag"}
	if int(id) < len(names) {
		return names[id] + " section"
	}
	return "section " + hexByte(byte(id))
}

// rank is the place of a section in a module: the data count comes before the code.
func (id SectionID) rank() int {
	switch {
	case id == SectionDataCount:
		return int(SectionElement)*2 + 1
	default:
		return int(id) * 2
	}
}

// ImportedFunctionCount is the index of the first defined function.
func (m *Module) ImportedFunctionCount() int { return len(m.Imports) }

// FunctionCount is the number of functions, imported and defined.
func (m *Module) FunctionCount() int { return len(m.Imports) + len(m.Functions) }
