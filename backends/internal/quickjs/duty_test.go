package quickjs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"
)

// small is a module with a stack pointer, an import (function 0, of no
// parameters) and functions without parameters; those named in the table are
// called through it.
func small(table []uint32, bodies ...func(a *wasmbin.Assembler)) *wasmbin.Module {
	m := &wasmbin.Module{
		Types:    []wasmbin.FuncType{{}},
		Imports:  []wasmbin.Import{{Module: hostModule, Name: "tick"}},
		Tables:   []wasmbin.Limits{{Min: 8, Max: 8, HasMax: true}},
		Memories: []wasmbin.Limits{{Min: 1}},
		Globals:  []wasmbin.Global{{Type: wasmbin.I32, Mutable: true, Init: wasmbin.I32ConstExpr(60_000)}},
		Elements: []wasmbin.ElementSegment{{Offset: wasmbin.I32ConstExpr(0), Functions: table}},
	}
	for _, body := range bodies {
		var a wasmbin.Assembler
		body(&a)
		a.End()
		m.AddFunction(wasmbin.FuncType{}, wasmbin.Code{Locals: []wasmbin.LocalGroup{{Count: 2, Type: wasmbin.I32}}, Body: clone(&a)})
	}
	return m
}

func calls(functions ...uint32) func(a *wasmbin.Assembler) {
	return func(a *wasmbin.Assembler) {
		for _, f := range functions {
			a.Call(f)
		}
	}
}

func through(a *wasmbin.Assembler) { a.I32Const(0).CallIndirect(0) }

func nops(n int) func(a *wasmbin.Assembler) {
	return func(a *wasmbin.Assembler) {
		for range n {
			a.Op(wasmbin.OpNop)
		}
	}
}

func all(parts ...func(a *wasmbin.Assembler)) func(a *wasmbin.Assembler) {
	return func(a *wasmbin.Assembler) {
		for _, p := range parts {
			p(a)
		}
	}
}

func frameOf(lower, raise int32, inside ...func(a *wasmbin.Assembler)) func(a *wasmbin.Assembler) {
	return func(a *wasmbin.Assembler) {
		a.GlobalGet(0).I32Const(lower).Op(wasmbin.OpI32Sub).LocalTee(0).GlobalSet(0)
		all(inside...)(a)
		a.LocalGet(0).I32Const(raise).Op(wasmbin.OpI32Add).GlobalSet(0)
	}
}

func TestWhichFunctionsAsk(t *testing.T) {
	t.Parallel()
	const limit = 100
	type bodies []func(a *wasmbin.Assembler)
	const asks, flat = 1, 2
	for name, c := range map[string]struct {
		bodies bodies // function 1 and up
		table  []uint32
		want   []int
	}{
		"a function that calls nothing":       {bodies{nops(1)}, nil, []int{flat}},
		"calls of the host":                   {bodies{calls(0)}, nil, []int{flat}},
		"a chain":                             {bodies{calls(2), calls(3), nops(1)}, nil, []int{flat, flat, flat}},
		"direct recursion":                    {bodies{calls(1)}, nil, []int{asks}},
		"mutual recursion asks once":          {bodies{calls(2), calls(1)}, nil, []int{asks, 0}},
		"two cycles through one hub":          {bodies{calls(2), calls(1, 3), calls(2)}, nil, []int{0, asks, 0}},
		"two cycles apart":                    {bodies{calls(1), calls(2), nops(1)}, nil, []int{asks, asks, flat}},
		"who calls a recursion is not flat":   {bodies{calls(2), calls(2)}, nil, []int{0, asks}},
		"a cycle that has a heavy one":        {bodies{calls(2), all(calls(1), nops(limit))}, nil, []int{0, asks}},
		"a call through the table":            {bodies{through}, nil, []int{0}},
		"a simple function in the table":      {bodies{through, nops(1)}, []uint32{2}, []int{0, flat}},
		"recursion through the table":         {bodies{through}, []uint32{1}, []int{asks}},
		"a way back from the table":           {bodies{calls(2), through, calls(1)}, []uint32{3}, []int{0, 0, asks}},
		"as heavy as allowed":                 {bodies{nops(limit - 1)}, nil, []int{flat}},
		"one too heavy":                       {bodies{nops(limit)}, nil, []int{asks | flat}},
		"callees weigh":                       {bodies{calls(2), nops(limit - 1)}, nil, []int{asks | flat, flat}},
		"callees that ask do not":             {bodies{calls(2), nops(limit)}, nil, []int{flat, asks | flat}},
		"each call weighs":                    {bodies{calls(2, 2), nops(limit / 2)}, nil, []int{asks | flat, flat}},
		"what the table has weighs":           {bodies{through, nops(limit - 1)}, []uint32{2}, []int{asks, flat}},
		"what asks in the table does not":     {bodies{through, nops(limit)}, []uint32{2}, []int{0, asks | flat}},
		"a loop does not weigh more":          {bodies{func(a *wasmbin.Assembler) { a.Loop(wasmbin.BlockEmpty); nops(limit / 2)(a); a.Br(0).End() }}, nil, []int{flat}},
		"only one side of an if weighs":       {bodies{func(a *wasmbin.Assembler) { branches(a, limit*3/4, limit*3/4) }}, nil, []int{flat}},
		"the heavier side of an if weighs":    {bodies{func(a *wasmbin.Assembler) { branches(a, 1, limit) }}, nil, []int{asks | flat}},
		"a long way around a block by br":     {bodies{func(a *wasmbin.Assembler) { around(a, limit) }}, nil, []int{flat}},
		"recursion in the table, met outside": {bodies{calls(2), all(through, calls(3)), calls(2)}, []uint32{2}, []int{0, asks, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := duties(small(c.table, c.bodies...), 0, limit, func(uint32) bool { return false })
			require.NoError(t, err)
			var got []int
			for _, d := range d {
				n := 0
				if d.asks {
					n |= asks
				}
				if d.flat {
					n |= flat
				}
				got = append(got, n)
			}
			assert.Equal(t, c.want, got)
		})
	}
}

func branches(a *wasmbin.Assembler, then, otherwise int) {
	a.I32Const(1).If(wasmbin.BlockEmpty)
	nops(then)(a)
	a.Else()
	nops(otherwise)(a)
	a.End()
}

// around jumps over n instructions.
func around(a *wasmbin.Assembler, n int) {
	a.Block(wasmbin.BlockEmpty).Br(0)
	nops(n)(a)
	a.End()
}

func TestWhereTheStackPointerNeedsNoCheck(t *testing.T) {
	t.Parallel()
	set := func(a *wasmbin.Assembler) { a.I32Const(4).GlobalSet(0) }
	for name, c := range map[string]struct {
		body            func(a *wasmbin.Assembler)
		raises, shallow bool
	}{
		"as compilers do":                {frameOf(64, 64), true, true},
		"not as far up":                  {frameOf(64, 16), true, true},
		"the largest that is shallow":    {frameOf(maxShallow, maxShallow), true, true},
		"one that is not":                {frameOf(maxShallow+16, 16), true, false},
		"too far up":                     {frameOf(64, 80), false, false},
		"not up":                         {frameOf(64, 0), false, false},
		"further down":                   {frameOf(64, -16), false, false},
		"an entry that goes up":          {frameOf(-64, 16), false, false},
		"the local is set again":         {frameOf(64, 64, func(a *wasmbin.Assembler) { a.I32Const(1).LocalSet(0) }), false, false},
		"the pointer is set again":       {frameOf(64, 64, set), true, false},
		"the pointer is set before":      {all(set, frameOf(64, 64)), false, false},
		"an entry that may not be taken": {func(a *wasmbin.Assembler) { a.I32Const(0).If(wasmbin.BlockEmpty); maybe(a) }, false, false},
		"an entry in a loop":             {func(a *wasmbin.Assembler) { a.Loop(wasmbin.BlockEmpty); maybe(a) }, false, false},
		"nothing of the kind":            {nops(1), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := duties(small(nil, c.body), 0, maxWeight, func(uint32) bool { return false })
			require.NoError(t, err)
			assert.Equal(t, c.raises, len(d[0].raises) == 1)
			assert.Equal(t, c.shallow, d[0].shallow)
		})
	}
	// Frames add up, and what is not flat is not shallow.
	d, err := duties(small(nil, frameOf(maxShallow/2, 16, calls(2)), frameOf(maxShallow/2, 16, calls(3)), frameOf(16, 16), frameOf(16, 16, calls(4))),
		0, maxWeight, func(uint32) bool { return false })
	require.NoError(t, err)
	assert.Equal(t, []bool{false, true, true, false}, []bool{d[0].shallow, d[1].shallow, d[2].shallow, d[3].shallow})
}

// maybe is an entry inside a block, and an exit behind it.
func maybe(a *wasmbin.Assembler) {
	a.GlobalGet(0).I32Const(64).Op(wasmbin.OpI32Sub).LocalTee(0).GlobalSet(0).End()
	a.LocalGet(0).I32Const(64).Op(wasmbin.OpI32Add).GlobalSet(0)
}

func TestInALargeBodyOnlyTheBigSwitchHasItsTickOutside(t *testing.T) {
	t.Parallel()
	loop := func(labels int, inner ...func(a *wasmbin.Assembler)) func(a *wasmbin.Assembler) {
		return func(a *wasmbin.Assembler) {
			a.Loop(wasmbin.BlockEmpty).Block(wasmbin.BlockEmpty)
			all(inner...)(a)
			a.I32Const(0).BrTable(make([]uint32, labels), 0)
			a.End().End()
		}
	}
	for name, c := range map[string]struct {
		body   func(a *wasmbin.Assembler)
		inside int
	}{
		"a small body":          {all(loop(1), loop(manyLabels)), 0},
		"a loop without switch": {all(nops(largeBody), loop(1)), 1},
		"the switch":            {all(nops(largeBody), loop(1), loop(manyLabels)), 1},
		"what is around it":     {all(nops(largeBody), loop(1, loop(manyLabels), loop(1))), 1},
		"what is in it":         {all(nops(largeBody), loop(manyLabels, loop(1), loop(manyLabels-1))), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r wasmbin.Reader
			assert.Len(t, insideLoops(&r, small(nil, c.body).Codes[0].Body), c.inside)
		})
	}
}
