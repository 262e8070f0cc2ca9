package egress

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func maskOf(secrets ...string) mask {
	values := map[string]string{}
	for _, s := range secrets {
		values[s] = s
	}
	return newMask(values)
}

func TestSecretsAreMaskedAndNothingElse(t *testing.T) {
	t.Parallel()
	m := maskOf("topsecret", "topsecretandmore")
	for text, want := range map[string]string{
		"":                             "",
		"nothing here \\u0041 %41 &":   "nothing here \\u0041 %41 &",
		"topsecre topsecr et":          "topsecre topsecr et",
		"a topsecret b":                "a [secret] b",
		"topsecrettopsecret":           "[secret]",
		"topsecret,TOPSECRET":          "[secret],[secret]",
		"xtopsecretandmorex":           "x[secret]x",
		`{"a":"\u0074opsecret","b":1}`: `{"a":"[secret]","b":1}`,
		"a%20%74opsecre%74%20b%zz":     "a%20[secret]%20b%zz",
		"<b>top&#115;ecret&amp;</b>":   "<b>[secret]&amp;</b>",
		"%74ops%65cret %74opsecret %":  "[secret] [secret] %",
		"\xff\xfetopsecret\xff%":       "\xff\xfe[secret]\xff%",
	} {
		assert.Equal(t, want, m.text(text), "%q", text)
	}
	assert.Equal(t, "topsecret", maskOf().text("topsecret"))
}

func TestWhatASecretForBasicAuthenticationStandsForIsMaskedToo(t *testing.T) {
	t.Parallel()
	m := maskOf(base64.StdEncoding.EncodeToString([]byte("user:long password")))
	assert.Equal(t, "user=user password=[secret]", m.text("user=user password=long password"))
	assert.Equal(t, "[secret]!", m.text("user:long password!"))
}

func TestErrorsShowNoSecretEither(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, withSecret, "*.example.com:443")
	w.options.Secrets = SecretMap(map[string]string{"API": "plain-token-42"})
	_, err := w.fetch(&Request{URL: "https://plain-token-42.evil.test/"})
	require.EqualError(t, err, "egress: denied: [secret].evil.test is not an allowed host")
	assert.Equal(t, "[secret].evil.test is not an allowed host", w.denied[0].Reason)
	_, err = w.fetch(&Request{URL: "https://plain-token-42.example.com/"})
	require.EqualError(t, err, "egress: no address was found for [secret].example.com")
}

// FuzzMask hides a secret between two texts, encoded in each way that is known,
// and demands that it cannot be found afterwards.
func FuzzMask(f *testing.F) {
	f.Add("before", "s3cr3t/Val+ue&\"42\"", "after")
	f.Add("%2", "5%2541%u00\\", "0041;")
	f.Add("&#", "aaaaaaaa", "aaa")
	f.Add("\\u00", "1234 5678", "\xff")
	f.Fuzz(func(t *testing.T, before, value, after string) {
		if problemOfSecret(value) != "" {
			return
		}
		m := maskOf(value)
		for name, encode := range map[string]func(s string) string{
			"plain": func(s string) string { return s }, "query": url.QueryEscape, "path": url.PathEscape, "percent": percentEncode,
			"json": inJSON, "html": html.EscapeString, "hex": func(s string) string { return hex.EncodeToString([]byte(s)) },
		} {
			text := before + " " + encode(value) + " " + after
			got := m.text(text)
			if !strings.Contains(got, masked) {
				t.Fatalf("%s: %q is not masked in %q", name, value, text)
			}
			if strings.Contains(strings.ToLower(got), strings.ToLower(value)) && !strings.Contains(masked, strings.ToLower(value)) {
				t.Fatalf("%s: %q is left in %q", name, value, got)
			}
		}
		// Of base64, what depends on the secret alone is masked.
		for shift := range 3 {
			text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + value + after))
			got := m.text(text)
			left, _, found := strings.Cut(got, masked)
			if !found || len(left) > 3 {
				t.Fatalf("base64: %q is not masked in %q: %q", value, text, got)
			}
		}
	})
}

// FuzzUnescape compares the two passes over escapes with each other.
func FuzzUnescape(f *testing.F) {
	for _, s := range []string{"%41%4", `\u0041\"\x41\`, "&amp;&#65;&#x41;&#x0041;&", "%\\&", "plain", "&#128;"} {
		f.Add(s, uint16(0), uint16(3))
	}
	f.Fuzz(func(t *testing.T, s string, from, length uint16) {
		e := allEscapes
		view := e.unescape(s)
		if len(view) > len(s) {
			t.Fatalf("%q became longer", s)
		}
		a := int(from) % (len(view) + 1)
		b := min(len(view), a+int(length))
		if a == b {
			return
		}
		span := e.inEscaped(s, [][2]int{{a, b}})[0]
		if e.unescape(s[:span[0]]) != view[:a] || e.unescape(s[span[0]:span[1]]) != view[a:b] || e.unescape(s[span[1]:]) != view[b:] {
			// A cut must not fall into an escape, or make one.
			t.Fatalf("%q: %d to %d of %q is not %q", s, a, b, view, s[span[0]:span[1]])
		}
	})
}
