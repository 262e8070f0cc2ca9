package command

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

type backendsCmd struct {
	JSON bool `name:"json" local:"" help:"Print the descriptors as JSON."`
}

// listed is a backend as --json shows it.
type listed struct {
	Name        string         `json:"name"`
	Default     bool           `json:"default"`
	Available   bool           `json:"available"`
	Unavailable string         `json:"unavailable,omitempty"`
	Warning     string         `json:"warning,omitempty"`
	Descriptor  spi.Descriptor `json:"descriptor"`
}

// Run is called by kong.
func (c *backendsCmd) Run(app *App) error {
	chosen, _ := app.pick("")
	list := make([]listed, len(app.Backends))
	for i := range app.Backends {
		b := &app.Backends[i]
		list[i] = listed{b.Name, b == chosen, b.Unavailable == "", b.Unavailable, b.Warning, b.Describe()}
	}
	if c.JSON {
		return printJSON(app.Stdout, list)
	}
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = list[i].text()
	}
	if _, err := io.WriteString(app.Stdout, strings.Join(texts, "\n")); err != nil {
		return fmt.Errorf("list cannot be written: %w", err)
	}
	return nil
}

func (l *listed) text() string {
	d := &l.Descriptor
	head := l.Name
	if l.Default {
		head += " (default)"
	}
	if !l.Available {
		head += " (unavailable: " + oneLine(l.Unavailable) + ")"
	}
	languages := make([]string, len(d.Languages))
	for i, lang := range d.Languages {
		languages[i] = string(lang)
	}
	var b strings.Builder
	fmt.Fprintln(&b, head)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-11s %s\n", name, value)
		}
	}
	row("", d.Summary)
	row("warning", oneLine(l.Warning))
	row("isolation", string(d.Isolation))
	row("engine", d.Engine)
	row("image", d.Image)
	row("languages", strings.Join(languages, ", "))
	for _, has := range []struct {
		name string
		yes  bool
	}{{"prepares", d.Prepares}, {"host calls", d.HostCalls}, {"suspends", d.Suspends}} {
		if has.yes {
			row(has.name, "yes")
		}
	}
	row("memory", fmt.Sprintf("%s to %s", size(d.MinMemoryBytes), size(d.MaxMemoryBytes)))
	for i, e := range d.Enforces {
		name := ""
		if i == 0 {
			name = "enforces"
		}
		fmt.Fprintf(&b, "  %-11s %-12s %s\n", name, e.Limit, exactness(e))
	}
	return b.String()
}

func exactness(e spi.Enforcement) string {
	switch {
	case e.Exact:
		return "exact"
	case e.Limit == spi.LimitTimeout:
		return "within " + time.Duration(e.Granularity).String()
	case strings.HasSuffix(string(e.Limit), "Bytes"):
		return "within " + size(e.Granularity).String()
	}
	return fmt.Sprintf("within %d", e.Granularity)
}

type versionCmd struct {
	JSON bool `name:"json" local:"" help:"Print it as JSON."`
}

// Run is called by kong.
func (c *versionCmd) Run(app *App) error {
	v := struct {
		Version  string `json:"version"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
	}{app.version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	if c.JSON {
		return printJSON(app.Stdout, v)
	}
	if _, err := fmt.Fprintf(app.Stdout, "sandboxd %s %s %s\n", v.Version, v.Go, v.Platform); err != nil {
		return fmt.Errorf("version cannot be written: %w", err)
	}
	return nil
}

func (app *App) version() string {
	if app.Version != "" {
		return app.Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func printJSON(w io.Writer, v any) error {
	out, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		_, err = w.Write(append(out, '\n'))
	}
	if err != nil {
		return fmt.Errorf("output cannot be written: %w", err)
	}
	return nil
}
