package httpapi

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// object splits a JSON object into its members. The text must be valid JSON. The
// values are parts of it: a decoder would copy them.
func object(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	raw = skipSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return nil, false
	}
	members := map[string]json.RawMessage{}
	for rest := skipSpace(raw[1:]); len(rest) > 0 && rest[0] == '"'; {
		n := valueLen(rest)
		var name string
		if json.Unmarshal(rest[:n], &name) != nil {
			return nil, false
		}
		rest = skipSpace(rest[n:])
		rest = skipSpace(bytes.TrimPrefix(rest, []byte(":")))
		n = valueLen(rest)
		members[name] = rest[:n:n]
		rest = skipSpace(rest[n:])
		rest = skipSpace(bytes.TrimPrefix(rest, []byte(",")))
	}
	return members, true
}

// elements splits a JSON array of at most so many elements. The text must be valid
// JSON. The values are parts of it.
func elements(raw json.RawMessage, most int) ([]json.RawMessage, bool) {
	raw = skipSpace(raw)
	if len(raw) == 0 || raw[0] != '[' {
		return nil, false
	}
	var all []json.RawMessage
	for rest := skipSpace(raw[1:]); len(rest) > 0 && rest[0] != ']'; {
		if len(all) == most {
			return nil, false
		}
		n := valueLen(rest)
		all = append(all, rest[:n:n])
		rest = skipSpace(rest[n:])
		rest = skipSpace(bytes.TrimPrefix(rest, []byte(",")))
	}
	return all, true
}

func skipSpace(b []byte) []byte { return bytes.TrimLeft(b, " \t\r\n") }

// valueLen is the length of the JSON value at the start of b.
func valueLen(b []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
			if !quoted && depth == 0 {
				return i + 1
			}
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth < 0 {
				return i
			}
			if depth == 0 {
				return i + 1
			}
		case depth == 0 && strings.IndexByte(", \t\r\n", c) >= 0:
			return i
		}
	}
	return len(b)
}

// integer reads a JSON number that is exactly a whole number of 64 bits, however
// it is written: 1000, 1000.0 and 1e3 are the same number.
func integer(raw json.RawMessage) (int64, bool) {
	text := string(raw)
	if text == "" || strings.Trim(text, "0123456789+-.eE") != "" {
		return 0, false
	}
	mantissa, sign := strings.CutPrefix(text, "-")
	exponent := 0
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.Atoi(mantissa[i+1:]); err != nil {
			exponent = 1 << 30 * (1 - 2*strings.Count(mantissa[i+1:], "-")) // too far either way
		}
		mantissa = mantissa[:i]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return 0, true
	}
	short := strings.TrimRight(digits, "0")
	zeros := exponent - len(fraction) + len(digits) - len(short)
	const most = 19 // digits of the largest
	if zeros < 0 || zeros > most || len(short)+zeros > most {
		return 0, false
	}
	short += strings.Repeat("0", zeros)
	if sign {
		short = "-" + short
	}
	v, err := strconv.ParseInt(short, 10, 64)
	return v, err == nil
}
