package egress

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/publicsuffix"
)

// Rule allows requests to one host, or to the hosts below one name. [ParseRule]
// reads it from text, and its String method writes that text.
type Rule struct {
	// Host is a name, an IPv4 address, an IPv6 address in brackets, or "*." and a
	// name. The wildcard stands for one or more labels: *.example.com covers
	// api.example.com and a.b.example.com, and never example.com. It must not
	// stand directly below a name under which strangers get names of their own,
	// such as com, co.uk or github.io.
	Host string
	// Port is the one port that is covered. Zero: the scheme's.
	Port uint16
	// Scheme is "https" or "http". Empty: "https".
	Scheme string
	// Methods are the methods that are covered. None: GET, HEAD, POST, PUT, PATCH,
	// DELETE and OPTIONS. CONNECT, TRACE and TRACK never are.
	Methods []string
	// PathPrefix covers a path and all below it, segment by segment: /v1 covers
	// /v1 and /v1/x, and not /v10. Paths that servers may read in different ways
	// (encoded slashes, for one) are not covered by any prefix. Empty: all paths.
	PathPrefix string
	// DangerouslyAllowPrivateAddresses lets the host's name lead to loopback,
	// private, shared and benchmarking addresses. Metadata services, link-local
	// and multicast addresses and the like stay refused.
	DangerouslyAllowPrivateAddresses bool
	// Headers are added to each request that the rule covers. In a value,
	// {{secret:NAME}} stands for the secret of that name. The caller may not set
	// these headers and does not see them. A secret needs https, or
	// DangerouslyAllowPrivateAddresses.
	Headers map[string]string
}

// normal gives the rule in the form in which equal rules are equal.
func (r Rule) normal() (Rule, error) {
	var problem string
	if r.Scheme == "" {
		r.Scheme = "https"
	}
	if r.Scheme != "https" && r.Scheme != "http" {
		return Rule{}, &OptionError{"Scheme", "must be https or http"}
	}
	if r.Port == 0 {
		r.Port = defaultPort(r.Scheme)
	}
	if r.Host, problem = normalPattern(r.Host); problem != "" {
		return Rule{}, &OptionError{"Host", problem}
	}
	if r.Methods, problem = normalMethods(r.Methods); problem != "" {
		return Rule{}, &OptionError{"Methods", problem}
	}
	if r.PathPrefix, problem = normalPrefix(r.PathPrefix); problem != "" {
		return Rule{}, &OptionError{"PathPrefix", problem}
	}
	secrets, err := r.normalHeaders()
	if err != nil {
		return Rule{}, err
	}
	if secrets && r.Scheme == "http" && !r.DangerouslyAllowPrivateAddresses {
		return Rule{}, &OptionError{"Headers", "with a secret need https, or DangerouslyAllowPrivateAddresses"}
	}
	return r, nil
}

func normalPattern(pattern string) (normal, problem string) {
	name, wildcard := strings.CutPrefix(pattern, "*.")
	if !plainText(name) {
		return "", "must be text without white space, control characters and backslashes"
	}
	h, problem := parseHost(name)
	switch {
	case problem != "":
		return "", problem
	case !wildcard && h.addr.Is6():
		return "[" + h.name + "]", ""
	case !wildcard:
		return h.name, ""
	case h.addr.IsValid():
		return "", "must not have a wildcard before an address"
	}
	if suffix, _ := publicsuffix.PublicSuffix(h.name); suffix == h.name {
		return "", "must not have a wildcard directly below a name under which strangers get names of their own"
	}
	return "*." + h.name, ""
}

func normalMethods(methods []string) (normal []string, problem string) {
	for _, m := range methods {
		m, ok := normalMethod(m)
		if !ok {
			return nil, "must be names of methods, and not CONNECT, TRACE or TRACK"
		}
		normal = append(normal, m)
	}
	slices.Sort(normal)
	return slices.Compact(normal), ""
}

// normalMethod gives a method in capitals. It is not ok if it is none, or one
// that no rule can allow: CONNECT makes a tunnel, TRACE returns what was sent,
// secrets included.
func normalMethod(method string) (string, bool) {
	if len(method) > 32 || !httpguts.ValidHeaderFieldName(method) {
		return "", false
	}
	method = strings.ToUpper(method)
	return method, method != "CONNECT" && method != "TRACE" && method != "TRACK"
}

func normalPrefix(prefix string) (normal, problem string) {
	if prefix == "" {
		return "", ""
	}
	if prefix[0] != '/' || strings.ContainsAny(prefix, "?#") || !plainText(prefix) || len(prefix) > MaxURLBytes {
		return "", "must be a path that begins with a slash, without a query and without white space"
	}
	p, ok := parsePath(prefix)
	if !ok || p.doubtful {
		return "", "must be a path that every server reads in the same way"
	}
	return strings.TrimSuffix(p.text, "/"), ""
}

// normalHeaders checks the headers and gives them canonical names, in a map that
// is the rule's own.
func (r *Rule) normalHeaders() (secrets bool, err error) {
	var headers map[string]string
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		key := canonicalName(name)
		_, twice := headers[key]
		if !httpguts.ValidHeaderFieldName(name) || ofConnection(key) || twice {
			return false, &OptionError{"Headers", "must have valid names, each once, that are not about the connection"}
		}
		parts, problem := parseTemplate(r.Headers[name])
		if problem != "" {
			return false, &OptionError{"Headers", problem}
		}
		for _, p := range parts {
			secrets = secrets || p.secret
		}
		if headers == nil {
			headers = map[string]string{}
		}
		headers[key] = r.Headers[name]
	}
	r.Headers = headers
	return secrets, nil
}

// String writes the rule as [ParseRule] reads it. A rule that came from ParseRule
// is read as the same rule again.
func (r Rule) String() string {
	var b strings.Builder
	if len(r.Methods) > 0 {
		b.WriteString(strings.Join(r.Methods, ",") + " ")
	}
	scheme := r.Scheme
	if scheme == "" {
		scheme = "https"
	}
	port := r.Port
	if port == 0 {
		port = defaultPort(scheme)
	}
	fmt.Fprintf(&b, "%s://%s:%d%s", scheme, r.Host, port, r.PathPrefix)
	if r.DangerouslyAllowPrivateAddresses {
		b.WriteString(" " + wordPrivate)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		fmt.Fprintf(&b, " %s%q", wordHeader, name+": "+r.Headers[name])
	}
	return b.String()
}
