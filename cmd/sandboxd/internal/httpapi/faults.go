package httpapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loom-sandbox/sandboxd/taint"
)

// maxFaults bounds how many faults one problem document lists.
const maxFaults = 8

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
		faults.add(field, "is not known; allowed is "+cmp.Or(strings.Join(allowed, " or "), "none"))
		return
	}
	*s = got
}

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
