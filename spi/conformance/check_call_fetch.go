package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

// fetchCall is the argument of a call of fetch.
type fetchCall struct {
	URL        string      `json:"url"`
	Method     string      `json:"method"`
	Headers    [][2]string `json:"headers"`
	Body       *string     `json:"body"`
	BodyBase64 *string     `json:"bodyBase64"`
}

// fetching is a script that fetches once.
type fetching struct {
	source string
	// What the call must say; a header is "name: value", and others may be there.
	url, method, header, body, base64 string
	reply                             spi.Reply
	end                               script
}

func fetchings() []fetching {
	const url = "https://a.example/x?y=1"
	bytes := `{"url":"https://b.example/","status":404,"statusText":"Not Found","redirected":true,"headers":[["Content-Type","text/plain"],["x-a","1"],["x-a","2"]],"bodyBase64":"/wBh"}`
	text := `{"url":"https://a.example/x?y=1","status":200,"statusText":"OK","redirected":false,"headers":[["content-type","application/json"]],"body":"{\"a\":[\"é\"]}"}`
	return []fetching{
		{
			source: "const r = await fetch('" + url + "'); [r.status, r.ok, r.statusText, r.url, r.redirected, r.headers.get('Content-Type'), await r.json(), r instanceof Response]",
			url:    url, method: "GET", reply: valued(1, text),
			end: script{value: `[200,true,"OK","` + url + `",false,"application/json",{"a":["é"]},true]`},
		},
		{
			source: "const r = await fetch('" + url + "', { method: 'POST', headers: { 'X-One': '1' }, body: 'é' }); [r.status, r.ok, r.url, r.redirected, r.headers.get('x-a'), [...new Uint8Array(await r.arrayBuffer())]]",
			url:    url, method: "POST", header: "x-one: 1", body: "é", reply: valued(1, bytes),
			end: script{value: `[404,false,"https://b.example/",true,"1, 2",[255,0,97]]`},
		},
		{
			source: "const r = await fetch(new Request('" + url + "', { method: 'PUT', body: new Uint8Array([255, 0]) })); await r.text()",
			url:    url, method: "PUT", base64: "/wA=", reply: valued(1, text), end: script{value: `"{\"a\":[\"é\"]}"`},
		},
		{
			source: "try { await fetch('" + url + "') } catch (e) { return [e.name, e.message, e.function, e instanceof DeniedError] }",
			url:    url, method: "GET", reply: denied(1, "not there"), end: script{value: `["DeniedError","not there","fetch",true]`},
		},
		{
			source: "await fetch('" + url + "')",
			url:    url, method: "GET", reply: denied(1, "not there"), end: script{kinds: []spi.Kind{spi.KindDenied}, message: "not there", also: ofCall(1)},
		},
	}
}

func callsFetch(ctx context.Context, s *subject) error {
	list := fetchings()
	for i := range list {
		if err := list[i].run(ctx, s); err != nil {
			return fmt.Errorf("of %q: %w", clip(list[i].source), err)
		}
	}
	return nil
}

func (f *fetching) run(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx, withCalls(1, 10_000))
	if err != nil {
		return err
	}
	d, err := talkIn(ctx, iso, f.source, spi.FunctionFetch)
	if err != nil {
		return err
	}
	if !d.out.Waits() {
		return fmt.Errorf("ended with %s, wanted that it waits", partsEnd(d.out))
	}
	return firstError(
		func() error { return f.wantCall(&d.out.Pending[0]) },
		func() error { return d.reply(ctx, f.reply) },
		func() error { return f.end.judge(d.out) },
	)
}

func (f *fetching) wantCall(c *spi.HostCall) error {
	var args []fetchCall
	if err := json.Unmarshal(c.Args, &args); err != nil || len(args) != 1 || c.Function != spi.FunctionFetch {
		return fmt.Errorf("call is %s %s, wanted fetch with one object", clip(c.Function), clip(string(c.Args)))
	}
	a := &args[0]
	if a.URL != f.url || a.Method != f.method {
		return fmt.Errorf("call is of %s %s, wanted %s %s", clip(a.Method), clip(a.URL), f.method, f.url)
	}
	for _, part := range []struct {
		what, want string
		got        *string
	}{{"body", f.body, a.Body}, {"bodyBase64", f.base64, a.BodyBase64}} {
		if (part.got != nil) != (part.want != "") || part.got != nil && *part.got != part.want {
			return fmt.Errorf("call is %s, wanted the %s %q", clip(string(c.Args)), part.what, part.want)
		}
	}
	for _, h := range a.Headers {
		if strings.EqualFold(h[0]+": "+h[1], f.header) {
			return nil
		}
	}
	if f.header != "" {
		return fmt.Errorf("headers are %q, wanted %q among them", a.Headers, f.header)
	}
	return nil
}
