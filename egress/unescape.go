package egress

import (
	"strconv"
	"strings"
)

// escapes are the bytes that begin the escapes to decode: some of allEscapes.
type escapes string

// allEscapes begin the escapes of URLs, JSON and HTML.
const allEscapes escapes = `%\&`

// escapesIn lists what to decode a text with: each kind of escape that may be in
// it alone, since a secret may look like one of another kind, and all of them,
// for a server that escapes in more than one way.
func escapesIn(s string) []escapes {
	var found []escapes
	for i := range allEscapes {
		if strings.IndexByte(s, allEscapes[i]) >= 0 {
			found = append(found, allEscapes[i:i+1])
		}
	}
	if len(found) > 1 {
		found = append(found, allEscapes)
	}
	return found
}

// unescape decodes escapes of ASCII characters, wherever they stand: an echo is
// looked for in the outcome, whichever characters its server escaped.
func (e escapes) unescape(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		c, width := e.one(s[i:])
		b.WriteByte(c)
		i += width
	}
	return b.String()
}

// inEscaped gives the parts of s that became these parts of unescape(s), which
// are in order and do not overlap.
func (e escapes) inEscaped(s string, spans [][2]int) [][2]int {
	out := make([][2]int, 0, len(spans))
	from, at, decoded := 0, 0, 0
	for _, span := range spans {
		for ; decoded < span[1]; decoded++ {
			if decoded == span[0] {
				from = at
			}
			_, width := e.one(s[at:])
			at += width
		}
		out = append(out, [2]int{from, at})
	}
	return out
}

// one reads one byte of text, or one escape. Text must not be empty.
func (e escapes) one(s string) (c byte, width int) {
	if strings.IndexByte(string(e), s[0]) < 0 {
		return s[0], 1
	}
	switch s[0] {
	case '%':
		if len(s) >= 3 && isHex(s[1]) && isHex(s[2]) {
			return unhex(s[1])<<4 | unhex(s[2]), 3
		}
	case '\\':
		return unescapeJSON(s)
	case '&':
		return unescapeHTML(s)
	}
	return s[0], 1
}

func unescapeJSON(s string) (c byte, width int) {
	if len(s) < 2 {
		return s[0], 1
	}
	switch s[1] {
	case '"', '\'', '\\', '/':
		return s[1], 2
	case 'x': // of JavaScript
		if len(s) >= 4 && isHex(s[2]) && isHex(s[3]) {
			return unhex(s[2])<<4 | unhex(s[3]), 4
		}
	case 'u':
		if len(s) >= 6 && s[2:4] == "00" && isHex(s[4]) && isHex(s[5]) {
			return unhex(s[4])<<4 | unhex(s[5]), 6
		}
	}
	return s[0], 1
}

func unescapeHTML(s string) (c byte, width int) {
	const longest = len("&#x0000007e;")
	end := strings.IndexByte(s[:min(len(s), longest)], ';')
	if end < 0 {
		return s[0], 1
	}
	name := s[1:end]
	switch strings.ToLower(name) {
	case "amp":
		return '&', end + 1
	case "lt":
		return '<', end + 1
	case "gt":
		return '>', end + 1
	case "quot":
		return '"', end + 1
	case "apos":
		return '\'', end + 1
	}
	number, ok := strings.CutPrefix(name, "#")
	if !ok {
		return s[0], 1
	}
	base := 10
	if hex, is := strings.CutPrefix(strings.ToLower(number), "x"); is {
		number, base = hex, 16
	}
	n, err := strconv.ParseUint(number, base, 7)
	if err != nil {
		return s[0], 1
	}
	return byte(n), end + 1
}
