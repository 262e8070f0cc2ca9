package report

import (
	"fmt"
	"strconv"
)

// showTime writes microseconds in a unit that suits them.
func showTime(us float64) string {
	switch {
	case us >= 1e6:
		return digits(us/1e6) + " s"
	case us >= 1e3:
		return digits(us/1e3) + " ms"
	default:
		return digits(us) + " µs"
	}
}

func showBytes(b float64) string {
	if b >= 1<<20 || b <= -1<<20 {
		return digits(b/(1<<20)) + " MiB"
	}
	return digits(b/(1<<10)) + " KiB"
}

// digits writes three significant digits, and never an exponent.
func digits(v float64) string {
	switch {
	case v >= 100 || v <= -100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10 || v <= -10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// show is the cell's value with its unit.
func (c Cell) show() string {
	switch c.Unit {
	case UnitRate:
		return digits(c.PerSecond) + " /s"
	case UnitBytes:
		return showBytes(c.Bytes)
	default:
		return showTime(c.P50)
	}
}

func (c Cell) showRatio() string {
	if c.Ratio == 0 {
		return ""
	}
	if c.Ratio < 0.1 { // where two digits after the point would say little
		return strconv.FormatFloat(c.Ratio, 'f', 3, 64) + "×"
	}
	return digits(c.Ratio) + "×"
}

// footnotes number the reasons and the notes of cells.
type footnotes struct {
	texts []string
}

func (f *footnotes) mark(text string) string {
	for i, t := range f.texts {
		if t == text {
			return fmt.Sprintf("[%d]", i+1)
		}
	}
	f.texts = append(f.texts, text)
	return fmt.Sprintf("[%d]", len(f.texts))
}
