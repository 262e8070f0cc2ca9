package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/loom-sandbox/sandboxd/bench/internal/report"
	"github.com/loom-sandbox/sandboxd/bench/internal/runner"
	"github.com/loom-sandbox/sandboxd/bench/internal/subject"
	"github.com/loom-sandbox/sandboxd/bench/internal/work"
)

type options struct {
	json, markdown, quick   bool
	rows, subjects, nodeDir string
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.BoolVar(&o.json, "json", false, "write JSON")
	f.BoolVar(&o.markdown, "markdown", false, "write the table as Markdown")
	f.BoolVar(&o.quick, "quick", false, "under a minute, with rough figures, instead of about six")
	f.StringVar(&o.rows, "rows", "", "comma list of rows, or of the beginnings of their names; nothing means all")
	f.StringVar(&o.subjects, "subjects", "", "comma list of subjects; nothing means all")
	f.StringVar(&o.nodeDir, "node", "node", "folder of the peers that run in Node.js")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("argument %q is not known; there are only flags", f.Arg(0))
	}
	if o.json && o.markdown {
		return o, errors.New("-json and -markdown exclude each other")
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == "child" {
		return subject.Child(ctx, args[1:], stdin, stdout)
	}
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cache, err := os.MkdirTemp("", "sandboxd-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	rows, err := narrow("rows", o.rows, runner.Rows(work.FullSizes()), func(r runner.Row) string { return r.Name })
	if err != nil {
		return err
	}
	all := subject.All(subject.Env{CacheDir: cache, NodeDir: o.nodeDir, Self: self})
	subjects, err := narrow("subjects", o.subjects, all, func(s subject.Subject) string { return s.Name })
	if err != nil {
		return err
	}
	plan := runner.Full()
	if o.quick {
		plan = runner.Quick()
	}
	machine := report.ThisMachine(modules(), nodeVersions(ctx, o.nodeDir)) // before any load of ours
	r, err := runner.Run(ctx, rows, subjects, plan, stderr)
	if err != nil {
		return err
	}
	r.Machine, r.Notes = machine, notes(o.quick)
	switch {
	case o.json:
		return r.WriteJSON(stdout)
	case o.markdown:
		return r.WriteMarkdown(stdout)
	default:
		return r.WriteTable(stdout)
	}
}

// narrow keeps what the comma list names, in the order of all. A name chooses
// itself, or else everything that begins with it and a "-".
func narrow[T any](what, list string, all []T, name func(T) string) ([]T, error) {
	if list == "" {
		return all, nil
	}
	keep := make([]bool, len(all))
	for wanted := range strings.SplitSeq(list, ",") {
		wanted = strings.TrimSpace(wanted)
		exact, found := false, false
		for _, one := range all {
			exact = exact || name(one) == wanted
		}
		for i, one := range all {
			if name(one) == wanted || !exact && strings.HasPrefix(name(one), wanted+"-") {
				keep[i], found = true, true
			}
		}
		if !found {
			var names []string
			for _, one := range all {
				names = append(names, name(one))
			}
			return nil, fmt.Errorf("-%s: no %q; there are %s", what, wanted, strings.Join(names, ", "))
		}
	}
	var kept []T
	for i, one := range all {
		if keep[i] {
			kept = append(kept, one)
		}
	}
	return kept, nil
}

// modules are those whose versions matter.
func modules() []string {
	return []string{
		"github.com/dop251/goja", "github.com/fastschema/qjs", "modernc.org/quickjs", "modernc.org/libquickjs",
		"github.com/tetratelabs/wazero", "github.com/bytecodealliance/wasmtime-go/v39",
		"github.com/aperturerobotics/go-quickjs-wasi-reactor",
	}
}

func nodeVersions(ctx context.Context, dir string) map[string]string {
	versions := map[string]string{}
	if out, err := exec.CommandContext(ctx, "node", "--version").Output(); err == nil {
		versions["node"] = strings.TrimSpace(string(out))
	}
	for _, pkg := range subject.NodePackages() {
		if v, err := subject.PackageVersion(dir, pkg); err == nil {
			versions["npm:"+pkg] = v
		}
	}
	return versions
}

func notes(quick bool) []string {
	all := []string{
		"Every eval is in fresh state. What a row means, and what is not compared fairly, is in bench/README.md.",
		"start: of each process, its own code included; the Go subjects share one program that has all of them in it.",
		"concurrency: node:vm and quickjs-emscripten run on one thread, whatever the number of callers; the time of an eval holds the wait for others there.",
	}
	if quick {
		all = append(all, "A quick run: few samples, so that p99 is little more than the largest of them.")
	}
	return all
}
