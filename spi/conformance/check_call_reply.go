package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

func replyValues() dialogues {
	var list dialogues
	add := func(source, reply, value string, ordered bool) {
		list = append(list, talks{turns: asking("1 tools.a []", valued(1, reply)), script: script{source: source, value: value, ordered: ordered}})
	}
	for _, v := range []string{
		"null", "true", "false", "0", "-1.5", "1e+300", `""`, `"é😀\u2028\n\"\\"`, "[]", "{}", `[1,[2,{"a":[]}],null]`, `{"z":1,"a":{"b":null},"m":"x"}`,
		`{"__proto__":{"a":1},"constructor":1,"toString":2}`, `{"":0,"then":1}`, `"2026-01-01T00:00:00.000Z"`,
	} {
		add("await tools.a()", v, v, strings.HasPrefix(v, "{"))
	}
	add("typeof (await tools.a())", `{"a":1}`, `"object"`, false)
	add("const v = await tools.a(); [Object.getPrototypeOf(v) === Object.prototype, Object.hasOwn(v, '__proto__'), v.a, ({}).a]", `{"__proto__":{"a":1}}`, `[true,true,null,null]`, false)
	add("const v = await tools.a(); v.push(3); v.x = 1; [Array.isArray(v), v.length, v instanceof Array]", `[1,2]`, `[true,3,true]`, false)
	add("const v = await tools.a(); [v.length, v.codePointAt(0), v.charCodeAt(2)]", `"😀\u0000"`, `[3,128512,0]`, false)
	add("await tools.a()", " \n[ 1 ,\t2 ] ", "[1,2]", false)
	add("JSON.parse = () => 'mine'; Object.prototype.get = 1; await tools.a()", `{"a":[1]}`, `{"a":[1]}`, false)
	return list
}

func largeCalls(ctx context.Context, s *subject) error {
	if s.cramped() {
		return nil
	}
	const size = 1 << 20
	text := strings.Repeat("x", size-len("é")) + "é"
	d, err := s.talk(ctx, "const v = await tools.a('é' + 'y'.repeat(1 << 20)); [v.length, v.at(-1), v.slice(0, -1) === 'x'.repeat(v.length - 1)]", s.withLeisure())
	if err != nil {
		return err
	}
	if err := d.wantWaits(`1 tools.a ["é` + strings.Repeat("y", size) + `"]`); err != nil {
		return err
	}
	if err := d.reply(ctx, valued(1, `"`+text+`"`)); err != nil {
		return err
	}
	return firstError(
		func() error { return wantValue(d.out, fmt.Sprintf(`[%d,"é",true]`, size-1)) },
		func() error { return wantUsed(d.out, 1, size+int64(len(`["é"]`))) },
	)
}

// describeError is what a script sees of the error of a call.
const describeError = "try { await tools.a(); return 'no error' } catch (e) { " +
	"return [e.name, e.message, e.function, e instanceof Error, e instanceof DeniedError, e instanceof ToolError, e instanceof TypeError, e instanceof RangeError, typeof e.stack] }"

func replyErrors() dialogues {
	var list dialogues
	for _, c := range []struct {
		name, want string // of the error; and which class, with the others
	}{
		{"", `"ToolError","m: é😀\n","tools.a",true,false,true,false,false,"string"`},
		{"ToolError", `"ToolError","m: é😀\n","tools.a",true,false,true,false,false,"string"`},
		{"DeniedError", `"DeniedError","m: é😀\n","tools.a",true,true,false,false,false,"string"`},
		{"TypeError", `"TypeError","m: é😀\n","tools.a",true,false,false,true,false,"string"`},
		{"RangeError", `"RangeError","m: é😀\n","tools.a",true,false,false,false,true,"string"`},
		{"QuotaError", `"QuotaError","m: é😀\n","tools.a",true,false,true,false,false,"string"`},
		{"Error", `"Error","m: é😀\n","tools.a",true,false,true,false,false,"string"`},
		{"__proto__", `"__proto__","m: é😀\n","tools.a",true,false,true,false,false,"string"`},
	} {
		list = append(list, talks{
			turns:  asking("1 tools.a []", failed(1, c.name, "m: é😀\n")),
			script: script{source: describeError, value: "[" + c.want + "]"},
		})
	}
	long := strings.Repeat("m", spi.MaxErrorMessageBytes)
	return append(list,
		talks{
			turns:  asking("1 tools.a []", failed(1, strings.Repeat("n", spi.MaxErrorNameBytes), long)),
			script: script{source: "try { await tools.a() } catch (e) { return [e.name.length, e.message.length] }", value: fmt.Sprintf("[%d,%d]", spi.MaxErrorNameBytes, len(long))},
		},
		talks{
			turns:  asking("1 tools.a []", failed(1, "", "")),
			script: script{source: "await tools.a().then(() => 'fulfilled', (e) => [e.message, Object.keys(e)])", value: `["",[]]`},
		},
	)
}

// ofCall demands the call whose error ended a script, 0 for none.
func ofCall(id int64) func(*spi.Outcome) error {
	return func(out *spi.Outcome) error {
		switch e := out.Error; {
		case e == nil:
			return errors.New("there is no error")
		case e.Call != id:
			return fmt.Errorf("error is of call %d, wanted %d", e.Call, id)
		}
		return nil
	}
}

func uncaughtCalls() dialogues {
	second := []turn{{calls: []string{"1 tools.b []"}, replies: []spi.Reply{valued(1, "0")}}, {calls: []string{"2 tools.a []"}}}
	list := dialogues{}
	for _, c := range []struct {
		reply spi.Reply
		kind  spi.Kind
		name  string
	}{
		{denied(2, "not you"), spi.KindDenied, "DeniedError"},
		{spi.Reply{ID: 2, Error: &spi.CallError{Name: "OtherError", Message: "not you", Denied: true}}, spi.KindDenied, "OtherError"},
		{failed(2, "", "not you"), spi.KindException, "ToolError"},
		{failed(2, "DeniedError", "not you"), spi.KindException, "DeniedError"},
		{failed(2, "TypeError", "not you"), spi.KindException, "TypeError"},
	} {
		turns := []turn{second[0], {calls: second[1].calls, replies: []spi.Reply{c.reply}}}
		for _, source := range []string{
			"await tools.b();\nawait tools.a()", "await tools.b();\ntry { await tools.a() } catch (e) { throw e }", "await tools.b();\nawait Promise.all([1, tools.a()])",
			"await tools.b();\nlet kept; try { await tools.a() } catch (e) { kept = e } await null; throw kept",
		} {
			list = append(list, talks{turns: turns, script: script{
				source: source, kinds: []spi.Kind{c.kind}, message: "not you", also: func(out *spi.Outcome) error {
					if out.Error.Name != c.name {
						return fmt.Errorf("error has the name %q, wanted %q", out.Error.Name, c.name)
					}
					return ofCall(2)(out)
				},
			}})
		}
	}
	return list
}

func forgedCalls() dialogues {
	list := dialogues{}
	// None of these is the error that the host gave, though it was denied.
	for _, throw := range []string{
		"throw new DeniedError('tools.a: denied')", "throw Object.assign(new DeniedError('x'), { call: 1, id: 1, function: 'tools.a' })", "throw new Error('wrapped', { cause: e })",
		"throw new DeniedError('wrapped', { cause: e })", "throw Object.create(e)", "throw new Proxy(e, {})", "throw Object.setPrototypeOf({ name: 'DeniedError', message: e.message, function: e.function, stack: e.stack }, DeniedError.prototype)",
		"throw new AggregateError([e])", "class Mine extends DeniedError {} throw new Mine('x')", "throw String(e)", "null.x",
	} {
		list = append(list, talks{turns: asking("1 tools.a []", denied(1, "no")), script: script{
			source: "let e; try { await tools.a() } catch (x) { e = x } " + throw, kinds: []spi.Kind{spi.KindException}, also: ofCall(0),
		}})
	}
	// All of these are, whatever the script did to it.
	for _, change := range []string{
		"e.name = 'Mine'", "e.message = 'mine'; e.function = 'tools.b'", "Object.setPrototypeOf(e, null)", "Object.setPrototypeOf(e, TypeError.prototype)", "Object.freeze(e)",
		"for (const k of Reflect.ownKeys(e)) delete e[k]", "WeakMap.prototype.get = WeakMap.prototype.has = () => undefined", "globalThis.DeniedError = class {}",
	} {
		list = append(list, talks{turns: asking("1 tools.a []", denied(1, "no")), script: script{
			source: "try { await tools.a() } catch (e) { " + change + "; throw e }", kinds: []spi.Kind{spi.KindDenied}, also: ofCall(1),
		}})
	}
	// One failed, and is no denial because another was.
	return append(list, talks{
		turns: []turn{{calls: []string{"1 tools.a []", "2 tools.b []"}, replies: []spi.Reply{denied(1, "no"), failed(2, "DeniedError", "failed")}}},
		script: script{
			source: "const all = await Promise.allSettled([tools.a(), tools.b()]); throw all[1].reason", kinds: []spi.Kind{spi.KindException}, message: "failed", also: ofCall(2),
		},
	})
}
