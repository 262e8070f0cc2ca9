package tools

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of declarations.
const (
	maxTypeDepth   = 24       // levels of types; deeper ones are unknown
	maxAliases     = 256      // named types of one tool
	maxTypeBytes   = 64 << 10 // text of one tool's types; what is more is unknown
	maxUnionBytes  = 120      // text of the types that an index signature repeats
	maxInlineBytes = 76       // text of an object on one line
)

const (
	textUnknown = "unknown"
	textNever   = "never"
)

// declarer writes the types of one tool.
type declarer struct {
	tool    *granted
	names   *aliases
	side    string // "Input" or "Output"
	known   map[*jsonschema.Schema]string
	written int
	// current is the alias that is being written, nil outside of one.
	current *jsonschema.Schema
	circles map[*jsonschema.Schema]bool
}

func newDeclarer(g *granted, names *aliases) *declarer {
	return &declarer{tool: g, names: names, known: map[*jsonschema.Schema]string{}, circles: map[*jsonschema.Schema]bool{}}
}

// place is where a type stands.
type place struct {
	indent string
	depth  int
	// object: it is the object that a tool is called with.
	object bool
	// closed: a neighbour in an intersection allows no further members.
	closed bool
	// deferred: it is within an object or an array, where an alias may be itself.
	deferred bool
}

// within is the place of a member or an item.
func (p place) within(indent string) place {
	return place{indent: indent, depth: p.depth + 1, deferred: true}
}

// beside is the place of a part of a union or an intersection.
func (p place) beside() place {
	p.depth++
	return p
}

// expr is a type as TypeScript; loose where it is a union or an intersection.
type expr struct {
	text  string
	loose bool
}

func (t expr) tight() string {
	if t.loose {
		return "(" + t.text + ")"
	}
	return t.text
}

// typeOf is the type of the values that a schema allows.
func (d *declarer) typeOf(s *jsonschema.Schema, p place) expr {
	switch {
	case s == nil || p.depth > maxTypeDepth || d.written > maxTypeBytes:
		return expr{text: textUnknown}
	case s.Bool != nil && *s.Bool:
		return expr{text: textUnknown}
	case s.Bool != nil:
		return expr{text: textNever}
	}
	p.closed = p.closed || closed(s, nil)
	var parts []expr
	if s.Ref != nil {
		parts = append(parts, d.reference(s.Ref, p))
	}
	parts = append(parts, d.own(s, p))
	for _, part := range s.AllOf {
		parts = append(parts, d.typeOf(part, p.beside()))
	}
	for _, options := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if len(options) > 0 {
			parts = append(parts, d.union(options, p.beside()))
		}
	}
	t := intersection(parts)
	d.written += len(t.text)
	return t
}

func (d *declarer) union(options []*jsonschema.Schema, p place) expr {
	var parts []expr
	for _, option := range options {
		parts = append(parts, d.typeOf(option, p))
	}
	return union(parts)
}

// union joins types with |. What is unknown takes in all others.
func union(parts []expr) expr {
	var kept []expr
	for _, t := range parts {
		switch {
		case t.text == textUnknown:
			return t
		case t.text != textNever && !slices.Contains(kept, t):
			kept = append(kept, t)
		}
	}
	return joined(kept, " | ", textNever)
}

// intersection joins types with &. What is never takes in all others.
func intersection(parts []expr) expr {
	var kept []expr
	for _, t := range parts {
		switch {
		case t.text == textNever:
			return t
		case t.text != textUnknown && !slices.Contains(kept, t):
			kept = append(kept, t)
		}
	}
	if len(kept) > 1 {
		// The others say that it is an object, and this would keep TypeScript from
		// noticing members that they do not have.
		kept = slices.DeleteFunc(kept, func(t expr) bool { return t.text == textObject })
	}
	return joined(kept, " & ", textUnknown)
}

func joined(parts []expr, sign, none string) expr {
	switch len(parts) {
	case 0:
		return expr{text: none}
	case 1:
		return parts[0]
	}
	var texts []string
	for _, t := range parts {
		texts = append(texts, t.tight())
	}
	return expr{text: strings.Join(texts, sign), loose: true}
}

// closed reports whether a schema allows no members but those that it names,
// by itself or by all that it is made of.
func closed(s *jsonschema.Schema, seen []*jsonschema.Schema) bool {
	if s == nil || slices.Contains(seen, s) || len(seen) > maxTypeDepth {
		return false
	}
	seen = append(seen, s)
	if s.AdditionalProperties == false || s.UnevaluatedProperties != nil && s.UnevaluatedProperties.Bool != nil && !*s.UnevaluatedProperties.Bool {
		return true
	}
	is := func(part *jsonschema.Schema) bool { return closed(part, seen) }
	not := func(part *jsonschema.Schema) bool { return !closed(part, seen) }
	return s.Ref != nil && is(s.Ref) || slices.ContainsFunc(s.AllOf, is) ||
		len(s.AnyOf) > 0 && !slices.ContainsFunc(s.AnyOf, not) ||
		len(s.OneOf) > 0 && !slices.ContainsFunc(s.OneOf, not)
}
