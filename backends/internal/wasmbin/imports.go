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
	move, err := m.functionMove(len(imports))
	if err != nil {
		return nil, err
	}
	if err := m.moveInBodies(move); err != nil {
		return nil, err
	}
	return m.insertImports(imports, move), nil
}

// AddFunctionImportsOutsideBodies is AddFunctionImports for a caller that rewrites all bodies anyway, and so saves one
// pass: the bodies stay as they are, and the caller must pass the index of each call and ref.func in them through
// move.Index.
func (m *Module) AddFunctionImportsOutsideBodies(imports []FunctionImport) (indexes []uint32, move FunctionMove, err error) {
	if move, err = m.functionMove(len(imports)); err != nil {
		return nil, FunctionMove{}, err
	}
	return m.insertImports(imports, move), move, nil
}

// A FunctionMove says how function indexes change: those from First on rise by By.
type FunctionMove struct {
	First, By uint32
}

// Index gives the new index of a function.
func (v FunctionMove) Index(function uint32) uint32 {
	if function >= v.First {
		return function + v.By
	}
	return function
}

func (m *Module) functionMove(imports int) (FunctionMove, error) {
	if int64(m.FunctionCount())+int64(imports) > 1<<32-1 {
		return FunctionMove{}, editError("%d functions and %d imports are too many", m.FunctionCount(), imports)
	}
	return FunctionMove{First: uint32(len(m.Imports)), By: uint32(imports)}, nil
}

func (m *Module) insertImports(imports []FunctionImport, move FunctionMove) (indexes []uint32) {
	for _, s := range m.Elements {
		for k, f := range s.Functions {
			s.Functions[k] = move.Index(f)
		}
	}
	for i := range m.Exports {
		if e := &m.Exports[i]; e.Kind == ExternFunction {
			e.Index = move.Index(e.Index)
		}
	}
	if m.Start != nil {
		start := move.Index(*m.Start)
		m.Start = &start
	}
	for _, im := range imports {
		indexes = append(indexes, uint32(len(m.Imports)))
		m.Imports = append(m.Imports, Import{Module: im.Module, Name: im.Name, TypeIndex: m.TypeIndex(im.Type)})
	}
	return indexes
}

func (m *Module) moveInBodies(move FunctionMove) error {
	var r Reader
	var ins Instr
	return m.RewriteBodies(func(_ uint32, code *Code, out *Assembler) error {
		copied := 0 // what of the body is in out
		for r.Reset(code.Body); r.Next(&ins); {
			if (ins.Op == OpCall || ins.Op == OpRefFunc) && ins.Index() >= move.First {
				out.Raw(code.Body[copied:ins.Offset]).U32(ins.Op, move.Index(ins.Index()))
				copied = ins.Offset + len(ins.Raw)
			}
		}
		if copied > 0 {
			out.Raw(code.Body[copied:])
		}
		return r.Err()
	})
}
