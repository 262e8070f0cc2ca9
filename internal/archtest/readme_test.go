package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// moduleRoot as seen from this package.
const moduleRoot = "../.."

func TestTheGoBlockOfTheReadmeIsTheBodyOfTheExample(t *testing.T) {
	t.Parallel()
	readme := read(t, "README.md")
	blocks := codeBlocks(readme, "go")
	require.Len(t, blocks, 1, "README.md has one block of Go")
	assert.Equal(t, exampleBody(t, "backends/wazero/example_test.go", "Example"), blocks[0])
}

func TestRelativeLinksOfTheDocumentsLeadSomewhere(t *testing.T) {
	t.Parallel()
	links := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	documents, err := filepath.Glob(filepath.Join(moduleRoot, "docs", "*.md"))
	require.NoError(t, err)
	documents = append(documents, filepath.Join(moduleRoot, "README.md"), filepath.Join(moduleRoot, "CONTRIBUTING.md"))
	found := 0
	for _, document := range documents {
		text, err := os.ReadFile(document)
		require.NoError(t, err)
		for _, m := range links.FindAllStringSubmatch(string(text), -1) {
			target, err := url.Parse(m[1])
			require.NoError(t, err, "%s links to %s", document, m[1])
			if target.IsAbs() {
				continue
			}
			found++
			file := document
			if target.Path != "" {
				file = filepath.Join(filepath.Dir(document), filepath.FromSlash(target.Path))
			}
			info, err := os.Stat(file)
			if !assert.NoError(t, err, "%s links to %s", document, m[1]) || target.Fragment == "" {
				continue
			}
			if assert.False(t, info.IsDir(), "%s links into a directory: %s", document, m[1]) {
				assert.Contains(t, anchors(t, file), target.Fragment, "%s links to %s", document, m[1])
			}
		}
	}
	assert.Positive(t, found, "no relative link was found, so nothing was checked")
}

// anchors are the names of a document's headings as links spell them.
func anchors(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var names []string
	for line := range strings.Lines(string(text)) {
		title := strings.TrimLeft(line, "#")
		if title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
				return r
			}
			return -1
		}, strings.ToLower(strings.TrimSpace(title)))
		names = append(names, name)
	}
	return names
}

// codeBlocks are the contents of a document's fenced blocks of one language.
func codeBlocks(document, language string) []string {
	var blocks []string
	for {
		_, rest, ok := strings.Cut(document, "\n```"+language+"\n")
		if !ok {
			return blocks
		}
		block, after, ok := strings.Cut(rest, "\n```\n")
		if !ok {
			return blocks
		}
		blocks = append(blocks, block)
		document = "\n" + after
	}
}

// exampleBody is what stands between the braces of a function, without the
// outer indent and the expected output.
func exampleBody(t *testing.T, path, name string) string {
	t.Helper()
	source := read(t, path)
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.ParseComments)
	require.NoError(t, err)
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != name {
			continue
		}
		body := source[files.Position(f.Body.Lbrace).Offset+1 : files.Position(f.Body.Rbrace).Offset]
		code, _, ok := strings.Cut(body, "\n\t// Output:\n")
		require.True(t, ok, "%s in %s says what it prints", name, path)
		return strings.TrimSpace(dedent(code))
	}
	require.Fail(t, "not found", "%s has no function %s", path, name)
	return ""
}

// dedent takes one tab off each line.
func dedent(code string) string {
	lines := strings.Split(code, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "\t")
	}
	return strings.Join(lines, "\n")
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := fs.ReadFile(os.DirFS(moduleRoot), path)
	require.NoError(t, err)
	return string(text)
}
