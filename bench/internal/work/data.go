package work

import (
	"fmt"
	"strconv"
	"strings"
)

// JSONIO takes JSON in and gives it back: parsed on the way in, written on the
// way out.
func JSONIO(bytes int) Job {
	text := recordsText(recordCount(bytes))
	return Job{Result: "input", Input: text, Want: text}
}

// JSONInside makes the same text in the script. with also parses and writes it
// there; the difference is what JSON itself costs inside.
func JSONInside(bytes int) (with, without Job) {
	n := recordCount(bytes)
	code := "var p=[]; for(let i=0;i<" + strconv.Itoa(n) + `;i++)p.push('{"id":'+i+',"name":"item '+i+'","on":true,"tags":["a","b",'+i*2+']}'); ` +
		"var t='['+p.join(',')+']'; "
	size := strconv.Itoa(len(recordsText(n)))
	return Job{Code: code, Result: "JSON.stringify(JSON.parse(t)).length", Want: size},
		Job{Code: code, Result: "t.length", Want: size}
}

func record(i int) string {
	return fmt.Sprintf(`{"id":%d,"name":"item %d","on":true,"tags":["a","b",%d]}`, i, i, i*2)
}

func recordsText(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = record(i)
	}
	return "[" + strings.Join(all, ",") + "]"
}

// recordCount is how many records stay within the size.
func recordCount(bytes int) int {
	total, n := 1, 0
	for {
		if total += len(record(n)) + 1; total > bytes {
			return n
		}
		n++
	}
}

// Logs100 writes a hundred lines to the console.
func Logs100() Job {
	return Job{Code: "for(let i=0;i<100;i++)console.log('line '+i+' of what a script says'); ", Result: "100", Want: "100", Logs: 100}
}

// ScriptSize is a script of at most and about so many KiB: functions and data, of
// which one of each is used.
func ScriptSize(kb int) Job {
	const tail = "var used=f0(d0.list.length); "
	var b strings.Builder
	for i := 0; ; i++ {
		part := fmt.Sprintf("function f%d(x){var y=x+%d; for(let k=0;k<3;k++){y+=k*x;} return y>%d?{v:y,w:'large'}:{v:y,w:'small'};}\n"+
			"var d%d={id:%d,name:'entry %d',list:[%d,%d,%d],nested:{on:true,text:'some text of entry %d'}};\n",
			i, i, i*3, i, i, i, i, i+1, i+2, i)
		if b.Len()+len(part)+len(tail)+16 > kb<<10 {
			break
		}
		b.WriteString(part)
	}
	// f0(3): 3+0, and 0*3 + 1*3 + 2*3 more.
	return Job{Code: b.String() + tail, Result: "used", Want: `{"v":12,"w":"large"}`}
}
