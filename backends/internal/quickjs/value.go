package quickjs

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxValueDepth bounds the nesting of a result. Common decoders give up at
// 10,000 levels, and a result is put into other JSON before it is read.
const MaxValueDepth = 5_000

// checkValue checks and repairs the JSON that the guest wrote. An honest prelude
// writes valid JSON but for half a surrogate pair, which JSON.stringify escapes
// and which many decoders refuse (RFC 8259, section 8.2): it becomes U+FFFD.
// What is then still not strict JSON is refused: names that are the same, or
// nesting that no decoder takes.
func checkValue(value []byte) ([]byte, error) {
	if halfPairs(value) {
		repaired := jsontext.Value(value)
		if err := repaired.Format(jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(false)); err != nil {
			return nil, jsonProblem(err)
		}
		value = repaired
	}
	if jsontext.Value(value).IsValid() && nesting(value) <= MaxValueDepth {
		return value, nil
	}
	d := jsontext.NewDecoder(bytes.NewReader(value))
	if len(value) > 0 && (value[0] == '[' || value[0] == '{') {
		for {
			if _, err := d.ReadToken(); err != nil {
				return nil, jsonProblem(err)
			}
			if d.StackDepth() > MaxValueDepth {
				return nil, fmt.Errorf("the result is nested deeper than %d levels", MaxValueDepth)
			}
			if d.StackDepth() == 0 {
				break
			}
		}
	} else if _, err := d.ReadToken(); err != nil {
		return nil, jsonProblem(err)
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, errors.New("the result is not one JSON value")
	}
	return value, nil
}

// nesting is how deeply valid JSON is nested, or 0 where that cannot be more than
// MaxValueDepth.
func nesting(value []byte) (deepest int) {
	if bytes.Count(value, []byte("["))+bytes.Count(value, []byte("{")) <= MaxValueDepth {
		return 0 // it cannot be over
	}
	depth, quoted := 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deepest
}

// jsonProblem is a decoder's error without the text that it met.
func jsonProblem(err error) error {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return errors.New("two names of an object in the result are the same text once it is valid Unicode")
	}
	return errors.New("the result is not valid JSON")
}

// halfPairs reports whether JSON text may hold an escaped half of a surrogate
// pair, which is twice as long as the U+FFFD that takes its place.
func halfPairs(value []byte) bool {
	return bytes.Contains(value, []byte(`\ud`)) || bytes.Contains(value, []byte(`\uD`))
}
