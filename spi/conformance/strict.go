package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// strictJSON demands one text of JSON that says the same to every reader: valid
// UTF-8, no name twice in an object and no escape of half a surrogate pair.
func strictJSON(text []byte) error {
	switch {
	case !json.Valid(text):
		return fmt.Errorf("is not JSON: %q", clip(string(text)))
	case !utf8.Valid(text):
		return fmt.Errorf("is not valid UTF-8: %q", clip(string(text)))
	}
	if half := halfPair(text); half != "" {
		return fmt.Errorf("has half a surrogate pair, %s: %q", half, clip(string(text)))
	}
	return uniqueNames(text)
}

// halfPair finds an escape of one half that is not beside the other. In valid
// JSON a backslash is only ever in a text, and begins an escape.
func halfPair(text []byte) string {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		switch unit := escapedUnit(text[i:]); {
		case unit < 0:
			i++ // what is escaped, which may be a backslash
		case isHighHalf(unit) && isLowHalf(escapedUnit(text[i+6:])):
			i += 11
		case isHighHalf(unit) || isLowHalf(unit):
			return string(text[i : i+6])
		default:
			i += 5
		}
	}
	return ""
}

func isHighHalf(unit int) bool { return unit >= 0xd800 && unit < 0xdc00 }
func isLowHalf(unit int) bool  { return unit >= 0xdc00 && unit < 0xe000 }

// escapedUnit is the code unit that text begins with as \uXXXX, or -1.
func escapedUnit(text []byte) int {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return int(unit)
}

// uniqueNames looks at every object of a valid text of JSON.
func uniqueNames(text []byte) error {
	type level struct {
		names  map[string]bool // nil in an array
		inPair bool            // a name was read, its value was not
	}
	var open []level
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // a number may be larger than a double
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("is not JSON: %w", err)
		}
		switch token {
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
			continue
		}
		if n := len(open); n > 0 && open[n-1].names != nil {
			in := &open[n-1]
			if name, ok := token.(string); ok && !in.inPair {
				if in.names[name] {
					return fmt.Errorf("has the name %q twice in an object", clip(name))
				}
				in.names[name], in.inPair = true, true
				continue
			}
			in.inPair = false
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{names: map[string]bool{}})
		case json.Delim('['):
			open = append(open, level{})
		}
	}
}
