package tools

import (
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// reference is the type that a $ref leads to: an alias, so that it may lead in a
// circle, and is written once. TypeScript allows a circle through an object or an
// array; any other allows nothing and says nothing, and is unknown.
func (d *declarer) reference(target *jsonschema.Schema, p place) expr {
	if !p.deferred && d.current != nil && d.circular(target) && d.circular(d.current) {
		return expr{text: textUnknown}
	}
	if target.Bool != nil {
		return d.typeOf(target, p)
	}
	name, ok := d.known[target]
	if !ok {
		if len(d.known) >= maxAliases {
			return expr{text: textUnknown}
		}
		name = d.names.name(d.aliasName(target))
		d.known[target] = name
		outer := d.current
		d.current = target
		body := d.typeOf(target, place{depth: p.depth + 1})
		d.current = outer
		d.names.blocks = append(d.names.blocks, comment(describe(target), "")+"type "+name+" = "+body.text+";")
	}
	return expr{text: name}
}

// circular reports whether a schema leads to itself without an object or array
// in between.
func (d *declarer) circular(s *jsonschema.Schema) bool {
	is, known := d.circles[s]
	if !known {
		is = leadsTo(s, s, map[*jsonschema.Schema]bool{})
		d.circles[s] = is
	}
	return is
}

func leadsTo(from, to *jsonschema.Schema, seen map[*jsonschema.Schema]bool) bool {
	next := []*jsonschema.Schema{from.Ref}
	for _, parts := range [][]*jsonschema.Schema{from.AllOf, from.AnyOf, from.OneOf} {
		next = append(next, parts...)
	}
	for _, s := range next {
		if s == to {
			return true
		}
		if s != nil && !seen[s] {
			seen[s] = true
			if leadsTo(s, to, seen) {
				return true
			}
		}
	}
	return false
}

// aliasName makes CrmLookup_Input_Node of the tool "crm.lookup" and "#/$defs/node".
func (d *declarer) aliasName(target *jsonschema.Schema) string {
	name := pascal(d.tool.Name) + "_" + d.side
	_, fragment, _ := strings.Cut(target.Location, "#")
	last := pascal(fragment[strings.LastIndexByte(fragment, '/')+1:])
	if last == "" {
		return name
	}
	const most = 40 // of what the schema calls it
	return name + "_" + last[:min(len(last), most)]
}

// pascal joins what an identifier may consist of, with a capital where something
// is left out.
func pascal(s string) string {
	var b strings.Builder
	upper := true
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z' && upper:
			b.WriteByte(c - 'a' + 'A')
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			b.WriteByte(c)
		default:
			upper = true
			continue
		}
		upper = false
	}
	return b.String()
}
