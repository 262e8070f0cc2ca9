package egress

import (
	"errors"
	"net/netip"

	"code.dny.dev/ssrf"
)

// addressTable says which addresses may be dialled. It is asked together with
// the lists of package ssrf, which come from elsewhere: an address must pass
// both.
type addressTable struct {
	classes  []addressClass
	public   *ssrf.Guardian // for rules that allow public addresses only
	internal *ssrf.Guardian // for rules that allow private ones too
}

// addressClass is a range of addresses that is not public.
type addressClass struct {
	prefix  netip.Prefix
	name    string
	private bool // a rule can allow it
}

func newAddressTable() *addressTable {
	t := &addressTable{classes: addressClasses()}
	var v4, v6 []netip.Prefix
	for _, c := range t.classes {
		switch {
		case !c.private:
		case c.prefix.Addr().Is4():
			v4 = append(v4, c.prefix)
		default:
			v6 = append(v6, c.prefix)
		}
	}
	t.public = ssrf.New(ssrf.WithAnyPort())
	t.internal = ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))
	return t
}

// addressClasses are the ranges; of those that hold an address the narrowest
// counts.
func addressClasses() []addressClass {
	const never, private = false, true
	var classes []addressClass
	add := func(prefix, name string, private bool) {
		classes = append(classes, addressClass{netip.MustParsePrefix(prefix), name, private})
	}
	// What a rule can allow.
	add("127.0.0.0/8", "loopback", private)
	add("::1/128", "loopback", private)
	add("10.0.0.0/8", "private", private)
	add("172.16.0.0/12", "private", private)
	add("192.168.0.0/16", "private", private)
	add("fc00::/7", "private", private)
	add("100.64.0.0/10", "shared by carriers", private)
	add("198.18.0.0/15", "benchmarking", private)

	// Services that tell a machine's secrets to whoever asks from it. Some lie in
	// ranges above, one in a public one.
	for _, prefix := range []string{
		"169.254.0.0/16",         // most clouds; AWS containers; and all of link-local
		"100.100.100.200/32",     // Alibaba
		"168.63.129.16/32",       // Azure
		"192.0.0.192/32",         // Oracle
		"fd00:ec2::/32",          // AWS
		"fd20:ce::254/128",       // Google
		"fd00:c1::a9fe:a9fe/128", // Oracle
		"fd00:42::42/128",        // Scaleway
	} {
		add(prefix, "metadata or link-local", never)
	}
	add("fe80::/10", "link-local", never)
	add("fec0::/10", "site-local", never)
	add("0.0.0.0/8", "unspecified", never)
	add("::/128", "unspecified", never)
	add("224.0.0.0/4", "multicast", never)
	add("ff00::/8", "multicast", never)
	add("240.0.0.0/4", "reserved", never)
	add("255.255.255.255/32", "broadcast", never)
	add("192.0.0.0/24", "special", never)
	add("192.31.196.0/24", "special", never)
	add("192.52.193.0/24", "special", never)
	add("192.88.99.0/24", "special", never)
	add("192.175.48.0/24", "special", never)
	add("192.0.2.0/24", "documentation", never)
	add("198.51.100.0/24", "documentation", never)
	add("203.0.113.0/24", "documentation", never)
	add("2001:db8::/32", "documentation", never)
	add("3fff::/20", "documentation", never)
	add("100::/64", "discarded", never)
	add("5f00::/16", "special", never)
	add("2001::/23", "special", never)
	add("2620:4f:8000::/48", "special", never)

	// Addresses that stand for an IPv4 address, which may be any of the above.
	// (IPv4-mapped ones are unmapped before this.)
	add("::/96", "IPv4-compatible", never)
	add("::ffff:0:0:0/96", "IPv4-translated", never)
	add("64:ff9b::/96", "NAT64", never)
	add("64:ff9b:1::/48", "NAT64", never)
	add("2002::/16", "6to4", never)
	add("2001::/32", "Teredo", never)
	return classes
}

// addressError is why an address is not dialled. It is for operators.
type addressError struct {
	addr  netip.Addr
	class string
}

func (e *addressError) Error() string { return "egress: address " + e.addr.String() + " is " + e.class }

// check refuses an address that a rule must not lead to. The address is given
// back as it is to be dialled: without a mapping into IPv6.
func (t *addressTable) check(addr netip.Addr, allowPrivate bool) (netip.Addr, *addressError) {
	if !addr.IsValid() || addr.Zone() != "" {
		return netip.Addr{}, &addressError{addr, "not a plain address"}
	}
	addr = addr.Unmap()
	class := t.class(addr)
	if class.name != "" && !(class.private && allowPrivate) {
		return netip.Addr{}, &addressError{addr, class.name}
	}
	guardian := t.public
	if allowPrivate {
		guardian = t.internal
	}
	if err := guardian.SafeAddr(addr); err != nil {
		return netip.Addr{}, &addressError{addr, "not public"}
	}
	return addr, nil
}

// class gives the narrowest class of the address; its name is "" for public ones.
func (t *addressTable) class(addr netip.Addr) addressClass {
	if isISATAP(addr) {
		return addressClass{name: "ISATAP"}
	}
	best := addressClass{prefix: netip.PrefixFrom(addr, -1)}
	for _, c := range t.classes {
		if c.prefix.Contains(addr) && c.prefix.Bits() > best.prefix.Bits() {
			best = c
		}
	}
	return best
}

// isISATAP finds an IPv4 address in the lower half of an IPv6 address, by the
// identifier of RFC 5214 before it.
func isISATAP(addr netip.Addr) bool {
	if !addr.Is6() {
		return false
	}
	b := addr.As16()
	return b[8]&^0x03 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// errNoAddress is an answer of a resolver without an address.
var errNoAddress = errors.New("egress: the resolver gave no address")
