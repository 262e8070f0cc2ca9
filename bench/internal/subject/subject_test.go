package subject

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/bench/internal/work"
)

func TestEverySubjectSaysWhatHoldsAndWhatIsolatesIt(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range All(Env{NodeDir: t.TempDir()}) {
		assert.NotEmpty(t, s.Limits, s.Name)
		assert.NotEmpty(t, s.Isolation, s.Name)
		assert.False(t, seen[s.Name], s.Name)
		seen[s.Name] = true
	}
	assert.True(t, seen["ours/wazero"] && seen["goja"] && seen["quickjs-emscripten"])
}

func TestPeersOfNodeThatAreNotThereSayHowToGetThem(t *testing.T) {
	t.Parallel()
	peer := nodePeer{pkg: "isolated-vm"}
	assert.NotEmpty(t, peer.missing(Env{NodeDir: t.TempDir()}))
	_, err := PackageVersion(t.TempDir(), "isolated-vm")
	assert.Error(t, err)
}

func TestAnAnswerIsRightToTheByte(t *testing.T) {
	t.Parallel()
	job := work.Job{Want: "[1]", Logs: 2}
	assert.NoError(t, Check(job, Answer{"[1]", 2}))
	assert.ErrorContains(t, Check(job, Answer{"[1] ", 2}), "wrong answer")
	assert.ErrorContains(t, Check(job, Answer{"[1]", 3}), "3 log lines")
}

func TestAChildRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"needs 3 arguments": {"start"},
		`no subject "x"`:    {"start", "x", ""},
		`cannot do "dance"`: {"dance", "goja", ""},
	} {
		var out bytes.Buffer
		err := Child(t.Context(), args, strings.NewReader(""), &out)
		require.ErrorContains(t, err, want)
		assert.Empty(t, out.String())
	}
}
