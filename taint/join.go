package taint

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	separator   = ", "
	countPrefix = "+"
	countSuffix = " more"

	// maxCountDigits bounds N in "+N more"; maxCount is the highest such N.
	maxCountDigits = 9
	maxCount       = 999_999_999
)

// Join returns one origin for what was made of several: the distinct origins,
// [OriginSandbox] first and the others sorted by their bytes, with ", " between
// them.
//
//	sandbox, tool:crm.lookup, tool:web.fetch
//
// Each of origins may be joined already. One that [CheckOrigin] refuses becomes
// [OriginInvalid], and so does a call without any. Only the first
// [MaxJoinedOrigins] are kept; behind them stands how many were left out, as
// "+N more": the number left out here plus the counts of origins that were joined
// before, up to 999999999.
//
// Names that are gone cannot be compared, so N is exact only while each name is
// left out once. One that is left out in two joins counts twice, and one that was
// left out before and comes again counts again. Joins with the same text, names
// and count, are taken for the same and count once. All that is certain of N is
// that there is at least one more.
//
// The order of joining does not matter to the names nor, while N is exact, to N.
// Join(j) and Join(j, j) are j for every j that Join returned, and so is
// Join(j, o) for every o that j names.
func Join(origins ...string) string {
	names := make(map[string]struct{}, len(origins))
	counted := map[string]struct{}{} // texts whose count was added
	more := 0
	for _, origin := range origins {
		parts, n := Origins(origin)
		for _, part := range parts {
			names[part] = struct{}{}
		}
		if n == 0 {
			continue
		}
		if _, again := counted[origin]; !again {
			counted[origin] = struct{}{}
			more = min(more+n, maxCount)
		}
	}
	if len(names) == 0 {
		return OriginInvalid
	}
	sorted := slices.SortedFunc(maps.Keys(names), compareOrigins)
	if left := len(sorted) - MaxJoinedOrigins; left > 0 {
		sorted = sorted[:MaxJoinedOrigins]
		more = min(more+left, maxCount)
	}
	joined := strings.Join(sorted, separator)
	if more > 0 {
		joined += separator + countPrefix + strconv.Itoa(more) + countSuffix
	}
	return joined
}

func compareOrigins(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == OriginSandbox:
		return -1
	case b == OriginSandbox:
		return 1
	}
	return strings.Compare(a, b)
}

// Origins returns the origins that joined names, in the order in which it names
// them, and the N of its "+N more", else 0: see [Join] for what that means. An
// origin that is not joined is its only part. Of one that [CheckOrigin] refuses
// the only part is [OriginInvalid].
func Origins(joined string) (parts []string, more int) {
	if CheckOrigin(joined) != nil {
		return []string{OriginInvalid}, 0
	}
	return split(joined)
}

// split takes an origin apart, legal or not.
func split(origin string) (parts []string, more int) {
	parts = strings.Split(origin, separator)
	if n, ok := parseCount(parts[len(parts)-1]); ok && len(parts) > 1 {
		return parts[: len(parts)-1 : len(parts)-1], n
	}
	return parts, 0
}

// likeCount reports whether part could be taken for a count of what is left out,
// also if it is not written as Join would.
func likeCount(part string) bool {
	digits, ok := countDigits(part)
	return ok && strings.Trim(digits, "0123456789") == ""
}

// parseCount returns the N of "+N more".
func parseCount(part string) (n int, ok bool) {
	digits, ok := countDigits(part)
	if !ok || !likeCount(part) || digits == "" || digits[0] == '0' || len(digits) > maxCountDigits {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil
}

func countDigits(part string) (digits string, ok bool) {
	rest, ok := strings.CutPrefix(part, countPrefix)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, countSuffix)
}
