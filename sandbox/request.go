package sandbox

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
	"github.com/loom-sandbox/sandboxd/tools"
)

// LanguageAuto lets the sandbox choose the language of a script.
const LanguageAuto = "auto"

// MaxSeedBytes bounds [Request.Seed].
const MaxSeedBytes = 128

// The guest's clock can start anywhere in this range (UTC).
var (
	minNow = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	maxNow = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

// nowLayout is RFC 3339 with the milliseconds that a script can see.
const nowLayout = "2006-01-02T15:04:05.000Z07:00"

// Request is one script to run.
type Request struct {
	// Script is JavaScript. It may use top-level await and top-level return;
	// without return, the value of the last expression is the result. One
	// Markdown code fence around the whole text, a byte-order mark and a
	// hashbang are removed.
	Script string
	// Input is the JSON text that the script sees as the global `input`;
	// nothing means null. Duplicate names and invalid UTF-8 are refused.
	Input json.RawMessage
	// Language is "auto" (the default) or "js".
	Language string
	// Limits of this eval; a zero field means the sandbox's default.
	Limits Limits
	// Now is where the script's clock starts; zero means the host's time. The
	// script sees milliseconds, from 1970 to 2200.
	Now time.Time
	// Seed determines the script's random numbers: the same text gives the same
	// numbers. Empty means a fresh one, which the result reports. At most
	// [MaxSeedBytes] of UTF-8.
	Seed string
	// Tools are what this script is handed; nil means nothing. It finds the tool
	// "crm.lookup" as tools.crm.lookup, and the one of [tools.Fetch] as the global
	// fetch. Each call passes [Options.Policy]. Refused where the backend has no host
	// calls.
	Tools *tools.Set
	// Emit hands the script emit(type, data), which tells [Options.Observer].
	Emit bool
}

// job is a request after normalising: what the backend gets, what the script may
// call, and what the result says about the run.
type job struct {
	config  spi.Config
	request spi.Request
	limits  Limits
	evalID  string
	run     Run
	// tools and granted are what the script was handed: granted maps the functions
	// of the backend to names of tools.
	tools   *tools.Set
	granted map[string]string
	emit    bool
	// scriptSHA256 is of the script as it was sent, in hexadecimal, for those that
	// its calls are told to; empty where it was handed nothing.
	scriptSHA256 string
	// origins are those of the labels in the input.
	origins []string
	// tooLarge is set where script or input exceed their limit: the answer is
	// a result, and the backend is not asked.
	tooLarge *spi.ReachedLimit
}

// handed reports whether the script can do anything but compute.
func (j *job) handed() bool { return len(j.granted) > 0 || j.emit }

// admit checks a request and makes a job of it.
func (s *Sandbox) admit(r *Request) (*job, error) {
	limits, err := resolve(s.fields, &r.Limits, &s.defaults, &s.ceilings)
	if err != nil {
		return nil, err
	}
	if r.Limits.TotalTime == 0 {
		limits.giveTime(&s.ceilings)
	}
	language, err := languageOf(r.Language)
	if err != nil {
		return nil, err
	}
	j := &job{limits: limits, evalID: newID(), run: Run{Backend: s.descriptor.Name, Image: s.descriptor.Image, Language: language}}
	if err := s.grant(j, r.Tools, r.Emit); err != nil {
		return nil, err
	}
	now := r.Now
	if now.IsZero() {
		now = s.clock()
	}
	if now, err = startOfClock(now); err != nil {
		return nil, err
	}
	j.run.Now = now.Format(nowLayout)
	if err := checkSeed(r.Seed); err != nil {
		return nil, err
	}
	if j.run.Seed = r.Seed; r.Seed == "" {
		var b [8]byte
		rand.Read(b[:]) // never fails (crypto/rand)
		j.run.Seed = hex.EncodeToString(b[:])
	}
	j.config = spi.Config{Limits: limits.enforced(), Now: now, Seed: seedOf(j.run.Seed)}

	// Sizes come first, so that nothing is done with what is over.
	if n := int64(len(r.Script)); n > limits.SourceBytes {
		j.tooLarge = &spi.ReachedLimit{Name: spi.LimitSource, Value: limits.SourceBytes}
		return j, nil
	}
	if n := int64(len(r.Input)); n > limits.InputBytes {
		j.tooLarge = &spi.ReachedLimit{Name: spi.LimitInput, Value: limits.InputBytes}
		return j, nil
	}
	source, rerr := normalise(r.Script)
	if rerr != nil {
		return nil, rerr
	}
	if j.handed() {
		hash := sha256.Sum256([]byte(r.Script))
		j.scriptSHA256 = hex.EncodeToString(hash[:])
	}
	input := r.Input
	if len(input) == 0 {
		input = json.RawMessage("null")
	}
	if input, j.origins, err = unlabel("input", input); err != nil {
		return nil, err
	}
	j.request = spi.Request{Source: source, Language: language, Input: input, Functions: j.functions()}
	return j, nil
}

// unlabel checks JSON that the script is to see, and takes the labels in it off.
func unlabel(field string, given json.RawMessage) (stripped json.RawMessage, origins []string, err error) {
	if stripped, origins, err = taint.Strip(given); err != nil {
		problem := "it cannot be read"
		var bad *taint.DecodeError
		if errors.As(err, &bad) {
			problem = bad.Problem()
		}
		return nil, nil, &RequestError{field, "is not strict JSON: " + problem}
	}
	return stripped, origins, nil
}

// newID returns an ID that nobody can guess.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// startOfClock is where a script's clock starts.
func startOfClock(now time.Time) (time.Time, error) {
	now = now.UTC().Truncate(time.Millisecond)
	if now.Before(minNow) || now.After(maxNow) {
		return now, &RequestError{"now", fmt.Sprintf("is out of range; allowed is %s to %s", minNow.Format(nowLayout), maxNow.Format(nowLayout))}
	}
	return now, nil
}

func checkSeed(seed string) error {
	if len(seed) > MaxSeedBytes || !utf8.ValidString(seed) {
		return &RequestError{"seed", fmt.Sprintf("must be at most %d bytes of UTF-8", MaxSeedBytes)}
	}
	return nil
}

// seedOf is what determines the random numbers.
func seedOf(seed string) uint64 {
	sum := sha256.Sum256([]byte(seed))
	return binary.LittleEndian.Uint64(sum[:8])
}

// languageOf is the language of a script that a request asks for by name.
func languageOf(name string) (spi.Language, error) {
	switch name {
	case "", LanguageAuto, string(spi.JavaScript):
		return spi.JavaScript, nil
	case "ts":
		return "", &RequestError{"language", `"ts" is reserved and not available yet; allowed is auto or js`}
	}
	return "", &RequestError{"language", "is not known; allowed is auto or js"}
}
