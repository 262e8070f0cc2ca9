package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// MaxSchemaBytes bounds one schema.
	MaxSchemaBytes = 256 << 10
	// MaxRemoteSchemaBytes bounds one schema of a [Remote] tool.
	MaxRemoteSchemaBytes = 64 << 10
	// MaxRemoteSchemaDepth is how many objects and arrays nest in one.
	MaxRemoteSchemaDepth = 64
	// MaxRemoteSchemaValues bounds the values in one: what compiling takes grows
	// with the square of them.
	MaxRemoteSchemaValues = 5000
	// MaxRemoteSchemasBytes bounds all schemas of the [Remote] tools that [NewSet]
	// is given.
	MaxRemoteSchemasBytes = 256 << 10

	// maxRemoteSchemaDepths bounds the sum of how deep each value in one is:
	// what compiling takes grows with it too.
	maxRemoteSchemaDepths = 100_000
)

// Bases of references within a schema, and of the one that refuses what it
// accepts. They lead nowhere.
const (
	schemaURL  = "schema://tool/schema"
	refusesURL = "schema://tool/refuses"
)

// Errors of schemas.
var (
	errElsewhere = errors.New("it refers to another document; allowed are references within the schema")
	errCompile   = errors.New("the schema cannot be compiled")
	errNoObject  = errors.New("a tool is called with one object; the schema is an object with the type \"object\", or without a type")
)

// schema is a compiled JSON Schema. It does not change.
type schema struct {
	compiled *jsonschema.Schema
	refuses  *jsonschema.Schema // accepts what compiled does not
	rate     *rate              // nil: checks have no bound
	stranger bool
}

// compile makes a schema of JSON text; nothing gives nil. Checks with one that a
// stranger wrote have a bound.
func compile(raw json.RawMessage, stranger bool) (*schema, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	most := MaxSchemaBytes
	if stranger {
		most = MaxRemoteSchemaBytes
	}
	if len(raw) > most {
		return nil, fmt.Errorf("it has %d bytes; allowed are %d", len(raw), most)
	}
	doc, l, err := decode(raw)
	if err != nil {
		return nil, err
	}
	switch {
	case stranger && l.deepest > MaxRemoteSchemaDepth:
		return nil, fmt.Errorf("objects and arrays nest deeper than %d levels", MaxRemoteSchemaDepth)
	case stranger && l.values > MaxRemoteSchemaValues:
		return nil, fmt.Errorf("it has more than %d values", MaxRemoteSchemaValues)
	case stranger && l.depths > maxRemoteSchemaDepths:
		return nil, fmt.Errorf("the depths of its values add up to more than %d; allowed are fewer values, or less deep ones", maxRemoteSchemaDepths)
	}
	s, err := compileDocument(doc, stranger)
	if err != nil {
		return nil, err
	}
	if s.rate, err = rateOf(s.compiled); err != nil && stranger {
		return nil, err
	}
	return s, nil
}

// compileInput is compile for arguments, which are one object.
func compileInput(raw json.RawMessage, stranger bool) (*schema, error) {
	s, err := compile(raw, stranger)
	if s == nil {
		return nil, err
	}
	types := s.compiled.Types
	if !bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{")) || types != nil && !types.IsEmpty() && !slices.Contains(types.ToStrings(), "object") {
		return nil, errNoObject
	}
	return s, nil
}

func compileDocument(doc any, stranger bool) (s *schema, err error) {
	defer func() {
		if recover() != nil {
			s, err = nil, errCompile
		}
	}()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(loadsNothing{})
	engine := &patterns{stranger: stranger, known: map[string]*sizedPattern{}}
	c.UseRegexpEngine(engine.compile)
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		if engine.refused != nil {
			return nil, engine.refused
		}
		if errors.Is(err, errElsewhere) {
			return nil, errElsewhere
		}
		return nil, err
	}
	refusing := map[string]any{"not": map[string]any{"$ref": schemaURL}}
	if err := c.AddResource(refusesURL, refusing); err != nil {
		return nil, err
	}
	refuses, err := c.Compile(refusesURL)
	if err != nil {
		return nil, err
	}
	engine.known = nil
	return &schema{compiled: compiled, refuses: refuses, stranger: stranger}, nil
}

// loadsNothing refuses every document that is not a standard's own.
type loadsNothing struct{}

func (loadsNothing) Load(string) (any, error) { return nil, errElsewhere }

// work is the most steps that checking a value takes.
func (s *schema) work(l load) float64 {
	switch {
	case s == nil:
		return 0
	case s.rate == nil:
		return math.Inf(1)
	}
	return s.rate.of(l)
}

// small reports whether all that is wrong with a value can be held. Without a
// bound of the work, a few values are thought to be small.
func (s *schema) small(l load) bool {
	return s.work(l) <= smallWork || s.rate == nil && l.values <= fewValues
}

// check says what is wrong with a decoded value; nil is nothing. Where l is not
// small, it says no more than that something is.
func (s *schema) check(value any, l load) (found *problem) {
	if s == nil {
		return nil
	}
	defer func() {
		if recover() != nil {
			found = &problem{fixed: textUncheckable}
		}
	}()
	if !s.small(l) {
		if s.refuses.Validate(value) == nil {
			return &problem{fixed: textRefused}
		}
		return nil
	}
	err := s.compiled.Validate(value)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return &problem{fixed: textUncheckable}
	}
	return firstProblem(invalid)
}
