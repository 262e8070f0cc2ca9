package egress

import (
	"strconv"
	"strings"
)

// Words after the target of a rule in text form.
const (
	wordPrivate = "dangerously-allow-private-addresses"
	wordHeader  = "header="
)

// ParseRule reads a rule from one line of text:
//
//	[METHODS] [SCHEME://]HOST[:PORT][/PATH] [dangerously-allow-private-addresses] [header="NAME: VALUE"]...
//
// Words are separated by single spaces. Methods are in capitals, separated by
// commas. The value of header= is quoted as in Go. For example:
//
//	api.example.com:443
//	GET,HEAD *.example.com:443/public
//	http://build.internal:8080 dangerously-allow-private-addresses
//	api.example.com:443/v1 header="Authorization: Bearer {{secret:API}}"
//
// The rule that is returned is complete and in normal form. Errors are
// [*OptionError].
func ParseRule(text string) (Rule, error) {
	word, rest := cutWord(text)
	var r Rule
	if next, _ := cutWord(rest); isMethods(word) && next != "" && !isOption(next) {
		r.Methods = strings.Split(word, ",")
		word, rest = cutWord(rest)
	}
	if problem := r.parseTarget(word); problem != "" {
		return Rule{}, &OptionError{"rule", problem}
	}
	for rest != "" {
		var problem string
		if rest, problem = r.parseOption(rest); problem != "" {
			return Rule{}, &OptionError{"rule", problem}
		}
	}
	// "a " has an empty word at its end, which the loop does not see.
	if strings.HasSuffix(text, " ") {
		return Rule{}, &OptionError{"rule", "must have its words separated by single spaces"}
	}
	return r.normal()
}

func cutWord(text string) (word, rest string) {
	word, rest, _ = strings.Cut(text, " ")
	return word, rest
}

func isMethods(word string) bool {
	return word != "" && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~,") == ""
}

func isOption(word string) bool {
	return word == wordPrivate || strings.HasPrefix(word, wordHeader)
}

func (r *Rule) parseTarget(word string) (problem string) {
	if !plainText(word) {
		return "must be text without tabs, control characters and backslashes"
	}
	r.Scheme = "https"
	if strings.Contains(word, "://") {
		scheme, rest, ok := cutScheme(word)
		if !ok {
			return "must begin with https://, with http:// or without a scheme"
		}
		r.Scheme, word = scheme, rest
	}
	if i := strings.IndexByte(word, '/'); i >= 0 {
		word, r.PathPrefix = word[:i], word[i:]
	}
	authority, wildcard := strings.CutPrefix(word, "*.")
	h, port, problem := parseAuthority(authority, r.Scheme)
	if problem != "" {
		return "has a target whose " + problem
	}
	r.Host, r.Port = h.name, port
	switch {
	case wildcard:
		r.Host = "*." + h.name
		if h.addr.Is6() {
			return "must not have a wildcard before an address"
		}
	case h.addr.Is6():
		r.Host = "[" + h.name + "]"
	}
	return ""
}

func (r *Rule) parseOption(text string) (rest, problem string) {
	if quoted, ok := strings.CutPrefix(text, wordHeader); ok {
		return r.parseHeader(quoted)
	}
	word, rest := cutWord(text)
	if word != wordPrivate || r.DangerouslyAllowPrivateAddresses {
		return "", "may have after its target only " + wordPrivate + " and " + wordHeader + `"NAME: VALUE", each once`
	}
	r.DangerouslyAllowPrivateAddresses = true
	return rest, ""
}

func (r *Rule) parseHeader(text string) (rest, problem string) {
	const form = "must have headers as " + wordHeader + `"NAME: VALUE", quoted as in Go, each once`
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil || quoted[0] != '"' {
		return "", form
	}
	line, err := strconv.Unquote(quoted)
	if err != nil {
		return "", form
	}
	name, value, ok := strings.Cut(line, ": ")
	rest = text[len(quoted):]
	if !ok || rest != "" && rest[0] != ' ' {
		return "", form
	}
	if _, twice := r.Headers[canonicalName(name)]; twice {
		return "", form
	}
	if r.Headers == nil {
		r.Headers = map[string]string{}
	}
	r.Headers[canonicalName(name)] = value
	return strings.TrimPrefix(rest, " "), ""
}
