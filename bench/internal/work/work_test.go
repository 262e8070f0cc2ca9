package work

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheCPUBoundScriptsAreThoseOfTheProject(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"fib":   "function fib(n){return n<2?n:fib(n-1)+fib(n-2)}; fib(27)",
		"array": "var a=[]; for(let i=0;i<1e6;i++)a.push(i*2); a.reduce((x,y)=>x+y)",
		"loop":  "var s=0; for(let i=0;i<3e6;i++) s=(s+i*7)%1000003; s",
		"json":  "var o=[]; for(let i=0;i<30000;i++)o.push({id:i,n:'name'+i,v:[i,i+1]}); JSON.parse(JSON.stringify(o)).length",
		"sort":  "var o=Array.from({length:100000},(_,i)=>(i*7919)%100003); o.sort((a,b)=>a-b)[5]",
	}
	got := map[string]string{}
	for _, c := range CPUBound(FullSizes()) {
		got[c.Name] = c.Job.Script()
		assert.NotEmpty(t, c.Job.Want)
	}
	assert.Equal(t, want, got)
}

func TestTheInputIsStrictJSONOfAboutTheSizeAskedFor(t *testing.T) {
	t.Parallel()
	bytes := FullSizes().InputBytes
	job := JSONIO(bytes)
	assert.LessOrEqual(t, len(job.Input), bytes)
	assert.Greater(t, len(job.Input), bytes-100)
	require.True(t, json.Valid([]byte(job.Input)))
}

func TestAScriptOfASizeHasAboutThatSize(t *testing.T) {
	t.Parallel()
	for _, kb := range FullSizes().ScriptKB {
		n := len(ScriptSize(kb).Script())
		assert.LessOrEqual(t, n, kb<<10)
		assert.Greater(t, n, kb<<10-400)
	}
}

func TestAPeersScriptReadsItsInputAndWritesItsResult(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "1;JSON.stringify(2)", Job{Code: "1;", Result: "2"}.PeerScript())
	assert.Equal(t, "var input = JSON.parse(__input);JSON.stringify(input)", Job{Result: "input", Input: "1"}.PeerScript())
}
