package egress

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const withSecret = `api.example.com:443 header="Authorization: Bearer {{secret:API}}"`

// percentEncode encodes every byte.
func percentEncode(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02X", s[i])
	}
	return b.String()
}

func inJSON(s string) string {
	quoted, _ := json.Marshal(s) // a string always marshals
	return string(quoted)
}

func secretAttacks() []attack {
	echoed := func(name string, encode func(header string) string) attack {
		return attack{
			name: "echo of the secret, " + name, rules: []string{withSecret}, dials: 1,
			harmless: "it is masked",
			api: func(w http.ResponseWriter, r *http.Request) {
				text := encode(r.Header.Get("Authorization"))
				if !strings.ContainsAny(text, "\n") {
					w.Header().Set("X-Echo", text)
				}
				// In parts, as chunks of their own.
				for _, part := range []string{text[:len(text)/2], text[len(text)/2:]} {
					_, _ = w.Write([]byte(part))
					w.(http.Flusher).Flush()
				}
			},
			check: func(t *testing.T, _ *world, got *Response) {
				for _, text := range []string{string(got.Body), fmt.Sprint(got.Headers)} {
					assert.Contains(t, text, masked)
				}
				assertNoSecret(t, got)
			},
		}
	}
	set := func(name string) attack {
		return attack{
			name: "setting the rule's header as " + name, rules: []string{withSecret},
			request: Request{Headers: [][2]string{{name, "x"}}}, denied: KindHeader,
		}
	}
	under := set("x_api_key")
	under.rules = []string{`api.example.com:443 header="X-Api-Key: {{secret:API}}"`}
	part := set("Range")
	part.name = "part of a response with an echo"
	return []attack{
		echoed("as it is", func(h string) string { return h }),
		echoed("in capitals", strings.ToUpper),
		echoed("in base64", func(h string) string { return base64.StdEncoding.EncodeToString([]byte(h)) }),
		echoed("in base64, shifted by one", func(h string) string { return base64.StdEncoding.EncodeToString([]byte("x" + h + "yz")) }),
		echoed("in base64, shifted by two", func(h string) string { return base64.StdEncoding.EncodeToString([]byte("xx" + h)) }),
		echoed("in base64 for URLs", func(h string) string { return base64.RawURLEncoding.EncodeToString([]byte(h)) }),
		echoed("in hexadecimal", func(h string) string { return hex.EncodeToString([]byte(h)) }),
		echoed("in hexadecimal capitals", func(h string) string { return strings.ToUpper(hex.EncodeToString([]byte(h))) }),
		echoed("encoded for a query", url.QueryEscape),
		echoed("encoded for a path", url.PathEscape),
		echoed("every byte percent-encoded", percentEncode),
		echoed("in JSON", inJSON),
		echoed("in JSON with escaped slashes", func(h string) string { return strings.ReplaceAll(inJSON(h), "/", `\/`) }),
		echoed("in JSON with every character as a number", func(h string) string {
			var b strings.Builder
			for _, r := range h {
				fmt.Fprintf(&b, `\u%04X`, r)
			}
			return b.String()
		}),
		echoed("in HTML", html.EscapeString),
		echoed("in HTML with names", strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;").Replace),
		echoed("in HTML with every character as a number", func(h string) string {
			var b strings.Builder
			for i, r := range h {
				fmt.Fprintf(&b, []string{"&#%d;", "&#x%X;", "&#%04d;"}[i%3], r)
			}
			return b.String()
		}),
		echoed("in base64 in a query", func(h string) string { return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(h))) }),
		echoed("twice, overlapping", func(h string) string { return h + secret }),
		{
			name: "echo of the secret in the final URL", rules: []string{withSecret}, dials: 2,
			harmless: "it is masked",
			api: func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/" {
					w.Header().Set("Location", "/"+url.PathEscape(secret)+"?"+percentEncode(secret))
					w.WriteHeader(http.StatusFound)
				}
			},
			check: func(t *testing.T, _ *world, got *Response) {
				assert.Equal(t, apiURL+"/"+masked+"?"+masked, got.URL)
				assertNoSecret(t, got)
			},
		},
		{
			name: "echo of the secret compressed", rules: []string{withSecret}, dials: 1,
			harmless: "it is masked after decompression",
			api: func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				z := toGzip(w)
				_, _ = z.Write([]byte(r.Header.Get("Authorization")))
				_ = z.Close()
			},
			check: func(t *testing.T, _ *world, got *Response) {
				assert.Equal(t, "Bearer "+masked, string(got.Body))
			},
		},
		{
			name: "echo of the secret as a header's name", dials: 1, harmless: "the header is left out",
			rules: []string{`api.example.com:443 header="Authorization: Bearer {{secret:API}}"`},
			setup: func(w *world) { w.options.Secrets = SecretMap(map[string]string{"API": "plain-token-42"}) },
			api:   func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-plain-token-42", "x") },
			check: func(t *testing.T, _ *world, got *Response) {
				assert.NotContains(t, fmt.Sprint(got.Headers), "plain-token")
			},
		},
		{
			name: "echo of the secret in the status text", rules: []string{withSecret}, dials: 1,
			harmless: "it is masked",
			api: func(w http.ResponseWriter, r *http.Request) {
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					return // the check fails then
				}
				defer conn.Close()
				fmt.Fprintf(conn, "HTTP/1.1 200 %s\r\nContent-Length: 0\r\n\r\n", r.Header.Get("Authorization"))
			},
			check: func(t *testing.T, _ *world, got *Response) {
				assert.Equal(t, "Bearer "+masked, got.StatusText)
			},
		},
		{
			name:  "secret of one host, echoed by another",
			rules: []string{withSecret, "other.example.com:443"}, dials: 1, harmless: "all secrets are masked everywhere",
			request: Request{URL: "https://other.example.com/" + url.PathEscape(secret)},
			check:   func(t *testing.T, _ *world, got *Response) { assertNoSecret(t, got) },
		},
		{
			name:    "secret template of a script",
			request: Request{Headers: [][2]string{{"X-A", "{{secret:API}}"}}}, dials: 1, harmless: "it is plain text",
			rules: []string{withSecret},
			check: func(t *testing.T, _ *world, got *Response) {
				assert.Contains(t, string(got.Body), "X-A: {{secret:API}}")
			},
		},
		{
			name: "secret as the host of a redirect", denied: KindRedirect, dials: 1,
			rules: []string{`api.example.com:443 header="Authorization: Bearer {{secret:API}}"`},
			setup: func(w *world) { w.options.Secrets = SecretMap(map[string]string{"API": "plain-token-42"}) },
			api:   redirectTo(http.StatusFound, "https://plain-token-42.evil.test/"),
			check: func(t *testing.T, w *world, _ *Response) {
				assert.Equal(t, masked+".evil.test", w.denied[0].Host, "operators' logs are no place for it either")
			},
		},
		set("authorization"),
		set("AUTHORIZATION"),
		under,
		part,
		{
			name: "header of a rule that a redirect leads to", denied: KindHeader, dials: 1,
			rules:   []string{"api.example.com:443", `other.example.com:443 header="X-Key: {{secret:API}}"`},
			request: Request{Headers: [][2]string{{"x-key", "own"}}},
			api:     redirectTo(http.StatusTemporaryRedirect, "https://other.example.com/"),
		},
	}
}

// assertNoSecret looks for the secret as it is and in the encodings that are
// masked, by decoding what it can.
func assertNoSecret(t *testing.T, got *Response) {
	t.Helper()
	text := strings.ToLower(got.URL + got.StatusText + fmt.Sprint(got.Headers) + string(got.Body))
	for _, form := range []string{
		secret, hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret)),
		url.QueryEscape(secret), url.PathEscape(secret), percentEncode(secret), html.EscapeString(secret), inJSON(secret),
		base64.StdEncoding.EncodeToString([]byte("xx" + secret))[4:20],
	} {
		assert.NotContains(t, text, strings.ToLower(form))
	}
}
