package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

func callsAtOnce(ctx context.Context, s *subject) error {
	source := "const own = (async () => { await null; return tools.deep.er.c('later') })(); await Promise.all([tools.a(1), tools.b(2), own, tools.a(3)])"
	d, err := s.talk(ctx, source)
	if err != nil {
		return err
	}
	if err := d.wantWaits("1 tools.a [1]", "2 tools.b [2]", "3 tools.a [3]", `4 tools.deep.er.c ["later"]`); err != nil {
		return err
	}
	if err := d.reply(ctx, valued(1, "10"), valued(2, "20"), valued(3, "30"), valued(4, "40")); err != nil {
		return err
	}
	if err := wantValue(d.out, "[10,20,40,30]"); err != nil {
		return err
	}
	const many = 500
	d, err = s.talk(ctx, fmt.Sprintf("(await Promise.all(Array.from({ length: %d }, (_, i) => tools.a(i)))).every((v, i) => v === i)", many))
	if err != nil {
		return err
	}
	var calls []string
	var replies []spi.Reply
	for i := range many {
		calls = append(calls, fmt.Sprintf("%d tools.a [%d]", i+1, i))
		replies = append(replies, valued(int64(i+1), fmt.Sprint(i)))
	}
	return firstError(
		func() error { return d.wantWaits(calls...) },
		func() error { return d.reply(ctx, replies...) },
		func() error { return wantValue(d.out, "true") },
	)
}

func repliesInParts(ctx context.Context, s *subject) error {
	d, err := s.talk(ctx, "const order = []; await Promise.all(['a', 'b', 'c', 'd'].map((x) => tools.a(x).then((v) => order.push(v), (e) => order.push(e.message)))); order")
	if err != nil {
		return err
	}
	return firstError(
		func() error {
			return d.wantWaits(`1 tools.a ["a"]`, `2 tools.a ["b"]`, `3 tools.a ["c"]`, `4 tools.a ["d"]`)
		},
		func() error { return d.reply(ctx) },
		func() error {
			return d.wantWaits(`1 tools.a ["a"]`, `2 tools.a ["b"]`, `3 tools.a ["c"]`, `4 tools.a ["d"]`)
		},
		func() error { return d.reply(ctx, valued(3, "3")) },
		func() error { return d.wantWaits(`1 tools.a ["a"]`, `2 tools.a ["b"]`, `4 tools.a ["d"]`) },
		func() error { return d.reply(ctx, failed(4, "", "4"), valued(1, "1")) },
		func() error { return d.wantWaits(`2 tools.a ["b"]`) },
		func() error { return d.reply(ctx) },
		func() error { return d.reply(ctx, valued(2, "2")) },
		func() error { return wantValue(d.out, `[3,"4",1,2]`) },
		func() error { return wantUsed(d.out, 4, 4*int64(len(`["a"]`))) },
	)
}

// wrongReplies tries each beside a right one, which must not be taken either.
func wrongReplies(ctx context.Context, s *subject) error {
	d, err := s.talk(ctx, "const [x, y] = [tools.a(1), tools.b(2)]; const first = await x; [first, await y, await tools.a(3)]")
	if err != nil {
		return err
	}
	waits := func() error { return d.wantWaits("1 tools.a [1]", "2 tools.b [2]") }
	if err := waits(); err != nil {
		return err
	}
	bad := map[string]spi.Reply{
		"of a call that was never made": valued(3, "1"), "of call 0": valued(0, "1"), "of call -1": valued(-1, "1"), "of call 2^32+1": valued(1<<32+1, "1"),
		"with neither": {ID: 1}, "with both": {ID: 1, Value: []byte("1"), Error: &spi.CallError{}},
		"with an error that is not UTF-8":   failed(1, "", "\xff"),
		"with a name that is not UTF-8":     failed(1, "\xff", ""),
		"with an error that is too long":    failed(1, "", strings.Repeat("m", spi.MaxErrorMessageBytes+1)),
		"with a name that is much too long": failed(1, strings.Repeat("n", spi.MaxErrorMessageBytes+1), ""),
	}
	for _, text := range []string{"undefined", "{", "1 2", "'x'", `{"a":1,"a":2}`, "\"\xff\"", "[1,]", " ", "NaN", "1],[2,3"} {
		bad[fmt.Sprintf("with the value %q", text)] = valued(1, text)
	}
	wrong := func(what string, replies ...spi.Reply) error {
		if err := d.wantContinue(ctx, replies, spi.ErrReply); err != nil {
			return fmt.Errorf("a reply %s: %w", what, err)
		}
		return nil
	}
	for what, r := range bad {
		if err := errors.Join(wrong(what, r), wrong(what+", after a right one", valued(2, `"early"`), r), wrong(what+", before a right one", r, valued(2, `"early"`))); err != nil {
			return err
		}
	}
	return firstError(
		func() error { return wrong("that is there twice", valued(2, `"early"`), valued(2, `"twice"`)) },
		func() error { return d.reply(ctx) },
		waits,
		func() error { return wantUsed(d.out, 2, 6) },
		func() error { return d.reply(ctx, valued(1, `"one"`)) },
		func() error { return d.wantWaits("2 tools.b [2]") },
		func() error { return wrong("of a call that has its reply", valued(1, `"again"`)) },
		func() error { return d.reply(ctx, valued(2, `"two"`)) },
		func() error { return d.wantWaits("3 tools.a [3]") },
		func() error { return d.reply(ctx, valued(3, `"three"`)) },
		func() error { return wantValue(d.out, `["one","two","three"]`) },
	)
}

func notWaiting(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx, withCalls(10, 1000))
	if err != nil {
		return err
	}
	d := &dialogue{iso: iso}
	refuses := func() error {
		return errors.Join(d.wantContinue(ctx, nil, spi.ErrNotWaiting), d.wantContinue(ctx, []spi.Reply{valued(1, "1")}, spi.ErrNotWaiting))
	}
	if err := refuses(); err != nil {
		return fmt.Errorf("before any script: %w", err)
	}
	for _, c := range []struct {
		source string
		reply  bool
	}{{source: "1"}, {source: "throw 1"}, {source: "tools.a(); 1"}, {"await tools.a()", true}, {"await tools.a(); null.x", true}} {
		if d, err = talkIn(ctx, iso, c.source); err != nil {
			return err
		}
		if c.reply {
			if err := d.reply(ctx, valued(d.out.Pending[0].ID, "1")); err != nil {
				return err
			}
		}
		if d.out.Waits() {
			return fmt.Errorf("%q waits, wanted that it ends", c.source)
		}
		if err := refuses(); err != nil {
			return fmt.Errorf("after %q: %w", c.source, err)
		}
	}
	out, err := s.evalIn(ctx, iso, "1 + 1", "")
	if err != nil {
		return err
	}
	return wantValue(out, "2")
}

func callIDsGoOn(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx, withCalls(2, 1000))
	if err != nil {
		return err
	}
	for n := int64(1); n < 6; n += 2 {
		d, err := talkIn(ctx, iso, "[await tools.a(), await tools.b()]")
		if err != nil {
			return err
		}
		if err := firstError(
			func() error { return d.wantWaits(fmt.Sprintf("%d tools.a []", n)) },
			func() error { return d.reply(ctx, valued(n, "1")) },
			func() error { return d.wantWaits(fmt.Sprintf("%d tools.b []", n+1)) },
			func() error { return d.reply(ctx, valued(n+1, "2")) },
			func() error { return wantValue(d.out, "[1,2]") },
			func() error { return wantUsed(d.out, 2, 4) }, // of this eval
		); err != nil {
			return err
		}
	}
	return nil
}

func absentFunctions() dialogues {
	list := dialogues{
		{script: script{
			source: "['none' in tools, 'a' in tools, 'er' in tools.deep, 'none' in tools.deep.er, Object.keys(tools).sort(), typeof tools.none, typeof tools.a]",
			value:  `[false,true,true,false,["a","b","deep"],"function","function"]`,
		}},
		// What the language asks for by itself is no call.
		{script: script{source: "const t = await tools; [t === tools, JSON.stringify(tools.deep), tools.then === undefined, `${typeof tools.deep}`]", value: `[true,"{\"er\":{}}",true,"object"]`}},
	}
	for _, name := range []string{"tools.none", "tools.deep.none", "tools.deep.er.none", "tools.none.deeper.still", "tools.deep.er.c2"} {
		list = append(list,
			talks{turns: asking("1 "+name+" [1]", denied(1, name+": denied")), script: script{
				source: "await " + name + "(1)", kinds: []spi.Kind{spi.KindDenied}, message: name, also: ofCall(1),
			}},
			talks{turns: asking("1 "+name+" []", valued(1, "5")), script: script{source: "await " + name + "()", value: "5"}},
		)
	}
	return list
}

func withoutFunctions(ctx context.Context, s *subject) error {
	const ask = "[typeof tools, typeof fetch, typeof Headers, typeof Response, typeof emit, typeof DeniedError, typeof ToolError]"
	iso, err := s.isolate(ctx, withCalls(10, 1000))
	if err != nil {
		return err
	}
	out, err := s.evalIn(ctx, iso, ask, "")
	if err != nil {
		return err
	}
	if err := wantValue(out, `["undefined","undefined","undefined","undefined","undefined","undefined","undefined"]`); err != nil {
		return err
	}
	for _, c := range []struct {
		functions []string
		want      string
	}{
		{[]string{"tools.a"}, `["object","undefined","undefined","undefined","undefined","function","function"]`},
		{[]string{"crm.find", spi.FunctionEmit}, `["undefined","undefined","undefined","undefined","function","function","function"]`},
		{[]string{spi.FunctionFetch}, `["undefined","function","function","function","undefined","function","function"]`},
	} {
		fresh, err := s.isolate(ctx, withCalls(10, 1000))
		if err != nil {
			return err
		}
		d, err := talkIn(ctx, fresh, ask, slices.Clone(c.functions)...)
		if err == nil {
			err = wantValue(d.out, c.want)
		}
		if err != nil {
			return fmt.Errorf("with %v: %w", c.functions, err)
		}
	}
	return nil
}

// laterFunctions says nothing of what an earlier script kept elsewhere: that is
// in the heap.
func laterFunctions(ctx context.Context, s *subject) error {
	const ask = "['tools', 'crm', 'emit', 'fetch', 'DeniedError'].filter((name) => name in globalThis).concat(globalThis.tools ? Object.keys(tools) : [])"
	iso, err := s.isolate(ctx, withCalls(10, 1000))
	if err != nil {
		return err
	}
	for i, c := range []struct {
		functions []string
		want      string
	}{
		{[]string{"tools.a", "tools.b", spi.FunctionEmit}, `["tools","emit","DeniedError","a","b"]`},
		{[]string{"tools.b"}, `["tools","DeniedError","b"]`},
		{[]string{"crm.find", spi.FunctionFetch}, `["crm","fetch","DeniedError"]`},
		{nil, `[]`},
		{[]string{"tools.a"}, `["tools","DeniedError","a"]`},
	} {
		req := request(ask, "")
		req.Functions = c.functions
		d := &dialogue{iso: iso, source: ask}
		out, err := iso.Eval(ctx, req)
		if err = d.take("Eval", out, err); err == nil {
			err = wantValue(d.out, c.want)
		}
		if err != nil {
			return fmt.Errorf("eval %d, with %v: %w", i+1, c.functions, err)
		}
	}
	return nil
}
