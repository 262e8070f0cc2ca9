package integration

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// choices is a stream of decisions. Where it has ended every decision is 0, the
// simplest one, so that any bytes make a program and fewer bytes a smaller one.
type choices struct{ rest []byte }

// below decides for a number from 0 to n-1; n is at most 256.
func (c *choices) below(n int) int {
	if n < 2 || len(c.rest) == 0 {
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return int(b) % n
}

// grammar has templates for each sort of text. In a template @sort stands for a
// text of that sort. The first template of a sort is the simplest: it has no
// sorts in it, or only such that end as well.
type grammar map[string][]string

// javaScript is all of the grammar. The order of templates is part of what a
// stream of decisions means.
func javaScript() grammar {
	g := grammar{}
	for _, part := range []grammar{
		literalTemplates(), numberTemplates(), textTemplates(), patternTemplates(), listTemplates(), byteTemplates(),
		collectionTemplates(), objectTemplates(), webTemplates(), functionTemplates(), asyncTemplates(), statementTemplates(), heavyTemplates(),
	} {
		for sort, templates := range part {
			g[sort] = append(g[sort], templates...)
		}
	}
	return g
}

// Bounds of a program.
const (
	maxNesting    = 9   // of sorts in sorts
	maxExpansions = 250 // of sorts
	maxStatements = 10
)

// programWriter fills templates in.
type programWriter struct {
	*choices
	grammar   grammar
	out       strings.Builder
	remaining int // expansions
}

func (w *programWriter) expand(sort string, nesting int) {
	templates := w.grammar[sort]
	choice := 0
	if w.remaining--; nesting < maxNesting && w.remaining > 0 {
		choice = w.below(len(templates))
	}
	w.fill(templates[choice], nesting+1)
}

func (w *programWriter) fill(template string, nesting int) {
	for {
		text, rest, found := strings.Cut(template, "@")
		w.out.WriteString(text)
		if !found {
			return
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return r < 'a' || r > 'z' })
		if end < 0 {
			end = len(rest)
		}
		w.expand(rest[:end], nesting)
		template = rest[end:]
	}
}

// programStart is at the head of every program: what its templates may use.
const programStart = `const show = (...v) => console.log(...v);
const bits = (x) => { const d = new DataView(new ArrayBuffer(8)); d.setFloat64(0, x); return d.getBigUint64(0).toString(16) };
const tag = (x, ...v) => x.raw.join('|') + v.length;
const attempt = (f) => { try { return f() } catch (e) { return e && e.name + ': ' + e.message } };
let n = 1.5, m = -7, s = 'abc', t = 'Äb😀', b = 12345678901234567890n, a = [3, 1, 2], o = { x: 1, y: [2] }, f = (x) => x;
`

// generate makes a program of decisions. Most parse, and most end.
func generate(decisions []byte) string {
	w := &programWriter{choices: &choices{decisions}, grammar: javaScript(), remaining: maxExpansions}
	w.out.WriteString(programStart)
	spoil := w.below(16) == 15
	for range 1 + w.below(maxStatements) {
		w.expand("top", 0)
		w.out.WriteString("\n")
	}
	w.expand("ending", 0)
	if !spoil {
		return w.out.String()
	}
	return w.choices.spoil(w.out.String())
}

// spoil changes a text here and there, so that it may no longer parse.
func (c *choices) spoil(text string) string {
	runes := []rune(text)
	place := func() int { return (c.below(256)<<8 | c.below(256)) % (len(runes) + 1) }
	for range 1 + c.below(4) {
		at := place()
		size := min(1+c.below(12), len(runes)-at)
		switch c.below(4) {
		case 0: // take away
			runes = append(runes[:at:at], runes[at+size:]...)
		case 1: // twice
			runes = append(runes[:at+size:at+size], runes[at:]...)
		case 2: // put in
			strange := []string{"}", "{", "(", ")", "`", "'", "/", "\\", "\u2028", "\r\n", "#", "=>", "await ", "return ", "...", "0x", "?.", "\u0000", "😀", "//", "/*", "<!--"}
			runes = append(runes[:at:at], append([]rune(strange[c.below(len(strange))]), runes[at:]...)...)
		case 3: // a piece from elsewhere
			from := min(place(), len(runes)-size)
			runes = append(runes[:at:at], append(append([]rune{}, runes[from:from+size]...), runes[at:]...)...)
		}
	}
	return string(runes)
}

// seededDecisions never say that the bytes are source code.
func seededDecisions(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 20260329))
	decisions := make([]byte, 64+r.IntN(600))
	for i := range decisions {
		decisions[i] = byte(r.Uint32())
	}
	decisions[0] = generatedProgram
	return decisions
}

func TestAGrammarEndsAndHasAllItsSorts(t *testing.T) {
	t.Parallel()
	g := javaScript()
	sorts := regexp.MustCompile("@[a-z]*")
	used := map[string]bool{"top": true, "ending": true}
	for sort, templates := range g {
		for _, template := range templates {
			for _, name := range sorts.FindAllString(template, -1) {
				assert.Contains(t, g, name[1:], "%s: %s", sort, template)
				used[name[1:]] = true
			}
		}
	}
	for sort := range g {
		assert.True(t, used[sort], "%s is used nowhere", sort)
		w := &programWriter{choices: &choices{}, grammar: g, remaining: 1000}
		w.expand(sort, 0)
		assert.Positive(t, w.remaining, "the simplest %s does not end", sort)
	}
}

func TestAProgramIsMadeOfItsDecisionsAlone(t *testing.T) {
	t.Parallel()
	programs := map[string]bool{}
	for seed := range uint64(200) {
		program := generate(seededDecisions(seed))
		require.Equal(t, program, generate(seededDecisions(seed)))
		require.True(t, utf8.ValidString(program))
		require.Less(t, len(program), 64<<10)
		programs[program] = true
	}
	assert.Len(t, programs, 200, "other decisions make other programs")
}
