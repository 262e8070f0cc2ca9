package spitest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/spi/conformance"
	"github.com/loom-sandbox/sandboxd/spi/spitest"
)

// refusing opens nothing, and so fails nearly every check at once.
type refusing struct{}

func (refusing) Describe() spi.Descriptor {
	return spi.Descriptor{
		Name: "refusing", Summary: "Opens nothing.", Isolation: spi.IsolationNone, Engine: "none", Languages: []spi.Language{spi.JavaScript},
		MinMemoryBytes: 1, MaxMemoryBytes: 1 << 30,
		Enforces: []spi.Enforcement{
			{Limit: spi.LimitTimeout, Granularity: 1}, {Limit: spi.LimitMemory, Exact: true}, {Limit: spi.LimitOutput, Exact: true}, {Limit: spi.LimitLogs, Exact: true},
		},
	}
}

func (refusing) Open(context.Context, *spi.Config) (spi.Isolate, error) {
	return nil, errors.New("refused")
}

func (refusing) Close() error { return nil }

// inner says which of the tests below runs as the process that is looked at.
const inner = "SANDBOXD_SPITEST_INNER"

func TestARunOfTheSuite(t *testing.T) {
	switch os.Getenv(inner) {
	case "refusing":
		spitest.Run(t, &conformance.Harness{
			New:   func(context.Context) (spi.Backend, error) { return refusing{}, nil },
			Known: map[string]string{"WEB-005": "it has no console"},
			Progress: func(r conformance.Result) {
				fmt.Println("progress:", r.ID, r.Outcome)
			},
		})
	case "no harness":
		spitest.Run(t, &conformance.Harness{})
	case "nil":
		spitest.Run(t, nil)
	default:
		t.Parallel()
		for _, c := range []struct {
			mode, run string
			fails     bool
			says      []string
		}{
			{"refusing", "DESC-001", false, []string{"--- PASS: TestARunOfTheSuite/DESC-001", "progress: DESC-001 pass"}},
			{"refusing", "EVAL-001", true, []string{"--- FAIL: TestARunOfTheSuite/EVAL-001", "MUST fail: ", "Open: refused", "progress: EVAL-001 fail"}},
			{"refusing", "LIMIT-0..", true, []string{"--- SKIP: TestARunOfTheSuite/LIMIT-", "does not apply: ", "progress: LIMIT-072 notApplicable"}},
			{"refusing", "WEB-005", false, []string{"--- PASS: TestARunOfTheSuite/WEB-005", "known not to hold: ", "it has no console", "progress: WEB-005 known"}},
			{"no harness", ".", true, []string{"conformance: harness refused: New is required"}},
			{"nil", ".", true, []string{"conformance: harness refused: there is none"}},
		} {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run", "^TestARunOfTheSuite$/"+c.run)
			cmd.Env = append(os.Environ(), inner+"="+c.mode)
			out, err := cmd.CombinedOutput()
			if c.fails {
				require.Error(t, err, "%s", out)
			} else {
				require.NoError(t, err, "%s", out)
			}
			for _, want := range c.says {
				assert.Contains(t, string(out), want)
			}
		}
	}
}
