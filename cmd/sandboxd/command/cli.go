package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// cli is the command line. To add a flag, add a field to its command; its
// environment variable and its key in the file follow from the name. A flag
// tagged `local` belongs to one call: neither of the two can set it.
type cli struct {
	Config word `placeholder:"FILE" local:"" help:"YAML file with a section per command, such as 'serve: {max-timeout: 10s}'. Flags and environment variables (SANDBOXD_MAX_TIMEOUT) come first. Its own variable is SANDBOXD_CONFIG."`

	Eval        evalCmd        `cmd:"" help:"Run one script and print its value."`
	Serve       serveCmd       `cmd:"" help:"Answer POST /v1/eval and /v1/resume over HTTP."`
	Backends    backendsCmd    `cmd:"" help:"List the compiled-in backends, what each promises, and why one is unavailable here."`
	Conformance conformanceCmd `cmd:"" help:"Check that a backend keeps its promises."`
	Version     versionCmd     `cmd:"" help:"Print the version."`
	Key         keyCmd         `cmd:"" help:"Print a new key for 'serve --continuation-key-file'."`

	settings *settings
}

// BeforeResolve is called by kong between reading the arguments and filling in
// what they left open.
func (c *cli) BeforeResolve(ctx *kong.Context, run context.Context) error {
	var path word
	for _, p := range ctx.Path {
		if p.Flag != nil && p.Flag.Name == "config" {
			path, _ = ctx.FlagValue(p.Flag).(word)
		}
	}
	if err := c.settings.load(run, string(path), ctx.Model); err != nil {
		return err
	}
	ctx.AddResolver(c.settings)
	return nil
}

const description = `Run scripts that a language model wrote: nothing granted, stopped on time, and every result labelled as untrusted.

Exit status: 0 ok; 1 the script failed, or a conformance check; 2 usage; 3 a limit or a denial ended it; 4 the backend is at fault or missing.`

// parseAndRun reads the command line and runs the chosen command.
func parseAndRun(ctx context.Context, app *App) error {
	c := cli{settings: newSettings(app.Env)}
	helped := false
	stdout := &checkedWriter{w: app.Stdout}
	parser, err := kong.New(&c,
		kong.Name("sandboxd"), kong.Description(description),
		kong.Writers(stdout, io.Discard),
		kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.Vars{"backends": app.names()},
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(app, c.settings),
	)
	if err != nil {
		return fmt.Errorf("command line is not well defined: %w", err)
	}
	parsed, err := parser.Parse(app.Args)
	if stdout.err != nil { // nothing but help is written by kong
		return fmt.Errorf("help cannot be written: %w", stdout.err)
	}
	if helped {
		return nil
	}
	if err != nil {
		err = explain(err)
	} else {
		err = parsed.Run()
	}
	command := ""
	if parsed == nil {
		var failed *kong.ParseError
		if errors.As(err, &failed) {
			parsed = failed.Context
		}
	}
	if parsed != nil && parsed.Selected() != nil {
		command = parsed.Selected().Name
	}
	var (
		usage     *usageError
		cancelled *cancelError
	)
	switch {
	case errors.As(err, &cancelled) && command == "serve":
		return nil // asked to stop before there was anything to serve
	case errors.As(err, &usage):
		return &usageError{command: command, problem: c.settings.origin(usage.problem)}
	}
	return err
}

// explain turns kong's errors into ours, and keeps them in the chain for what
// they know of the command.
func explain(err error) error {
	var (
		usage     *usageError
		cancelled *cancelError
	)
	if errors.As(err, &usage) || errors.As(err, &cancelled) {
		return err
	}
	problem := strings.TrimPrefix(err.Error(), "sandboxd: ")
	if rest, ok := strings.CutPrefix(problem, "unexpected argument "); ok && (rest == "" || rest[0] == ',') {
		problem = "unexpected empty argument" + rest
	}
	return errors.Join(&usageError{problem: shortenWords(problem)}, err)
}

// checkedWriter keeps the first error of a writer for who cannot be told.
type checkedWriter struct {
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if err != nil && c.err == nil {
		c.err = err
	}
	return n, err
}
