package taint

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrOrigin says that an origin is not allowed; see [CheckOrigin] for the rules.
var ErrOrigin = errors.New("taint: origin must be 1 to 200 characters of valid UTF-8 " +
	`without control or format characters, line separators, <, > and ", ` +
	`or up to 8 such origins with ", " between them and perhaps "+N more" behind them`)

// CheckOrigin returns [ErrOrigin] unless origin is a legal origin: valid UTF-8
// of 1 to [MaxOriginLength] characters, with no control characters, no invisible
// format characters (such as those that turn the direction of writing), no
// Unicode line or paragraph separator, and none of <, > and ". Such an origin
// can be shown in a log line, a terminal or a quoted attribute as it is.
//
// What [Join] returns is legal, too. A comma and a space always separate
// origins: there may be up to [MaxJoinedOrigins], in any order, each of which
// must be legal, and a last part "+N more", where N is a number of up to 9 digits
// that does not begin with 0. That and its like ("+0 more") are no origins by
// themselves.
//
// Use it where an origin is configured; [Wrap] does not fail on a bad one.
func CheckOrigin(origin string) error {
	if !strings.Contains(origin, separator) {
		return checkSingle(origin)
	}
	if len(origin) > MaxJoinedLength*utf8.UTFMax {
		return ErrOrigin
	}
	parts, _ := split(origin)
	if len(parts) == 0 || len(parts) > MaxJoinedOrigins {
		return ErrOrigin
	}
	for _, part := range parts {
		if err := checkSingle(part); err != nil {
			return err
		}
	}
	return nil
}

// checkSingle is CheckOrigin for an origin without a separator.
func checkSingle(origin string) error {
	if origin == "" || len(origin) > MaxOriginLength*utf8.UTFMax || !utf8.ValidString(origin) {
		return ErrOrigin
	}
	if utf8.RuneCountInString(origin) > MaxOriginLength {
		return ErrOrigin
	}
	if strings.ContainsFunc(origin, forbiddenInOrigin) || likeCount(origin) {
		return ErrOrigin
	}
	return nil
}

func forbiddenInOrigin(r rune) bool {
	switch r {
	case '<', '>', '"':
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// cleanOrigin never returns an origin that a strict reader would refuse.
func cleanOrigin(origin string) string {
	if CheckOrigin(origin) != nil {
		return OriginInvalid
	}
	return origin
}
