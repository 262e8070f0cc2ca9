package tools

// Work is counted in steps of about 100 ns: one schema that looks at one value.
// What is counted is the most that can be, and mostly far more than is done.
const (
	// smallWork is checked where it comes up, and what is wrong is named. More is
	// checked aside, and only whether something is wrong is found out: all that is
	// wrong may fill the memory.
	smallWork = 500_000
	// fewValues are small for a schema without a bound.
	fewValues = 1000
	// strangersWork is the most for a schema that a stranger wrote.
	strangersWork = 2_000_000

	// Steps of a number: reading it, and what its digits add if there are many.
	shortNumber, longNumber = 4, 120
	maxShortNumberBytes     = 40
	// patternSteps are those of each part of a pattern at each byte.
	patternSteps = 0.3
	// formatSteps are those of a format at each byte, lengthSteps of minLength.
	formatSteps, lengthSteps = 0.2, 0.02
	// depthSteps are those of naming the place of a value, for each level.
	depthSteps = 0.25
	// compareSteps are those of comparing one value in two items, if it is no number.
	compareSteps = 0.2
	// fewItems are compared each with each.
	fewItems = 20
)

// load is what is in a value, as far as the time counts that checking it takes.
type load struct {
	values  float64
	depths  float64 // the sum of how deep each value is
	text    float64 // bytes of strings and names, and some more for each
	numbers float64 // steps of reading each once
	pairs   float64 // steps of comparing all items of arrays with each other
	deepest int
}

func (l *load) value(depth int) {
	l.values++
	l.depths += float64(depth)
	l.deepest = max(l.deepest, depth)
}

func (l *load) str(n int) (size float64) {
	const each = 8
	l.text += float64(n + each)
	return compareSteps * (1 + float64(n)/64)
}

func (l *load) number(n, exponentDigits int) (size float64) {
	size = shortNumber
	if n > maxShortNumberBytes || exponentDigits > 2 {
		size = longNumber
	}
	l.numbers += size
	return size
}

// array counts items that must be unique. Many are told apart by a hash that
// arrays and objects can be made to share; then each is compared with each.
func (l *load) array(n int, size float64, flat bool) {
	if flat {
		n = min(n, fewItems)
	}
	l.pairs += size * (float64(n)/2 + 2)
}

// rate is the most that a schema does with each thing of a [load].
type rate struct {
	value, text, number, unique float64
}

// of is the most steps that a check takes.
func (r *rate) of(l load) float64 {
	return r.value*(l.values+depthSteps*l.depths) + r.text*l.text + r.number*l.numbers + r.unique*l.pairs
}
