package tools

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxPatternBytes bounds patterns: those of schemas, and those in values with
	// the format "regex". Longer ones take long to compile.
	maxPatternBytes = 4 << 10
	// maxPatternParts bounds all patterns of a schema that a stranger wrote. A
	// repetition counts as often as it repeats.
	maxPatternParts = 4000
)

var (
	errPattern  = errors.New("a pattern is longer than 4096 bytes")
	errPatterns = errors.New("its patterns have more than 4000 parts, where a repetition counts as often as it repeats")
)

// sizedPattern is a pattern that knows how many parts it has.
type sizedPattern struct {
	*regexp.Regexp
	parts int
}

// patterns compiles the patterns of one schema, each once.
type patterns struct {
	stranger bool
	known    map[string]*sizedPattern // nil when the schema is compiled: what follows are values
	parts    int
	refused  error // why a pattern is not allowed
}

func (p *patterns) compile(text string) (jsonschema.Regexp, error) {
	if known := p.known[text]; known != nil {
		return known, nil
	}
	if p.known == nil {
		if len(text) > maxPatternBytes {
			return nil, errPattern
		}
		return regexp.Compile(text)
	}
	if len(text) > maxPatternBytes {
		p.refused = errPattern
		return nil, errPattern
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	n := parts(tree)
	if p.parts += n; p.stranger && p.parts > maxPatternParts {
		p.refused = errPatterns
		return nil, errPatterns
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	p.known[text] = &sizedPattern{compiled, n}
	return p.known[text], nil
}

// parts counts what a pattern does at a byte of text. The syntax bounds how deep
// it nests, and how often nested repetitions repeat.
func parts(tree *syntax.Regexp) int {
	n := 1
	for _, sub := range tree.Sub {
		n += parts(sub)
	}
	switch tree.Op {
	case syntax.OpLiteral:
		n += len(tree.Rune)
	case syntax.OpCharClass:
		n += len(tree.Rune) / 64
	case syntax.OpRepeat:
		n *= max(tree.Min, tree.Max, 1)
	}
	return n
}
