package command_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/command"
	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/stub"
	"github.com/loom-sandbox/sandboxd/spi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call is one run of the command with stub backends.
type call struct {
	args     []string
	stdin    string
	env      []string
	backends []command.Backend
}

type answer struct {
	status         int
	stdout, stderr string
}

func stubs() []command.Backend {
	return []command.Backend{
		{Name: "gone", Describe: stub.Describe, Unavailable: "no such engine\non this machine"},
		{Name: "stub", Describe: stub.Describe, New: func(context.Context, command.Settings) (spi.Backend, error) {
			return &stub.Backend{}, nil
		}},
		{Name: "broken", Describe: stub.Describe, New: func(context.Context, command.Settings) (spi.Backend, error) {
			return nil, errors.New("the engine did not start")
		}},
	}
}

func (c call) run(t *testing.T) answer {
	t.Helper()
	if c.backends == nil {
		c.backends = stubs()
	}
	var stdout, stderr bytes.Buffer
	status := command.Main(t.Context(), command.App{
		Args: c.args, Stdin: strings.NewReader(c.stdin), Stdout: &stdout, Stderr: &stderr,
		Env: c.env, Version: "1.2.3", Backends: c.backends,
	})
	return answer{status, stdout.String(), stderr.String()}
}

func args(a ...string) []string { return a }
