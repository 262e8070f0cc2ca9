package quickjs

import "github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"

const (
	// largeBody is the bytes from which on a body is large: the interpreter's own
	// main function, which has 50,000, and no other of the stock build.
	largeBody = 30_000
	// manyLabels is how many a br_table has that tells instructions of the
	// interpreter apart.
	manyLabels = 100
)

// insideLoops are the loops of a body that call tick inside, by their offsets:
// in a large body all but those around the interpreter's big switch. A call
// outside of a loop takes room in the native frame on some engines. For one
// loop that is little, but the main function has seventy of them and is in
// nearly each recursion, and the engine's own stack has to hold the frames that
// the shadow stack does.
func insideLoops(r *wasmbin.Reader, body []byte) map[int]bool {
	if len(body) < largeBody {
		return nil
	}
	const noLoop = -1
	inside := map[int]bool{}
	var open []int // offsets of what is open, if it is a loop
	var ins wasmbin.Instr
	for r.Reset(body); r.Next(&ins); {
		switch ins.Op {
		case wasmbin.OpLoop:
			inside[ins.Offset] = true
			open = append(open, ins.Offset)
		case wasmbin.OpBlock, wasmbin.OpIf:
			open = append(open, noLoop)
		case wasmbin.OpEnd:
			open = open[:max(0, len(open)-1)] // the last end is the function's
		case wasmbin.OpBrTable:
			if ins.Imm1 >= manyLabels {
				for _, at := range open {
					delete(inside, at)
				}
			}
		}
	}
	return inside
}
