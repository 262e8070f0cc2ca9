package wasmbin

// An OpcodeSet is a set of known instructions.
type OpcodeSet struct {
	plain    [256]bool
	prefixed [len(prefixedOpcodes)]bool
}

// Has reports whether the set holds op.
func (s *OpcodeSet) Has(op Opcode) bool {
	switch {
	case op < 256:
		return s.plain[op]
	case op >= prefixed && int(op-prefixed) < len(s.prefixed):
		return s.prefixed[op-prefixed]
	default:
		return false
	}
}

// Add puts op in the set. Unknown instructions are not kept.
func (s *OpcodeSet) Add(op Opcode) {
	switch {
	case op < 256:
		s.plain[op] = true
	case op >= prefixed && int(op-prefixed) < len(s.prefixed):
		s.prefixed[op-prefixed] = true
	}
}

// UsedOpcodes reads all bodies and gives the instructions found. The error is that of a body changed into something
// malformed since Decode.
func (m *Module) UsedOpcodes() (*OpcodeSet, error) {
	set := new(OpcodeSet)
	var r Reader
	var ins Instr
	for i := range m.Codes {
		r.Reset(m.Codes[i].Body)
		r.function = len(m.Imports) + i
		for r.Next(&ins) {
			set.Add(ins.Op)
		}
		if err := r.Err(); err != nil {
			return nil, err
		}
	}
	return set, nil
}
