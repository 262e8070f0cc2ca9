package egress

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// answers makes a name lead to these addresses, one answer after the other.
func answers(name string, each ...string) func(w *world) {
	return func(w *world) {
		w.names[name] = nil
		for _, a := range each {
			w.names[name] = append(w.names[name], strings.Fields(a))
		}
	}
}

func addressAttacks() []attack {
	var out []attack
	leads := func(what, addrs, class string) {
		out = append(out, attack{
			name: "name that leads to " + what, setup: answers("api.example.com", addrs), denied: KindAddress,
			check: func(t *testing.T, w *world, _ *Response) {
				assert.Equal(t, class, w.denied[0].Class)
				assert.True(t, w.denied[0].Address.IsValid(), "the operator sees the address")
			},
		})
	}
	leads("loopback", "127.0.0.1", "loopback")
	leads("IPv6 loopback", "::1", "loopback")
	leads("loopback mapped into IPv6", "::ffff:127.0.0.1", "loopback")
	leads("a private address", "10.0.0.7", "private")
	leads("a unique local address", "fd12:3456::1", "private")
	leads("link-local", "fe80::1", "link-local")
	leads("a metadata service", "169.254.169.254", "metadata or link-local")
	leads("a metadata service mapped into IPv6", "::ffff:169.254.169.254", "metadata or link-local")
	leads("a metadata service with IPv6", "fd00:ec2::254", "metadata or link-local")
	leads("a metadata service among the shared addresses", "100.100.100.200", "metadata or link-local")
	leads("a metadata service with a public address", "168.63.129.16", "metadata or link-local")
	leads("a carrier's shared address", "100.64.0.1", "shared by carriers")
	leads("the unspecified address", "0.0.0.0", "unspecified")
	leads("the unspecified IPv6 address", "::", "unspecified")
	leads("multicast", "224.0.0.1", "multicast")
	leads("IPv6 multicast", "ff02::1", "multicast")
	leads("broadcast", "255.255.255.255", "broadcast")
	leads("a reserved address", "240.0.0.1", "reserved")
	leads("a benchmarking address", "198.18.0.1", "benchmarking")
	leads("a documentation address", "192.0.2.1", "documentation")
	leads("an IPv6 documentation address", "2001:db8::1", "documentation")
	leads("loopback in an IPv4-compatible address", "::7f00:1", "IPv4-compatible")
	leads("loopback through 6to4", "2002:7f00:1::1", "6to4")
	leads("loopback through Teredo", "2001:0:7f00:1::1", "Teredo")
	leads("loopback through NAT64", "64:ff9b::7f00:1", "NAT64")
	leads("loopback through a local NAT64", "64:ff9b:1::7f00:1", "NAT64")
	leads("loopback through ISATAP", "2a00:1::5efe:7f00:1", "ISATAP")
	leads("public and private addresses", apiAddr+" 10.0.0.1", "private")
	leads("public addresses and one with a zone", apiAddr+" fe80::1%1", "not a plain address")
	return append(out, rebindingAttacks()...)
}

func rebindingAttacks() []attack {
	const inside = "http://127.0.0.1:80 dangerously-allow-private-addresses"
	return []attack{
		{
			name:  "rebinding: first public, then loopback",
			setup: answers("api.example.com", apiAddr, "127.0.0.1"), dials: 1,
			harmless: "the name is resolved once, and the connection is to what was checked",
			check: func(t *testing.T, w *world, _ *Response) {
				assert.Equal(t, []string{"api.example.com"}, w.asked)
				assert.Equal(t, []string{apiAddr}, w.dialed)
			},
		},
		{
			name:  "rebinding between a request and its redirect",
			setup: answers("api.example.com", apiAddr, "127.0.0.1"), dials: 1,
			api:    redirectTo(http.StatusFound, "/again"),
			denied: KindAddress,
			check: func(t *testing.T, w *world, _ *Response) {
				assert.Len(t, w.asked, 2, "each request resolves anew")
			},
		},
		{
			name:    "private address that is listed without the dangerous option",
			rules:   []string{"10.0.0.1:443"},
			request: Request{URL: "https://10.0.0.1/"},
			denied:  KindAddress,
		},
		{
			name:    "metadata service in spite of the dangerous option",
			rules:   []string{"http://169.254.169.254 dangerously-allow-private-addresses"},
			request: Request{URL: "http://169.254.169.254/latest/meta-data/"},
			denied:  KindAddress,
		},
		{
			name:   "name of a dangerous rule that leads to a metadata service",
			rules:  []string{"api.example.com:443 dangerously-allow-private-addresses"},
			setup:  answers("api.example.com", "169.254.169.254"),
			denied: KindAddress,
		},
		{
			name:   "loopback allowed for one host only",
			rules:  []string{"api.example.com:443", inside},
			setup:  answers("api.example.com", "127.0.0.1"),
			denied: KindAddress,
		},
		{
			name:     "proxy in the environment", // TestMain put it there
			dials:    1,
			harmless: "no proxy is ever used",
			check: func(t *testing.T, w *world, _ *Response) {
				assert.Equal(t, []string{apiAddr}, w.dialed)
			},
		},
		{
			name:   "certificate of another name",
			rules:  []string{"api.evil.test:443"},
			setup:  answers("api.evil.test", apiAddr),
			failed: "secure connection to api.evil.test:443 failed", dials: 1,
			request: Request{URL: "https://api.evil.test/"},
		},
	}
}
