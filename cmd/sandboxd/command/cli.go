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

	Eval     evalCmd     `cmd:"" help:"Run one script and print its value."`
	Serve    serveCmd    `cmd:"" help:"Answer POST /v1/eval over HTTP."`
	Backends backendsCmd `cmd:"" help:"List the compiled-in backends, what each promises, and why one is unavailable here."`
	Version  versionCmd  `cmd:"" help:"Print the version."`

	settings *settings
}

// BeforeResolve is called by kong between reading the arguments and filling in
// what they left open.
func (c *cli) BeforeResolve(ctx *kong.Context) error {
	var path word
	for _, p := range ctx.Path {
		if p.Flag != nil && p.Flag.Name == "config" {
			path, _ = ctx.FlagValue(p.Flag).(word)
		}
	}
	if err := c.settings.load(string(path), ctx.Model); err != nil {
		return err
	}
	ctx.AddResolver(c.settings)
	return nil
}

const description = `Run scripts that a language model wrote: nothing granted, stopped on time, and every result labelled as untrusted.

Exit status: 0 ok; 1 the script failed; 2 usage; 3 a limit or a denial ended it; 4 the backend is at fault or missing.`

// parseAndRun reads the command line and runs the chosen command.
func parseAndRun(ctx context.Context, app *App) error {
	c := cli{settings: newSettings(app.Env)}
	helped := false
	parser, err := kong.New(&c,
		kong.Name("sandboxd"), kong.Description(description),
		kong.Writers(app.Stdout, io.Discard),
		kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.Vars{"backends": app.names()},
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(app),
	)
	if err != nil {
		return fmt.Errorf("command line is not well defined: %w", err)
	}
	parsed, err := parser.Parse(app.Args)
	if helped {
		return nil
	}
	if err != nil {
		return explain(err, c.settings)
	}
	err = parsed.Run()
	var usage *usageError
	if errors.As(err, &usage) && usage.command == "" {
		usage.command = parsed.Selected().Name
	}
	return err
}

// explain turns kong's errors into ours and adds where a value came from.
func explain(err error, s *settings) error {
	var usage *usageError
	if errors.As(err, &usage) {
		return usage
	}
	problem := strings.TrimPrefix(err.Error(), "sandboxd: ")
	if name, _, ok := strings.Cut(strings.TrimPrefix(problem, "--"), ":"); ok {
		if from := s.origins[name]; from != "" {
			problem += " (set by " + from + ")"
		}
	}
	command := ""
	var perr *kong.ParseError
	if errors.As(err, &perr) && perr.Context != nil {
		if n := perr.Context.Selected(); n != nil {
			command = n.Name
		}
	}
	return &usageError{command: command, problem: problem}
}
