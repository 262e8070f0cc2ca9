package work

import (
	"fmt"
	"slices"
	"strconv"
)

// Named is a job with the row that it is measured in.
type Named struct {
	Name string
	Job  Job
}

// Sizes says how much the jobs do: numbers as a script spells them.
type Sizes struct {
	Fib, Array, Loop, JSON, Sort string
	// InputBytes is about the size of the JSON of json-io.
	InputBytes int
	// ScriptKB are the sizes of the scripts of script-size, in KiB.
	ScriptKB []int
	// Callers are the numbers of callers of concurrency.
	Callers []int
}

// FullSizes are those of the table. The input stays under the MiB that the
// sandbox's default lets a result have.
func FullSizes() Sizes {
	return Sizes{
		Fib: "27", Array: "1e6", Loop: "3e6", JSON: "30000", Sort: "100000", InputBytes: 1<<20 - 4096,
		ScriptKB: []int{1, 4, 16, 64, 256}, Callers: []int{1, 2, 4, 8, 16, 32, 64},
	}
}

// TinySizes are for tests.
func TinySizes() Sizes {
	return Sizes{
		Fib: "5", Array: "10", Loop: "10", JSON: "3", Sort: "20", InputBytes: 500,
		ScriptKB: []int{1, 4}, Callers: []int{1, 2},
	}
}

// CPUBound are the scripts on which the project measures the cost of its guards.
func CPUBound(s Sizes) []Named {
	return []Named{
		{"fib", Job{
			Code: "function fib(n){return n<2?n:fib(n-1)+fib(n-2)}; ", Result: "fib(" + s.Fib + ")",
			Want: strconv.Itoa(fib(number(s.Fib))),
		}},
		{"array", Job{
			Code: "var a=[]; for(let i=0;i<" + s.Array + ";i++)a.push(i*2); ", Result: "a.reduce((x,y)=>x+y)",
			Want: strconv.Itoa(number(s.Array) * (number(s.Array) - 1)),
		}},
		{"loop", Job{
			Code: "var s=0; for(let i=0;i<" + s.Loop + ";i++) s=(s+i*7)%1000003; ", Result: "s",
			Want: strconv.Itoa(loop(number(s.Loop))),
		}},
		{"json", Job{
			Code:   "var o=[]; for(let i=0;i<" + s.JSON + ";i++)o.push({id:i,n:'name'+i,v:[i,i+1]}); ",
			Result: "JSON.parse(JSON.stringify(o)).length", Want: strconv.Itoa(number(s.JSON)),
		}},
		{"sort", Job{
			Code:   "var o=Array.from({length:" + s.Sort + "},(_,i)=>(i*7919)%100003); ",
			Result: "o.sort((a,b)=>a-b)[5]", Want: strconv.Itoa(sixth(number(s.Sort))),
		}},
	}
}

// number is what the script's spelling means; those of [Sizes] are whole.
func number(spelled string) int {
	f, err := strconv.ParseFloat(spelled, 64)
	if err != nil {
		panic(fmt.Sprintf("work: size %q is no number", spelled)) // a constant of this package
	}
	return int(f)
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func loop(n int) int {
	s := 0
	for i := range n {
		s = (s + i*7) % 1000003
	}
	return s
}

func sixth(n int) int {
	all := make([]int, n)
	for i := range all {
		all[i] = i * 7919 % 100003
	}
	slices.Sort(all)
	return all[5]
}
