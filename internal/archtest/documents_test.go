package archtest_test

import (
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

func TestTheTestsThatTheThreatModelNamesExist(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	root := os.DirFS(moduleRoot)
	require.NoError(t, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasSuffix(path, ".txtar"):
			there[d.Name()] = true
		case strings.HasSuffix(path, "_test.go"):
			for _, m := range declared.FindAllStringSubmatch(read(t, path), -1) {
				there[m[1]] = true
			}
		}
		return nil
	}))
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+|\\w+\\.txtar)`").FindAllStringSubmatch(read(t, "docs/THREATMODEL.md"), -1)
	require.NotEmpty(t, named)
	for _, m := range named {
		assert.True(t, there[m[1]], "docs/THREATMODEL.md names %s, which does not exist", m[1])
	}
}

func TestEveryDependencyHasAReasonAndTheVersionThatIsUsed(t *testing.T) {
	t.Parallel()
	rationale := read(t, "docs/RATIONALE.md")
	required := regexp.MustCompile(`(?m)^(?:require )?\t?(\S+\.\S+/\S+) (v\S+)`).FindAllStringSubmatch(read(t, "go.mod"), -1)
	require.NotEmpty(t, required)
	versions := map[string]string{}
	for _, m := range required {
		versions[m[1]] = m[2]
		assert.True(t, strings.Contains(rationale, "`"+m[1]+"`"), "go.mod requires %s, for which docs/RATIONALE.md gives no reason", m[1])
	}
	rows := regexp.MustCompile("(?m)^\\| `(\\S+/\\S+)` \\| (v\\S+) \\|").FindAllStringSubmatch(rationale, -1)
	require.NotEmpty(t, rows)
	for _, m := range rows {
		assert.Equal(t, versions[m[1]], m[2], "docs/RATIONALE.md on %s", m[1])
	}
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
