package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// moduleRoot as seen from this package.
const moduleRoot = "../.."

func TestTheGoBlocksOfTheReadmeAreOfTheExamples(t *testing.T) {
	t.Parallel()
	readme := read(t, "README.md")
	blocks := codeBlocks(readme, "go")
	require.NotEmpty(t, blocks, "README.md has a block of Go")
	assert.Equal(t, exampleBody(t, "backends/wazero/example_test.go", "Example"), blocks[0])
	program := dedent(read(t, "examples/codemode/main.go"))
	for _, block := range blocks[1:] {
		assert.Contains(t, program, "\n"+block+"\n", "the further blocks are lines of the example")
	}
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
