package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/spi/conformance"
)

type conformanceCmd struct {
	Backend word  `placeholder:"NAME" help:"Backend to check: ${backends}. Default: the one that 'sandboxd backends' marks."`
	JSON    bool  `name:"json" local:"" xor:"form" help:"Print the report as JSON."`
	JUnit   bool  `name:"junit" local:"" xor:"form" help:"Print the report as JUnit XML."`
	Slow    count `default:"1" placeholder:"N" help:"How many times slower than usual this machine may be, 1 to 1000: multiplies every time that a check allows. Default: 1."`

	engineFlags
}

// Help is shown below the flags' summary.
func (*conformanceCmd) Help() string {
	return `Runs every check that a backend must pass, one after the other, and prints what became of each: pass, fail, known (a SHOULD that is known not to hold, with the reason), notApplicable (the backend does not declare what the check needs), error (it could not be told). What a check MUST see can be neither left out nor declared known.

Examples:
  sandboxd conformance --backend wazero
  sandboxd conformance --backend wasmtime --junit > report.xml

Exit status: 0 the backend conforms; 1 a check failed or could not be told; 2 usage; 4 the backend is missing or does not start, or the report cannot be written.`
}

// Run is called by kong.
func (c *conformanceCmd) Run(ctx context.Context, app *App, from *settings) error {
	b, err := app.pick(string(c.Backend))
	if err != nil {
		return err
	}
	if c.Slow < 1 || c.Slow > 1000 {
		return usagef("--slow is %d; allowed is 1 to 1000", c.Slow)
	}
	logger := slog.New(slog.NewTextHandler(app.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	settings, err := c.resolve(ctx, from, logger)
	if err != nil {
		return err
	}
	done, all := 0, len(conformance.Checks())
	report, err := conformance.Run(ctx, &conformance.Harness{
		New:   func(ctx context.Context) (spi.Backend, error) { return start(ctx, b, settings) },
		Known: b.Known,
		Slow:  float64(c.Slow),
		Progress: func(r conformance.Result) {
			if done++; terminal(app.Stderr) {
				fmt.Fprintf(app.Stderr, "\r%d of %d  %-12s", done, all, r.ID)
			}
		},
	})
	if done > 0 && terminal(app.Stderr) {
		fmt.Fprintf(app.Stderr, "\r%-40s\r", "")
	}
	if err != nil {
		return fmt.Errorf("backend %s cannot be checked: %w", b.Name, err)
	}
	if err := c.print(app.Stdout, report); err != nil {
		return fmt.Errorf("report cannot be written: %w", err)
	}
	if !report.OK() {
		return ended(StatusScript)
	}
	return nil
}

func (c *conformanceCmd) print(w io.Writer, report *conformance.Report) error {
	switch {
	case c.JSON:
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(report)
	case c.JUnit:
		return report.WriteJUnit(w)
	}
	return report.WriteTable(w)
}
