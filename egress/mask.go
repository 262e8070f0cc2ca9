package egress

import (
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// masked stands where a secret was.
const masked = "[secret]"

// mask replaces secrets in what a server sent, as they are and as servers usually
// encode what they echo.
type mask struct {
	forms []string // in lower case, each once
}

func newMask(values map[string]string) mask {
	var m mask
	for _, v := range values {
		for _, form := range secretForms(v) {
			m.forms = append(m.forms, lowerBytes(form))
		}
	}
	slices.Sort(m.forms)
	m.forms = slices.Compact(m.forms)
	return m
}

// secretForms are what is looked for, in a text as it is and with its escapes
// decoded. Letters are compared without their case, which covers both cases of
// hexadecimal digits.
func secretForms(secret string) []string {
	forms := append(base64Forms(secret),
		secret,
		strings.ReplaceAll(secret, " ", "+"), // in a query
		hex.EncodeToString([]byte(secret)),
	)
	// A secret for Basic authentication is base64 of a name and a password.
	if pair, err := base64.StdEncoding.DecodeString(secret); err == nil && utf8.Valid(pair) {
		_, password, _ := strings.Cut(string(pair), ":")
		for _, plain := range []string{string(pair), password} {
			if len(plain) >= MinSecretBytes {
				forms = append(forms, plain)
			}
		}
	}
	return forms
}

// base64Forms are the digits that depend on the secret alone, wherever it stands
// in the text that was encoded: what comes before it shifts it by 0, 1 or 2 bytes.
func base64Forms(secret string) []string {
	var forms []string
	for shift := range 3 {
		digits := base64.StdEncoding.EncodeToString(append(make([]byte, shift), secret...))
		first := (shift*8 + 5) / 6
		last := (shift + len(secret)) * 8 / 6
		core := digits[first:last]
		forms = append(forms, core, strings.NewReplacer("+", "-", "/", "_").Replace(core))
	}
	return forms
}

// text masks a text of any kind. Bytes that need no mask stay as they are.
func (m mask) text(s string) string {
	if len(m.forms) == 0 {
		return s
	}
	spans := m.find(lowerBytes(s))
	for _, e := range escapesIn(s) {
		spans = append(spans, e.inEscaped(s, m.find(lowerBytes(e.unescape(s))))...)
	}
	if spans = joined(spans); len(spans) == 0 {
		return s
	}
	var b strings.Builder
	at := 0
	for _, span := range spans {
		b.WriteString(s[at:span[0]])
		b.WriteString(masked)
		at = span[1]
	}
	b.WriteString(s[at:])
	return b.String()
}

// find gives the parts of s that are secrets, in order.
func (m mask) find(s string) [][2]int {
	var spans [][2]int
	for _, form := range m.forms {
		for at := 0; ; at++ { // the next one may overlap this one
			i := strings.Index(s[at:], form)
			if i < 0 {
				break
			}
			at += i
			spans = append(spans, [2]int{at, at + len(form)})
		}
	}
	return joined(spans)
}

// joined puts parts in order; those that overlap or touch become one.
func joined(spans [][2]int) [][2]int {
	slices.SortFunc(spans, func(a, b [2]int) int { return a[0] - b[0] })
	var out [][2]int
	for _, span := range spans {
		if n := len(out); n > 0 && span[0] <= out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], span[1])
			continue
		}
		out = append(out, span)
	}
	return out
}

// header masks values, and leaves out headers whose name holds a secret.
func (m mask) header(h http.Header) http.Header {
	out := make(http.Header, len(h))
	for name, values := range h {
		if m.text(name) != name {
			continue
		}
		for _, v := range values {
			out[name] = append(out[name], m.text(v))
		}
	}
	return out
}

// denied masks the line of a refusal: a server chose the host that a redirect
// names.
func (m mask) denied(d *DeniedError) *DeniedError {
	return &DeniedError{Code: d.Code, Kind: d.Kind, Reason: m.text(d.Reason)}
}

func (m mask) failed(f *FailedError) *FailedError {
	return &FailedError{Reason: m.text(f.Reason), cause: f.cause}
}

// lowerBytes is lowerASCII for text that need not be UTF-8; the length stays.
func lowerBytes(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
