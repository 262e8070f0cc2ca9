// Package report says what was measured: as a table, as Markdown and as JSON.
package report

import (
	"encoding/json"
	"io"
)

// Baseline is the subject that ratios are against.
const Baseline = "ours/wazero"

// Report is one run.
type Report struct {
	Machine Machine `json:"machine"`
	// Rows has one cell for each row and subject, in the order of the table.
	Rows []Cell `json:"rows"`
	// Missing are the subjects that could not run here.
	Missing []Missing `json:"missing,omitempty"`
	// Notes are for people: how to read a row.
	Notes []string `json:"notes,omitempty"`
}

// Units of a cell.
const (
	UnitTime  = "us"
	UnitRate  = "evals/s"
	UnitBytes = "bytes"
)

// Cell is one subject in one row. Times are in microseconds.
type Cell struct {
	Row     string `json:"row"`
	Subject string `json:"subject"`
	Unit    string `json:"unit"`
	// P50 and the others are of the time of one eval, where there is one.
	P50 float64 `json:"p50us,omitempty"`
	P99 float64 `json:"p99us,omitempty"`
	P10 float64 `json:"p10us,omitempty"`
	P90 float64 `json:"p90us,omitempty"`
	// N is the number of samples.
	N int `json:"n"`
	// PerSecond is the evals a second of UnitRate, Bytes the median of UnitBytes.
	PerSecond float64 `json:"perSecond,omitempty"`
	Bytes     float64 `json:"bytes,omitempty"`
	// Ratio is this cell's value divided by the baseline's; 0 where there is none.
	Ratio     float64 `json:"ratio,omitempty"`
	Limits    string  `json:"limits"`
	Isolation string  `json:"isolation"`
	Note      string  `json:"note,omitempty"`
	// Reason is why there is no value.
	Reason string `json:"reason,omitempty"`
}

// Value is the number that the cell is about, in its unit.
func (c Cell) Value() float64 {
	switch c.Unit {
	case UnitRate:
		return c.PerSecond
	case UnitBytes:
		return c.Bytes
	default:
		return c.P50
	}
}

// Missing is a subject that could not run here.
type Missing struct {
	Subject string `json:"subject"`
	Reason  string `json:"reason"`
}

// FillRatios compares each cell with the baseline's in the same row.
func (r *Report) FillRatios() {
	base := map[string]float64{}
	for _, c := range r.Rows {
		if c.Subject == Baseline && c.Reason == "" {
			base[c.Row] = c.Value()
		}
	}
	for i := range r.Rows {
		c := &r.Rows[i]
		if b := base[c.Row]; b > 0 && c.Reason == "" && c.Value() > 0 {
			c.Ratio = c.Value() / b
		}
	}
}

// WriteJSON writes the report as one JSON text.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
