package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
)

// decoder reads bodies. It knows each member by name instead of decoding into a
// struct, because messages of a decoder can repeat values.
type decoder struct {
	backends  []string // the default one first
	resumers  []string // those of them that go on with suspended scripts
	limits    []limitRange
	toolBytes int64
}

func newDecoder(o *Options) decoder {
	d := decoder{limits: limitRanges(o.Backends), toolBytes: o.MaxToolBytes}
	for i := range o.Backends {
		b := &o.Backends[i]
		d.backends = append(d.backends, b.Name)
		if b.Suspends {
			d.resumers = append(d.resumers, b.Name)
		}
	}
	return d
}

// membersOf are those of a body, which must be one object.
func membersOf(body []byte) (map[string]json.RawMessage, *problem) {
	if err := taint.Valid(body); err != nil {
		return nil, newProblem(http.StatusBadRequest, "the body is not strict JSON: "+syntaxProblem(err))
	}
	members, ok := object(body)
	if !ok {
		return nil, unprocessable([]fault{{"body", "must be a JSON object"}})
	}
	return members, nil
}

// evaluation is a script to run.
type evaluation struct {
	backend   string
	request   sandbox.Request
	toolBytes int64 // of the tools, as they were written
}

// eval reads the body of an eval. The input stays a part of it.
func (d *decoder) eval(body []byte) (work, *problem) {
	members, p := membersOf(body)
	if p != nil {
		return nil, p
	}
	e := &evaluation{backend: d.backends[0]}
	r := &e.request
	var faults faultList
	if _, ok := members["script"]; !ok {
		faults.add("script", "is missing; it must be a string of JavaScript")
	}
	// In order of name, so that the same request gets the same answer.
	for _, name := range slices.Sorted(maps.Keys(members)) {
		raw := members[name]
		switch name {
		case "script":
			if text(raw, &r.Script, name, &faults) && strings.TrimSpace(r.Script) == "" {
				faults.add(name, "is empty; a script needs at least one expression or statement")
			}
		case "input":
			r.Input = raw
		case "language":
			choice(raw, &r.Language, name, languages(), &faults)
		case "backend":
			choice(raw, &e.backend, name, d.backends, &faults)
		case "tools":
			e.toolBytes = int64(len(raw))
			r.Tools = d.tools(raw, &faults)
		default:
			if !d.setting(name, raw, &r.Limits, &r.Now, &r.Seed, &faults) {
				faults.unknown("", name, "backend, input, language, limits, now, script, seed and tools")
			}
		}
	}
	if len(faults) > 0 {
		return nil, unprocessable(faults)
	}
	return e, nil
}

// setting reads a member that evals and resumptions have alike.
func (d *decoder) setting(name string, raw json.RawMessage, l *sandbox.Limits, now *time.Time, seed *string, faults *faultList) (known bool) {
	switch name {
	case "limits":
		d.decodeLimits(raw, l, faults)
	case "now":
		*now = instant(raw, name, faults)
	case "seed":
		if text(raw, seed, name, faults) && len(*seed) > sandbox.MaxSeedBytes {
			faults.add(name, fmt.Sprintf("must be at most %d bytes of UTF-8", sandbox.MaxSeedBytes))
		}
	default:
		return false
	}
	return true
}

func languages() []string { return []string{sandbox.LanguageAuto, string(spi.JavaScript)} }

// verb implements work.
func (e *evaluation) verb() string { return "eval" }

// keep implements work.
func (e *evaluation) keep(body int64) int64 {
	r := &e.request
	kept := body                                      // by the input, which is a part of it
	if own := int64(len(r.Input)); kept > own+own/4 { // more would be kept than is needed
		r.Input = bytes.Clone(r.Input)
		kept = int64(len(r.Input))
	}
	return kept + int64(len(r.Script)) + e.toolBytes
}
