// Package command is the sandboxd command as a library, so that a vendor can
// build a binary with a backend of its own:
//
//	func main() {
//		os.Exit(command.Main(context.Background(), command.App{
//			Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
//			Env: os.Environ(), Backends: append(builtins.Backends(), mine),
//		}))
//	}
//
// Settings come from flags, then from environment variables named after the
// flags (SANDBOXD_MAX_TIMEOUT is --max-timeout), then from a YAML file.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/loom-sandbox/sandboxd/spi"
)

// Exit statuses of the command.
const (
	StatusOK      = 0 // the script has a value; the server stopped as asked
	StatusScript  = 1 // the script failed: syntax, exception, unserializable, deadlock; a conformance check did
	StatusUsage   = 2 // the command was not called properly
	StatusLimit   = 3 // a limit, a denial or a cancellation ended the script
	StatusBackend = 4 // the backend is at fault or missing
)

// App is everything that the command takes from its surroundings.
type App struct {
	// Args are the arguments after the program's name.
	Args []string
	// Stdin, Stdout and Stderr must not be nil. Text that a script wrote is
	// made harmless before it reaches a Stdout or Stderr that is a terminal.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Env holds "NAME=value" as os.Environ gives it.
	Env []string
	// Version of the binary; empty means what the build recorded.
	Version string
	// Backends that are compiled in, in the order in which they are listed. At
	// least one.
	Backends []Backend

	atEnd []func() // what Main does last
}

// Backend is a backend that the binary can start.
type Backend struct {
	// Name is how users choose it: lower-case letters, digits, '-'.
	Name string
	// Describe gives the descriptor without starting anything.
	Describe func() spi.Descriptor
	// Unavailable says why it cannot be used on this machine; empty if it can.
	Unavailable string
	// Default marks the one that is used where none is named. If none is
	// marked, the first available one without a warning is.
	Default bool
	// Warning is what whoever chooses it should know; empty for none. A backend
	// with a warning is never the default.
	Warning string
	// Known are the SHOULD checks of the conformance suite that it is known not
	// to pass: a reason for each ID.
	Known map[string]string
	// New starts it. The caller closes what it returns. ctx bounds the start only.
	New func(ctx context.Context, s Settings) (spi.Backend, error)
}

// Settings of a backend that the user gave.
type Settings struct {
	// CacheDir is where compiled code may be kept. Empty means the backend's
	// own default place.
	CacheDir string
	// NoCache: keep nothing on disk. CacheDir is then empty.
	NoCache bool
	// EngineImage replaces the built-in guest image; nil means the built-in one.
	EngineImage []byte
	// EngineImageSHA256 is the lower-case hex sum that the user expects. It has
	// been checked against EngineImage.
	EngineImageSHA256 string
	// Isolates is how many evals run at once, for a backend to have as many
	// isolates ready; zero where there will be one eval.
	Isolates int
	// Logger takes what an operator should know. Never nil.
	Logger *slog.Logger
}

// Main runs the command and returns its exit status. The first SIGINT or
// SIGTERM, like the end of ctx, cancels a running eval or stops a server
// gracefully; a second signal ends the process at once.
func Main(ctx context.Context, app App) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()

	status, err := run(ctx, &app)
	for _, f := range app.atEnd {
		defer f()
	}
	if err != nil {
		fmt.Fprintln(app.Stderr, "sandboxd: "+oneLine(err.Error()))
	}
	return status
}

// run maps errors to exit statuses: here and nowhere else.
func run(ctx context.Context, app *App) (int, error) {
	if len(app.Backends) == 0 {
		return StatusBackend, fmt.Errorf("no backend is compiled in")
	}
	err := parseAndRun(ctx, app)
	var (
		done  ended
		usage *usageError
		limit *cancelError
	)
	switch {
	case err == nil:
		return StatusOK, nil
	case errors.As(err, &done):
		return int(done), nil
	case errors.As(err, &usage):
		command := strings.TrimLeft(usage.command+" --help", " ")
		return StatusUsage, fmt.Errorf("%s (run 'sandboxd %s')", usage.problem, command)
	case errors.As(err, &limit):
		return StatusLimit, limit
	default:
		return StatusBackend, err
	}
}

// usageError is a mistake of the caller: one line that names the thing and says
// what is allowed.
type usageError struct {
	command string
	problem string
}

func (e *usageError) Error() string { return e.problem }

func usagef(format string, args ...any) error {
	return &usageError{problem: fmt.Sprintf(format, args...)}
}

// cancelError is an end from outside before there was anything to print.
type cancelError struct{}

func (e *cancelError) Error() string {
	return "cancelled: the eval was cancelled before the script started"
}

// ended carries an exit status whose reason has already been printed.
type ended int

func (e ended) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// pick returns the named backend, or the default one for an empty name.
func (app *App) pick(name string) (*Backend, error) {
	var chosen *Backend
	for i := range app.Backends {
		b := &app.Backends[i]
		switch {
		case name != "":
			if b.Name == name {
				chosen = b
			}
		case b.Warning != "": // only by name
		case chosen == nil && b.Unavailable == "", b.Default:
			chosen = b
		}
	}
	switch {
	case chosen == nil && name == "":
		return nil, fmt.Errorf("no backend is available here; 'sandboxd backends' says why")
	case chosen == nil:
		return nil, usagef("--backend %s is not known; known are %s", shorten(name), app.names())
	case chosen.Unavailable != "":
		return nil, fmt.Errorf("backend %s is not available here: %s", chosen.Name, chosen.Unavailable)
	}
	return chosen, nil
}

func (app *App) names() string {
	names := make([]string, len(app.Backends))
	for i := range app.Backends {
		names[i] = app.Backends[i].Name
	}
	return strings.Join(names, ", ")
}
