package egress

import (
	"maps"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// templatePart is fixed text, or the name of a secret.
type templatePart struct {
	text   string
	secret bool
}

type headerTemplate struct {
	name  string // canonical
	parts []templatePart
}

const (
	secretOpen  = "{{secret:"
	secretClose = "}}"
)

// parseTemplate reads the value of a header. The problem completes "Headers …".
func parseTemplate(value string) (parts []templatePart, problem string) {
	const form = "must have values of one line in which {{ only begins {{secret:NAME}}, " +
		"NAME being 1 to 64 letters, digits, dots, hyphens and underscores"
	if !httpguts.ValidHeaderFieldValue(value) || strings.TrimSpace(value) != value {
		return nil, form
	}
	for value != "" {
		text, rest, found := strings.Cut(value, "{{")
		if text != "" {
			parts = append(parts, templatePart{text: text})
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(strings.TrimPrefix("{{"+rest, secretOpen), secretClose)
		if !closed || !strings.HasPrefix("{{"+rest, secretOpen) || !validSecretName(name) {
			return nil, form
		}
		parts = append(parts, templatePart{text: name, secret: true})
		value = after
	}
	return parts, ""
}

func validSecretName(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !isUnreserved(c) || c == '~' {
			return false
		}
	}
	return true
}

// templates gives the headers of a rule in normal form, in order of name.
func templates(headers map[string]string) []headerTemplate {
	var out []headerTemplate
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		parts, _ := parseTemplate(headers[name]) // checked by Rule.normal
		out = append(out, headerTemplate{name, parts})
	}
	return out
}

func (h headerTemplate) secret() bool {
	return slices.ContainsFunc(h.parts, func(p templatePart) bool { return p.secret })
}

// fill puts the secrets in.
func (h headerTemplate) fill(values map[string]string) string {
	var b strings.Builder
	for _, p := range h.parts {
		if p.secret {
			b.WriteString(values[p.text])
		} else {
			b.WriteString(p.text)
		}
	}
	return b.String()
}

// secretNames are the names in all rules, each once.
func secretNames(rules []rule) []string {
	var names []string
	for _, r := range rules {
		for _, h := range r.headers {
			for _, p := range h.parts {
				if p.secret {
					names = append(names, p.text)
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// problemOfSecret says what is wrong with a secret's value; it completes a
// sentence that begins with the secret.
func problemOfSecret(value string) string {
	if len(value) < MinSecretBytes || len(value) > MaxSecretBytes {
		return "must be 8 to 4096 bytes long"
	}
	for i := range len(value) {
		if value[i] < ' ' || value[i] > '~' {
			return "must be one line of ASCII"
		}
	}
	if strings.TrimSpace(value) != value {
		return "must not begin or end with a space"
	}
	return ""
}
