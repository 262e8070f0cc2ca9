package report

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteTable writes the report for a terminal: one line for each cell.
func (r *Report) WriteTable(w io.Writer) error {
	var out bytes.Buffer
	for _, line := range r.Machine.Lines() {
		fmt.Fprintln(&out, line)
	}
	fmt.Fprintln(&out)
	var notes footnotes
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "row\tsubject\tvalue\tratio\tp50\tp99\tp10–p90\tn\tlimits\tisolation")
	last := ""
	for _, c := range r.Rows {
		if last != "" && c.Row != last {
			fmt.Fprintln(t, "\t\t\t\t\t\t\t\t\t")
		}
		last = c.Row
		if c.Reason != "" {
			fmt.Fprintf(t, "%s\t%s\t– %s\t\t\t\t\t\t%s\t%s\n", c.Row, c.Subject, notes.mark(c.Subject+": "+c.Reason), c.Limits, c.Isolation)
			continue
		}
		value := c.show()
		if c.Note != "" {
			value += " " + notes.mark(c.Note)
		}
		p50, p99, spread := "", "", ""
		if c.P50 != 0 {
			p50, p99, spread = showTime(c.P50), showTime(c.P99), showTime(c.P10)+" – "+showTime(c.P90)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n",
			c.Row, c.Subject, value, c.showRatio(), p50, p99, spread, c.N, c.Limits, c.Isolation)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(&out)
	for i, text := range notes.texts {
		fmt.Fprintf(&out, "[%d] %s\n", i+1, text)
	}
	for _, m := range r.Missing {
		fmt.Fprintf(&out, "not measured: %s: %s\n", m.Subject, m.Reason)
	}
	fmt.Fprintf(&out, "ratio: value divided by that of %s\n", Baseline)
	for _, text := range r.Notes {
		fmt.Fprintln(&out, text)
	}
	return writeTrimmed(w, out.Bytes())
}

// writeTrimmed writes text without the blanks that padding leaves at line ends.
func writeTrimmed(w io.Writer, text []byte) error {
	for line := range bytes.Lines(text) {
		if _, err := w.Write(append(bytes.TrimRight(line, " \n"), '\n')); err != nil {
			return err
		}
	}
	return nil
}
