package subject

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/loom-sandbox/sandboxd/bench/internal/work"
)

// nodePeer is a subject in node/subjects.
type nodePeer struct {
	name, limits, isolation string
	pkg                     string // what npm must have brought; empty for node's own
}

func nodePeers(env Env) []Subject {
	wasm := "timeout, memory"
	var all []Subject
	for _, p := range []nodePeer{
		{"node:vm", "timeout", "none (same heap)", ""},
		{"isolated-vm", "timeout, memory", "V8 isolate", "isolated-vm"},
		{"quickjs-emscripten", wasm, "wasm shared by all scripts, a runtime each", "quickjs-emscripten"},
		{"quickjs-emscripten-module", wasm, "wasm, a module each", "quickjs-emscripten"},
		{"npm-run", "timeout, memory, stack, source, result", "wasm in a pooled worker thread", "run"},
	} {
		all = append(all, p.subject(env))
	}
	return all
}

func (p nodePeer) subject(env Env) Subject {
	command := func(ctx context.Context, mode string) *exec.Cmd {
		// isolated-vm asks for --no-node-snapshot; all get the same options.
		return exec.CommandContext(ctx, "node", "--no-node-snapshot", "--expose-gc", "main.mjs", p.name, mode)
	}
	inDir := func(cmd *exec.Cmd) *exec.Cmd { cmd.Dir = env.NodeDir; return cmd }
	return Subject{
		Name: p.name, Limits: p.limits, Isolation: p.isolation, Missing: p.missing(env),
		Open: func(ctx context.Context) (Engine, error) {
			e, err := startNode(inDir(command(ctx, "serve")))
			if err == nil {
				loaded(ctx, e)
			}
			return e, err
		},
		Start: func(ctx context.Context) *exec.Cmd { return inDir(command(ctx, "start")) },
		Memory: func(ctx context.Context, job work.Job, n int) (int64, error) {
			request, err := json.Marshal(nodeRequest{Op: "memory", Job: newNodeJob(job), N: n})
			if err != nil {
				return 0, err
			}
			return memoryOf(inDir(command(ctx, "serve")), request)
		},
	}
}

func (p nodePeer) missing(env Env) string {
	if _, err := exec.LookPath("node"); err != nil {
		return "node is not installed"
	}
	if _, err := os.Stat(filepath.Join(env.NodeDir, "main.mjs")); err != nil {
		return fmt.Sprintf("no folder %s here; run this in the folder bench", env.NodeDir)
	}
	if _, err := PackageVersion(env.NodeDir, p.pkg); p.pkg != "" && err != nil {
		return fmt.Sprintf("`npm ci --prefix %s` brings this peer", env.NodeDir)
	}
	return ""
}

// PackageVersion is the version of an npm package that is installed.
func PackageVersion(nodeDir, pkg string) (string, error) {
	text, err := os.ReadFile(filepath.Join(nodeDir, "node_modules", pkg, "package.json"))
	if err != nil {
		return "", err
	}
	var manifest struct {
		Version string `json:"version"`
	}
	err = json.Unmarshal(text, &manifest)
	return manifest.Version, err
}

// NodePackages are the npm packages that peers come from.
func NodePackages() []string { return []string{"isolated-vm", "quickjs-emscripten", "run"} }
