package taint

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// What can be wrong with JSON text. Each is found with errors.Is in the error of
// a function that reads JSON.
var (
	ErrSyntax        = errors.New("taint: JSON syntax is broken")
	ErrInvalidUTF8   = errors.New("taint: JSON text must be valid UTF-8")
	ErrDuplicateName = errors.New("taint: member names must be unique in an object")
	ErrTrailingData  = errors.New("taint: only white space may follow the JSON value")
	ErrTooDeep       = errors.New("taint: objects and arrays may nest at most 10000 levels")
	ErrUnknownName   = errors.New("taint: member name is unknown (names are case-sensitive)")
	ErrType          = errors.New("taint: JSON value does not fit its destination")
	ErrNotWrapper    = errors.New(`taint: a wrapper must have exactly the members "__loomTainted" and "value"`)
)

// DecodeError says where JSON text is wrong and in what way. Its text is one
// line and holds no part of the text but the member names of a shortened
// pointer, quoted as ASCII.
type DecodeError struct {
	// Pointer is the JSON pointer (RFC 6901) of the value or member at fault,
	// empty for the whole document. It is as long as the document makes it.
	Pointer string
	// Offset is where reading stopped, in bytes from the start.
	Offset int64
	// Err is what is wrong: one of the sentinel errors of this package.
	Err error

	detail string
}

// maxErrorPointer bounds the pointer shown in an error text, in bytes.
const maxErrorPointer = 200

// Error returns one line such as
//
//	taint: member names must be unique in an object (at "/a/b", byte 12)
func (e *DecodeError) Error() string {
	var b strings.Builder
	b.WriteString(e.Err.Error())
	if e.detail != "" {
		b.WriteString(": ")
		b.WriteString(e.detail)
	}
	b.WriteString(" (at ")
	pointer, more := e.Pointer, ""
	if len(pointer) > maxErrorPointer {
		pointer, more = strings.ToValidUTF8(pointer[:maxErrorPointer], ""), "..."
	}
	b.WriteString(strconv.QuoteToASCII(pointer))
	fmt.Fprintf(&b, "%s, byte %d)", more, e.Offset)
	return b.String()
}

// Problem is what is wrong and the byte offset, without the package's name and
// without any part of the text: for whoever must not see the document.
func (e *DecodeError) Problem() string {
	return fmt.Sprintf("%s (at byte %d)", strings.TrimPrefix(e.Err.Error(), "taint: "), e.Offset)
}

// Unwrap returns the sentinel error.
func (e *DecodeError) Unwrap() error { return e.Err }

// DecodeStrict decodes data, which must hold exactly one JSON value, into the
// non-nil pointer v. Duplicate member names, invalid UTF-8 (also an unpaired
// surrogate escape), members that v does not know, names in another case,
// trailing data and more than [MaxDepth] levels are errors.
//
// Numbers stay text in an [encoding/json.RawMessage]; in an any they become
// float64. A JSON null leaves the zero value, and a missing member leaves what
// was there: whether a member is required is for the caller to check. Types with
// their own UnmarshalJSON receive strict text but decide by themselves what they
// accept.
//
// The error is a [*DecodeError], or says that v is not a non-nil pointer. After
// an error v may be filled in part and must not be used.
func DecodeStrict(data []byte, v any) error {
	if rv := reflect.ValueOf(v); rv.Kind() != reflect.Pointer || rv.IsNil() {
		return fmt.Errorf("taint: DecodeStrict needs a non-nil pointer, got %T", v)
	}
	// Unmarshal stops at the first fault of either kind. Checking the text first
	// means that broken text is always reported as such.
	if err := Valid(data); err != nil {
		return err
	}
	err := json.Unmarshal(data, v,
		json.RejectUnknownMembers(true),
		json.MatchCaseInsensitiveNames(false),
		jsontext.AllowDuplicateNames(false),
		jsontext.AllowInvalidUTF8(false),
	)
	if err != nil {
		return explain(data, err)
	}
	return nil
}

// Valid returns nil when data is exactly one strict JSON value: see
// [DecodeStrict]. It builds nothing of the value, and its error is a
// [*DecodeError].
func Valid(data []byte) error {
	if jsontext.Value(data).IsValid() { // strict by default
		return nil
	}
	dec := newDecoder(data)
	if _, err := dec.ReadValue(); err != nil {
		return explain(data, err)
	}
	return atEnd(dec)
}

// newDecoder returns a decoder that reads data in place: jsontext neither copies
// nor writes to the bytes of a bytes.Buffer.
func newDecoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(data),
		jsontext.AllowDuplicateNames(false),
		jsontext.AllowInvalidUTF8(false),
	)
}

// atEnd reports anything but white space after a complete value.
func atEnd(dec *jsontext.Decoder) error {
	offset := dec.InputOffset()
	if _, err := dec.ReadToken(); err != io.EOF {
		return &DecodeError{Offset: offset, Err: ErrTrailingData}
	}
	return nil
}

// explain turns an error of the JSON library, whose text may quote the input,
// into one that does not. The cause is dropped for the same reason.
func explain(data []byte, err error) *DecodeError {
	if own, ok := err.(*DecodeError); ok {
		return own
	}
	var syn *jsontext.SyntacticError
	var sem *json.SemanticError
	switch {
	case errors.As(err, &sem):
		return explainSemantic(sem)
	case errors.As(err, &syn):
		return explainSyntactic(data, syn)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &DecodeError{Offset: int64(len(data)), Err: ErrSyntax, detail: "text ends too early"}
	default:
		return &DecodeError{Err: ErrSyntax}
	}
}

// explainAsValid prefers the words of [Valid]: the decoder places some faults
// slightly differently when it reads tokens, and one fault should have one
// description.
func explainAsValid(data []byte, err error) error {
	if same := Valid(data); same != nil {
		return same
	}
	return explain(data, err)
}

func explainSyntactic(data []byte, syn *jsontext.SyntacticError) *DecodeError {
	e := &DecodeError{Pointer: string(syn.JSONPointer), Offset: syn.ByteOffset, Err: ErrSyntax}
	switch {
	case errors.Is(syn.Err, jsontext.ErrDuplicateName):
		e.Err = ErrDuplicateName
	case errors.Is(syn.Err, jsontext.ErrNonStringName):
		e.detail = "member name must be a string"
	case errors.Is(syn.Err, io.ErrUnexpectedEOF):
		e.detail = "text ends too early"
	case badRuneAt(data, syn.ByteOffset):
		e.Err = ErrInvalidUTF8
	case opensTooDeep(data, e):
		e.Err = ErrTooDeep
	}
	return e
}

func explainSemantic(sem *json.SemanticError) *DecodeError {
	e := &DecodeError{Pointer: string(sem.JSONPointer), Offset: sem.ByteOffset, Err: ErrType}
	if errors.Is(sem.Err, json.ErrUnknownName) {
		e.Err = ErrUnknownName
		return e
	}
	var inner *DecodeError
	if errors.As(sem.Err, &inner) {
		e.Pointer += inner.Pointer
		e.Offset += inner.Offset
		e.Err, e.detail = inner.Err, inner.detail
		return e
	}
	// The Go type is the program's own; the JSON kind is one of seven words.
	switch {
	case sem.GoType != nil && sem.JSONKind != 0:
		e.detail = fmt.Sprintf("this JSON %s cannot become Go type %s", kindName(sem.JSONKind), typeName(sem.GoType))
	case sem.GoType != nil:
		e.detail = "refused by Go type " + typeName(sem.GoType)
	}
	return e
}

// typeName is short also for an anonymous struct, which prints as its source.
func typeName(t reflect.Type) string {
	if t.Name() == "" {
		return t.Kind().String()
	}
	return t.String()
}

// badRuneAt reports whether the byte at offset starts no valid UTF-8 sequence.
func badRuneAt(data []byte, offset int64) bool {
	if offset < 0 || offset >= int64(len(data)) {
		return false
	}
	r, size := utf8.DecodeRune(data[offset:])
	return r == utf8.RuneError && size == 1
}

// opensTooDeep reports whether e points at a bracket that would open one level
// too many. The library has no exported error for it, but a pointer has one
// token for each open level.
func opensTooDeep(data []byte, e *DecodeError) bool {
	if e.Offset < 0 || e.Offset >= int64(len(data)) {
		return false
	}
	opens := data[e.Offset] == '{' || data[e.Offset] == '['
	return opens && strings.Count(e.Pointer, "/") >= MaxDepth
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '"':
		return "string"
	case '0':
		return "number"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	case '{', '}':
		return "object"
	case '[', ']':
		return "array"
	default:
		return "value"
	}
}

// nesting returns how many objects and arrays valid JSON text nests.
func nesting(valid stdjson.RawMessage) int {
	depth, deepest := 0, 0
	for i := 0; i < len(valid); i++ {
		switch valid[i] {
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		case '"':
			for i++; valid[i] != '"'; i++ {
				if valid[i] == '\\' {
					i++
				}
			}
		}
	}
	return deepest
}
