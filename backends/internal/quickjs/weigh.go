package quickjs

import "github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"

// longestWay is the number of instructions on the longest way through a body
// that turns back at no loop. Only a loop head can be reached twice without
// leaving the function, so this bounds what runs between two loop heads, too.
// A call counts what cost says on top of itself.
func longestWay(r *wasmbin.Reader, body []byte, cost func(call *wasmbin.Instr) int) int {
	const unreachable = -1 << 40
	type frame struct {
		loop   bool
		end    int // the longest way to the end by a branch, so far
		toElse int // the way to the else of an if
	}
	frames := []frame{{end: unreachable, toElse: unreachable}}
	now := 0
	branch := func(label uint32) {
		if f := &frames[len(frames)-1-int(label)]; !f.loop {
			f.end = max(f.end, now)
		}
	}
	var ins wasmbin.Instr
	var labels []uint32
	for r.Reset(body); r.Next(&ins); {
		now++
		switch ins.Op {
		case wasmbin.OpCall, wasmbin.OpCallIndirect:
			now += cost(&ins)
		case wasmbin.OpBlock, wasmbin.OpLoop:
			frames = append(frames, frame{loop: ins.Op == wasmbin.OpLoop, end: unreachable, toElse: unreachable})
		case wasmbin.OpIf:
			frames = append(frames, frame{end: unreachable, toElse: now})
		case wasmbin.OpElse:
			f := &frames[len(frames)-1]
			f.end = max(f.end, now)
			now, f.toElse = f.toElse, unreachable
		case wasmbin.OpEnd:
			f := frames[len(frames)-1]
			frames = frames[:len(frames)-1]
			now = max(now, f.end, f.toElse)
		case wasmbin.OpBrIf:
			branch(ins.Index())
		case wasmbin.OpBr:
			branch(ins.Index())
			now = unreachable
		case wasmbin.OpBrTable:
			labels = ins.AppendLabels(labels[:0])
			for _, l := range labels {
				branch(l)
			}
			now = unreachable
		case wasmbin.OpReturn:
			branch(uint32(len(frames) - 1))
			now = unreachable
		case wasmbin.OpUnreachable:
			now = unreachable
		}
	}
	return max(now, 0)
}
