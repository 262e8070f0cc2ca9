package egress

import (
	"strconv"
	"strings"
)

// escapeStarts begin the escapes that [unescape] knows.
const escapeStarts = `%\&`

// unescape decodes the escapes of URLs, JSON and HTML for ASCII characters,
// wherever they stand: an echo is looked for in the outcome, whichever of them
// its server used, and for whichever characters.
func unescape(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		c, width := unescapeOne(s[i:])
		b.WriteByte(c)
		i += width
	}
	return b.String()
}

// inEscaped gives the parts of s that became these parts of unescape(s), which
// are in order and do not overlap.
func inEscaped(s string, spans [][2]int) [][2]int {
	out := make([][2]int, 0, len(spans))
	from, at, decoded := 0, 0, 0
	for _, span := range spans {
		for ; decoded < span[1]; decoded++ {
			if decoded == span[0] {
				from = at
			}
			_, width := unescapeOne(s[at:])
			at += width
		}
		out = append(out, [2]int{from, at})
	}
	return out
}

// unescapeOne reads one byte of text, or one escape. Text must not be empty.
func unescapeOne(s string) (c byte, width int) {
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
