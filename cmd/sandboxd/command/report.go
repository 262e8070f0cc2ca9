package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
)

// print shows a result and returns the exit status that it stands for.
func (c *evalCmd) print(app *App, r *sandbox.Result) error {
	if c.JSON {
		out, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("result cannot be written: %w", err)
		}
		if err := writeJSON(app.Stdout, out); err != nil {
			return err
		}
		return statusOf(r)
	}
	lost := printLogs(app.Stderr, r, terminal(app.Stderr))
	if r.Error != nil {
		fmt.Fprint(app.Stderr, errorReport(r.Error)) // the status says the most important
		return statusOf(r)
	}
	if err := writeJSON(app.Stdout, taint.Unwrap(*r.Value)); err != nil {
		return err
	}
	return lost
}

// writeJSON writes one compact line. Escapes are as good as the characters they
// stand for in JSON, so a terminal gets those.
func writeJSON(w io.Writer, raw []byte) error {
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err != nil {
		return fmt.Errorf("result is not JSON: %w", err)
	}
	out := line.String()
	if terminal(w) {
		out = harmless(out)
	}
	if _, err := io.WriteString(w, out+"\n"); err != nil {
		return fmt.Errorf("result cannot be written: %w", err)
	}
	return nil
}

// statusOf maps kinds to exit statuses; nil is the status of success.
func statusOf(r *sandbox.Result) error {
	if r.Error == nil {
		return nil
	}
	switch r.Error.Kind {
	case spi.KindSyntax, spi.KindException, spi.KindUnserializable, spi.KindDeadlock:
		return ended(StatusScript)
	case spi.KindTimeout, spi.KindFuel, spi.KindMemory, spi.KindStackOverflow, spi.KindOutputTooLarge,
		spi.KindInputTooLarge, spi.KindDenied, spi.KindCancelled, spi.KindKilled:
		return ended(StatusLimit)
	}
	return ended(StatusBackend)
}

// margin is in front of what the script logged where a person reads it: no line
// of the script's can then pass for one of ours.
const margin = "| "

// printLogs writes the script's log lines: plain for log and info, with the
// level in front for the others.
func printLogs(w io.Writer, r *sandbox.Result, person bool) error {
	var lines []spi.LogLine
	if err := json.Unmarshal(taint.Unwrap(r.Logs), &lines); err != nil {
		return fmt.Errorf("logs cannot be read: %w", err)
	}
	for _, l := range lines {
		text := l.Text
		if l.Level != spi.LevelLog && l.Level != spi.LevelInfo {
			text = string(l.Level) + ": " + text
		}
		if person {
			text = margin + strings.ReplaceAll(harmless(text), "\n", "\n"+margin)
		}
		if _, err := io.WriteString(w, text+"\n"); err != nil {
			return fmt.Errorf("logs cannot be written: %w", err)
		}
	}
	if r.Truncated.Logs {
		if _, err := fmt.Fprintln(w, "sandboxd: more logs were dropped (see --max-logs)"); err != nil {
			return fmt.Errorf("logs cannot be written: %w", err)
		}
	}
	return nil
}

// errorReport is what a person reads of a failed eval. Text of the script is
// made harmless, and its line breaks are indented so that it cannot pass for a
// line of ours.
func errorReport(e *sandbox.Error) string {
	name, message := guestText(&e.Name), guestText(&e.Message)
	said := strings.Trim(name+": "+message, ": ")
	place := ""
	if e.Line > 0 {
		place = fmt.Sprintf(" (line %d)", e.Line)
		if e.Column > 0 {
			place = fmt.Sprintf(" (line %d, column %d)", e.Line, e.Column)
		}
	}
	reason := limitReason(e)
	if reason == "" {
		if reason = said; reason == "" {
			reason = "the script gave no reason"
		}
	}
	report := string(e.Kind) + ": " + indent(reason) + place + "\n"
	if stack := strings.TrimRight(guestText(e.Stack), "\n"); stack != "" && statusOf(&sandbox.Result{Error: e}) == ended(StatusScript) {
		for line := range strings.SplitSeq(stack, "\n") {
			report += "    " + strings.TrimLeft(line, " \t") + "\n"
		}
	}
	return report
}

// limitReason says in our own words why the host ended the script; empty where
// the script's words say it.
func limitReason(e *sandbox.Error) string {
	limit := func(s string) string {
		if e.Limit == nil {
			return s + " its limit"
		}
		return fmt.Sprintf("%s %s of %d", s, e.Limit.Name, e.Limit.Value)
	}
	switch e.Kind {
	case spi.KindTimeout:
		return limit("the script ran longer than")
	case spi.KindFuel:
		return limit("the script burnt more than")
	case spi.KindMemory:
		return limit("the script needed more than")
	case spi.KindOutputTooLarge:
		return limit("the result is larger than")
	case spi.KindInputTooLarge:
		if e.Limit != nil && e.Limit.Name == spi.LimitInput {
			return limit("the input is larger than")
		}
		return limit("the script is larger than")
	case spi.KindStackOverflow:
		return "the script's calls nest too deeply"
	case spi.KindDeadlock:
		return "the script waits for something that can no longer happen"
	case spi.KindCancelled:
		return "the eval was cancelled"
	case spi.KindKilled:
		return "the eval was killed"
	}
	return ""
}

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n    ") }

// guestText unwraps a string of the script for showing to a person.
func guestText(t *taint.Tainted) string {
	if t == nil {
		return ""
	}
	var s string
	if err := json.Unmarshal(taint.Unwrap(*t), &s); err != nil {
		return ""
	}
	return harmless(s)
}
