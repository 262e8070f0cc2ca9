package egress

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func urlAttacks() []attack {
	wild := []string{"api.example.com:443", "*.example.com:443", "127.0.0.1:443", "2130706433.example.com:443"}
	out := denyURLs(KindURL, wild,
		[2]string{"user name in front of the host", "https://api.example.com@evil.test/"},
		[2]string{"user name and password", "https://user:pass@api.example.com/"},
		[2]string{"empty user name", "https://@api.example.com/"},
		[2]string{"encoded at sign in the host", "https://api.example.com%40evil.test/"},
		[2]string{"backslash in place of a slash", `https://evil.test\.api.example.com/`},
		[2]string{"backslashes in place of the slashes", `https:\\api.example.com/`},
		[2]string{"one slash", "https:/api.example.com/"},
		[2]string{"three slashes", "https:///api.example.com/"},
		[2]string{"no scheme", "//api.example.com/"},
		[2]string{"file scheme", "file:///etc/passwd"},
		[2]string{"gopher scheme", "gopher://api.example.com/"},
		[2]string{"scheme in a scheme", "view-source:https://api.example.com/"},
		[2]string{"tab in the host", "https://api.exam\tple.com/"},
		[2]string{"line break in the host", "https://api.example.com\r\nX: y/"},
		[2]string{"line break in the path", "https://api.example.com/a\r\nX: y"},
		[2]string{"space before the URL", " https://api.example.com/"},
		[2]string{"NUL in the host", "https://api.example.com\x00.evil.test/"},
		[2]string{"no-break space in the host", "https://api.example.com\u00a0.evil.test/"},
		[2]string{"DEL in the query", "https://api.example.com/?\x7f"},
		[2]string{"C1 control character in the query", "https://api.example.com/?\u0085"},
		[2]string{"bytes that are no text", "https://api.example.com/\xff"},
		[2]string{"encoded dot in the host", "https://api%2eexample%2ecom/"},
		[2]string{"encoded slash in the host", "https://evil.test%2f.example.com/"},
		[2]string{"encoded line break in the path", "https://api.example.com/a%0d%0aX:%20y"},
		[2]string{"encoded NUL in the path", "https://api.example.com/a%00.png"},
		[2]string{"broken percent-encoding in the path", "https://api.example.com/%zz"},
		[2]string{"port that is too large", "https://api.example.com:65979/"},
		[2]string{"port with a sign", "https://api.example.com:+443/"},
		[2]string{"port with a leading zero", "https://api.example.com:0443/"},
		[2]string{"port in other digits", "https://api.example.com:４４３/"},
		[2]string{"empty port", "https://api.example.com:/"},
		[2]string{"two ports", "https://api.example.com:443:80/"},
		[2]string{"empty host", "https://:443/"},
		[2]string{"host that is a dot", "https://./"},
		[2]string{"two dots at the end", "https://api.example.com../"},
		[2]string{"empty label", "https://api..example.com/"},
		[2]string{"underscore in the host", "https://api_.example.com/"},
		[2]string{"label that is too long", "https://" + strings.Repeat("a", 64) + ".example.com/"},
		[2]string{"name that is too long", "https://" + strings.Repeat("a.", 130) + "example.com/"},
		[2]string{"URL that is too long", "https://api.example.com/" + strings.Repeat("a", MaxURLBytes)},
		[2]string{"URL that grows too long", "https://api.example.com/" + strings.Repeat("ü", MaxURLBytes/3)},
		[2]string{"loopback, octal", "https://0177.0.0.1/"},
		[2]string{"loopback, hexadecimal", "https://0x7f.0.0.1/"},
		[2]string{"loopback, one hexadecimal number", "https://0x7f000001/"},
		[2]string{"loopback, one decimal number", "https://2130706433/"},
		[2]string{"loopback, short", "https://127.1/"},
		[2]string{"loopback, leading zeros", "https://127.000.000.001/"},
		[2]string{"loopback, five numbers", "https://127.0.0.0.1/"},
		[2]string{"loopback, full-width digits", "https://１２７.0.0.1/"},
		[2]string{"loopback, circled digits", "https://①②⑦.⓪.⓪.①/"},
		[2]string{"loopback, empty hexadecimal", "https://0x/"},
		[2]string{"name that ends in a number", "https://api.example.1/"},
		[2]string{"name that ends in a hexadecimal number", "https://api.example.0x1f/"},
		[2]string{"loopback, mapped into IPv6", "https://[::ffff:127.0.0.1]/"},
		[2]string{"loopback, mapped into IPv6 in hexadecimal", "https://[::ffff:7f00:1]/"},
		[2]string{"IPv4 in IPv6", "https://[64:ff9b::127.0.0.1]/"},
		[2]string{"IPv6 with a zone", "https://[fe80::1%25eth0]/"},
		[2]string{"IPv6 with a zone, not encoded", "https://[fe80::1%eth0]/"},
		[2]string{"IPv4 in brackets", "https://[127.0.0.1]/"},
		[2]string{"name in brackets", "https://[api.example.com]/"},
		[2]string{"bracket that is not closed", "https://[::1/"},
		[2]string{"text behind the bracket", "https://[::1]api.example.com/"},
		[2]string{"full-width letters", "https://ａｐｉ.example.com/"},
		[2]string{"full-width dots", "https://api．example．com/"},
		[2]string{"ideographic full stop", "https://evil。example.com/"},
		[2]string{"ideographic full stop behind an international label", "https://bücher。test/"},
		[2]string{"soft hyphen", "https://api.exam\u00adple.com/"},
		[2]string{"zero-width joiner", "https://api.exam\u200dple.com/"},
		[2]string{"text that turns its direction", "https://api.\u202eelpmaxe.com/"},
		[2]string{"Kelvin sign", "https://\u212a.example.com/"},
		[2]string{"sharp S of old mappings in capitals", "https://ẞ\u00ad.example.com/"},
		[2]string{"punycode of plain letters", "https://xn--api-.example.com/"},
		[2]string{"punycode that is broken", "https://xn--ßß.example.com/"},
		[2]string{"punycode that stands for nothing", "https://xn--a.example.com/"},
	)
	out = append(out, denyURLs(KindHost, []string{"api.example.com:443", "*.sub.example.com:443"},
		[2]string{"host that is not listed", "https://evil.test/"},
		[2]string{"Cyrillic letters", "https://аpi.example.com/"},
		[2]string{"Greek letters", "https://api.eχample.com/"},
		[2]string{"listed host in front of another", "https://api.example.com.evil.test/"},
		[2]string{"listed host behind other letters", "https://evilapi.example.com/"},
		[2]string{"listed host as a path", "https://evil.test/https://api.example.com/"},
		[2]string{"listed host as a fragment", "https://evil.test#@api.example.com/"},
		[2]string{"listed host as a query", "https://evil.test?@api.example.com/"},
		[2]string{"name above the wildcard", "https://sub.example.com/"},
		[2]string{"name beside the wildcard", "https://evilsub.example.com/"},
		[2]string{"parent of a listed host", "https://example.com/"},
		[2]string{"address of a listed host", "https://" + apiAddr + "/"},
		[2]string{"localhost", "https://localhost/"},
		[2]string{"IPv6 loopback", "https://[::1]/"},
		[2]string{"IPv6 loopback, long", "https://[0:0:0:0:0:0:0:1]/"},
	)...)
	out = append(out, denyURLs(KindScheme, nil, [2]string{"http for a host with https", "http://api.example.com/"})...)
	out = append(out, denyURLs(KindPort, nil, [2]string{"another port", "https://api.example.com:8443/"})...)
	out = append(out, denyURLs(KindHost, []string{}, [2]string{"no rules", "https://api.example.com/"})...)
	return append(out, pathAttacks()...)
}

func pathAttacks() []attack {
	out := denyURLs(KindPath, []string{"api.example.com:443/v1"},
		[2]string{"path beside the prefix", "https://api.example.com/v10"},
		[2]string{"path in other case", "https://api.example.com/V1/x"},
		[2]string{"dot segments", "https://api.example.com/v1/../admin"},
		[2]string{"dot segments, encoded", "https://api.example.com/v1/%2e%2E/admin"},
		[2]string{"dot segments with an encoded slash", "https://api.example.com/v1/..%2fadmin"},
		[2]string{"dot segments with an encoded backslash", "https://api.example.com/v1/..%5cadmin"},
		[2]string{"dot segments, encoded twice", "https://api.example.com/v1/%252e%252e/admin"},
		[2]string{"dot segments, encoded three times", "https://api.example.com/v1/%25252e%25252e/admin"},
		[2]string{"dot segments with a parameter", "https://api.example.com/v1/..;/admin"},
		[2]string{"dot segments behind an empty one", "https://api.example.com/v1//../../admin"},
		[2]string{"empty segment", "https://api.example.com//v1/x"},
		[2]string{"overlong dots", "https://api.example.com/v1/%c0%ae%c0%ae/admin"},
		[2]string{"full-width dots in the path", "https://api.example.com/v1/．．/admin"},
		[2]string{"division slash", "https://api.example.com/v1/..\u2215admin"},
		[2]string{"prefix as a parameter", "https://api.example.com/v1;/../admin"},
		[2]string{"prefix with an encoded slash", "https://api.example.com/v1%2f..%2fadmin"},
	)
	return append(out,
		attack{
			name:     "encoded letters of the prefix",
			request:  Request{URL: "https://api.example.com/%76%31/x?%2e%2e/"},
			rules:    []string{"api.example.com:443/v1"},
			harmless: "the path is sent in the form that was checked", dials: 1,
			check: func(t *testing.T, _ *world, got *Response) {
				assert.Contains(t, string(got.Body), "GET /v1/x?%2e%2e/\n")
			},
		},
		attack{
			name:     "dot at the end of the host",
			request:  Request{URL: "https://API.Example.COM.:443/"},
			harmless: "the name is the same without it", dials: 1,
			check: func(t *testing.T, w *world, got *Response) {
				assert.Contains(t, string(got.Body), "Host: api.example.com\n")
				assert.Equal(t, []string{"api.example.com"}, w.asked)
			},
		},
	)
}
