package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
)

// maxFaults bounds how many faults one problem document lists.
const maxFaults = 8

// limitRange is what a request may ask for. Above its ceiling a limit is
// capped; beyond this range it is a mistake and refused.
type limitRange struct {
	name     spi.LimitName
	min, max int64
	set      func(*sandbox.Limits, int64)
	doc      string
}

func limitRanges(backends []spi.Descriptor) []limitRange {
	// A request may name any backend; the exact bounds of memory are the
	// widest, and the sandbox of the chosen one has the last word.
	minMemory, maxMemory := backends[0].MinMemoryBytes, backends[0].MaxMemoryBytes
	for _, d := range backends[1:] {
		minMemory, maxMemory = min(minMemory, d.MinMemoryBytes), max(maxMemory, d.MaxMemoryBytes)
	}
	return []limitRange{
		{spi.LimitTimeout, 1, sandbox.MaxTimeout.Milliseconds(),
			func(l *sandbox.Limits, v int64) { l.Timeout = time.Duration(v) * time.Millisecond }, "Wall time of the script in milliseconds."},
		{spi.LimitMemory, minMemory, maxMemory,
			func(l *sandbox.Limits, v int64) { l.MemoryBytes = v }, "The script's whole memory, engine included, in bytes."},
		{spi.LimitFuel, 0, math.MaxInt64,
			func(l *sandbox.Limits, v int64) { l.Fuel = v }, "Units of work; 0 is as if it were left out."},
		{spi.LimitOutput, 1, sandbox.MaxOutputBytes,
			func(l *sandbox.Limits, v int64) { l.OutputBytes = v }, "Result as JSON, in bytes."},
		{spi.LimitLogs, 1, sandbox.MaxLogBytes,
			func(l *sandbox.Limits, v int64) { l.LogBytes = v }, "Log lines kept, in bytes."},
	}
}

// decoder reads the body of an eval; the input stays a part of it. It knows each member by name instead of
// decoding into a struct, because messages of a decoder can repeat values.
type decoder struct {
	backends []string // the default one first
	limits   []limitRange
}

func newDecoder(o *Options) decoder {
	d := decoder{limits: limitRanges(o.Backends)}
	for i := range o.Backends {
		d.backends = append(d.backends, o.Backends[i].Name)
	}
	return d
}

func (d *decoder) decode(body []byte) (backend string, r sandbox.Request, p *problem) {
	if err := taint.Valid(body); err != nil {
		return "", r, newProblem(http.StatusBadRequest, "the body is not strict JSON: "+syntaxProblem(err))
	}
	backend = d.backends[0]
	var faults faultList
	members, ok := object(body)
	if !ok {
		return "", r, unprocessable([]fault{{"body", "must be a JSON object"}})
	}
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
			choice(raw, &backend, name, d.backends, &faults)
		case "seed":
			if text(raw, &r.Seed, name, &faults) && len(r.Seed) > sandbox.MaxSeedBytes {
				faults.add(name, fmt.Sprintf("must be at most %d bytes of UTF-8", sandbox.MaxSeedBytes))
			}
		case "now":
			r.Now = instant(raw, name, &faults)
		case "limits":
			d.decodeLimits(raw, &r.Limits, &faults)
		default:
			faults.unknown("", name, "backend, input, language, limits, now, script and seed")
		}
	}
	if len(faults) > 0 {
		return "", r, unprocessable(faults)
	}
	return backend, r, nil
}

func (d *decoder) decodeLimits(raw json.RawMessage, l *sandbox.Limits, faults *faultList) {
	members, ok := object(raw)
	if !ok {
		faults.add("limits", "must be an object")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		i := slices.IndexFunc(d.limits, func(f limitRange) bool { return string(f.name) == name })
		if i < 0 {
			faults.unknown("limits.", name, "timeoutMs, memoryBytes, fuel, outputBytes and logBytes")
			continue
		}
		f := &d.limits[i]
		v, ok := integer(members[name])
		if !ok || v < f.min || v > f.max {
			faults.add("limits."+name, fmt.Sprintf("must be a whole number from %d to %d", f.min, f.max))
			continue
		}
		f.set(l, v)
	}
}

// faultList collects faults, a bounded number of them.
type faultList []fault

func (l *faultList) add(field, problem string) {
	if len(*l) < maxFaults {
		*l = append(*l, fault{field, problem})
	}
}

func (l *faultList) unknown(prefix, name, known string) {
	l.add(prefix+sanitise(name), "is not known; known are "+known)
}

// sanitise shortens a name that a client chose to 64 bytes of printable ASCII.
func sanitise(name string) string {
	const most = 64
	quoted := strconv.QuoteToASCII(name)
	quoted = quoted[1 : len(quoted)-1]
	if len(quoted) > most {
		quoted = quoted[:most-3] + "..."
	}
	return quoted
}

func text(raw json.RawMessage, s *string, field string, faults *faultList) bool {
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, s) != nil || !utf8.ValidString(*s) {
		faults.add(field, "must be a string")
		return false
	}
	return true
}

func choice(raw json.RawMessage, s *string, field string, allowed []string, faults *faultList) {
	var got string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &got) != nil || !slices.Contains(allowed, got) {
		faults.add(field, "is not known; allowed is "+strings.Join(allowed, " or "))
		return
	}
	*s = got
}

func languages() []string { return []string{sandbox.LanguageAuto, string(spi.JavaScript)} }

func instant(raw json.RawMessage, field string, faults *faultList) time.Time {
	var s string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		if t, ok := ParseTime(s); ok {
			return t
		}
	}
	faults.add(field, "must be a time as in RFC 3339 such as 2026-01-02T03:04:05Z, from 1970 to 2200")
	return time.Time{}
}

// syntaxProblem says what is wrong and where, without the names of members
// that the reader's own text holds.
func syntaxProblem(err error) string {
	var bad *taint.DecodeError
	if !errors.As(err, &bad) {
		return "it cannot be read"
	}
	return fmt.Sprintf("%s (at byte %d)", strings.TrimPrefix(bad.Err.Error(), "taint: "), bad.Offset)
}
