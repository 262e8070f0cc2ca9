package saboteur

import (
	"slices"

	"github.com/loom-sandbox/sandboxd/spi"
)

// Defect is one way of being wrong. The zero value is none: it wraps a backend
// and passes everything on.
type Defect struct {
	// Name is unique: lower-case letters, digits, '-'.
	Name string
	// Wrong is what the backend does wrong, in one sentence.
	Wrong string
	// CaughtBy are the IDs of the checks that are meant for it, at least one. It
	// may fall foul of others.
	CaughtBy []string
	// Seen is a part of what each of these checks says, so that none of them
	// fails for another reason.
	Seen string
	// Hangs: a call does not return, which a check sees by its watchdog only.
	Hangs bool
	// Late: it shows as time goes by, so that patience with a slow machine hides
	// it or takes long.
	Late bool
	// Alone: it shows in the whole process, beside which nothing else may run.
	Alone bool
	// Meddles: it writes to what is the caller's, which no other defect does.
	Meddles bool

	build func() hooks
}

// Wrap makes a backend that is good but for the defect. It owns good: call
// [Backend.Release] in the end.
func (d Defect) Wrap(good spi.Backend) *Backend {
	b := &Backend{good: good, release: make(chan struct{})}
	if d.build != nil {
		b.hooks = d.build()
	}
	return b
}

// Defects returns a fresh list of all defects.
func Defects() []Defect {
	return slices.Concat(
		describeDefects(),
		evalDefects(),
		sourceDefects(),
		valueDefects(),
		logDefects(),
		kindDefects(),
		errorDefects(),
		timeDefects(),
		memoryDefects(),
		sizeDefects(),
		fuelDefects(),
		leakDefects(),
		hostDefects(),
		sameDefects(),
		concurrencyDefects(),
		isolateDefects(),
		closeDefects(),
		againDefects(),
		asideDefects(),
		usageDefects(),
		keptDefects(),
		verbatimDefects(),
		endingDefects(),
		prepareDefects(),
		preparedDefects(),
		preparedEndDefects(),
		callDefects(),
		replyDefects(),
		callLimitDefects(),
		callEndDefects(),
		suspendDefects(),
		stateDefects(),
		resumeDefects(),
		resumeEndDefects(),
	)
}
