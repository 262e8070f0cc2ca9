package egress

import (
	"slices"
	"strings"
)

// rule is a [Rule] in normal form, ready to be compared with.
type rule struct {
	Rule
	name     string // what Host names: without the wildcard and without brackets
	wildcard bool
	headers  []headerTemplate
}

func newRule(r Rule) (rule, error) {
	r, err := r.normal()
	if err != nil {
		return rule{}, err
	}
	out := rule{Rule: r}
	out.name, out.wildcard = strings.CutPrefix(r.Host, "*.")
	out.name = strings.Trim(out.name, "[]")
	out.headers = templates(r.Headers)
	return out, nil
}

func (r *rule) coversHost(name string) bool {
	if r.wildcard {
		return strings.HasSuffix(name, "."+r.name)
	}
	return name == r.name
}

func (r *rule) coversMethod(method string) bool {
	if len(r.Methods) > 0 {
		return slices.Contains(r.Methods, method)
	}
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return true
	}
	return false
}

// sets reports whether the rule adds the header. Servers that hand headers on as
// variables do not tell hyphens from underscores.
func (r *rule) sets(name string) bool {
	same := func(s string) string { return strings.ReplaceAll(lowerASCII(s), "_", "-") }
	return slices.ContainsFunc(r.headers, func(h headerTemplate) bool { return same(h.name) == same(name) })
}

func (r *rule) hasSecrets() bool {
	return slices.ContainsFunc(r.headers, func(h headerTemplate) bool { return h.secret() })
}

// match finds the first rule that covers the request. The refusal names the
// demand that the rule which came closest did not see met.
func match(rules []rule, t target, method string) (*rule, *DeniedError) {
	const (
		missedHost = iota
		missedScheme
		missedPort
		missedMethod
		missedPath
	)
	closest := missedHost
	for i := range rules {
		r := &rules[i]
		missed := missedHost
		switch {
		case !r.coversHost(t.host.name):
		case r.Scheme != t.scheme:
			missed = missedScheme
		case r.Port != t.port:
			missed = missedPort
		case !r.coversMethod(method):
			missed = missedMethod
		case !t.path.below(r.PathPrefix):
			missed = missedPath
		default:
			return r, nil
		}
		closest = max(closest, missed)
	}
	switch closest {
	case missedScheme:
		return nil, deny(KindScheme, "%s may not be reached with %s", t.host.name, t.scheme)
	case missedPort:
		return nil, deny(KindPort, "port %d of %s may not be reached with %s", t.port, t.host.name, t.scheme)
	case missedMethod:
		return nil, deny(KindMethod, "the method %s is not allowed for %s", method, t.authority())
	case missedPath:
		return nil, deny(KindPath, "the path is not allowed for %s", t.authority())
	}
	return nil, deny(KindHost, "%s is not an allowed host", t.host.name)
}
