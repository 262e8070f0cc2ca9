package httpapi

import (
	"regexp"
	"time"
)

// rfc3339 is the form alone: time.Parse also takes commas and offsets that no
// clock has.
const rfc3339 = `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`

// ParseTime reads a time strictly as in RFC 3339, and is for the command line as
// well. It refuses the zero time, which would say "not given"; the range is the
// sandbox's to check.
func ParseTime(s string) (time.Time, bool) {
	const longest = 64
	if len(s) > longest {
		return time.Time{}, false
	}
	if ok, err := regexp.MatchString(rfc3339, s); err != nil || !ok {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	return t, err == nil && !t.IsZero()
}
