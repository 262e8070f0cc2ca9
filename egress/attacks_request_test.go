package egress

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func requestAttacks() []attack {
	var out []attack
	header := func(what, name, value string) {
		out = append(out, attack{name: what, request: Request{Headers: [][2]string{{name, value}}}, denied: KindHeader})
	}
	header("another Host", "Host", "evil.test")
	header("Host in other case", "hOsT", "evil.test")
	header("line break in a value", "X-A", "a\r\nHost: evil.test")
	header("bare line feed in a value", "X-A", "a\nb")
	header("line break at the end of a value", "X-A", "a\r\n")
	header("NUL in a value", "X-A", "a\x00b")
	header("line break in a name", "X-A\r\nHost", "evil.test")
	header("colon in a name", "Host:", "evil.test")
	header("space in a name", "Host ", "evil.test")
	header("empty name", "", "x")
	header("name in other letters", "Hoſt", "evil.test")
	for _, name := range []string{
		"Connection", "Content-Length", "Transfer-Encoding", "Upgrade", "TE", "Trailer", "Expect", "Keep-Alive",
		"Proxy-Authorization", "Proxy-Connection", "Sec-Fetch-Site", "Cookie", "Accept-Encoding", "Via", "Origin",
		"Referer", "X-HTTP-Method-Override", "X_HTTP_Method_Override", "X-Original-URL", "X-Rewrite-URL",
		"X-Forwarded-Host", "X-Forwarded-For", "Forwarded", "Transfer_Encoding",
		"X-Original-URI", "X-Original-Method", "X-Override-URL", "X-Envoy-Original-Path", "X-HTTP-Host-Override", "X-HTTP-Path-Override",
		"X-Client-IP", "True-Client-IP", "CF-Connecting-IP",
	} {
		header("header "+name, name, "x")
	}
	var many [][2]string
	for i := range MaxRequestHeaders + 1 {
		many = append(many, [2]string{fmt.Sprintf("X-%d", i), "x"})
	}
	return append(out,
		attack{name: "too many headers", request: Request{Headers: many}, denied: KindHeader},
		attack{name: "headers that are too large", denied: KindHeader, request: Request{Headers: [][2]string{{"X-A", strings.Repeat("a", MaxRequestHeaderBytes)}}}},
		attack{name: "CONNECT", request: Request{Method: "CONNECT"}, denied: KindMethod},
		attack{name: "TRACE", request: Request{Method: "trace"}, denied: KindMethod},
		attack{name: "method that is none", request: Request{Method: "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\nGET"}, denied: KindMethod},
		attack{name: "method in other letters", request: Request{Method: "POſT"}, denied: KindMethod},
		attack{name: "method that no rule names", request: Request{Method: "PROPFIND"}, denied: KindMethod},
		attack{name: "method that the rule leaves out", request: Request{Method: "DELETE"}, rules: []string{"GET,POST api.example.com:443"}, denied: KindMethod},
		attack{
			name: "another path as the destination", denied: KindHeader, rules: []string{"MOVE api.example.com:443/v1"},
			request: Request{Method: "MOVE", URL: apiURL + "/v1/a", Headers: [][2]string{{"Destination", "/admin"}}},
		},
		attack{name: "body with GET", request: Request{Body: []byte("GET /admin HTTP/1.1\r\n\r\n")}, denied: KindBody},
		attack{name: "body that is too large", request: Request{Method: "POST", Body: make([]byte, DefaultRequestBytes+1)}, denied: KindBody},
		attack{name: "unknown kind of redirect", request: Request{Redirect: "always"}, denied: KindRedirect},
		attack{
			name: "request in a body", request: Request{Method: "POST", Body: []byte("0\r\n\r\nGET /admin HTTP/1.1\r\nHost: evil.test\r\n\r\n")},
			harmless: "the body has its exact length, and the connection is closed after it", dials: 1,
			check: func(t *testing.T, _ *world, got *Response) {
				assert.Contains(t, string(got.Body), "Content-Length: 45\r\n", string(got.Body))
				assert.Contains(t, string(got.Body), "Connection: close")
			},
		},
	)
}
