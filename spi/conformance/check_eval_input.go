package conformance

import (
	"strings"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// evalInputChecks: what the script is given.
func evalInputChecks() []Check {
	return []Check{
		{ID: "EVAL-030", Level: MUST, Rule: "The global input is the request's JSON, of whatever type.", body: scripts{
			{source: "input", input: `{"a":[1,"b",true,null,{"c":1.5}]}`, value: `{"a":[1,"b",true,null,{"c":1.5}]}`, typ: "object"},
			{source: "return input", input: `[1,2]`, value: `[1,2]`, typ: "array"},
			{source: "await null; input", input: `"text"`, value: `"text"`, typ: "string"},
			{source: "[input, globalThis.input === input]", input: `false`, value: `[false,true]`},
			{source: "input + 1", input: `41`, value: `42`},
			{source: "[input === null, typeof input]", input: `null`, value: `[true,"object"]`},
			{source: "input", input: " \n[ ]\t ", value: `[]`},
		}.body()},
		{ID: "EVAL-031", Level: MUST, Rule: "Text of the input arrives as it was, whatever its characters.", body: script{
			source: `[input.s.length, input.s.charCodeAt(1), input.s.at(-1), input.s.includes('\u2028'), input['k\0é'], input.s]`,
			input:  `{"s":"a\u0000\u2028\"\\é😀</script>` + "\u2028" + `\n","k\u0000é":"v"}`,
			value:  `[19,0,"\n",true,"v","a\u0000\u2028\"\\é😀</script>` + "\u2028" + `\n"]`,
		}.body()},
		{ID: "EVAL-032", Level: MUST, Rule: "Names of the input are data, also those that mean something to objects.", body: script{
			source: "[Object.keys(input), input.__proto__.admin, input.constructor, ({}).admin, Object.getPrototypeOf(input) === Object.prototype, input.toJSON, input.then]",
			input:  `{"__proto__":{"admin":true},"constructor":"c","toJSON":1,"then":2}`,
			value:  `[["__proto__","constructor","toJSON","then"],true,"c",null,true,1,2]`,
		}.body()},
		{ID: "EVAL-033", Level: MUST, Rule: "Numbers of the input are doubles, to the last bit.", body: script{
			source: "[input[0] === Number.MAX_VALUE, input[1] === Number.MIN_VALUE, Object.is(input[2], -0), input[3] === 2 ** 53, input[4] === 0.1, input[5] === 1e21, input[6] === Infinity || input[6] > 1e308]",
			input:  `[1.7976931348623157e308,5e-324,-0,9007199254740993,0.1,1e21,1e400]`,
			value:  `[true,true,true,true,true,true,true]`,
		}.body()},
		{ID: "EVAL-034", Level: MUST, Rule: "An input nested 1000 deep arrives whole.", body: script{
			source: "let v = input, d = 0; while (Array.isArray(v)) { v = v[0]; d++ } d",
			input:  strings.Repeat("[", 1000) + strings.Repeat("]", 1000), value: "1000",
		}.body()},
		{ID: "EVAL-035", Level: MUST, Rule: "An input with a string of 1 MiB arrives whole, or is refused as too large.", body: script{
			source: "[input.length, input.at(0), input.at(-1)]", input: `"<` + strings.Repeat("x", 1<<20) + `>"`,
			orValue: []string{`[1048578,"<",">"]`}, kinds: []spi.Kind{spi.KindInputTooLarge}, roomy: true,
		}.body()},
		{ID: "EVAL-036", Level: MUST, Rule: "A script may change its input, which no other script sees.", body: scripts{
			{source: "input.list.push(4); input.list.name = 1; delete input.gone; input", input: `{"list":[1],"gone":true}`, value: `{"list":[1,4]}`},
			{source: "input = 'replaced'; input", input: `{}`, value: `"replaced"`, next: "input", nextValue: "null"},
		}.body()},
		{ID: "EVAL-037", Level: SHOULD, Rule: "A script may declare a variable of its own named input.", body: scripts{
			{source: "const input = 5; input", value: "5"},
			{source: "let input = 5; return input", value: "5"},
			{source: "function f(input) { return input + 1 } f(4)", value: "5"},
		}.body()},
	}
}

// evalIsolateChecks: what one eval leaves to the next in the same isolate.
func evalIsolateChecks() []Check {
	return []Check{
		{ID: "EVAL-040", Level: MUST, Rule: "A later script of an isolate finds what an earlier one left in the heap.", body: sequence{
			{source: "globalThis.kept = { n: 1 }; Array.prototype.mine = () => 'mine'; 0", value: "0"},
			{source: "kept.n++; [kept.n, [].mine()]", value: `[2,"mine"]`},
			{source: "return kept.n", value: "2"},
		}.body()},
		{ID: "EVAL-041", Level: MUST, Rule: "Each eval of an isolate has the input of its own request.", body: sequence{
			{source: "input", input: `{"a":1}`, value: `{"a":1}`},
			{source: "input.a = 3; input", input: `{"b":2}`, value: `{"b":2,"a":3}`},
			{source: "input", input: `null`, value: `null`},
		}.body()},
		{ID: "EVAL-042", Level: MUST, Rule: "Each eval of an isolate has the logs of its own script.", body: sequence{
			{source: "console.log('first'); 1", value: "1", logs: []string{"first"}},
			{source: "console.log('second'); 2", value: "2", logs: []string{"second"}},
			{source: "3", value: "3", logs: []string{}},
		}.body()},
		{ID: "EVAL-043", Level: MUST, Rule: "An isolate goes on after a script that threw, did not parse or had no result in JSON.", body: sequence{
			{source: "globalThis.n = 1; throw new Error('x')", kinds: exception()},
			{source: "n +", kinds: syntax()},
			{source: "n++; 5n", kinds: unserializable()},
			{source: "n", value: "2"},
		}.body()},
		{ID: "EVAL-044", Level: MUST, Rule: "Clock and random numbers go on from one eval of an isolate to the next.", body: sequence{
			{source: "globalThis.t = Date.now(); globalThis.r = [Math.random(), Math.random()]; while (Date.now() < t + 20); 0", value: "0"},
			{source: "[Date.now() >= t + 20, Date.now() < t + input, r.includes(Math.random())]", within: time.Minute, value: "[true,true,false]"},
		}.body()},
		{ID: "EVAL-045", Level: SHOULD, Rule: "The outcome of a script is its own, whatever an earlier one in the isolate left waiting.", body: sequence{
			{source: "setTimeout(() => { throw new Error('stray') }, 5); Promise.reject(new Error('stray')); 1", value: "1"},
			{source: "2", value: "2"},
			{source: "return 3", value: "3"},
		}.body()},
	}
}
