package egress

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// urlPath is a path in normal form: percent-encoding only where it is needed and
// in capitals, dot segments taken out. It begins with a slash.
type urlPath struct {
	text string
	// doubtful is whether servers may take the path apart in different ways, so
	// that nobody can say which prefixes it has.
	doubtful bool
}

// parsePath brings the path of a URL into normal form. It is not ok if the
// percent-encoding is broken or stands for control characters.
func parsePath(raw string) (p urlPath, ok bool) {
	encoded, ok := normalEncoding(raw)
	if !ok {
		return urlPath{}, false
	}
	segments := strings.Split(strings.TrimPrefix(encoded, "/"), "/")
	p.doubtful = strings.Contains(encoded, "%2F") || strings.Contains(encoded, "%5C") || twiceEncoded(encoded)
	var kept []string
	for i, s := range segments {
		last := i == len(segments)-1
		if doubtfulSegment(s) || s == "" && !last {
			p.doubtful = true
		}
		switch s {
		case ".", "..":
			if s == ".." && len(kept) > 0 {
				kept = kept[:len(kept)-1]
			}
			if last {
				kept = append(kept, "")
			}
		default:
			kept = append(kept, s)
		}
	}
	p.text = "/" + strings.Join(kept, "/")
	return p, true
}

// below reports whether the path is prefix or lies below it, segment by segment.
// The prefix is in normal form, without a slash at its end; "" covers all paths.
func (p urlPath) below(prefix string) bool {
	if prefix == "" {
		return true
	}
	rest, ok := strings.CutPrefix(p.text, prefix)
	return ok && !p.doubtful && (rest == "" || rest[0] == '/')
}

func normalEncoding(raw string) (string, bool) {
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; i < len(raw); i++ {
		c, encoded := raw[i], false
		if c == '%' {
			if i+2 >= len(raw) || !isHex(raw[i+1]) || !isHex(raw[i+2]) {
				return "", false
			}
			c, encoded = unhex(raw[i+1])<<4|unhex(raw[i+2]), true
			i += 2
		}
		switch {
		case c < 0x20 || c == 0x7f:
			return "", false
		case isUnreserved(c), !encoded && strings.IndexByte("/!$&'()*+,;=:@", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String(), true
}

// doubtfulSegment finds what some servers read as a dot segment or a slash: dots
// with a parameter behind them, or with what ends a path where it is decoded too
// early; dots and spaces, which Windows leaves out; characters that a server may
// fold into ASCII; bytes that are no text.
func doubtfulSegment(s string) bool {
	text, err := url.PathUnescape(s)
	if err != nil || !utf8.ValidString(text) {
		return true
	}
	name := text
	if i := strings.IndexAny(text, ";?#"); i >= 0 {
		name = text[:i]
	}
	onlyDots := text != "" && strings.Trim(name, ". ") == ""
	return onlyDots && s != "." && s != ".." ||
		strings.ContainsAny(text, "\u2024\u2025\u2026\u2044\u2215\u2216\u29f5\u29f8\ufe52\ufe68\uff0e\uff0f\uff3c\uff05\u00a5\u20a9")
}

// twiceEncoded reports whether decoding a second time would change the path.
func twiceEncoded(path string) bool {
	for {
		i := strings.Index(path, "%25")
		if i < 0 {
			return false
		}
		path = path[i+3:]
		if len(path) >= 2 && isHex(path[0]) && isHex(path[1]) || strings.HasPrefix(path, "%") {
			return true
		}
	}
}

// normalQuery encodes what may not stand in a query; nothing is decoded.
func normalQuery(raw string) string {
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(raw))
	for i := range len(raw) {
		c := raw[i]
		if isUnreserved(c) || strings.IndexByte("%/?!$&'()*+,;=:@[]", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&15])
	}
	return b.String()
}

func isUnreserved(c byte) bool {
	return isLower(c|0x20) && c < 0x80 || isDigit(c) || c == '-' || c == '.' || c == '_' || c == '~'
}

func isHex(c byte) bool {
	return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func unhex(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
