package wasmbin

import "fmt"

// RewriteBodies calls fn for each body, in order, with the index of the function, its code and an empty Assembler. What
// fn writes there becomes the new body; if it writes nothing the body stays. fn may change code.Locals. All new bodies
// share one buffer, so that this is cheap. If fn returns an error, bodies stay as they were and the error is returned
// with the function named.
//
//	var r wasmbin.Reader
//	var ins wasmbin.Instr
//	err := m.RewriteBodies(func(function uint32, code *wasmbin.Code, out *wasmbin.Assembler) error {
//		for r.Reset(code.Body); r.Next(&ins); {
//			out.Raw(ins.Raw)
//		}
//		return r.Err()
//	})
func (m *Module) RewriteBodies(fn func(function uint32, code *Code, out *Assembler) error) error {
	total := 0
	for i := range m.Codes {
		total += len(m.Codes[i].Body)
	}
	// Growing the buffer copies all of it, so leave room.
	out := Assembler{buf: make([]byte, 0, total+total/4)}
	ends := make([]int, len(m.Codes))
	for i := range m.Codes {
		out.base = len(out.buf)
		function := uint32(len(m.Imports) + i)
		if err := fn(function, &m.Codes[i], &out); err != nil {
			return fmt.Errorf("wasmbin: rewriting function %d: %w", function, err)
		}
		ends[i] = len(out.buf)
	}
	start := 0
	for i, end := range ends {
		if end > start {
			m.Codes[i].Body = out.buf[start:end:end]
		}
		start = end
	}
	return nil
}
