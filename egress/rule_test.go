package egress

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestARuleIsReadIntoItsNormalForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Rule{
		"api.example.com":                 {Host: "api.example.com", Port: 443, Scheme: "https"},
		"API.Example.com.:443":            {Host: "api.example.com", Port: 443, Scheme: "https"},
		"api.example.com:8443/":           {Host: "api.example.com", Port: 8443, Scheme: "https"},
		"http://localhost":                {Host: "localhost", Port: 80, Scheme: "http"},
		"HTTPS://*.example.com:443/v1/":   {Host: "*.example.com", Port: 443, Scheme: "https", PathPrefix: "/v1"},
		"https://bücher.example/%61/../b": {Host: "xn--bcher-kva.example", Port: 443, Scheme: "https", PathPrefix: "/b"},
		"192.0.2.7:80":                    {Host: "192.0.2.7", Port: 80, Scheme: "https"},
		"[2001:DB8:0::1]:443":             {Host: "[2001:db8::1]", Port: 443, Scheme: "https"},
		"[::1]":                           {Host: "[::1]", Port: 443, Scheme: "https"},
		"POST,GET,GET a.test":             {Host: "a.test", Port: 443, Scheme: "https", Methods: []string{"GET", "POST"}},
		"GET.example":                     {Host: "get.example", Port: 443, Scheme: "https"},
		"a.test dangerously-allow-private-addresses": {
			Host: "a.test", Port: 443, Scheme: "https", DangerouslyAllowPrivateAddresses: true,
		},
		`PURGE http://a.test:81/x header="x-a: {{secret:A.b-c_1}} {" dangerously-allow-private-addresses header="X-B: b b"`: {
			Host: "a.test", Port: 81, Scheme: "http", PathPrefix: "/x", Methods: []string{"PURGE"}, DangerouslyAllowPrivateAddresses: true,
			Headers: map[string]string{"X-A": "{{secret:A.b-c_1}} {", "X-B": "b b"},
		},
	} {
		got, err := ParseRule(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
		again, err := ParseRule(got.String())
		require.NoError(t, err, got.String())
		assert.Equal(t, got, again, got.String())
	}
}

func TestARuleThatIsNotClearIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "a.test ", " a.test", "a.test  dangerously-allow-private-addresses", "a.test/a b", "a.test\t", "a.test\n",
		"*", "*:443", "*.", "*.*.example.com", "a*.example.com", "api.*.com", "*.com", "*.co.uk", "*.github.io", "*.localhost",
		"*.127.0.0.1", "*.[::1]", "*.0.1", "127.1", "0x7f000001", "[::1%25eth0]", "[::ffff:127.0.0.1]", "[127.0.0.1]",
		"a.test:0", "a.test:", "a.test:65536", "a.test:080", "a.test:https", "a.test:443:443", ":443", "https://",
		"ftp://a.test", "https:a.test", "//a.test", "user@a.test", "a.test?x", "a.test/?x", "a.test/#x", "a.test#x", `a.test\x`,
		"a.test/%2f", "a.test/%5C", "a.test/%00", "a.test/%zz", "a.test//x", "a.test/%252e", "a.test/..;/x", "a.test/%ff",
		"CONNECT a.test", "GET,TRACE a.test", "GET, a.test", ",GET a.test", "get a.test", "GET dangerously-allow-private-addresses x",
		"a.test dangerously-allow-private-addresses dangerously-allow-private-addresses", "a.test unknown",
		`a.test header=`, `a.test header=X-A:b`, `a.test header="X-A"`, `a.test header="X-A:b"`, `a.test header="X-A: b"x`,
		"a.test header=`X-A: b`", `a.test header="X-A: b" `, `a.test header="X-A: b" header="x-a: c"`,
		`a.test header="X A: b"`, `a.test header=": b"`, `a.test header="X-A: b\r\nX-B: c"`, `a.test header="X-A:  b"`, `a.test header="X-A: b\x00"`,
		`a.test header="Host: evil.test"`, `a.test header="Content-Length: 1"`, `a.test header="Proxy-Authorization: x"`,
		`a.test header="X-A: {{"`, `a.test header="X-A: {{secret:}}"`, `a.test header="X-A: {{secret:A}"`, `a.test header="X-A: {{Secret:A}}"`,
		`a.test header="X-A: {{secret:A B}}"`, `a.test header="X-A: {{secret:` + strings.Repeat("a", 65) + `}}"`,
		`http://a.test header="X-A: {{secret:A}}"`,
		"аррӏе\u202e.test", "ａ.test", strings.Repeat("a", 64) + ".test",
	} {
		_, err := ParseRule(text)
		problem, ok := errors.AsType[*OptionError](err)
		if assert.True(t, ok, "%q: %v", text, err) {
			assert.NotContains(t, problem.Error(), "\n")
			assert.NotContains(t, problem.Error(), "evil")
		}
	}
}

func TestAWildcardCoversNamesBelowItAndNeverItsOwn(t *testing.T) {
	t.Parallel()
	r := newRules(t, "*.example.com:443")
	for name, want := range map[string]bool{
		"a.example.com": true, "a.b.example.com": true, "xn--bcher-kva.example.com": true,
		"example.com": false, "badexample.com": false, "a.example.com.evil.test": false, "example.com.evil.test": false, "com": false,
	} {
		assert.Equal(t, want, r[0].coversHost(name), name)
	}
}

func TestAPrefixCoversWholeSegments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		prefix, path string
		want         bool
	}{
		{"", "", true}, {"", "/a%2fb", true}, {"/", "/x", true},
		{"/v1", "/v1", true}, {"/v1", "/v1/", true}, {"/v1/", "/v1", true}, {"/v1", "/v1/a/b", true}, {"/v1", "/%76%31/a", true},
		{"/v1", "/x/../v1/a", true}, {"/v1", "/v1/a:b;c=d,e", true}, {"/v1", "/v1/%E2%82%AC", true}, {"/v1", "/v1/100%25", true},
		{"/é", "/%C3%A9/x", true}, {"/é", "/%c3%a9", true}, {"/a/b", "/a/b/c", true},
		{"/v1", "/v10", false}, {"/v1", "/", false}, {"/v1", "", false}, {"/v1", "/V1", false}, {"/a/b", "/a", false}, {"/a/b", "/a/bc", false},
		{"/v1", "/v1/..", false}, {"/v1", "/v1/.%2e/", false}, {"/v1", "/v1/%2F", false},
		{"/v1", "/v1/..%3B/x", false}, {"/v1", "/v1/%2e%2e%3bx/y", false}, {"/v1", "/v1/.%3B", false}, {"/v1", "/v1/..%3F/x", false}, {"/v1", "/v1/..%23", false},
		{"/v1", "/v1/..%20/x", false}, {"/v1", "/v1/%20..", false}, {"/v1", "/v1/.../x", false}, {"/v1", "/v1/..%C2%A5x", false}, {"/v1", "/v1/;x/y", false},
		{"/v1", "/v1/..a", true}, {"/v1", "/v1/a%3Bb%3Fc%23d", true}, {"/v1", "/v1/a%20b", true}, {"/v1", "/v1/a../x", true}, {"/v1", "/v1/a%5cb", false}, {"/v1", "/v1//a", false},
	} {
		prefix, problem := normalPrefix(c.prefix)
		require.Empty(t, problem, c.prefix)
		p, ok := parsePath(c.path)
		require.True(t, ok, c.path)
		assert.Equal(t, c.want, p.below(prefix), "%s under %s", c.path, c.prefix)
	}
}

func TestTheFirstRuleThatCoversARequestDecides(t *testing.T) {
	t.Parallel()
	rules := newRules(t,
		`GET api.example.com:443/v1 header="X-A: 1"`,
		`*.example.com:443 header="X-A: 2"`,
		`api.example.com:443 header="X-A: 3"`,
	)
	for _, c := range []struct{ method, url, want string }{
		{"GET", "https://api.example.com/v1/x", "1"},
		{"POST", "https://api.example.com/v1/x", "2"},
		{"GET", "https://api.example.com/v2", "2"},
	} {
		at, denied := parseTarget(c.url)
		require.Nil(t, denied)
		r, denied := match(rules, at, c.method)
		require.Nil(t, denied)
		assert.Equal(t, c.want, r.Headers["X-A"], c.method+" "+c.url)
	}
}

func TestARefusalNamesTheRuleThatCameClosest(t *testing.T) {
	t.Parallel()
	rules := newRules(t, "other.test", "GET api.example.com:443/v1", "GET http://api.example.com:80")
	for _, c := range []struct {
		method, url string
		kind        Kind
		reason      string
	}{
		{"GET", "https://evil.test/", KindHost, "evil.test is not an allowed host"},
		{"GET", "http://other.test/", KindScheme, "other.test may not be reached with http"},
		{"GET", "https://api.example.com:8443/", KindPort, "port 8443 of api.example.com may not be reached with https"},
		{"POST", "https://api.example.com/v1", KindMethod, "the method POST is not allowed for api.example.com:443"},
		{"GET", "https://api.example.com/v2?q=secret", KindPath, "the path is not allowed for api.example.com:443"},
	} {
		at, denied := parseTarget(c.url)
		require.Nil(t, denied)
		_, denied = match(rules, at, c.method)
		require.NotNil(t, denied, c.url)
		assert.Equal(t, DeniedError{Code: CodeDenied, Kind: c.kind, Reason: c.reason}, *denied)
		assert.Equal(t, "egress: denied: "+c.reason, denied.Error())
	}
}

func newRules(t require.TestingT, texts ...string) []rule {
	var out []rule
	for _, text := range texts {
		parsed, err := ParseRule(text)
		require.NoError(t, err, text)
		r, err := newRule(parsed)
		require.NoError(t, err, text)
		out = append(out, r)
	}
	return out
}
