package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/loom-sandbox/sandboxd/taint"
)

// Bounds of JSON that is checked against a schema, or is one.
const (
	// MaxDepth is how many objects and arrays nest in arguments, results and schemas.
	MaxDepth = 1000
	// MaxNumberBytes is the length of a number in them; its exponent has at most
	// three digits. Schemas are checked with exact numbers, which take as many
	// digits as the exponent says.
	MaxNumberBytes = 400

	maxExponentDigits = 3
)

// Errors of reading.
var (
	errNotStrict = errors.New("it is not strict JSON")
	errDeep      = errors.New("objects and arrays nest deeper than 1000 levels")
	errNumber    = errors.New("a number is longer than 400 bytes, or has an exponent of more than 3 digits")
)

// decode reads strict JSON within the bounds, with numbers as they are written,
// and says how much there is to check.
func decode(raw json.RawMessage) (any, load, error) {
	if err := strict(raw); err != nil {
		return nil, load{}, err
	}
	return decodeStrict(raw)
}

// decodeStrict is decode of JSON that is strict.
func decodeStrict(raw json.RawMessage) (any, load, error) {
	r := reader{text: raw, build: true}
	value, _, err := r.value(0)
	return value, r.load, err
}

// within reports whether strict JSON is within the bounds. It builds nothing.
func within(raw json.RawMessage) error {
	r := reader{text: raw}
	_, _, err := r.value(0)
	return err
}

func strict(raw json.RawMessage) error {
	if err := taint.Valid(raw); err != nil {
		return fmt.Errorf("%w: %w", errNotStrict, err)
	}
	return nil
}

// written is strict JSON of a value, without white space.
func written(value any) (json.RawMessage, error) {
	if raw, ok := value.(json.RawMessage); ok && raw != nil {
		compact, err := jsontext.AppendFormat(make([]byte, 0, len(raw)), raw, jsontext.PreserveRawStrings(true))
		if err != nil {
			return nil, errNotStrict // the library's text may quote it
		}
		return compact, nil
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return raw, strict(raw) // names may be there twice
}

// decodeList is decode of an array: how many items it has, and the first of them,
// also as it is written.
func decodeList(raw json.RawMessage) (n int, first any, text json.RawMessage, l load, err error) {
	if err := strict(raw); err != nil {
		return 0, nil, nil, load{}, err
	}
	r := reader{text: raw, build: true}
	if r.next() != '[' {
		return 0, nil, nil, load{}, errNoList
	}
	r.at++
	for r.next() != ']' {
		start := r.at
		value, _, err := r.value(1)
		if err != nil {
			return 0, nil, nil, load{}, err
		}
		if n == 0 {
			first, text = value, raw[start:r.at:r.at]
		}
		n++
		r.comma()
	}
	return n, first, text, r.load, nil
}

var errNoList = errors.New("it is not an array")

// reader reads JSON that is known to be strict, and so needs no checks of its own.
type reader struct {
	text  []byte
	at    int
	build bool // make values, not only count them
	load  load
}

// next skips white space and returns the byte that follows.
func (r *reader) next() byte {
	for {
		switch c := r.text[r.at]; c {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return c
		}
	}
}

// comma skips one, if it is there.
func (r *reader) comma() {
	if r.next() == ',' {
		r.at++
	}
}

// value reads one value inside of depth others, and says what comparing it with
// another takes.
func (r *reader) value(depth int) (value any, size float64, err error) {
	first := r.next()
	r.load.value(depth)
	switch first {
	case '{', '[':
		if depth == MaxDepth {
			return nil, 0, errDeep
		}
		r.at++
		if first == '{' {
			return r.object(depth)
		}
		return r.array(depth)
	case '"':
		text, length := r.str()
		size = r.load.str(length)
		if r.build {
			value = text
		}
		return value, size, nil
	case 't':
		r.at += len("true")
		return true, compareSteps, nil
	case 'f':
		r.at += len("false")
		return false, compareSteps, nil
	case 'n':
		r.at += len("null")
		return nil, compareSteps, nil
	}
	return r.number()
}

func (r *reader) object(depth int) (any, float64, error) {
	var members map[string]any
	if r.build {
		members = make(map[string]any)
	}
	size := compareSteps
	for r.next() != '}' {
		name, length := r.str()
		size += r.load.str(length)
		r.next()
		r.at++ // the colon
		member, n, err := r.value(depth + 1)
		if err != nil {
			return nil, 0, err
		}
		if r.build {
			members[name] = member
		}
		size += n
		r.comma()
	}
	r.at++
	return members, size, nil
}

func (r *reader) array(depth int) (any, float64, error) {
	items, n, size, flat := []any{}, 0, compareSteps, true
	for c := r.next(); c != ']'; c = r.next() {
		flat = flat && c != '{' && c != '['
		item, s, err := r.value(depth + 1)
		if err != nil {
			return nil, 0, err
		}
		if r.build {
			items = append(items, item)
		}
		n++
		size += s
		r.comma()
	}
	r.at++
	r.load.array(n, size, flat)
	return items, size, nil
}

// str reads a string, and returns how long it is as it is written.
func (r *reader) str() (string, int) {
	start, escaped := r.at, false
	for r.at++; r.text[r.at] != '"'; r.at++ {
		if r.text[r.at] == '\\' {
			escaped = true
			r.at++
		}
	}
	r.at++
	written := r.text[start:r.at]
	switch {
	case !r.build:
		return "", len(written)
	case escaped:
		plain, _ := jsontext.AppendUnquote(nil, written) // strict, and so no error
		return string(plain), len(written)
	}
	return string(written[1 : len(written)-1]), len(written)
}

func (r *reader) number() (any, float64, error) {
	start, exponent := r.at, -1
	for ; r.at < len(r.text); r.at++ {
		c := r.text[r.at]
		if c == 'e' || c == 'E' {
			exponent = r.at + 1
		} else if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' {
			break
		}
	}
	written, digits := string(r.text[start:r.at]), ""
	if exponent >= 0 {
		digits = strings.TrimLeft(string(r.text[exponent:r.at]), "+-0")
	}
	if len(written) > MaxNumberBytes || len(digits) > maxExponentDigits {
		return nil, 0, errNumber
	}
	size := r.load.number(len(written), len(digits))
	if !r.build {
		return nil, size, nil
	}
	return json.Number(written), size, nil
}
