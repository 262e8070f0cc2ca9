package tools

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of a schema whose checks have a bound.
const (
	maxWeight     = 10_000 // steps of all schemas that look at one value
	maxNesting    = 32     // of schemas that look at the same value
	maxReachSteps = 200_000
)

// Errors of schemas whose checks have no bound.
var (
	errHeavy = errors.New("checking one value against it can take more than 10000 steps; allowed is recursion where each value is " +
		"checked once, and fewer alternatives within alternatives")
	errNesting  = errors.New("more than 32 schemas nest that look at the same value")
	errCircle   = errors.New("a schema refers to itself for the same value; allowed is recursion into members and items")
	errDynamic  = errors.New("it has dynamic references; allowed is $ref")
	errNoBounds = errors.New(`it has the format "regex" or schemas of contents, whose checks have no bound`)
	errWide     = errors.New("it has too many combinations of schemas for the same value")
)

// shape is what a value is, as far as it decides which schemas look inside.
type shape uint8

const (
	shapeScalar shape = iota
	shapeArray
	shapeObject
)

// reach finds the schemas that look at one value, for every value there may be:
// it begins with those of the whole value, and goes on to its members and items
// with all that look at each. A schema that is there twice counts twice. Where
// recursion multiplies, the numbers grow until they are too large; where not,
// there is an end.
type reach struct {
	steps int
	ids   map[*jsonschema.Schema]int
	costs map[*jsonschema.Schema]cost
	seen  map[string]bool
	queue []counts
	most  cost
}

// counts says how often each schema looks at a value.
type counts map[*jsonschema.Schema]float64

// rateOf is the most that checks with a schema take; an error says why there is
// no bound.
func rateOf(root *jsonschema.Schema) (*rate, error) {
	r := &reach{ids: map[*jsonschema.Schema]int{}, costs: map[*jsonschema.Schema]cost{}, seen: map[string]bool{}}
	r.push(counts{root: 1})
	for len(r.queue) > 0 {
		next := r.queue[len(r.queue)-1]
		r.queue = r.queue[:len(r.queue)-1]
		for _, shape := range []shape{shapeScalar, shapeArray, shapeObject} {
			if err := r.look(next, shape); err != nil {
				return nil, err
			}
		}
	}
	m := r.most
	return &rate{value: m.value + m.member, text: m.text + m.names, number: m.number, unique: m.unique}, nil
}

// push has a value looked at that these schemas look at.
func (r *reach) push(next counts) {
	if len(next) == 0 {
		return
	}
	var key []string
	for s, n := range next {
		id, ok := r.ids[s]
		if !ok {
			id = len(r.ids)
			r.ids[s] = id
		}
		key = append(key, fmt.Sprintf("%d*%g", id, n))
	}
	slices.Sort(key)
	r.steps += len(next)
	if text := strings.Join(key, " "); !r.seen[text] {
		r.seen[text] = true
		r.queue = append(r.queue, next)
	}
}

// look finds what looks at a value of this shape, and at what is inside of it.
func (r *reach) look(schemas counts, shape shape) error {
	at := &sight{reach: r, shape: shape, looking: counts{}}
	if err := at.all(schemas); err != nil {
		return err
	}
	if shape == shapeObject {
		if err := at.propertyNames(); err != nil {
			return err
		}
	}
	if at.unevaluated {
		at.total.member += at.total.value
	}
	most, total := &r.most, &at.total
	most.value, most.member = max(most.value, total.value), max(most.member, total.member)
	most.text, most.names = max(most.text, total.text), max(most.names, total.names)
	most.number, most.unique = max(most.number, total.number), max(most.unique, total.unique)
	switch shape {
	case shapeObject:
		at.members()
	case shapeArray:
		at.items()
	}
	if r.steps > maxReachSteps {
		return errWide
	}
	return nil
}

// sight is one value with the schemas that look at it.
type sight struct {
	*reach
	shape       shape
	looking     counts
	total       cost
	unevaluated bool
	path        []*jsonschema.Schema
}

func (at *sight) all(schemas counts) error {
	for s, times := range schemas {
		if err := at.add(s, times); err != nil {
			return err
		}
	}
	return nil
}

// add counts a schema, and all within it that look at the same value.
func (at *sight) add(s *jsonschema.Schema, times float64) error {
	own, ok := at.costs[s]
	if !ok {
		if own, ok = costOf(s); !ok {
			return errNoBounds
		}
		at.costs[s] = own
	}
	at.steps++
	at.total.add(own, times)
	at.total.value += times * float64(len(at.path)) / 8
	switch {
	case at.total.value > maxWeight:
		return errHeavy
	case at.steps > maxReachSteps:
		return errWide
	case slices.Contains(at.path, s):
		return errCircle
	case len(at.path) == maxNesting:
		return errNesting
	case s.Bool != nil || !at.fits(s):
		return nil
	}
	if dynamic(s) {
		return errDynamic
	}
	at.looking[s] += times
	at.unevaluated = at.unevaluated || s.UnevaluatedProperties != nil || s.UnevaluatedItems != nil
	at.path = append(at.path, s)
	for _, within := range sameValue(s) {
		if err := at.add(within, times); err != nil {
			return err
		}
	}
	at.path = at.path[:len(at.path)-1]
	return nil
}

// fits reports whether a value of the shape can have a type of the schema. No
// other rule of the schema is looked at where not.
func (at *sight) fits(s *jsonschema.Schema) bool {
	if s.Types == nil || s.Types.IsEmpty() {
		return true
	}
	for _, name := range s.Types.ToStrings() {
		shape := shapeScalar
		switch name {
		case "object":
			shape = shapeObject
		case "array":
			shape = shapeArray
		}
		if shape == at.shape {
			return true
		}
	}
	return false
}

func dynamic(s *jsonschema.Schema) bool {
	if s.RecursiveRef != nil && s.RecursiveRef.RecursiveAnchor {
		return true
	}
	d := s.DynamicRef
	return d != nil && d.Anchor != "" && d.Ref.DynamicAnchor == d.Anchor
}

// sameValue are the schemas in a schema that look at the same value.
func sameValue(s *jsonschema.Schema) []*jsonschema.Schema {
	all := slices.Concat(s.AllOf, s.AnyOf, s.OneOf)
	all = append(all, s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else)
	if s.DynamicRef != nil {
		all = append(all, s.DynamicRef.Ref)
	}
	all = slices.AppendSeq(all, maps.Values(s.DependentSchemas))
	for _, dependency := range s.Dependencies {
		if dependent, ok := dependency.(*jsonschema.Schema); ok {
			all = append(all, dependent)
		}
	}
	return slices.DeleteFunc(all, func(s *jsonschema.Schema) bool { return s == nil })
}

// propertyNames adds what is done with each name.
func (at *sight) propertyNames() error {
	names := &sight{reach: at.reach, shape: shapeScalar, looking: counts{}}
	for s, times := range at.looking {
		if s.PropertyNames != nil {
			if err := names.add(s.PropertyNames, times); err != nil {
				return err
			}
		}
	}
	at.total.member += names.total.value
	at.total.names += names.total.text
	return nil
}

// members goes on to each member that has a name in a schema, and to any other.
func (at *sight) members() {
	named := map[string]bool{}
	rest := counts{}
	for s, times := range at.looking {
		for name := range s.Properties {
			named[name] = true
		}
		for _, each := range s.PatternProperties { // any name may match
			rest[each] += times
		}
		if s.UnevaluatedProperties != nil {
			rest[s.UnevaluatedProperties] += times
		}
	}
	other := maps.Clone(rest)
	for s, times := range at.looking {
		other.add(s.AdditionalProperties, times)
	}
	at.push(other)
	for name := range named {
		if at.steps += len(at.looking) + len(rest); at.steps > maxReachSteps {
			return
		}
		member := maps.Clone(rest)
		for s, times := range at.looking {
			if p := s.Properties[name]; p != nil {
				member[p] += times
			} else {
				member.add(s.AdditionalProperties, times)
			}
		}
		at.push(member)
	}
}

// add counts a schema that may be nil or a boolean of Go.
func (c counts) add(s any, times float64) {
	if s, ok := s.(*jsonschema.Schema); ok && s != nil {
		c[s] += times
	}
}

// items goes on to each item that has a place in a schema, and to any other.
func (at *sight) items() {
	places := 0
	rest := counts{}
	for s, times := range at.looking {
		places = max(places, len(prefix(s)))
		rest.add(s.Contains, times)
		rest.add(s.UnevaluatedItems, times)
	}
	for i := 0; i <= places; i++ {
		if at.steps += len(at.looking) + len(rest); at.steps > maxReachSteps {
			return
		}
		item := maps.Clone(rest)
		for s, times := range at.looking {
			first := prefix(s)
			switch {
			case i < len(first):
				item[first[i]] += times
			case s.DraftVersion >= 2020:
				item.add(s.Items2020, times)
			default:
				item.add(s.Items, times)
				item.add(s.AdditionalItems, times)
			}
		}
		at.push(item)
	}
}

// prefix are the schemas of the first items.
func prefix(s *jsonschema.Schema) []*jsonschema.Schema {
	if first, ok := s.Items.([]*jsonschema.Schema); ok {
		return first
	}
	return s.PrefixItems
}
