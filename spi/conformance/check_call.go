package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/loom-sandbox/sandboxd/spi"
)

// callChecks: scripts that call functions of the host, for backends that have that.
func callChecks() []Check {
	must := func(id, rule string, b body, more ...Need) Check {
		return Check{ID: id, Level: MUST, Rule: rule, Needs: append([]Need{NeedHostCalls}, more...), body: b}
	}
	return append([]Check{
		must("CALL-001", "Where host calls are declared, an isolate is a Caller, and a call gets its reply.", calls),
		{
			ID: "CALL-002", Level: MUST, Rule: "Where host calls are not declared, a request with functions is refused with ErrUnsupported.",
			Needs: []Need{NeedNoHostCalls}, body: callsNothing,
		},
		must("CALL-003", "A call waits with its ID, its function's name and its arguments as JSON.", callArguments().body()),
		must("CALL-004", "A call is at the line where the script made it, if it says where.", callLines),

		must("CALL-005", "A promise is fulfilled with the value of its reply, whatever JSON that is.", replyValues().body()),
		must("CALL-006", "Arguments and values of a megabyte arrive whole.", largeCalls),
		must("CALL-007", "A call that failed rejects with the class, name, message and function that the reply says.", replyErrors().body()),
		must("CALL-008", "An error of a call that nobody catches ends the script as denied or as an exception, with the call.", uncaughtCalls().body()),
		must("CALL-009", "No script can pass an error of its own off as one of a call, or take the mark from one.", forgedCalls().body()),

		must("CALL-010", "Calls that are made at once wait at once, in the order of their IDs.", callsAtOnce),
		must("CALL-011", "Replies may come in any order, in parts and not at all, and are settled in the given order.", repliesInParts),
		must("CALL-012", "A reply that is not valid or that no call waits for is ErrReply, and nothing has changed.", wrongReplies),
		must("CALL-013", "Continue is ErrNotWaiting where no script waits.", notWaiting),
		must("CALL-014", "The IDs of an isolate's calls go on from one eval to the next.", callIDsGoOn),
		must("CALL-015", "A function that was not handed out is a call by its name, and is not there for the operator in.", absentFunctions().body()),
		must("CALL-016", "Nothing of host calls is there for a script that was handed no functions, and no other than those handed out.", withoutFunctions),
	}, callRunChecks(must)...)
}

func calls(ctx context.Context, s *subject) error {
	d, err := s.talk(ctx, "1 + await tools.a(2)")
	if err != nil {
		return err
	}
	if err := d.wantWaits("1 tools.a [2]"); err != nil {
		return err
	}
	if err := d.reply(ctx, valued(1, "41")); err != nil {
		return err
	}
	return firstError(
		func() error { return wantValue(d.out, "42") },
		func() error { return wantPending(d.out) },
		func() error { return wantUsed(d.out, 1, 3) },
	)
}

// callsNothing also holds that the isolate is as before.
func callsNothing(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx)
	if err != nil {
		return err
	}
	req := request("1", "")
	for _, req.Functions = range [][]string{{"tools.a"}, {spi.FunctionEmit}, {spi.FunctionFetch}} {
		_, err := iso.Eval(ctx, req)
		if err == nil {
			return errors.New("a script was handed functions, and the descriptor does not say that scripts can call")
		}
		if err := wantOneOf("Eval with functions, which are not declared", err, spi.ErrUnsupported); err != nil {
			return err
		}
	}
	out, err := s.evalIn(ctx, iso, "2", "")
	if err != nil {
		return err
	}
	return wantValue(out, "2")
}

// callArguments: each script waits once, and ends with 7.
func callArguments() dialogues {
	var list dialogues
	add := func(source, call string) {
		list = append(list, talks{turns: asking("1 "+call, valued(1, "7")), script: script{source: source, value: "7"}})
	}
	for _, c := range [][2]string{
		{"", `[]`},
		{"1, 'two', [3], null, true", `[1,"two",[3],null,true]`},
		{"{ b: 1, a: { c: [{}, { d: -1.5e300 }] } }", `[{"b":1,"a":{"c":[{},{"d":-1.5e+300}]}}]`},
		{"'é😀\\u2028\\n\\\"\\0', '\\ud800'", `["é😀\u2028\n\"\u0000","�"]`},
		{"undefined", `[]`},
		{"1, undefined, undefined", `[1]`},
		{"undefined, 2", `[null,2]`},
		{"[undefined], { a: undefined }", `[[null],{}]`},
		{"NaN, Infinity, -0", `[null,null,0]`},
		{"() => 1, Symbol('s'), 5", `[null,null,5]`},
		{"new Date(0), new Map([[1, 2]])", `["1970-01-01T00:00:00.000Z",{}]`},
		{"{ toJSON() { return 'own' } }", `["own"]`},
		{"JSON.parse('{\"__proto__\":{\"a\":1}}')", `[{"__proto__":{"a":1}}]`},
		{"...[1, 2, 3]", `[1,2,3]`},
	} {
		add("await tools.a("+c[0]+")", "tools.a "+c[1])
	}
	add("await tools.deep.er.c('x')", `tools.deep.er.c ["x"]`)
	add("const { a } = tools; return await a.call(null, 1)", `tools.a [1]`)
	add("await tools['b'].apply(undefined, [[]])", `tools.b [[]]`)
	add("JSON.stringify = () => '0'; Array.prototype[Symbol.iterator] = null; Promise.prototype.then = null; const p = tools.a(1, 2); await p", `tools.a [1,2]`)
	for _, c := range []string{"1n", "(() => { const o = {}; o.o = o; return o })()", "{ toJSON() { throw new TypeError('own') } }"} {
		list = append(list, talks{
			turns:  asking("1 tools.b []", valued(1, "7")),
			script: script{source: "let e; const p = tools.a(" + c + "); try { await p } catch (x) { e = x } [e instanceof TypeError, await tools.b()]", value: "[true,7]"},
		})
	}
	return list
}

func callLines(ctx context.Context, s *subject) error {
	for _, c := range []struct {
		source string
		lines  []int
	}{
		{"await tools.a()", []int{1}},
		{"\n\n  await tools.a()\n", []int{3}},
		{"const f = () => {\n  return tools.a(1)\n}\n\nawait f()", []int{2}},
		{"const all = [\n  tools.a(),\n  tools.b(),\n\n  tools.none.such()]\nawait Promise.all(all)", []int{2, 3, 5}},
		{"'😀';\n/* é */ await tools.deep.er.c()", []int{2}},
		{"await null;\nawait 1\nawait tools.a()", []int{3}},
	} {
		d, err := s.talk(ctx, c.source)
		if err != nil {
			return err
		}
		if len(d.out.Pending) != len(c.lines) {
			return fmt.Errorf("%q: %d calls wait, wanted %d", c.source, len(d.out.Pending), len(c.lines))
		}
		for i, line := range c.lines {
			call := &d.out.Pending[i]
			if call.Line != 0 && call.Line != line {
				return fmt.Errorf("%q: call %d is at line %d, wanted %d", c.source, call.ID, call.Line, line)
			}
		}
	}
	return nil
}
