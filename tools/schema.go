package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// MaxSchemaBytes bounds one schema.
const MaxSchemaBytes = 256 << 10

// schemaURL is the base of references within a schema. It leads nowhere.
const schemaURL = "schema://tool/schema"

// Errors of schemas.
var (
	errElsewhere = errors.New("it refers to another document; allowed are references within the schema")
	errPattern   = errors.New("a pattern is longer than 4096 bytes")
	errCompile   = errors.New("the schema cannot be compiled")
	errNoObject  = errors.New("a tool is called with one object; the schema is an object with the type \"object\", or without a type")
)

// schema is a compiled JSON Schema. It does not change.
type schema struct {
	compiled *jsonschema.Schema
}

// compile makes a schema of JSON text; nothing gives nil.
func compile(raw json.RawMessage) (*schema, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if len(raw) > MaxSchemaBytes {
		return nil, fmt.Errorf("it has %d bytes; allowed are %d", len(raw), MaxSchemaBytes)
	}
	doc, err := decode(raw)
	if err != nil {
		return nil, err
	}
	return compileDocument(doc)
}

// compileInput is compile for arguments, which are one object.
func compileInput(raw json.RawMessage) (*schema, error) {
	s, err := compile(raw)
	if s == nil {
		return nil, err
	}
	types := s.compiled.Types
	if !bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{")) || types != nil && !types.IsEmpty() && !slices.Contains(types.ToStrings(), "object") {
		return nil, errNoObject
	}
	return s, nil
}

func compileDocument(doc any) (s *schema, err error) {
	defer func() {
		if recover() != nil {
			s, err = nil, errCompile
		}
	}()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(loadsNothing{})
	c.UseRegexpEngine(pattern)
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		if errors.Is(err, errElsewhere) {
			return nil, errElsewhere
		}
		return nil, err
	}
	return &schema{compiled}, nil
}

// maxPatternBytes bounds patterns: those of schemas, and those in values with the
// format "regex". Longer ones take long to compile.
const maxPatternBytes = 4 << 10

func pattern(text string) (jsonschema.Regexp, error) {
	if len(text) > maxPatternBytes {
		return nil, errPattern
	}
	return regexp.Compile(text)
}

// loadsNothing refuses every document that is not a standard's own.
type loadsNothing struct{}

func (loadsNothing) Load(string) (any, error) { return nil, errElsewhere }

// check says what is wrong with a decoded value; nil is nothing.
func (s *schema) check(value any) (found *problem) {
	if s == nil {
		return nil
	}
	defer func() {
		if recover() != nil {
			found = &problem{text: textUncheckable}
		}
	}()
	err := s.compiled.Validate(value)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return &problem{text: textUncheckable}
	}
	return firstProblem(invalid)
}
