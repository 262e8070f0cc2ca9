package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes the report for a document: the subjects, then one line
// for each row and one column for each subject.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var out bytes.Buffer
	for _, line := range r.Machine.Lines() {
		fmt.Fprintf(&out, "- %s\n", line)
	}
	subjects, rows, cells := r.grid()
	fmt.Fprintf(&out, "\n| subject | limits on | isolation |\n|---|---|---|\n")
	for _, s := range subjects {
		fmt.Fprintf(&out, "| %s | %s | %s |\n", s.Subject, escape(s.Limits), escape(s.Isolation))
	}
	fmt.Fprintf(&out, "\n| row |")
	for _, s := range subjects {
		fmt.Fprintf(&out, " %s |", s.Subject)
	}
	fmt.Fprintf(&out, "\n|---|%s\n", strings.Repeat("---:|", len(subjects)))
	var notes footnotes
	for _, row := range rows {
		fmt.Fprintf(&out, "| %s |", row)
		for _, s := range subjects {
			c, ok := cells[[2]string{row, s.Subject}]
			fmt.Fprintf(&out, " %s |", markdownCell(c, ok, &notes))
		}
		fmt.Fprintln(&out)
	}
	fmt.Fprintf(&out, "\nMedians; in brackets the value divided by that of %s.\n\n", Baseline)
	for i, text := range notes.texts {
		fmt.Fprintf(&out, "- [%d] %s\n", i+1, escape(text))
	}
	for _, m := range r.Missing {
		fmt.Fprintf(&out, "- not measured: %s: %s\n", m.Subject, escape(m.Reason))
	}
	for _, text := range r.Notes {
		fmt.Fprintf(&out, "- %s\n", escape(text))
	}
	_, err := w.Write(out.Bytes())
	return err
}

func markdownCell(c Cell, ok bool, notes *footnotes) string {
	switch {
	case !ok:
		return ""
	case c.Reason != "":
		return "– " + notes.mark(c.Subject+": "+c.Reason)
	}
	text := c.show()
	if c.Ratio != 0 && c.Subject != Baseline {
		text += " (" + c.showRatio() + ")"
	}
	if c.Note != "" {
		text += " " + notes.mark(c.Note)
	}
	return text
}

// grid is the cells by row and subject, with both in their order. A subject is
// shown by its first cell.
func (r *Report) grid() (subjects []Cell, rows []string, cells map[[2]string]Cell) {
	cells = map[[2]string]Cell{}
	seenRow, seenSubject := map[string]bool{}, map[string]bool{}
	for _, c := range r.Rows {
		if !seenRow[c.Row] {
			seenRow[c.Row] = true
			rows = append(rows, c.Row)
		}
		if !seenSubject[c.Subject] {
			seenSubject[c.Subject] = true
			subjects = append(subjects, c)
		}
		cells[[2]string{c.Row, c.Subject}] = c
	}
	return subjects, rows, cells
}

func escape(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
