package quickjs

import "github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"

// stackUse is what a body does with the stack pointer, as far as it has the form
// that compilers give it:
//
//	entry  global.get sp; i32.const K; i32.sub; local.tee L; global.set sp
//	exit   local.get L; i32.const N; i32.add; global.set sp
//
// The entry is in no block, so that all that follows it is behind it. L is set
// there and nowhere else, and K >= N > 0.
type stackUse struct {
	// lowers is how far the pointer goes down: K.
	lowers int
	// raises are the exits, by the offsets of their last instructions. They set
	// the pointer to no more than it was at the entry and no less than L, so
	// they need no check.
	raises map[int]bool
	// regular: the pointer is not set in any other way.
	regular bool
}

// stackUseOf reads a body.
func stackUseOf(r *wasmbin.Reader, sp uint32, body []byte) stackUse {
	type exit struct {
		local uint32
		by    int32
		at    int
	}
	var (
		ins, set wasmbin.Instr
		last     [3]wasmbin.Instr // before ins, the nearest last
		exits    []exit
		lowered  int32 // K
		local    uint32
		spSets   int
	)
	setsOf := map[uint32]int{}
	for r.Reset(body); r.Next(&ins); {
		switch ins.Op {
		case wasmbin.OpLocalTee, wasmbin.OpLocalSet:
			setsOf[ins.Index()]++
			entry := ins.Op == wasmbin.OpLocalTee && r.Depth() == 1 && lowered == 0 && spSets == 0 &&
				last[0].Op == wasmbin.OpGlobalGet && last[0].Index() == sp &&
				last[1].Op == wasmbin.OpI32Const && last[1].I32() > 0 && last[2].Op == wasmbin.OpI32Sub
			if entry {
				lowered, local, set = last[1].I32(), ins.Index(), ins
			}
		case wasmbin.OpGlobalSet:
			if ins.Index() != sp {
				break
			}
			spSets++
			if last[0].Op == wasmbin.OpLocalGet && last[1].Op == wasmbin.OpI32Const && last[2].Op == wasmbin.OpI32Add {
				exits = append(exits, exit{last[0].Index(), last[1].I32(), ins.Offset})
			}
			if spSets == 1 && (lowered == 0 || set.Offset != last[2].Offset) {
				lowered = 0 // the first to set the pointer is not the entry
			}
		}
		last[0], last[1], last[2] = last[1], last[2], ins
	}
	u := stackUse{regular: spSets == 0}
	if lowered == 0 || spSets == 0 || setsOf[local] != 1 {
		return u
	}
	u.lowers, u.raises = int(lowered), map[int]bool{}
	for _, e := range exits {
		if e.local == local && e.by > 0 && lowered >= e.by {
			u.raises[e.at] = true
		}
	}
	u.regular = spSets == 1+len(u.raises)
	return u
}
