package tools

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	textObject = "object"
	textNull   = "null"
	// textNothing is an object without members.
	textNothing = "Record<string, never>"
)

// own is the type of what a schema says by itself, without what it is made of.
func (d *declarer) own(s *jsonschema.Schema, p place) expr {
	values := s.Enum
	if s.Const != nil {
		values = &jsonschema.Enum{Values: []any{*s.Const}}
	}
	types := d.types(s, p)
	if values == nil {
		var parts []expr
		for _, name := range types {
			if name != textNull {
				parts = append(parts, d.named(name, s, p))
			}
		}
		if slices.Contains(types, textNull) { // last, as people write it
			parts = append(parts, expr{text: textNull})
		}
		if types == nil {
			return expr{text: textUnknown}
		}
		return union(parts)
	}
	var parts []expr
	for _, v := range values.Values {
		if s.Types == nil || fits(v, s.Types.ToStrings()) {
			parts = append(parts, expr{text: literal(v)})
		}
	}
	return union(parts)
}

// types are the names of the types that a schema allows; nil is all of them.
func (d *declarer) types(s *jsonschema.Schema, p place) []string {
	if s.Types != nil && !s.Types.IsEmpty() {
		if p.object && slices.Contains(s.Types.ToStrings(), "object") {
			return []string{"object"}
		}
		return s.Types.ToStrings()
	}
	var types []string
	if len(s.Properties) > 0 || len(s.PatternProperties) > 0 || len(s.Required) > 0 || s.AdditionalProperties != nil || s.UnevaluatedProperties != nil {
		types = append(types, "object")
	}
	if p.object {
		return types
	}
	if s.Items != nil || s.Items2020 != nil || len(s.PrefixItems) > 0 || s.UnevaluatedItems != nil {
		types = append(types, "array")
	}
	return types
}

func (d *declarer) named(name string, s *jsonschema.Schema, p place) expr {
	switch name {
	case "integer", "number":
		return expr{text: "number"}
	case "array":
		return d.array(s, p)
	case "object":
		return d.object(s, p)
	}
	return expr{text: name} // string, boolean
}

// array is the type of an array or, where places have schemas, a tuple.
func (d *declarer) array(s *jsonschema.Schema, p place) expr {
	prefix, rest := s.PrefixItems, any(s.Items2020)
	if s.DraftVersion < 2020 {
		rest = s.Items
		if list, ok := s.Items.([]*jsonschema.Schema); ok {
			prefix, rest = list, s.AdditionalItems
		}
	}
	item := expr{text: textUnknown}
	switch r := rest.(type) {
	case *jsonschema.Schema:
		item = d.typeOf(r, p.within(p.indent))
	case bool:
		if !r {
			item.text = textNever
		}
	}
	if len(prefix) == 0 {
		switch {
		case item.text == textNever:
			return expr{text: "[]"}
		case isWord(item.text):
			return expr{text: item.text + "[]"}
		}
		return expr{text: "Array<" + item.text + ">"}
	}
	var parts []string
	for i, each := range prefix {
		if s.MaxItems != nil && i >= *s.MaxItems {
			break
		}
		part := d.typeOf(each, p.within(p.indent)).tight()
		if s.MinItems == nil || i >= *s.MinItems {
			part += "?"
		}
		parts = append(parts, part)
	}
	if item.text != textNever && (s.MaxItems == nil || *s.MaxItems > len(prefix)) {
		parts = append(parts, "...Array<"+item.text+">")
	}
	return expr{text: "[" + strings.Join(parts, ", ") + "]"}
}

// member is one line of an object's type.
type member struct {
	name, comment, text string
}

// object is the type of an object.
func (d *declarer) object(s *jsonschema.Schema, p place) expr {
	inner := p.indent + step
	rest := d.further(s, p.within(inner))
	required := slices.Sorted(slices.Values(s.Required))
	required = slices.Compact(required)
	names := slices.Clone(required)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if _, found := slices.BinarySearch(required, name); !found {
			names = append(names, name)
		}
	}
	var members []member
	var types []expr
	for i, name := range names {
		m, t, sign := member{}, rest, ": "
		if property := s.Properties[name]; property != nil {
			t, m.comment = d.typeOf(property, p.within(inner)), describe(property)
		}
		if i >= len(required) {
			sign = "?: "
			types = append(types, expr{text: "undefined"})
		}
		m.name, m.text = propertyName(name), sign+t.text
		members, types = append(members, m), append(types, t)
	}
	if rest.text == textNever || p.closed && !d.describesRest(s) {
		if len(members) > 0 {
			return expr{text: object(members, p.indent)}
		}
		if alone := s.Ref == nil && len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) == 0; s.AdditionalProperties == false || alone && rest.text == textNever {
			return expr{text: textNothing}
		}
		return expr{text: textObject}
	}
	if rest.text != textUnknown && len(members) > 0 {
		// TypeScript wants the named members to fit as well.
		if rest = union(append([]expr{rest}, types...)); len(rest.text) > maxUnionBytes || strings.Contains(rest.text, "\n") {
			rest.text = textUnknown
		}
	}
	members = append(members, member{name: "[key: string]", text: ": " + rest.text})
	return expr{text: object(members, p.indent)}
}

// further is the type of members that have no schema of their own.
func (d *declarer) further(s *jsonschema.Schema, p place) expr {
	never := closed(&jsonschema.Schema{AdditionalProperties: s.AdditionalProperties, UnevaluatedProperties: s.UnevaluatedProperties}, nil)
	additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
	switch {
	case len(s.PatternProperties) > 0:
		return expr{text: textUnknown}
	case never:
		return expr{text: textNever}
	case additional != nil:
		return d.typeOf(additional, p)
	}
	return expr{text: textUnknown}
}

// describesRest reports whether a schema says what further members are like.
func (d *declarer) describesRest(s *jsonschema.Schema) bool {
	_, ok := s.AdditionalProperties.(*jsonschema.Schema)
	return ok || len(s.PatternProperties) > 0
}

// object writes members on one line, if they fit.
func object(members []member, indent string) string {
	line, commented := "{ ", false
	for i, m := range members {
		if i > 0 {
			line += "; "
		}
		line += m.name + m.text
		commented = commented || m.comment != ""
	}
	if !commented && len(line) <= maxInlineBytes && !strings.Contains(line, "\n") {
		return line + " }"
	}
	var b strings.Builder
	b.WriteString("{\n")
	for _, m := range members {
		b.WriteString(comment(m.comment, indent+step))
		b.WriteString(indent + step + m.name + m.text + ";\n")
	}
	b.WriteString(indent + "}")
	return b.String()
}

// fits reports whether a value of a schema has one of the types.
func fits(v any, types []string) bool {
	name := ""
	switch n := v.(type) {
	case nil:
		name = textNull
	case bool:
		name = "boolean"
	case string:
		name = "string"
	case []any:
		name = "array"
	case map[string]any:
		name = "object"
	case json.Number:
		return slices.Contains(types, "number") || slices.Contains(types, "integer") && isInteger(n)
	}
	return slices.Contains(types, name)
}
