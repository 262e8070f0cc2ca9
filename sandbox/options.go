package sandbox

import (
	"errors"
	"fmt"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/tools"
)

// Options of a [Sandbox]. The zero value is the safest.
type Options struct {
	// Defaults are used where a request leaves a limit open.
	Defaults Limits
	// Ceilings cap what a request may ask for; zero fields mean the hard maxima.
	Ceilings Limits
	// MaxConcurrent is how many evals run at once; zero means the number of
	// CPUs. More wait in order.
	MaxConcurrent int
	// PreparedBytes bounds the memory that prepared scripts hold together; what
	// was used least recently is given up first. Zero means
	// [DefaultPreparedBytes]. A script that needs more alone is not kept. The
	// process may grow by two to three times that until Go has collected what was
	// given up.
	PreparedBytes int64
	// PrepareRepeated makes Eval prepare a script when it comes for the second
	// time, and go on from the prepared state from then on. Preparing then takes
	// at most a quarter of the eval's Timeout, before that begins; where
	// PreparedBytes are used up, a script is kept only if it comes more often than
	// what would have to go. It has no effect on a backend that does not prepare.
	// Results are the same, but their time tells
	// whoever may use this sandbox whether somebody ran the same script before:
	// leave it off where callers must not learn that of each other.
	PrepareRepeated bool
	// DangerouslyMarshalWithoutTaintLabel makes results marshal their values,
	// logs and error texts bare. Whoever reads the JSON can then no longer tell
	// what a script wrote from what the host wrote.
	DangerouslyMarshalWithoutTaintLabel bool
	// Policy decides on each call of a tool, of all scripts; nil allows what a script
	// was handed. It may be asked from several goroutines at once.
	Policy tools.Policy
	// Observer is told what happens in evals; nil means nobody.
	Observer Observer
	// Continuations says how suspended scripts and saved sessions are sealed. Nil
	// means the defaults, with a random key: only this sandbox can resume them.
	Continuations *Continuations
}

// check reports all that is wrong with options on a backend, and fills in defaults.
func (o *Options) check(d *spi.Descriptor, fs []field, defaults *Limits) error {
	var errs []error
	if !d.Speaks(spi.JavaScript) {
		errs = append(errs, &RequestError{"backend", fmt.Sprintf("%s does not run language js", d.Name)})
	}
	for i := range fs {
		f := &fs[i]
		for _, part := range []struct {
			name string
			l    *Limits
		}{{"Options.Defaults.", &o.Defaults}, {"Options.Ceilings.", &o.Ceilings}} {
			if err := f.check(*f.get(part.l)); err != nil {
				err.Field = part.name + string(f.name)
				errs = append(errs, err)
			}
		}
		v := *f.get(&o.Defaults)
		if v == 0 {
			if v = f.fallback; v != 0 { // a backend may have less, or need more
				v = min(max(v, f.min), f.max)
			}
			if v != 0 && f.missing != "" {
				errs = append(errs, &RequestError{"backend", fmt.Sprintf("%s does not enforce %s", d.Name, f.name)})
			}
		}
		*f.get(defaults) = v
	}
	if o.MaxConcurrent < 0 {
		errs = append(errs, &RequestError{"Options.MaxConcurrent", fmt.Sprintf("is %d; allowed is 1 or more, or 0 for the number of CPUs", o.MaxConcurrent)})
	}
	if o.PreparedBytes < 0 {
		errs = append(errs, &RequestError{"Options.PreparedBytes", fmt.Sprintf("is %d; allowed is 1 or more, or 0 for %d", o.PreparedBytes, DefaultPreparedBytes)})
	}
	return errors.Join(append(errs, o.Continuations.check()...)...)
}
