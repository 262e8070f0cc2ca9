package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of texts in declarations.
const (
	maxCommentBytes = 2 << 10 // of what a schema says about one member
	maxLiteralBytes = 1 << 10 // of one value; a longer one is unknown
)

// comment writes text as a JSDoc comment with its line breaks, nothing if there
// is none. Nothing in the text ends the comment.
func comment(text, indent string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(visible(line), "*/", `*\/`)
		if line != "" || len(lines) > 0 && lines[len(lines)-1] != "" {
			lines = append(lines, line)
		}
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	switch len(lines) {
	case 0:
		return ""
	case 1:
		return indent + "/** " + lines[0] + " */\n"
	}
	var b strings.Builder
	b.WriteString(indent + "/**\n")
	for _, line := range lines {
		b.WriteString(strings.TrimRight(indent+" * "+line, " ") + "\n")
	}
	b.WriteString(indent + " */\n")
	return b.String()
}

// describe is what a schema says in words, and what it says beyond its type.
func describe(s *jsonschema.Schema) string {
	text := s.Description
	if text == "" {
		text = s.Title
	}
	if len(text) > maxCommentBytes {
		text = cut(strings.ToValidUTF8(text, "\ufffd"), maxCommentBytes)
	}
	if notes := notes(s); len(notes) > 0 {
		text = strings.TrimSpace(text + "\n" + strings.Join(notes, ", "))
	}
	if s.Deprecated {
		text = strings.TrimSpace(text + "\n@deprecated")
	}
	return text
}

// notes are what TypeScript cannot say.
func notes(s *jsonschema.Schema) []string {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if s.Types != nil && slices.Contains(s.Types.ToStrings(), "integer") {
		note("integer")
	}
	if s.Format != nil {
		note("format %s", s.Format.Name)
	}
	if s.Pattern != nil {
		note("pattern %s", cut(visible(s.Pattern.String()), maxLiteralsBytes))
	}
	for _, bound := range []struct {
		what string
		n    *big.Rat
	}{
		{"at least", s.Minimum},
		{"at most", s.Maximum},
		{"more than", s.ExclusiveMinimum},
		{"less than", s.ExclusiveMaximum},
		{"a multiple of", s.MultipleOf},
	} {
		if bound.n != nil {
			note("%s %s", bound.what, number(bound.n))
		}
	}
	for _, bound := range []struct {
		what, of string
		n        *int
	}{
		{"at least", "character", s.MinLength},
		{"at most", "character", s.MaxLength},
		{"at least", "item", s.MinItems},
		{"at most", "item", s.MaxItems},
		{"at least", "member", s.MinProperties},
		{"at most", "member", s.MaxProperties},
	} {
		if bound.n != nil {
			note("%s %s", bound.what, count(*bound.n, bound.of))
		}
	}
	if s.UniqueItems {
		note("no equal items")
	}
	if s.Default != nil {
		note("default %s", literals([]any{*s.Default}))
	}
	return notes
}

// propertyName is a name as it stands in a type.
func propertyName(name string) string {
	if isWord(name) {
		return name
	}
	return quote(name)
}

// isWord reports whether text is an identifier of ASCII.
func isWord(text string) bool {
	for i, c := range []byte(text) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return text != ""
}

// quote is a string of TypeScript in which everything can be seen.
func quote(text string) string {
	raw, err := json.Marshal(text)
	if err != nil { // no string fails
		return `""`
	}
	var b strings.Builder
	for _, r := range string(raw) {
		if r != ' ' && invisible(r) {
			fmt.Fprintf(&b, `\u{%x}`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// literal is the type of one value of a schema.
func literal(v any) string {
	text := literalOf(v)
	if len(text) > maxLiteralBytes {
		return textUnknown
	}
	return text
}

func literalOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case string:
		return quote(v)
	case json.Number:
		return plainNumber(v)
	case []any:
		var parts []string
		for _, item := range v {
			parts = append(parts, literalOf(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		if len(v) == 0 {
			return textNothing
		}
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, propertyName(name)+": "+literalOf(v[name]))
		}
		return "{ " + strings.Join(parts, "; ") + " }"
	}
	return textUnknown
}

// plainNumber is a number as a type; one that a script has not got is any number.
func plainNumber(n json.Number) string {
	f, err := strconv.ParseFloat(string(n), 64)
	switch {
	case err != nil || math.IsInf(f, 0):
		return "number"
	case f == 0:
		return "0" // also -0
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func isInteger(n json.Number) bool {
	r, ok := new(big.Rat).SetString(string(n))
	return ok && r.IsInt()
}
