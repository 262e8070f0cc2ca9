package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Hosts is the set of names that a request may be for. A page that makes its
// own name point at this machine (DNS rebinding) is told from a local client by
// the Host header alone.
type Hosts struct {
	names map[string]bool
}

// NewHosts allows the given names and addresses, and with them every loopback
// name: a client on this machine may use any of those.
func NewHosts(names ...string) *Hosts {
	h := &Hosts{names: map[string]bool{"localhost": true}}
	for _, n := range names {
		h.names[canonicalHost(n)] = true
	}
	return h
}

// Allows reports whether a Host header, with or without port, is in the set. A
// nil set allows everything.
func (h *Hosts) Allows(host string) bool {
	if h == nil {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = canonicalHost(host)
	if host == "" {
		return false
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.IsLoopback() {
		return true
	}
	return h.names[host]
}

func canonicalHost(s string) string {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	return strings.ToLower(strings.TrimSuffix(s, "."))
}

func (h *Hosts) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.Allows(r.Host) {
			newProblem(http.StatusMisdirectedRequest, "this server does not answer for the host of the request; the operator allows more with --allow-host").write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}
