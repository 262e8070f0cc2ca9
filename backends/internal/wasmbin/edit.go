package wasmbin

import (
	"math"
	"slices"
)

// TypeIndex gives the index of a type, which is added if the module does not have it. The slices of t are kept.
func (m *Module) TypeIndex(t FuncType) uint32 {
	if i := slices.IndexFunc(m.Types, t.Equal); i >= 0 {
		return uint32(i)
	}
	m.Types = append(m.Types, t)
	return uint32(len(m.Types) - 1)
}

// FunctionType gives the type of a function, imported or defined.
func (m *Module) FunctionType(index uint32) (FuncType, error) {
	var t uint32
	switch i := int64(index) - int64(len(m.Imports)); {
	case i < 0:
		t = m.Imports[index].TypeIndex
	case i < int64(len(m.Functions)):
		t = m.Functions[i]
	default:
		return FuncType{}, editError("function %d of %d", index, m.FunctionCount())
	}
	if int64(t) >= int64(len(m.Types)) {
		return FuncType{}, editError("function %d has type %d of %d", index, t, len(m.Types))
	}
	return m.Types[t], nil
}

// ExportedFunction gives the index of the function exported under a name.
func (m *Module) ExportedFunction(name string) (index uint32, ok bool) {
	for i := range m.Exports {
		if e := &m.Exports[i]; e.Kind == ExternFunction && e.Name == name {
			return e.Index, true
		}
	}
	return 0, false
}

// AddFunction defines a function and returns its index. The code is kept, not copied.
func (m *Module) AddFunction(t FuncType, code Code) (index uint32) {
	m.Functions = append(m.Functions, m.TypeIndex(t))
	m.Codes = append(m.Codes, code)
	return uint32(m.FunctionCount() - 1)
}

// AddGlobal defines a global and returns its index. The initialiser must be a constant of the type of the global.
func (m *Module) AddGlobal(g Global) (index uint32, err error) {
	if t, ok := g.Init.Type(); !ok || t != g.Type {
		return 0, editError("global of %s needs a constant of that type", g.Type)
	}
	m.Globals = append(m.Globals, g)
	return uint32(len(m.Globals) - 1), nil
}

// SetGlobalInit changes the initial value of a global to a constant of its type.
func (m *Module) SetGlobalInit(index uint32, init ConstExpr) error {
	if int64(index) >= int64(len(m.Globals)) {
		return editError("global %d of %d", index, len(m.Globals))
	}
	g := &m.Globals[index]
	if t, ok := init.Type(); !ok || t != g.Type {
		return editError("global %d of %s needs a constant of that type", index, g.Type)
	}
	g.Init = init
	return nil
}

// AddExport exports something under a name no other export has.
func (m *Module) AddExport(name string, kind ExternKind, index uint32) error {
	n, ok := m.externCount(kind)
	if !ok || int64(index) >= int64(n) {
		return editError("export %q of %s %d of %d", name, kind, index, n)
	}
	if slices.ContainsFunc(m.Exports, func(e Export) bool { return e.Name == name }) {
		return editError("second export %q", name)
	}
	m.Exports = append(m.Exports, Export{Name: name, Kind: kind, Index: index})
	return nil
}

// SetMemoryLimits sets the size of the memory in pages, at most MaxPages.
func (m *Module) SetMemoryLimits(minPages, maxPages uint32) error {
	if len(m.Memories) != 1 {
		return editError("limits for a module with %d memories, not 1", len(m.Memories))
	}
	if minPages > maxPages || maxPages > MaxPages {
		return editError("memory limits %d to %d, not rising up to %d", minPages, maxPages, MaxPages)
	}
	m.Memories[0] = Limits{Min: minPages, Max: maxPages, HasMax: true}
	return nil
}

// AppendTableEntry adds a function at the end of the table, whose limits both grow by one, and returns the index of the
// entry. The table must be filled up to its end by the one element segment there is. An entry is found there at run time
// only if no instruction changes the table: see UsedOpcodes.
func (m *Module) AppendTableEntry(function uint32) (tableIndex uint32, err error) {
	if len(m.Tables) != 1 || len(m.Elements) != 1 {
		return 0, editError("entry for %d tables with %d element segments, not 1 and 1", len(m.Tables), len(m.Elements))
	}
	if int64(function) >= int64(m.FunctionCount()) {
		return 0, editError("entry for function %d of %d", function, m.FunctionCount())
	}
	table, segment := &m.Tables[0], &m.Elements[0]
	offset, ok := segment.Offset.I32()
	if !ok || int64(uint32(offset))+int64(len(segment.Functions)) != int64(table.Min) {
		return 0, editError("element segment does not fill the table of %d up to its end", table.Min)
	}
	if table.Min == math.MaxUint32 || table.HasMax && table.Max == math.MaxUint32 {
		return 0, editError("table is full")
	}
	index := table.Min
	segment.Functions = append(segment.Functions, function)
	table.Min++
	if table.HasMax {
		table.Max++
	}
	return index, nil
}

// StripCustoms drops all custom sections, or only those with one of the names given.
func (m *Module) StripCustoms(names ...string) {
	if len(names) == 0 {
		m.Customs = nil
		return
	}
	m.Customs = slices.DeleteFunc(m.Customs, func(c Custom) bool { return slices.Contains(names, c.Name) })
}
