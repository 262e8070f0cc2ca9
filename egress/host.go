package egress

import (
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
)

// host is a host in canonical form: a name in lower-case ASCII without a dot at
// its end, or an address.
type host struct {
	name string     // as in a URL, but without brackets
	addr netip.Addr // valid if the host is an address
}

// Reasons for which a host is refused; each completes "the host …".
const (
	hostEmpty     = "is empty"
	hostEncoded   = "must be written without percent-encoding"
	hostIPv4      = "must be a name or an IPv4 address of four decimal numbers without leading zeros"
	hostIPv6      = "must have an IPv6 address without a zone and without an IPv4 address in it between its brackets"
	hostLabels    = "must be a name of letters, digits and hyphens, of at most 63 characters between dots and 253 in all"
	hostIDN       = "must be a valid internationalised name"
	hostDisguised = "must not be written with characters that only stand for ASCII ones"
)

// parseHost reads the host of a URL or a rule. A name has one canonical form, and
// text that others might read in another way is refused. The problem is "" if
// there is none.
func parseHost(text string) (h host, problem string) {
	switch {
	case text == "":
		return host{}, hostEmpty
	case strings.Contains(text, "%"):
		return host{}, hostEncoded
	case text[0] == '[':
		return parseIPv6(text)
	}
	text = strings.TrimSuffix(text, ".")
	name := lowerASCII(text)
	if !isASCII(name) || hasPunycode(name) {
		if name, problem = mapName(name); problem != "" {
			return host{}, problem
		}
	}
	if endsInNumber(name) {
		// Browsers and libc read 127.1, 0x7f.1, 0177.0.0.1 and 2130706433 as
		// addresses; only the one form that nobody reads differently is left.
		addr, err := netip.ParseAddr(name)
		if err != nil || !addr.Is4() {
			return host{}, hostIPv4
		}
		return host{name, addr}, ""
	}
	if !validName(name) {
		return host{}, hostLabels
	}
	return host{name: name}, ""
}

func parseIPv6(text string) (host, string) {
	inner, ok := strings.CutSuffix(text[1:], "]")
	addr, err := netip.ParseAddr(inner)
	if !ok || err != nil || !addr.Is6() || addr.Zone() != "" || addr.Is4In6() || strings.Contains(inner, ".") {
		return host{}, hostIPv6
	}
	return host{addr.String(), addr}, ""
}

// mapName brings a name with characters outside ASCII, or one that claims to be
// the ASCII form of such a name, into its ASCII form.
func mapName(name string) (ascii, problem string) {
	mapped, err := idna.Lookup.ToASCII(name)
	if err != nil {
		return "", hostIDN
	}
	before, after := strings.Split(name, "."), strings.Split(mapped, ".")
	if len(before) != len(after) {
		return "", hostDisguised // another character stood for a dot
	}
	for i, label := range before {
		// A label that maps to plain ASCII, such as one in full-width letters, is
		// no internationalised name but another spelling of a plain one.
		// Nor is punycode of plain letters.
		same, international := label == after[i], strings.HasPrefix(after[i], "xn--")
		if isASCII(label) && !same || !isASCII(label) && !international {
			return "", hostDisguised
		}
	}
	return mapped, ""
}

// endsInNumber reports whether others would read the name as an IPv4 address,
// by the rule of the URL standard: its last label is a number.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last == "" {
		return false
	}
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// validName reports whether a lower-case name keeps the form of host names.
func validName(name string) bool {
	if len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if c := label[i]; !isLower(c) && !isDigit(c) && c != '-' {
				return false
			}
		}
	}
	return true
}

func hasPunycode(name string) bool {
	return strings.HasPrefix(name, "xn--") || strings.Contains(name, ".xn--")
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// lowerASCII leaves other letters alone: mapping them is for idna.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
