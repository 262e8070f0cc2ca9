package tools

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// maxPathBytes bounds the place in a message: names of members are guest data.
const maxPathBytes = 160

// problem is one thing that is wrong with a value: a place and a rule of the
// schema. It holds nothing of the value but names of members.
type problem struct {
	path  []string
	fixed string                      // what is wrong
	err   *jsonschema.ValidationError // says it where fixed is empty
}

// text follows the place.
func (p *problem) text() string {
	if p.fixed != "" {
		return p.fixed
	}
	switch k := p.err.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		return alternatives(p.err)
	default:
		return rule(k)
	}
}

// pointer is the place as a JSON pointer.
func (p *problem) pointer() string {
	var b strings.Builder
	for _, part := range p.path {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	return b.String()
}

// String is one line: "/id must be integer". whole names the value itself.
func (p *problem) String(whole string) string {
	place := cut(oneLine(p.pointer()), maxPathBytes)
	if place == "" {
		place = whole
	}
	return place + " " + p.text()
}

// firstProblem is the first in the order of places, and then of texts. The order
// in which the library finds them is that of a map.
func firstProblem(err *jsonschema.ValidationError) *problem {
	all := problemsOf(err, nil)
	if len(all) == 0 {
		return &problem{fixed: textRefused}
	}
	place := slices.MinFunc(all, comparePlaces).path
	first := &problem{}
	for i := range all {
		if comparePlaces(all[i], problem{path: place}) != 0 {
			continue
		}
		if text := all[i].text(); first.fixed == "" || text < first.fixed {
			first = &problem{path: place, fixed: text}
		}
	}
	return first
}

func comparePlaces(a, b problem) int { return slices.CompareFunc(a.path, b.path, comparePart) }

// comparePart orders indexes as numbers, and names as texts.
func comparePart(a, b string) int {
	x, err1 := strconv.ParseUint(a, 10, 64)
	y, err2 := strconv.ParseUint(b, 10, 64)
	if err1 == nil && err2 == nil {
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	}
	return cmp.Compare(a, b)
}

// Texts without details.
const (
	textRefused     = "is not what the schema allows"
	textUncheckable = "cannot be checked against the schema"
	textAdditional  = "is not allowed"
)

// problemsOf collects what an error says, from where it says it best.
func problemsOf(err *jsonschema.ValidationError, all []problem) []problem {
	at := err.InstanceLocation
	add := func(text string, below ...string) {
		if len(below) > 0 {
			at = append(slices.Clone(at), below...)
		}
		all = append(all, problem{path: at, fixed: text, err: err})
		at = err.InstanceLocation
	}
	switch k := err.ErrorKind.(type) {
	case *kind.AnyOf:
		add("")
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			add("must fit exactly one of the alternatives, and fits more")
		} else {
			add("")
		}
	case *kind.Contains, *kind.MinContains:
		add("has too few items that fit")
	case *kind.MaxContains:
		add("has too many items that fit")
	case *kind.PropertyNames:
		add("has a name that is not allowed", k.Property)
	case *kind.Required:
		for _, name := range k.Missing {
			add("is required", name)
		}
	case *kind.Dependency:
		for _, name := range k.Missing {
			add("is required beside "+quoted(k.Prop), name)
		}
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			add("is required beside "+quoted(k.Prop), name)
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			add(textAdditional, name)
		}
	default:
		if len(err.Causes) == 0 {
			add("")
			break
		}
		for _, cause := range err.Causes {
			all = problemsOf(cause, all)
		}
	}
	return all
}

// alternatives says what would have fitted: the types, where that is all.
func alternatives(err *jsonschema.ValidationError) string {
	var want []string
	for _, cause := range err.Causes {
		for len(cause.Causes) == 1 {
			cause = cause.Causes[0]
		}
		k, ok := cause.ErrorKind.(*kind.Type)
		if !ok || len(cause.Causes) > 0 || !slices.Equal(cause.InstanceLocation, err.InstanceLocation) {
			return "fits none of the alternatives"
		}
		want = append(want, k.Want...)
	}
	slices.Sort(want)
	return "must be " + strings.Join(slices.Compact(want), " or ")
}

// rule says what a keyword wants. It never uses what the value is.
func rule(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "must be " + strings.Join(k.Want, " or ")
	case *kind.Enum:
		return "must be one of " + literals(k.Want)
	case *kind.Const:
		return "must be " + literals([]any{k.Want})
	case *kind.Format:
		return "must have the format " + quoted(k.Want)
	case *kind.Pattern:
		return "must match the pattern " + quoted(k.Want)
	case *kind.MinLength:
		return "must have at least " + count(k.Want, "character")
	case *kind.MaxLength:
		return "must have at most " + count(k.Want, "character")
	case *kind.MinItems:
		return "must have at least " + count(k.Want, "item")
	case *kind.MaxItems:
		return "must have at most " + count(k.Want, "item")
	case *kind.AdditionalItems:
		return "has more items than allowed"
	case *kind.UniqueItems:
		return "must have no equal items"
	case *kind.MinProperties:
		return "must have at least " + count(k.Want, "member")
	case *kind.MaxProperties:
		return "must have at most " + count(k.Want, "member")
	case *kind.Minimum:
		return "must be at least " + number(k.Want)
	case *kind.Maximum:
		return "must be at most " + number(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + number(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + number(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + number(k.Want)
	case *kind.FalseSchema:
		return textAdditional
	}
	return textRefused
}

// count is "1 item" or "2 items".
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// maxLiteralsBytes bounds what a message quotes of a schema.
const maxLiteralsBytes = 200

// literals are values of a schema.
func literals(values []any) string {
	var parts []string
	for _, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			return "what the schema lists"
		}
		parts = append(parts, string(text))
	}
	return cut(oneLine(strings.Join(parts, ", ")), maxLiteralsBytes)
}

// quoted is a text of a schema.
func quoted(text string) string { return literals([]any{text}) }
