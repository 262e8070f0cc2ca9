package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

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

// Errors of decoding.
var (
	errNotStrict = errors.New("it is not strict JSON")
	errDeep      = errors.New("objects and arrays nest deeper than 1000 levels")
	errNumber    = errors.New("a number is longer than 400 bytes, or has an exponent of more than 3 digits")
)

// decode reads strict JSON within the bounds, with numbers as they are written.
func decode(raw json.RawMessage) (any, error) {
	if err := taint.Valid(raw); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotStrict, err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, errNotStrict
	}
	if err := bounded(value, 0); err != nil {
		return nil, err
	}
	return value, nil
}

// bounded checks depth and numbers of a decoded value.
func bounded(value any, depth int) error {
	switch v := value.(type) {
	case json.Number:
		digits := ""
		if i := strings.IndexAny(string(v), "eE"); i >= 0 {
			digits = strings.TrimLeft(string(v[i+1:]), "+-0")
		}
		if len(v) > MaxNumberBytes || len(digits) > maxExponentDigits {
			return errNumber
		}
	case []any:
		if depth == MaxDepth {
			return errDeep
		}
		for _, item := range v {
			if err := bounded(item, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		if depth == MaxDepth {
			return errDeep
		}
		for _, member := range v {
			if err := bounded(member, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// unlabelled takes well-formed labels out of a decoded value, those inside of
// labels too: a schema describes what the script gets, which has none.
func unlabelled(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = unlabelled(v[i])
		}
	case map[string]any:
		if inner, ok := labelled(v); ok {
			return unlabelled(inner)
		}
		for name := range v {
			v[name] = unlabelled(v[name])
		}
	}
	return value
}

// labelled returns the value in a label.
func labelled(object map[string]any) (any, bool) {
	value, ok := object["value"]
	marker, _ := object[taint.MarkerKey].(map[string]any)
	origin, _ := marker["origin"].(string)
	return value, ok && len(object) == 2 && len(marker) == 1 && taint.CheckOrigin(origin) == nil
}
