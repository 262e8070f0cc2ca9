package wasmbin

// A FunctionImport is a function to import.
type FunctionImport struct {
	Module string
	Name   string
	Type   FuncType
}

// AddFunctionImport is AddFunctionImports for one function.
func (m *Module) AddFunctionImport(module, name string, t FuncType) (index uint32, err error) {
	indexes, err := m.AddFunctionImports([]FunctionImport{{Module: module, Name: name, Type: t}})
	if err != nil {
		return 0, err
	}
	return indexes[0], nil
}

// AddFunctionImports adds imports after the present ones and returns their indexes. The indexes of defined functions rise
// by the number of imports, and so do all uses of them in bodies, elements, exports and the start function. Each call
// reads all bodies once, so add all imports together. Function indexes inside custom sections (names, debug information)
// are not changed: see StripCustoms. On error the module is unchanged.
func (m *Module) AddFunctionImports(imports []FunctionImport) (indexes []uint32, err error) {
	if len(imports) == 0 {
		return nil, nil
	}
	move, err := m.moveFor(len(imports))
	if err != nil {
		return nil, err
	}
	if err := m.moveInBodies(move); err != nil {
		return nil, err
	}
	return m.insertImports(imports, move), nil
}

// functionMove says how function indexes change: those from first on rise by by.
type functionMove struct {
	first, by uint32
}

// index gives the new index of a function.
func (v functionMove) index(function uint32) uint32 {
	if function >= v.first {
		return function + v.by
	}
	return function
}

func (m *Module) moveFor(imports int) (functionMove, error) {
	if int64(m.FunctionCount())+int64(imports) > 1<<32-1 {
		return functionMove{}, editError("%d functions and %d imports are too many", m.FunctionCount(), imports)
	}
	return functionMove{first: uint32(len(m.Imports)), by: uint32(imports)}, nil
}

func (m *Module) insertImports(imports []FunctionImport, move functionMove) (indexes []uint32) {
	for _, s := range m.Elements {
		for k, f := range s.Functions {
			s.Functions[k] = move.index(f)
		}
	}
	for i := range m.Exports {
		if e := &m.Exports[i]; e.Kind == ExternFunction {
			e.Index = move.index(e.Index)
		}
	}
	if m.Start != nil {
		start := move.index(*m.Start)
		m.Start = &start
	}
	for _, im := range imports {
		indexes = append(indexes, uint32(len(m.Imports)))
		m.Imports = append(m.Imports, Import{Module: im.Module, Name: im.Name, TypeIndex: m.TypeIndex(im.Type)})
	}
	return indexes
}

func (m *Module) moveInBodies(move functionMove) error {
	var r Reader
	var ins Instr
	return m.RewriteBodies(func(_ uint32, code *Code, out *Assembler) error {
		copied := 0 // what of the body is in out
		for r.Reset(code.Body); r.Next(&ins); {
			if (ins.Op == OpCall || ins.Op == OpRefFunc) && ins.Index() >= move.first {
				out.Raw(code.Body[copied:ins.Offset]).U32(ins.Op, move.index(ins.Index()))
				copied = ins.Offset + len(ins.Raw)
			}
		}
		if copied > 0 {
			out.Raw(code.Body[copied:])
		}
		return r.Err()
	})
}
