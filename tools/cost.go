package tools

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// cost is what one schema does with a value by itself, without what the schemas
// in it do.
type cost struct {
	value  float64 // steps
	number float64 // how often it reads a number
	text   float64 // steps at each byte of a string
	names  float64 // steps at each byte of a name
	member float64 // steps for each member
	unique float64
}

func (c *cost) add(other cost, times float64) {
	c.value += times * other.value
	c.number += times * other.number
	c.text += times * other.text
	c.names += times * other.names
	c.member += times * other.member
	c.unique += times * other.unique
}

// costOf is the cost of a schema. It is false where what it does has no bound.
func costOf(s *jsonschema.Schema) (cost, bool) {
	c := cost{value: 2 + float64(len(s.Required)+len(s.Dependencies)+len(s.DependentSchemas)+len(s.DependentRequired))}
	for _, names := range s.DependentRequired {
		c.value += float64(len(names))
	}
	for _, dependency := range s.Dependencies {
		if names, ok := dependency.([]string); ok {
			c.value += float64(len(names))
		}
	}
	if s.Const != nil {
		c.compare(*s.Const)
	}
	if s.Enum != nil {
		for _, value := range s.Enum.Values {
			c.compare(value)
		}
	}
	if s.Types != nil && slices.Contains(s.Types.ToStrings(), "integer") {
		c.number++
	}
	for _, bound := range []*big.Rat{s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum, s.MultipleOf} {
		if bound != nil {
			c.number += weigh(bound)
		}
	}
	if s.MinLength != nil || s.MaxLength != nil {
		c.text += lengthSteps
	}
	if s.Format != nil {
		c.text += formatSteps
	}
	c.text += ofPattern(s.Pattern)
	for p := range s.PatternProperties {
		c.member++
		c.names += ofPattern(p)
	}
	if s.UniqueItems {
		c.unique++
	}
	content := s.ContentEncoding != nil || s.ContentMediaType != nil || s.ContentSchema != nil
	return c, !content && len(s.Extensions) == 0 && (s.Format == nil || s.Format.Name != "regex")
}

// compare adds a comparison with a value of the schema. The values inside of one
// are compared too, as often as what is around them.
func (c *cost) compare(value any) {
	values, numbers, deep := contents(value)
	c.value += float64(values * deep)
	c.number += float64(numbers*deep) * 2
}

func contents(value any) (values, numbers, deep int) {
	var inside []any
	switch v := value.(type) {
	case json.Number:
		l, exponentDigits := load{}, 0
		if strings.ContainsAny(string(v), "eE") {
			exponentDigits = maxExponentDigits
		}
		return 1, int(l.number(len(v), exponentDigits) / shortNumber), 1
	case []any:
		inside = v
	case map[string]any:
		for _, member := range v {
			inside = append(inside, member)
		}
	}
	values = 1
	for _, item := range inside {
		v, n, d := contents(item)
		values, numbers, deep = values+v, numbers+n, max(deep, d)
	}
	return values, numbers, deep + 1
}

// weigh says how many times the work of a plain number a bound makes.
func weigh(bound *big.Rat) float64 {
	const plainBits, long = 256, 20
	if bound.Num().BitLen() > plainBits || bound.Denom().BitLen() > plainBits {
		return long
	}
	return 2
}

func ofPattern(p jsonschema.Regexp) float64 {
	sized, ok := p.(*sizedPattern)
	if !ok {
		return 0 // there is none
	}
	return patternSteps * float64(sized.parts)
}
