package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/taint"
)

type evalCmd struct {
	File   *string `arg:"" optional:"" help:"File with the script; - is standard input."`
	Script *text   `short:"e" local:"" placeholder:"SCRIPT" help:"The script itself."`

	Input     *text `group:"Input:" local:"" placeholder:"JSON" help:"What the script sees as the global 'input'. Default: null."`
	InputFile *word `group:"Input:" local:"" placeholder:"FILE" help:"Read the input from a file; - is standard input."`

	Timeout   *span  `group:"Limits:" placeholder:"DURATION" help:"Wall time of the script, 1ms to 1h. Default: 2s."`
	Memory    *size  `group:"Limits:" placeholder:"SIZE" help:"The script's whole memory, engine included. Default: 64MiB."`
	Fuel      *count `group:"Limits:" placeholder:"N" help:"Units of work; 0 is no limit. Default: 0."`
	MaxOutput *size  `group:"Limits:" placeholder:"SIZE" help:"Result as JSON, 1B to 256MiB. Default: 1MiB."`
	MaxLogs   *size  `group:"Limits:" placeholder:"SIZE" help:"Log lines kept, 1B to 64MiB. Default: 64KiB."`
	MaxSource *size  `group:"Limits:" placeholder:"SIZE" help:"Script, 1B to 16MiB. Default: 256KiB."`
	MaxInput  *size  `group:"Limits:" placeholder:"SIZE" help:"Input, 1B to 256MiB. Default: 4MiB."`

	Backend  word     `placeholder:"NAME" help:"Backend to run on: ${backends}. Default: the one that 'sandboxd backends' marks."`
	Language string   `enum:"auto,js" default:"auto" placeholder:"auto|js" help:"Language of the script. Default: auto."`
	Now      *instant `local:"" placeholder:"TIME" help:"Where the script's clock starts, RFC 3339. Default: now."`
	Seed     *seed    `local:"" placeholder:"TEXT" help:"Determines the script's random numbers; at most 128 bytes. Default: a fresh one."`
	JSON     bool     `name:"json" help:"Print the whole result as JSON on standard output, and nothing else."`

	engineFlags
}

// Help is shown below the flags' summary.
func (*evalCmd) Help() string {
	return `Each eval starts in pristine state, and nothing of it is kept for the next one. The script's value goes to standard output as JSON; its logs and errors go to standard error. On a terminal, "| " is in front of each line that the script logged.

SIGINT or SIGTERM cancels the eval, a second one ends the process at once. If it comes before the script has started, there is no result, not with --json either: one line on standard error, and status 3.

Examples:
  sandboxd eval -e '1 + 1'
  sandboxd eval script.js --input '{"n": 3}' --timeout 500ms
  echo 'input.length' | sandboxd eval - --input-file data.json --json

Exit status: 0 ok; 1 the script failed (syntax, exception, unserializable, deadlock); 2 usage; 3 a limit or a denial ended it (timeout, fuel, memory, stack_overflow, output_too_large, input_too_large, denied, cancelled, killed); 4 the backend is at fault or missing.`
}

// Run is called by kong.
func (c *evalCmd) Run(ctx context.Context, app *App, from *settings) error {
	b, err := app.pick(string(c.Backend))
	if err != nil {
		return err
	}
	d := b.Describe()
	if err := check(
		timeBound("timeout", c.Timeout), memoryBound("memory", c.Memory, &d), fuelBound("fuel", c.Fuel),
		sizeBound("max-output", c.MaxOutput, sandbox.MaxOutputBytes), sizeBound("max-logs", c.MaxLogs, sandbox.MaxLogBytes),
		sizeBound("max-source", c.MaxSource, sandbox.MaxSourceBytes), sizeBound("max-input", c.MaxInput, sandbox.MaxInputBytes),
	); err != nil {
		return err
	}
	request, err := c.request(ctx, app)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(app.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	settings, err := c.resolve(ctx, from, logger)
	if err != nil {
		return err
	}
	result, err := evalOnce(ctx, b, settings, request)
	if err != nil {
		return c.asUsage(err)
	}
	return c.print(app, result)
}

// evalOnce starts the backend, runs one script and closes everything again.
func evalOnce(ctx context.Context, b *Backend, s Settings, r sandbox.Request) (result *sandbox.Result, err error) {
	backend, err := start(ctx, b, s)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := backend.Close(); cerr != nil && err == nil {
			s.Logger.Warn("backend did not close cleanly", "backend", b.Name, "error", cerr)
		}
	}()
	sb, err := sandbox.New(backend, nil)
	if err != nil {
		return nil, fmt.Errorf("backend %s cannot be used: %w", b.Name, err)
	}
	defer sb.Close()
	result, err = sb.Eval(ctx, r)
	var bad *sandbox.RequestError
	if err != nil && ctx.Err() != nil && !errors.As(err, &bad) {
		return nil, &cancelError{}
	}
	return result, err
}

// request reads script and input. What is larger than its limit is cut one byte
// after the hard maximum and left for the sandbox to report.
func (c *evalCmd) request(ctx context.Context, app *App) (sandbox.Request, error) {
	r := sandbox.Request{
		Language: c.Language,
		Limits: sandbox.Limits{
			Timeout: time.Duration(given(c.Timeout, 0)), MemoryBytes: given(c.Memory, 0), Fuel: given(c.Fuel, 0),
			OutputBytes: given(c.MaxOutput, 0), LogBytes: given(c.MaxLogs, 0),
			SourceBytes: given(c.MaxSource, 0), InputBytes: given(c.MaxInput, 0),
		},
	}
	if c.Now != nil {
		r.Now = c.Now.Time
	}
	if c.Seed != nil {
		r.Seed = string(*c.Seed)
	}
	script, err := c.script(ctx, app.Stdin)
	if err != nil {
		return r, err
	}
	r.Script = string(script)
	if len(bytes.TrimSpace(script)) == 0 {
		return r, usagef("the script is empty; a script needs at least one expression or statement")
	}
	r.Input, err = c.input(ctx, app.Stdin)
	return r, err
}

func (c *evalCmd) script(ctx context.Context, stdin io.Reader) ([]byte, error) {
	switch {
	case c.File != nil && c.Script != nil:
		return nil, usagef("FILE and -e exclude each other; allowed is one script")
	case c.Script != nil:
		return []byte(*c.Script), nil
	case c.File == nil:
		return nil, usagef("a script is missing; allowed is FILE, - for standard input, or -e SCRIPT")
	case *c.File == "":
		return nil, usagef("FILE is empty; allowed is the name of a file, - for standard input, or -e SCRIPT instead")
	case *c.File == "-" && c.InputFile != nil && *c.InputFile == "-":
		return nil, usagef("script and --input-file are both standard input; allowed is one of them")
	}
	script, err := readAtMost(ctx, stdin, *c.File, sandbox.MaxSourceBytes)
	if err != nil {
		return nil, unread("script "+shortenPath(*c.File), err)
	}
	return script, nil
}

func (c *evalCmd) input(ctx context.Context, stdin io.Reader) (json.RawMessage, error) {
	var input []byte
	name := "--input"
	switch {
	case c.Input != nil && c.InputFile != nil:
		return nil, usagef("--input and --input-file exclude each other; allowed is one input")
	case c.Input != nil:
		input = []byte(*c.Input)
	case c.InputFile == nil:
		return nil, nil
	default:
		name = "--input-file " + shortenPath(string(*c.InputFile))
		var err error
		if input, err = readAtMost(ctx, stdin, string(*c.InputFile), sandbox.MaxInputBytes); err != nil {
			return nil, unread(name, err)
		}
	}
	if int64(len(input)) > given(c.MaxInput, sandbox.DefaultInputBytes) {
		return input, nil
	}
	if err := taint.Valid(input); err != nil {
		return nil, usagef("%s is not strict JSON: %s", name, jsonProblem(err))
	}
	return input, nil
}

// jsonProblem drops the package name from the error of the JSON reader.
func jsonProblem(err error) string {
	return string(bytes.TrimPrefix([]byte(err.Error()), []byte("taint: ")))
}

// asUsage rewrites what the sandbox found wrong with the request in the words
// of the command line.
func (c *evalCmd) asUsage(err error) error {
	var bad *sandbox.RequestError
	if !errors.As(err, &bad) {
		return err
	}
	switch bad.Field {
	case "script", "input":
		return usagef("the %s %s", bad.Field, bad.Problem)
	default:
		return usagef("--%s %s", bad.Field, bad.Problem)
	}
}
