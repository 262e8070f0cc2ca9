package taint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrValue says that a Go value cannot be written as JSON.
var ErrValue = errors.New("taint: value cannot be written as strict JSON")

// Tainted is a JSON value with the label of its origin. Make one with [Wrap] or
// [WrapValue], not as a literal: they guarantee that it can be written.
//
// Its JSON form is always a wrapper, also for the zero Tainted, which is a null
// of origin [OriginInvalid]. An optional field of this type wants the tag
// option "omitzero".
type Tainted struct {
	// Origin says where the value came from; see [CheckOrigin].
	Origin string
	// Value is the untrusted JSON, nil for null. It is exported for marshalling
	// code; everything else goes through [Unwrap], which is what reviews look for.
	Value json.RawMessage
}

// Wrap labels value, which is JSON text, with origin. It cannot fail, because a
// caller left without a result might go on with the unlabelled value:
//
//   - A bad origin (see [CheckOrigin]) is replaced by [OriginInvalid].
//   - An empty value becomes null.
//   - Text that is not strict JSON (see [Valid]), or nests deeper than
//     [MaxValueDepth], is kept as a JSON string holding that text, with U+FFFD for
//     bytes that are not UTF-8.
//   - A value that is a wrapper, or looks like one, is data like any other and
//     nests inside the new wrapper.
//
// The value is copied, in the wire form described in the package documentation.
// Escapes make a character of text up to six times as long.
func Wrap(origin string, value json.RawMessage) Tainted {
	wire, err := wireForm(value)
	if err != nil {
		// Marshalling a string cannot fail.
		wire, _ = json.Marshal(string(value))
	}
	return Tainted{Origin: cleanOrigin(origin), Value: wire}
}

// WrapStrict is [Wrap] for a value that must be strict JSON: see [DecodeStrict] and
// [MaxValueDepth]. The error is a [*DecodeError], and what is returned with it a
// labelled null.
func WrapStrict(origin string, value json.RawMessage) (Tainted, error) {
	t := Tainted{Origin: cleanOrigin(origin), Value: json.RawMessage("null")}
	wire, err := wireForm(value)
	if err != nil {
		return t, err
	}
	t.Value = wire
	return t, nil
}

// WrapValue writes v as JSON, as [encoding/json.Marshal] does, and labels it with
// origin. A bad origin is replaced by [OriginInvalid].
//
// The error matches [ErrValue] and the cause, whose text is not shown because it
// may hold part of the value. The Tainted returned with an error is a labelled
// null.
func WrapValue(origin string, v any) (Tainted, error) {
	t := Tainted{Origin: cleanOrigin(origin), Value: json.RawMessage("null")}
	raw, err := json.Marshal(v)
	if err != nil {
		return t, &valueError{goType: fmt.Sprintf("%T", v), cause: err}
	}
	wire, err := wireForm(raw)
	if err != nil {
		return t, &valueError{goType: fmt.Sprintf("%T", v), cause: err}
	}
	t.Value = wire
	return t, nil
}

// Unwrap takes the label off and returns the untrusted JSON, never nil. Nothing
// else does that to a Tainted: a review searches for taint.Unwrap and asks of
// each call what makes the value safe there. (For labels in a document there is
// [Strip], which gives their origins back.) The bytes are shared with t and must
// not be modified.
func Unwrap(t Tainted) json.RawMessage {
	if len(t.Value) == 0 {
		return json.RawMessage("null")
	}
	return t.Value[:len(t.Value):len(t.Value)]
}

// Is reports whether raw is, at its top level, a well-formed wrapper: whether
// [Tainted.UnmarshalJSON] accepts it. It is false for a malformed wrapper, for
// broken JSON and for a document with wrappers further down, so false does not
// mean clean: ask [Scan].
func Is(raw json.RawMessage) bool {
	_, _, err := parse(raw)
	return err == nil
}

// Origin returns the origin of the wrapper that raw is; ok is what [Is] reports.
func Origin(raw json.RawMessage) (origin string, ok bool) {
	origin, _, err := parse(raw)
	return origin, err == nil
}

// String describes t without its value, so that printing one by mistake does not
// lose the label.
func (t Tainted) String() string {
	return fmt.Sprintf("tainted(%s, %d bytes)", cleanOrigin(t.Origin), len(t.Value))
}

// GoString is String, for %#v.
func (t Tainted) GoString() string { return t.String() }

// MarshalJSON writes the wrapper, with the members in the documented order, no
// white space of its own and the value as it stands. An empty value is written as
// null, a bad origin as [OriginInvalid]. A value that is not strict JSON is an
// error; Wrap makes no such value.
func (t Tainted) MarshalJSON() ([]byte, error) {
	value := []byte("null")
	if len(t.Value) > 0 {
		// White space around a value would not survive the way back.
		value = bytes.Trim(t.Value, " \t\r\n")
		if err := Valid(value); err != nil {
			return nil, err
		}
	}
	origin := cleanOrigin(t.Origin)
	out := make([]byte, 0, len(value)+len(origin)+64)
	out = append(out, `{"`+MarkerKey+`":{"`+originKey+`":`...)
	out, err := jsontext.AppendQuote(out, origin)
	if err != nil {
		return nil, ErrOrigin // unreachable: a clean origin is valid UTF-8
	}
	out = append(out, `},"`+valueKey+`":`...)
	out = append(out, value...)
	return append(out, '}'), nil
}

// UnmarshalJSON accepts a wrapper and nothing else: an object with exactly the
// two members, the marker being an object with exactly the member "origin", a
// string that [CheckOrigin] allows. JSON that means the same is accepted too:
// white space between tokens, escapes in strings, the members in either order.
// JSON null is refused. The bytes of the value are kept as they are. The error is
// a [*DecodeError] and leaves t unchanged.
func (t *Tainted) UnmarshalJSON(data []byte) error {
	if t == nil {
		return errors.New("taint: UnmarshalJSON needs a non-nil *Tainted")
	}
	origin, value, err := parse(data)
	if err != nil {
		return err
	}
	*t = Tainted{Origin: origin, Value: bytes.Clone(value)}
	return nil
}

// wireForm returns a copy of value as encoding/json would embed it.
func wireForm(value json.RawMessage) (json.RawMessage, error) {
	if len(value) == 0 {
		return json.RawMessage("null"), nil
	}
	// Strict by default; strings and numbers stay as they are written.
	compact := jsontext.Value(bytes.Clone(value))
	if err := compact.Format(jsontext.PreserveRawStrings(true)); err != nil {
		if err := Valid(value); err != nil {
			return nil, err
		}
		return nil, &DecodeError{Err: ErrSyntax}
	}
	if len(compact) > 2*MaxValueDepth && nesting(json.RawMessage(compact)) > MaxValueDepth {
		return nil, &DecodeError{Err: ErrTooDeep}
	}
	// E2 80 begins both line separators (and some other punctuation).
	if !bytes.ContainsAny(compact, "<>&") && !bytes.Contains(compact, []byte("\xe2\x80")) {
		return json.RawMessage(compact), nil
	}
	var escaped bytes.Buffer
	escaped.Grow(len(compact) + len(compact)/8)
	json.HTMLEscape(&escaped, compact)
	return escaped.Bytes(), nil
}

// valueError keeps the cause for errors.Is and errors.As but not in its text.
type valueError struct {
	goType string
	cause  error
}

func (e *valueError) Error() string   { return ErrValue.Error() + ": Go type " + e.goType }
func (e *valueError) Unwrap() []error { return []error{ErrValue, e.cause} }
