package conformance

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

func sampleReport() *Report {
	r := &Report{Backend: "fake", Descriptor: fakeDescriptor()}
	for _, c := range []Result{
		{ID: "DESC-001", Level: MUST, Rule: "It has a name.", Outcome: Pass, Ms: 0.04},
		{ID: "EVAL-002", Level: MUST, Rule: "It runs.", Outcome: Fail, Detail: "value is 1, wanted 2\nat <a> & \"b\"\n", Ms: 1234.56},
		{ID: "VALUE-003", Level: SHOULD, Rule: "It is fast.", Outcome: Known, Detail: "it is slow", Ms: 2},
		{ID: "LIMIT-004", Level: MUST, Rule: "It burns fuel.", Outcome: NotApplicable, Detail: "the descriptor does not declare fuel"},
		{ID: "WEB-005", Level: SHOULD, Rule: "It has timers.", Outcome: Error, Detail: "the run was ended: context canceled", Ms: 10},
	} {
		r.add(c)
	}
	return r
}

func TestTheTableIsForPeople(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, sampleReport().WriteTable(&b))
	assert.Equal(t, `id         level   outcome               ms  rule
DESC-001   MUST    pass                 0.0  It has a name.
EVAL-002   MUST    fail              1234.6  It runs.
    value is 1, wanted 2
    at <a> & "b"
VALUE-003  SHOULD  known                2.0  It is fast.
    it is slow
LIMIT-004  MUST    notApplicable        0.0  It burns fuel.
    the descriptor does not declare fuel
WEB-005    SHOULD  error               10.0  It has timers.
    the run was ended: context canceled

fake (fake 1.0) does not conform: 1 pass, 1 fail, 1 known, 1 not applicable, 1 error
`, b.String())
}

func TestTheTableOfAGoodBackendSaysSo(t *testing.T) {
	t.Parallel()
	r := &Report{Backend: "fake", Descriptor: fakeDescriptor()}
	r.add(Result{ID: "DESC-001", Level: MUST, Rule: "It has a name.", Outcome: Pass, Detail: "not shown"})
	var b bytes.Buffer
	require.NoError(t, r.WriteTable(&b))
	assert.Contains(t, b.String(), "fake (fake 1.0) conforms: 1 pass, 0 fail,")
	assert.NotContains(t, b.String(), "not shown")
}

// hostile is text that no backend should be able to put into a terminal or to
// end an element with.
func hostile() []string {
	return []string{
		"\x1b[31mred\x1b[0m\r\a\b", "\x00\x01\x1f\x7f", "]]></failure></testcase><testcase name=\"forged\">", "<!-- & &amp; &#0; -->",
		"\xff\xfe\xc3(", "\ud7ff\ufffe\uffff\U0010ffff", "\u202e\u2028\u2029\u0085", "'\"\t\n\n", strings.Repeat("<", 5000), "",
	}
}

func TestTheTableHoldsNoControlCharacters(t *testing.T) {
	t.Parallel()
	for _, text := range hostile() {
		r := sampleReport()
		r.Backend, r.Descriptor.Engine = text, text
		for i := range r.Checks {
			r.Checks[i].Detail, r.Checks[i].Rule = text, text
		}
		var b bytes.Buffer
		require.NoError(t, r.WriteTable(&b))
		assert.Equal(t, b.String(), clean1(b.String()), "%q", text)
	}
}

// clean1 is clean for texts of any length.
func clean1(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		for part := line; part != ""; {
			n := min(len(part), 500)
			for n < len(part) && part[n]&0xc0 == 0x80 {
				n++
			}
			b.WriteString(clean(part[:n]))
			part = part[n:]
		}
	}
	return b.String()
}

func TestJUnitIsWhatSystemsRead(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, sampleReport().WriteJUnit(&b))
	assert.Equal(t, `<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="conformance of fake" tests="5" failures="1" errors="1" skipped="2" time="1.247">
  <properties>
    <property name="backend" value="fake"></property>
    <property name="engine" value="fake 1.0"></property>
    <property name="isolation" value="none"></property>
    <property name="image" value=""></property>
  </properties>
  <testcase classname="conformance.DESC" name="DESC-001 It has a name." time="0.000"></testcase>
  <testcase classname="conformance.EVAL" name="EVAL-002 It runs." time="1.235">
    <failure message="value is 1, wanted 2" type="MUST">value is 1, wanted 2&#xA;at &lt;a&gt; &amp; &#34;b&#34;&#xA;</failure>
  </testcase>
  <testcase classname="conformance.VALUE" name="VALUE-003 It is fast." time="0.002">
    <skipped message="known: it is slow"></skipped>
  </testcase>
  <testcase classname="conformance.LIMIT" name="LIMIT-004 It burns fuel." time="0.000">
    <skipped message="notApplicable: the descriptor does not declare fuel"></skipped>
  </testcase>
  <testcase classname="conformance.WEB" name="WEB-005 It has timers." time="0.010">
    <error message="the run was ended: context canceled" type="SHOULD"></error>
  </testcase>
</testsuite>
`, b.String())
}

func TestJUnitIsXMLWhateverIsInIt(t *testing.T) {
	t.Parallel()
	for _, text := range hostile() {
		r := sampleReport()
		r.Backend, r.Descriptor.Engine, r.Descriptor.Image, r.Descriptor.Isolation = text, text, text, spi.Isolation(text)
		for i := range r.Checks {
			r.Checks[i].Detail, r.Checks[i].Rule = text, text
		}
		r.Checks[1].ID = text
		var b bytes.Buffer
		require.NoError(t, r.WriteJUnit(&b))
		elements := map[string]int{}
		d := xml.NewDecoder(bytes.NewReader(b.Bytes()))
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			require.NoError(t, err, "%q", text)
			if start, ok := token.(xml.StartElement); ok {
				elements[start.Name.Local]++
			}
		}
		assert.Equal(t, map[string]int{
			"testsuite": 1, "properties": 1, "property": 4, "testcase": 5, "failure": 1, "error": 1, "skipped": 2,
		}, elements, "%q", text)
	}
}

func TestAWriterThatFailsIsReported(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	for name, write := range map[string]func(io.Writer) error{"table": sampleReport().WriteTable, "JUnit": sampleReport().WriteJUnit} {
		err := write(failingWriter{full})
		require.ErrorIs(t, err, full, name)
		require.ErrorContains(t, err, "conformance: writing", name)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
