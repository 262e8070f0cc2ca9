package subprocess

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sketch before a block says that it stands nowhere.
const sketch = "<!-- sketch -->\n"

func TestEveryGoBlockOfTheGuideStandsInThisModule(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	require.NoError(t, fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		code.WriteString("\n" + string(text))
		return err
	}))
	guide, err := os.ReadFile("../../docs/WRITING_A_BACKEND.md")
	require.NoError(t, err)
	const fence = "```go\n"
	parts := strings.Split("\n"+string(guide), "\n"+fence)
	compared := 0
	for n, part := range parts[1:] {
		block, _, ok := strings.Cut(part, "\n```\n")
		require.True(t, ok, "block %d has no end", n+1)
		if strings.HasSuffix(parts[n]+"\n", sketch) {
			continue
		}
		compared++
		assert.True(t, strings.Contains(code.String(), "\n"+block+"\n"), "block %d stands in no file:\n%s", n+1, block)
	}
	assert.Greater(t, compared, 8, "blocks that were compared")
}
