package conformance

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// WriteTable writes the report for people: a line for each check, below it the
// detail of one that did not pass, and the summary at the end. It holds no
// control characters but line ends. An error is that of w.
func (r *Report) WriteTable(w io.Writer) error {
	idWidth, outcomeWidth := len("id"), len("outcome")
	for i := range r.Checks {
		idWidth, outcomeWidth = max(idWidth, len(r.Checks[i].ID)), max(outcomeWidth, len(r.Checks[i].Outcome))
	}
	var b bytes.Buffer
	row := func(id, level, outcome, ms, rule string) {
		fmt.Fprintf(&b, "%-*s  %-6s  %-*s  %9s  %s\n", idWidth, id, level, outcomeWidth, outcome, ms, rule)
	}
	row("id", "level", "outcome", "ms", "rule")
	for i := range r.Checks {
		c := &r.Checks[i]
		row(c.ID, string(c.Level), string(c.Outcome), fmt.Sprintf("%.1f", c.Ms), cleanLine(c.Rule))
		if c.Outcome == Pass || c.Detail == "" {
			continue
		}
		for line := range strings.SplitSeq(strings.TrimRight(clean(c.Detail), "\n"), "\n") {
			b.WriteString(strings.TrimRight("    "+line, " ") + "\n")
		}
	}
	fmt.Fprintf(&b, "\n%s\n", r.summaryLine())
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("conformance: writing the table: %w", err)
	}
	return nil
}

func (r *Report) summaryLine() string {
	s := &r.Summary
	verdict := "does not conform"
	if r.OK() {
		verdict = "conforms"
	}
	return fmt.Sprintf("%s (%s) %s: %d pass, %d fail, %d known, %d not applicable, %d error",
		cleanLine(r.Backend), cleanLine(r.Descriptor.Engine), verdict, s.Pass, s.Fail, s.Known, s.NotApplicable, s.Error)
}

// cleanLine is clean for what has to stay on its line.
func cleanLine(s string) string { return strings.ReplaceAll(clean(s), "\n", `\n`) }

// The form that systems for continuous integration read.
type (
	junitSuite struct {
		XMLName    xml.Name        `xml:"testsuite"`
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"` // seconds
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string       `xml:"classname,attr"`
		Name    string       `xml:"name,attr"`
		Time    string       `xml:"time,attr"` // seconds
		Failure *junitDetail `xml:"failure"`
		Error   *junitDetail `xml:"error"`
		Skipped *junitDetail `xml:"skipped"`
	}
	junitDetail struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the report as JUnit XML: one test suite, a test case for each
// check with its group as the class. A known check and one that does not apply
// are skipped cases that say why. An error is that of w.
func (r *Report) WriteJUnit(w io.Writer) error {
	suite := junitSuite{
		Name: "conformance of " + cleanLine(r.Backend), Tests: len(r.Checks),
		Properties: []junitProperty{
			{"backend", cleanLine(r.Backend)}, {"engine", cleanLine(r.Descriptor.Engine)},
			{"isolation", cleanLine(string(r.Descriptor.Isolation))}, {"image", cleanLine(r.Descriptor.Image)},
		},
		Cases: make([]junitCase, len(r.Checks)),
	}
	var ms float64
	for i := range r.Checks {
		ms += r.Checks[i].Ms
		suite.Cases[i] = r.Checks[i].junit()
		switch c := &suite.Cases[i]; {
		case c.Failure != nil:
			suite.Failures++
		case c.Error != nil:
			suite.Errors++
		case c.Skipped != nil:
			suite.Skipped++
		}
	}
	suite.Time = seconds(ms)
	text, err := xml.MarshalIndent(&suite, "", "  ")
	if err != nil {
		return fmt.Errorf("conformance: encoding the report: %w", err)
	}
	text = append([]byte(xml.Header), text...)
	if _, err := w.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("conformance: writing the report: %w", err)
	}
	return nil
}

func (c *Result) junit() junitCase {
	group, _, _ := strings.Cut(c.ID, "-")
	out := junitCase{Class: "conformance." + group, Name: c.ID + " " + cleanLine(c.Rule), Time: seconds(c.Ms)}
	detail := clean(c.Detail)
	first, _, more := strings.Cut(detail, "\n")
	d := &junitDetail{Message: first, Type: string(c.Level)}
	if more {
		d.Text = detail
	}
	switch c.Outcome {
	case Pass:
	case Fail:
		out.Failure = d
	case Known, NotApplicable:
		out.Skipped = &junitDetail{Message: string(c.Outcome) + ": " + first, Text: d.Text}
	default:
		out.Error = d
	}
	return out
}

func seconds(ms float64) string { return fmt.Sprintf("%.3f", ms/1000) }
