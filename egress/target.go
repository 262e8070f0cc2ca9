package egress

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// target is a URL that was read strictly: what is checked here is what is sent.
type target struct {
	scheme string // "https" or "http"
	host   host
	port   uint16
	path   urlPath
	query  string // encoded, without the question mark
}

// parseTarget reads the URL of a request. Unlike a browser it mends nothing: text
// that two readers could understand differently is refused. A fragment is
// dropped, as it is never sent.
func parseTarget(text string) (target, *DeniedError) {
	if len(text) > MaxURLBytes {
		return target{}, deny(KindURL, "the URL must be at most %d bytes long", MaxURLBytes)
	}
	if !plainText(text) {
		return target{}, deny(KindURL, "the URL must be text without white space, control characters and backslashes")
	}
	scheme, rest, ok := cutScheme(text)
	if !ok {
		return target{}, deny(KindURL, "the URL must begin with https:// or http://")
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, query, _ := strings.Cut(rest, "?")
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	t := target{scheme: scheme, query: normalQuery(query)}
	var problem string
	if t.host, t.port, problem = parseAuthority(authority, scheme); problem != "" {
		return target{}, deny(KindURL, "the URL's %s", problem)
	}
	if t.path, ok = parsePath(path); !ok {
		return target{}, deny(KindURL, "the URL's path must be percent-encoded without control characters")
	}
	// What net/url would write into the request must be what was checked.
	if u := t.url(); len(u.String()) > MaxURLBytes || u.EscapedPath() != t.path.text {
		return target{}, deny(KindURL, "the URL must be at most %d bytes long in normal form", MaxURLBytes)
	}
	return t, nil
}

// plainText refuses what the URL standard strips or turns into a slash.
func plainText(text string) bool {
	if !utf8.ValidString(text) {
		return false
	}
	for _, r := range text {
		if r <= ' ' || r == '\\' || 0x7f <= r && r <= 0xa0 {
			return false
		}
	}
	return true
}

func cutScheme(text string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(text, "://")
	scheme = lowerASCII(scheme)
	return scheme, rest, ok && (scheme == "https" || scheme == "http")
}

// parseAuthority reads host and port; the port is the scheme's if there is none.
// The problem completes "the URL's …".
func parseAuthority(text, scheme string) (h host, port uint16, problem string) {
	if strings.Contains(text, "@") {
		return host{}, 0, "host must come without a user name or password"
	}
	name, digits, hasPort := text, "", false
	if i := strings.LastIndexByte(text, ':'); i > strings.LastIndexByte(text, ']') {
		name, digits, hasPort = text[:i], text[i+1:], true
	}
	port = defaultPort(scheme)
	if hasPort {
		n, err := strconv.ParseUint(digits, 10, 16)
		if err != nil || digits[0] == '0' {
			return host{}, 0, "port must be from 1 to 65535, without leading zeros"
		}
		port = uint16(n)
	}
	if h, problem = parseHost(name); problem != "" {
		return host{}, 0, "host " + problem
	}
	return h, port, ""
}

func defaultPort(scheme string) uint16 {
	if scheme == "http" {
		return 80
	}
	return 443
}

// authority is host and port, for people and for comparing.
func (t target) authority() string {
	return net.JoinHostPort(t.host.name, strconv.Itoa(int(t.port)))
}

// hostHeader is the value of the Host header: without the port if it is the
// scheme's own.
func (t target) hostHeader() string {
	switch {
	case t.port != defaultPort(t.scheme):
		return t.authority()
	case t.host.addr.Is6():
		return "[" + t.host.name + "]"
	}
	return t.host.name
}

func (t target) sameOrigin(o target) bool {
	return t.scheme == o.scheme && t.host.name == o.host.name && t.port == o.port
}

func (t target) url() *url.URL {
	u := &url.URL{Scheme: t.scheme, Host: t.hostHeader(), RawPath: t.path.text, RawQuery: t.query}
	u.Path, _ = url.PathUnescape(t.path.text) // a normal form always decodes
	return u
}

// literal is the address that the host is, if it is one.
func (t target) literal() (netip.Addr, bool) { return t.host.addr, t.host.addr.IsValid() }
